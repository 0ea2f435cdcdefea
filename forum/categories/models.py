"""The categories of forums."""

import re
from typing import Self, cast

from django.db import models, transaction
from django.db.models import Exists, Q, Subquery, Value
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.account.models import Account
from accounts.audit.models import Audited
from accounts.statuses.models import Status
from core.db.ordering import MAX_POSITION, Ordered
from core.db.prepared import prepared
from core.db.tenancy import FoldedField, TenantModel, fold
from core.db.text import is_xml_text
from core.errors import FieldError
from core.rows.trimmed import TrimmedCharField
from forum.forums.models import Forum

# First path segments that the service uses itself. They cannot be names of categories.
RESERVED_SEGMENTS = frozenset(
    ["app", "static", "media", "healthz", "readyz", "favicon.ico", "robots.txt", "sitemap.xml", ".well-known"]
)


class CategoryQuerySet(models.QuerySet["Category"]):
    def of_forum(self, forum_id: int) -> Self:
        """Return the categories of a forum, in order. New posts for which no category is given go to the first category."""
        return self.filter(forum_id=forum_id).order_by("position", "id")

    def find_by_name(self, account_id: int, forum_id: int, name: str) -> "Category | None":
        """Return the forum's category with this name, ignoring case. Some clients write a space as `+`, as in a query string."""
        if not is_xml_text(name):
            return None
        for key in dict.fromkeys([fold(name), fold(name.replace("+", " "))]):
            if category := _category_by_name.first(account_id=account_id, forum_id=forum_id, key=key):
                return cast(Category, category)
        return None


@prepared(account_id=int, forum_id=int, key=str)
def _category_by_name(account_id: int, forum_id: int, key: str) -> models.QuerySet[models.Model]:
    return Category.objects.filter(account_id=account_id, name_key=key).of_forum(forum_id)[:1]


@prepared(account_id=int, forum_id=int)
def categories_in_order(account_id: int, forum_id: int) -> models.QuerySet["Category"]:
    """Return the categories of a forum, in order."""
    return Category.objects.filter(account_id=account_id).of_forum(forum_id)


@prepared(account_id=int, forum_id=int)
def first_category(account_id: int, forum_id: int) -> models.QuerySet["Category"]:
    return Category.objects.filter(account_id=account_id).of_forum(forum_id)[:1]


@prepared(account_id=int, forum_id=int)
def defaults_of_new_post(account_id: int, forum_id: int, by_team: bool, waits: bool) -> models.QuerySet[models.Model]:
    """Return the ids of the forum's first category and of the first status for posts, whether the status is closed, whether the post
    needs no approval of the team, and the code of the status. Return no row if the forum has no category. `waits` says that the post needs
    an approval in any forum.
    """
    statuses = Account(id=account_id).statuses_of_kind(Status.Kind.POST)
    status = [Subquery(statuses.values(name)[:1]) for name in ("id", "closed", "code")]
    forum = Forum.objects.filter(account_id=account_id, id=forum_id, approval=True)
    approved = Value(not waits) if by_team or waits else ~Exists(forum)
    categories = Category.objects.filter(account_id=account_id).of_forum(forum_id)
    annotations = {"status_id": status[0], "closed": status[1], "approved": approved, "status_code": status[2]}
    return categories.annotate(**annotations).values_list("id", *annotations)[:1]


class Category(Ordered, Audited, TenantModel):
    """A section of a forum. The team decides on the order of the sections."""

    audit_group, audited = "category", ("name", "forum_id")

    MAX_PER_FORUM = 100
    # The number of posts that can be moved to another category when their category is erased.
    MAX_MOVED_POSTS = 1000

    forum_id = models.BigIntegerField()
    name = TrimmedCharField(max_length=255)
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
            # The name is a path segment of the category's address.
            models.CheckConstraint(
                condition=~Q(name_key__in=sorted(RESERVED_SEGMENTS)) & ~Q(name_key__regex=r"^$|/|\.(xml|json)$"),
                name="category_name_form",
            ),
        ]
        indexes = [models.Index(fields=["account", "forum_id", "position", "id"], name="category_order")]

    def __str__(self) -> str:
        return self.name

    def siblings(self) -> models.QuerySet["Category"]:
        """Return the categories of the same forum, including this one."""
        return self.account.categories.filter(forum_id=self.forum_id)

    def posts(self) -> models.QuerySet[models.Model]:
        """Return the posts in the category, including those in the trash."""
        return self.account.posts.filter(category_id=self.id)

    @transaction.atomic(savepoint=False)
    def write(self, *, name: str) -> None:
        """Insert the category as the last of its forum, or rename it. Raise FieldError if that is not possible."""
        name = name.strip()
        others = self.siblings().exclude(id=self.id)
        check_category_name(name)
        if others.filter(name_key=fold(name)).exists():
            raise FieldError("name", _("is already taken"))
        self.name = name
        if not self._state.adding:
            self.save(update_fields=["name", "name_key", "updated_at"])
            return
        Forum.objects.select_for_update(no_key=True).get(account_id=self.account_id, id=self.forum_id)
        if others.count() >= self.MAX_PER_FORUM:
            raise FieldError("name", _("can't be added: a forum can't have more categories"))
        last = others.aggregate(last=models.Max("position"))["last"] or 0
        self.position = min(last + 1, MAX_POSITION)
        self.save(force_insert=True)

    @transaction.atomic(savepoint=False)
    def erase(self, *, into: "Category | None" = None) -> None:
        """Erase the category, after moving its posts into another category of the forum. Do nothing if it is erased already.

        Raise FieldError if the category is the only one of the forum, if it has posts and `into` is not another category, or if it has
        more than MAX_MOVED_POSTS posts.
        """
        ids = {row.id for row in self.siblings().order_by("id").select_for_update()}
        if self.id not in ids:
            return
        if len(ids) == 1:
            raise FieldError("category", _("is the only one, and every suggestion is in one"))
        post_count = self.posts()[: self.MAX_MOVED_POSTS + 1].count()
        if post_count:
            if into is None or into.id not in ids - {self.id}:
                raise FieldError("category", _("has suggestions: say where they are to go"))
            if post_count > self.MAX_MOVED_POSTS:
                raise FieldError("category", _("has more suggestions than can be moved at once"))
            self.posts().update(category_id=into.id, updated_at=timezone.now())
        Category.objects.filter(pk=self.pk).delete()
        self.record("deleted", posts=post_count)


def check_category_name(name: str) -> None:
    """Raise FieldError if the text cannot be a category's name, which is a path segment."""
    key = fold(name)
    if not key:
        raise FieldError("name", _("can't be blank"), "blank")
    if "/" in name:
        raise FieldError("name", _("can't have a slash"))
    if re.search(r"\.(xml|json)\Z", key):
        raise FieldError("name", _("can't end in .xml or .json, which is how programs ask"))
    if key in RESERVED_SEGMENTS or key in (".", ".."):
        raise FieldError("name", _("is a word that the service needs for itself"))
