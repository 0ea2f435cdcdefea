"""Forums and their categories."""

import re
from typing import Any, Self

from django.conf import settings
from django.db import models, transaction
from django.db.models import Case, Exists, OuterRef, Q, Subquery, Value, When
from django.utils import timezone, translation
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from accounts.models import Account, Host, Status, User
from accounts.names import check_visible, looks_like_any
from core.db.ordering import MAX_POSITION, Ordered
from core.db.prepared import prepared
from core.db.tenancy import FoldedField, TenantModel, fold
from core.db.text import is_xml_text
from core.errors import FieldError

# First path segments that the service uses itself. They cannot be names of categories.
RESERVED_SEGMENTS = frozenset(
    ["app", "static", "media", "healthz", "readyz", "favicon.ico", "robots.txt", "sitemap.xml", ".well-known"]
)


class ForumQuerySet(models.QuerySet["Forum"]):
    def for_host(self, host_id: int) -> Self:
        """Return the forum of the host, followed by the default forum, which is shown at hosts without a forum."""
        return self.filter(Q(host_id=host_id) | Q(is_default=True)).order_by(
            Case(When(host_id=host_id, then=0), default=1, output_field=models.IntegerField())
        )

    def at_host(self, account_id: int, host_id: int) -> tuple[int, str] | None:
        """Return the id and the name of the forum of a host (`accounts.sites`)."""
        return _forum_at_host.first(account_id=account_id, host_id=host_id)

    def with_account(self, account_id: int, id: int) -> "Forum | None":
        """Return the forum with its account, read in one statement (`accounts.sites`)."""
        return _forum_with_account.first(account_id=account_id, id=id)

    def create_default(self, account: Account, host: Host) -> "Forum":
        """Create the default forum of a new account, with a category."""
        forum = account.forums.create(name=account.name or account.prefix, host_id=host.id, is_default=True)
        account.categories.create(forum_id=forum.id, name=first_category_name(account), position=1)
        return forum

    @transaction.atomic(savepoint=False)
    def create_for(self, account: Account, *, name: str, host: str, **fields: Any) -> "Forum":
        """Create a forum with a category at the address `host`. Raise FieldError if the name or the address cannot be used."""
        Account.objects.select_for_update(no_key=True).get(id=account.id)
        if account.forums.count() >= Forum.MAX_PER_ACCOUNT:
            raise FieldError("name", _("can't be added: an account can't have more forums"))
        forum = Forum(account=account, name=name, **fields)
        forum.check_name(name)
        forum.claim_host(host)
        forum.save(force_insert=True)
        account.categories.create(forum_id=forum.id, name=first_category_name(account), position=1)
        return forum

    def requires_approval(self, account_id: int, forum_id: int) -> bool:
        """Return whether the team must approve new posts of members."""
        return bool(_requires_approval.first(account_id=account_id, forum_id=forum_id))


def first_category_name(account: Account) -> str:
    """Return the name of the first category of a forum, in the language of the account."""
    language = account.language if account.language in dict(settings.LANGUAGES) else settings.LANGUAGE_CODE
    with translation.override(language):
        return gettext("General")


class Forum(TenantModel):
    """A forum. It has exactly one host. The default forum is also shown at the account's own address."""

    class Access(models.TextChoices):
        PUBLIC = "public"  # everyone may read; visitors may sign up to write
        MEMBERS = "members"  # everyone may read; only users whom the team created or invited may write
        PRIVATE = "private"  # only users of the account may read and write

    MAX_PER_ACCOUNT = 100

    # An annotation of `with_account`: whether the account has other forums.
    has_siblings: bool

    host_id = models.BigIntegerField()
    name = models.CharField(max_length=255)
    description = models.CharField(max_length=1000, blank=True, default="", db_default="")
    access = models.CharField(
        max_length=255, choices=Access.choices, default=Access.PUBLIC, db_default=Access.PUBLIC.value
    )
    # The team must approve new posts of members.
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
        """Return whether visitors may sign up as members."""
        return self.access == self.Access.PUBLIC

    @property
    def summary(self) -> str:
        """Return a sentence about the forum for search engines, in the active language."""
        return gettext("What people suggest to %(name)s, and what becomes of it.") % {"name": self.name}

    def may_be_read_by(self, user: User | None) -> bool:
        """Return whether a user of the account, or a visitor (None), may read the forum."""
        return user is not None or self.access != self.Access.PRIVATE

    def siblings_for(self, user: User) -> list[tuple[str, str]]:
        """Return the names of the account's other forums that the user may read, and the stored names of their hosts."""
        hosts = Host.objects.filter(account_id=OuterRef("account_id"), id=OuterRef("host_id"))
        forums = Forum.objects.filter(account_id=self.account_id).exclude(id=self.id)
        forums = forums.annotate(host_name=Subquery(hosts.values("name"))).order_by("-is_default", "name", "id")
        rows: list[Any] = list(forums[: self.MAX_PER_ACCOUNT])
        return [(forum.name, forum.host_name) for forum in rows if forum.may_be_read_by(user)]

    def check_name(self, name: str) -> None:
        """Raise FieldError if the name has format characters, or looks like the name of another forum of the account.

        The caller must have locked the account.
        """
        check_visible(name=name)
        others = self.account.forums.exclude(id=self.id).values_list("name", flat=True)
        if looks_like_any(name, others[: self.MAX_PER_ACCOUNT]):
            raise FieldError("name", _("is already taken"))

    @transaction.atomic(savepoint=False)
    def change(self, *, host: str, **values: Any) -> None:
        """Change the forum. Raise FieldError if it cannot have the address or the new name.

        A name that is not changed is not checked: older names may look alike.
        """
        name = values.get("name", self.name)
        if name != self.name:
            Account.objects.select_for_update(no_key=True).get(id=self.account_id)
            self.check_name(name)
        host_id_before = self.host_id
        self.claim_host(host)
        for name, value in values.items():
            setattr(self, name, value)
        self.save(update_fields=[*values, "host_id", "updated_at"])
        if self.host_id != host_id_before:
            self._release_host(host_id_before)

    def claim_host(self, address: str) -> None:
        """Set the host to the address that a user typed. Raise FieldError if the forum cannot have it. The caller saves the row."""
        host = Host.objects.get_or_create_for(self.account, address)
        if host.name == self.account.prefix and not self.is_default:
            raise FieldError("host", _("is the account's own, where its first forum answers"))
        if self.account.forums.filter(host_id=host.id).exclude(id=self.id).exists():
            raise FieldError("host", _("is where another of your forums is"))
        self.host_id = host.id

    @transaction.atomic(savepoint=False)
    def erase(self) -> None:
        """Erase the forum and its categories. Raise FieldError if it is the default forum or has posts."""
        if self.is_default:
            raise FieldError("forum", _("is the account's first one, which has to stay"))
        # The lock keeps other transactions from adding posts.
        Forum.objects.select_for_update().filter(pk=self.pk).first()
        if self.account.posts.filter(category_id__in=self._categories().values("id")).exists():
            raise FieldError("forum", _("has suggestions, perhaps in the trash"))
        self._categories().delete()
        Forum.objects.filter(pk=self.pk).delete()
        self._release_host(self.host_id)

    def _categories(self) -> models.QuerySet[Any]:
        return self.account.categories.filter(forum_id=self.id)

    def _release_host(self, host_id: int) -> None:
        """Delete a host that the forum no longer has, unless it is the account's own host."""
        self.account.hosts.filter(id=host_id).exclude(name=self.account.prefix).delete()


@prepared(account_id=int, host_id=int)
def _forum_at_host(account_id: int, host_id: int) -> models.QuerySet[Any]:
    return Account(id=account_id).forums.for_host(host_id).values_list("id", "name")[:1]


@prepared(account_id=int, id=int)
def _forum_with_account(account_id: int, id: int) -> models.QuerySet[Any]:
    others = Forum.objects.filter(account_id=account_id).exclude(id=id)
    annotations = {"has_siblings": Exists(others)}
    return Account(id=account_id).forums.filter(id=id).annotate(**annotations).select_related("account")[:1]


class CategoryQuerySet(models.QuerySet["Category"]):
    def of_forum(self, forum_id: int) -> Self:
        """Return the categories of a forum, in order. New posts for which no category is given go to the first category."""
        return self.filter(forum_id=forum_id).order_by("position", "id")

    def find_by_name(self, account_id: int, forum_id: int, name: str) -> "Category | None":
        """Return the forum's category with this name, ignoring case. Some clients write a space as `+`, as in a query string."""
        if not is_xml_text(name):
            return None
        names = dict.fromkeys([name, name.replace("+", " ")])
        categories = (
            _category_by_name.first(account_id=account_id, forum_id=forum_id, key=fold(name)) for name in names
        )
        return next(filter(None, categories), None)

    def first_of(self, account_id: int, forum_id: int) -> "Category | None":
        """Return the first category of a forum."""
        return _first_category.first(account_id=account_id, forum_id=forum_id)

    def all_of(self, account_id: int, forum_id: int) -> "list[Category]":
        """Return the categories of a forum, in order."""
        return _categories(account_id=account_id, forum_id=forum_id)


@prepared(account_id=int, forum_id=int, key=str)
def _category_by_name(account_id: int, forum_id: int, key: str) -> models.QuerySet[Any]:
    return Category.objects.filter(account_id=account_id, name_key=key).of_forum(forum_id)[:1]


@prepared(account_id=int, forum_id=int)
def _categories(account_id: int, forum_id: int) -> models.QuerySet[Any]:
    return Category.objects.filter(account_id=account_id).of_forum(forum_id)


@prepared(account_id=int, forum_id=int)
def _first_category(account_id: int, forum_id: int) -> models.QuerySet[Any]:
    return Category.objects.filter(account_id=account_id).of_forum(forum_id)[:1]


@prepared(account_id=int, forum_id=int)
def defaults_of_new_post(account_id: int, forum_id: int, by_team: bool, waits: bool) -> models.QuerySet[Any]:
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


@prepared(account_id=int, forum_id=int)
def _requires_approval(account_id: int, forum_id: int) -> models.QuerySet[Any]:
    return Forum.objects.filter(account_id=account_id, id=forum_id).values_list("approval", flat=True)


class Category(Ordered, TenantModel):
    """A section of a forum. The team decides on the order of the sections."""

    MAX_PER_FORUM = 100
    # The number of posts that can be moved to another category when their category is erased.
    MAX_MOVED_POSTS = 1000

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
            # The name is a path segment of the category's address.
            models.CheckConstraint(
                condition=~Q(name_key__in=sorted(RESERVED_SEGMENTS)) & ~Q(name_key__regex=r"^$|/|\.(xml|json)$"),
                name="category_name_form",
            ),
        ]
        indexes = [models.Index(fields=["account", "forum_id", "position", "id"], name="category_order")]

    def __str__(self) -> str:
        return self.name

    # Questions

    def siblings(self) -> models.QuerySet["Category"]:
        """Return the categories of the same forum, including this one."""
        return self.account.categories.filter(forum_id=self.forum_id)

    def posts(self) -> models.QuerySet[Any]:
        """Return the posts in the category, including those in the trash."""
        return self.account.posts.filter(category_id=self.id)

    # Actions

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
