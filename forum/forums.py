"""Forums and their categories: where posts are, who may read and write there."""

from typing import Self

from django.db import models
from django.db.models import Case, Q, Subquery, When
from django.utils import timezone

from accounts.models import Account, Status, User
from accounts.prepared import prepared
from accounts.tenancy import FoldedField, TenantModel, fold
from accounts.text import is_carriable

# What a forum answers itself in the place of a category's name.
RESERVED_SEGMENTS = frozenset(
    ["app", "static", "media", "healthz", "readyz", "favicon.ico", "robots.txt", "sitemap.xml", ".well-known"]
)


class ForumQuerySet(models.QuerySet):
    def living_at(self, host_id: int) -> Self:
        """The forum of that host; for the account's own address, failing that, the default forum."""
        return self.filter(Q(host_id=host_id) | Q(is_default=True)).order_by(
            Case(When(host_id=host_id, then=0), default=1, output_field=models.IntegerField())
        )

    def holding_back(self, account_id: int, forum_id: int) -> bool:
        """Whether members' new posts wait for the team there."""
        return bool(_approval.first(account_id=account_id, forum_id=forum_id))


class Forum(TenantModel):
    """A forum, at exactly one host; the account's default forum answers at the account's own address too."""

    class Access(models.TextChoices):
        PUBLIC = "public"  # everyone reads, whoever signs up writes
        MEMBERS = "members"  # everyone reads, those write whom the team made or invited
        PRIVATE = "private"  # only these read, too

    host_id = models.BigIntegerField()
    name = models.CharField(max_length=255)
    description = models.CharField(max_length=1000, blank=True, default="", db_default="")
    access = models.CharField(
        max_length=255, choices=Access.choices, default=Access.PUBLIC, db_default=Access.PUBLIC.value
    )
    # A member's new post waits for the team.
    approval = models.BooleanField(default=False, db_default=False)
    is_default = models.BooleanField(default=False)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    updated_at = models.DateTimeField(auto_now=True)

    objects = ForumQuerySet.as_manager()

    class Meta:
        default_related_name = "forums"
        constraints = [
            models.UniqueConstraint(fields=["account", "host_id"], name="forum_host_unique"),
            models.UniqueConstraint(fields=["account"], condition=Q(is_default=True), name="forum_one_default"),
            models.CheckConstraint(condition=Q(access__in=["public", "members", "private"]), name="forum_access_known"),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def takes_sign_ups(self) -> bool:
        """Whether a visitor may make himself a member."""
        return self.access == self.Access.PUBLIC

    def may_be_read_by(self, user: User | None) -> bool:
        """`user` is one of the account's, or None for a visitor who is not signed in."""
        return user is not None or self.access != self.Access.PRIVATE


class CategoryQuerySet(models.QuerySet):
    def of_forum(self, forum_id: int) -> Self:
        """A forum's categories; the first of them is the one that posts go to when none is named."""
        return self.filter(forum_id=forum_id).order_by("position", "id")

    def named(self, account_id: int, forum_id: int, name: str) -> "Category | None":
        """The forum's category of that name, in any case."""
        return (
            _category_named.first(account_id=account_id, forum_id=forum_id, key=fold(name))
            if is_carriable(name)
            else None
        )

    def first_of(self, account_id: int, forum_id: int) -> "Category | None":
        """The one that posts go to when none is named.

        Its `first_status` is the one that they get, and it `holds_back` members' posts where the forum does.
        """
        category = _first_category.first(account_id=account_id, forum_id=forum_id)
        if category is not None:
            status = {name: getattr(category, f"first_{name}") for name in ("id", "code", "closed")}
            category.first_status = Status(account_id=account_id, kind=Status.Kind.POST, **status)
        return category


@prepared(account_id=int, forum_id=int, key=str)
def _category_named(account_id, forum_id, key):
    return Category.objects.filter(account_id=account_id, name_key=key).of_forum(forum_id)[:1]


@prepared(account_id=int, forum_id=int)
def _first_category(account_id, forum_id):
    statuses = Account(id=account_id).first_statuses(Status.Kind.POST)
    first = {f"first_{name}": Subquery(statuses.values(name)[:1]) for name in ("id", "code", "closed")}
    forum = Forum.objects.filter(account_id=account_id, id=forum_id)
    categories = Category.objects.filter(account_id=account_id).of_forum(forum_id)
    return categories.annotate(**first, holds_back=Subquery(forum.values("approval")))[:1]


@prepared(account_id=int, forum_id=int)
def _approval(account_id, forum_id):
    return Forum.objects.filter(account_id=account_id, id=forum_id).values_list("approval", flat=True)


class Category(TenantModel):
    forum_id = models.BigIntegerField()
    name = models.CharField(max_length=255)
    name_key = FoldedField(source="name")
    position = models.IntegerField(default=0)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    updated_at = models.DateTimeField(auto_now=True)

    objects = CategoryQuerySet.as_manager()

    class Meta:
        default_related_name = "categories"
        verbose_name_plural = "categories"
        constraints = [
            models.UniqueConstraint(fields=["account", "forum_id", "name_key"], name="category_name_unique"),
            # The name is a path segment, beside those that the service answers itself.
            models.CheckConstraint(
                condition=~Q(name_key__in=sorted(RESERVED_SEGMENTS)) & ~Q(name_key__regex=r"^$|/|\.(xml|json)$"),
                name="category_name_form",
            ),
        ]
        indexes = [models.Index(fields=["account", "forum_id", "position", "id"], name="category_order")]

    def __str__(self) -> str:
        return self.name
