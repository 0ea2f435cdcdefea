"""Forums and their categories: where posts are, who may read and write there."""

import re
from typing import Any, Self

from django.db import models, transaction
from django.db.models import Case, Q, Subquery, When
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from accounts.models import Account, Host, Status, User
from accounts.names import check_visible, looks_like_any
from core.db.ordering import MAX_POSITION, Ordered
from core.db.prepared import prepared
from core.db.tenancy import FoldedField, TenantModel, fold
from core.db.text import is_xml_text
from core.errors import FieldError

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

    def at_host(self, account_id: int, host_id: int) -> tuple[int, str] | None:
        """Return the id and the name of the forum of a host (`accounts.sites`)."""
        return _forum_at_host.first(account_id=account_id, host_id=host_id)

    def with_account(self, account_id: int, id: int) -> "Forum | None":
        """Return the forum with its account, read in one statement (`accounts.sites`)."""
        return _forum_with_account.first(account_id=account_id, id=id)

    def open_first(self, account: Account, host: Host) -> "Forum":
        """Create the default forum of a new account, with a category."""
        forum = account.forums.create(name=account.name or account.prefix, host_id=host.id, is_default=True)
        account.categories.create(forum_id=forum.id, name="General", position=1)
        return forum

    @transaction.atomic(savepoint=False)
    def open(self, account: Account, *, name: str, host: str, **fields: Any) -> "Forum":
        """Make a forum of the account that works: at that address, with a category. Raises FieldError."""
        Account.objects.select_for_update(no_key=True).get(id=account.id)
        if account.forums.count() >= Forum.MOST:
            raise FieldError("name", _("can't be added: an account can't have more forums"))
        forum = Forum(account=account, name=name, **fields)
        forum.check_name(name)
        forum.settle(host)
        forum.save(force_insert=True)
        account.categories.create(forum_id=forum.id, name="General", position=1)
        return forum

    def holding_back(self, account_id: int, forum_id: int) -> bool:
        """Whether members' new posts wait for the team there."""
        return bool(_approval.first(account_id=account_id, forum_id=forum_id))


class Forum(TenantModel):
    """A forum, at exactly one host; the account's default forum answers at the account's own address too."""

    class Access(models.TextChoices):
        PUBLIC = "public"  # everyone reads, whoever signs up writes
        MEMBERS = "members"  # everyone reads, those write whom the team made or invited
        PRIVATE = "private"  # only these read, too

    MOST = 100

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
        """Return whether visitors may sign up as members."""
        return self.access == self.Access.PUBLIC

    @property
    def summary(self) -> str:
        """The sentence about the forum for search engines, in the active language."""
        return gettext("What people suggest to %(name)s, and what becomes of it.") % {"name": self.name}

    def may_be_read_by(self, user: User | None) -> bool:
        """`user` is one of the account's, or None for a visitor who is not signed in."""
        return user is not None or self.access != self.Access.PRIVATE

    def check_name(self, name: str) -> None:
        """Raise FieldError for a name with format characters, and for one that is, or looks like, another forum's.

        The caller has locked the account.
        """
        check_visible(name=name)
        others = self.account.forums.exclude(id=self.id).values_list("name", flat=True)
        if looks_like_any(name, others[: self.MOST]):
            raise FieldError("name", _("is already taken"))

    @transaction.atomic(savepoint=False)
    def change(self, *, host: str, **values: Any) -> None:
        """Raise FieldError for an address or a name that it can't have. Names that were alike before may stay."""
        name = values.get("name", self.name)
        if name != self.name:
            Account.objects.select_for_update(no_key=True).get(id=self.account_id)
            self.check_name(name)
        before = self.host_id
        self.settle(host)
        for name, value in values.items():
            setattr(self, name, value)
        self.save(update_fields=[*values, "host_id", "updated_at"])
        if self.host_id != before:
            self._leave(before)

    def settle(self, address: str) -> None:
        """Take the address that somebody typed. The caller saves the row."""
        host = Host.objects.get_or_create_for(self.account, address)
        if host.name == self.account.prefix and not self.is_default:
            raise FieldError("host", _("is the account's own, where its first forum answers"))
        if self.account.forums.filter(host_id=host.id).exclude(id=self.id).exists():
            raise FieldError("host", _("is where another of your forums is"))
        self.host_id = host.id

    @transaction.atomic(savepoint=False)
    def erase(self) -> None:
        """Erase it with its categories. Raises FieldError for the default one, and while it has a post."""
        if self.is_default:
            raise FieldError("forum", _("is the account's first one, which has to stay"))
        # Nobody adds a post to it meanwhile.
        Forum.objects.select_for_update().filter(pk=self.pk).first()
        if self.account.posts.filter(category_id__in=self._categories().values("id")).exists():
            raise FieldError("forum", _("has suggestions, perhaps in the trash"))
        self._categories().delete()
        Forum.objects.filter(pk=self.pk).delete()
        self._leave(self.host_id)

    def _categories(self) -> models.QuerySet:
        return self.account.categories.filter(forum_id=self.id)

    def _leave(self, host_id: int) -> None:
        """An address is free when no forum is there; but the account keeps its own."""
        self.account.hosts.filter(id=host_id).exclude(name=self.account.prefix).delete()


@prepared(account_id=int, host_id=int)
def _forum_at_host(account_id, host_id):
    return Account(id=account_id).forums.living_at(host_id).values_list("id", "name")[:1]


@prepared(account_id=int, id=int)
def _forum_with_account(account_id, id):
    return Account(id=account_id).forums.filter(id=id).select_related("account")[:1]


class CategoryQuerySet(models.QuerySet):
    def of_forum(self, forum_id: int) -> Self:
        """A forum's categories; the first of them is the one that posts go to when none is named."""
        return self.filter(forum_id=forum_id).order_by("position", "id")

    def named(self, account_id: int, forum_id: int, name: str) -> "Category | None":
        """The forum's category of that name, in any case; some clients write its spaces as `+`, as in a query."""
        if not is_xml_text(name):
            return None
        names = dict.fromkeys([name, name.replace("+", " ")])
        found = (_category_named.first(account_id=account_id, forum_id=forum_id, key=fold(name)) for name in names)
        return next(filter(None, found), None)

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
    statuses = Account(id=account_id).statuses_of_kind(Status.Kind.POST)
    first = {f"first_{name}": Subquery(statuses.values(name)[:1]) for name in ("id", "code", "closed")}
    forum = Forum.objects.filter(account_id=account_id, id=forum_id)
    categories = Category.objects.filter(account_id=account_id).of_forum(forum_id)
    return categories.annotate(**first, holds_back=Subquery(forum.values("approval")))[:1]


@prepared(account_id=int, forum_id=int)
def _approval(account_id, forum_id):
    return Forum.objects.filter(account_id=account_id, id=forum_id).values_list("approval", flat=True)


class Category(Ordered, TenantModel):
    # In a forum; and the posts that are moved at once when one is deleted.
    MOST, MOST_MOVED = 100, 1000

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

    # Questions

    def siblings(self) -> models.QuerySet:
        return self.account.categories.filter(forum_id=self.forum_id)

    def posts(self) -> models.QuerySet:
        """All that are in it, also those in the trash."""
        return self.account.posts.filter(category_id=self.id)

    # Acts

    @transaction.atomic(savepoint=False)
    def write(self, *, name: str) -> None:
        """Insert it behind the others of its forum, or give it another name. Raises FieldError."""
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
        if others.count() >= self.MOST:
            raise FieldError("name", _("can't be added: a forum can't have more categories"))
        last = others.aggregate(last=models.Max("position"))["last"] or 0
        self.position = min(last + 1, MAX_POSITION)
        self.save(force_insert=True)

    @transaction.atomic(savepoint=False)
    def erase(self, *, into: "Category | None" = None) -> None:
        """Erase it, after moving its posts `into` another one of its forum. One that is gone already is left so.

        Raises FieldError for the last one of a forum, and for one that has posts and nowhere to move them, or too many.
        """
        held = {row.id for row in self.siblings().order_by("id").select_for_update()}
        if self.id not in held:
            return
        if len(held) == 1:
            raise FieldError("category", _("is the only one, and every suggestion is in one"))
        number = self.posts()[: self.MOST_MOVED + 1].count()
        if number and (into is None or into.id not in held - {self.id}):
            raise FieldError("category", _("has suggestions: say where they are to go"))
        if number > self.MOST_MOVED:
            raise FieldError("category", _("has more suggestions than can be moved at once"))
        if number:
            self.posts().update(category_id=into.id, updated_at=timezone.now())
        Category.objects.filter(pk=self.pk).delete()


def check_category_name(name: str) -> None:
    """Raise FieldError for a text that can't be a category's name, which is a segment of its address."""
    key = fold(name)
    if not key:
        raise FieldError("name", _("can't be blank"), "blank")
    if "/" in name:
        raise FieldError("name", _("can't have a slash"))
    if re.search(r"\.(xml|json)\Z", key):
        raise FieldError("name", _("can't end in .xml or .json, which is how programs ask"))
    if key in RESERVED_SEGMENTS or key in (".", ".."):
        raise FieldError("name", _("is a word that the service needs for itself"))
