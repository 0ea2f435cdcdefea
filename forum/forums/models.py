"""Forums."""

from collections.abc import Collection
from datetime import datetime
from functools import cached_property
from typing import Any, Self

from django.conf import settings
from django.contrib.postgres.expressions import ArraySubquery
from django.db import models, transaction
from django.db.models import Case, Exists, F, OuterRef, Q, Subquery, When
from django.db.models.functions import JSONObject
from django.utils import timezone, translation
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from accounts.account.models import Account
from accounts.audit.models import Audited
from accounts.brand.pictures import MAKERS
from accounts.hosts.models import Host
from accounts.users.models import User
from accounts.users.names import check_visible, looks_like_any
from core.db.prepared import prepared
from core.db.tenancy import TenantModel
from core.errors import FieldError
from core.rows.trimmed import TrimmedCharField
from forum.forums import membership
from forum.forums.membership import ForumAddress, ForumMember, ForumRights, read_addresses, segment_source


class ForumQuerySet(models.QuerySet["Forum"]):
    def for_host(self, host_id: int) -> Self:
        """Return the forum of the host, followed by the default forum, which is shown at hosts without a forum."""
        return self.filter(Q(host_id=host_id) | Q(is_default=True)).order_by(
            Case(When(host_id=host_id, then=0), default=1, output_field=models.IntegerField())
        )

    def find_at_host(self, account_id: int, host_id: int) -> tuple[int, str] | None:
        """Return the id and the name of the forum of a host (`accounts.hosts.addresses`)."""
        result: tuple[int, str] | None = _forum_at_host.first(account_id=account_id, host_id=host_id)
        return result

    def with_account(self, account_id: int, id: int) -> "Forum | None":
        """Return the forum with its account, read in one statement (`accounts.hosts.addresses`)."""
        result: Forum | None = _forum_with_account.first(account_id=account_id, id=id)
        return result

    def with_hosts(self, account: Account) -> list[tuple[int, str, str]]:
        """Return the ids and the names of the forums of an account, and the stored names of their hosts, the default forum first."""
        hosts = Host.objects.filter(account_id=OuterRef("account_id"), id=OuterRef("host_id"))
        rows = account.forums.annotate(host_name=Subquery(hosts.values("name"))).order_by("-is_default", "name", "id")
        return list(rows.values_list("id", "name", "host_name")[: Forum.MAX_PER_ACCOUNT])

    def create_default(self, account: Account, host: Host) -> "Forum":
        """Create the default forum of a new account, with a category."""
        forum = account.forums.create(name=account.name or account.prefix, host_id=host.id, is_default=True)
        account.categories.create(forum_id=forum.id, name=first_category_name(account), position=1)
        return forum

    @transaction.atomic(savepoint=False)
    def create_for(self, account: Account, *, name: str, host: str, addresses: str = "", **fields: object) -> "Forum":
        """Create a forum with a category at the address `host`. Raise FieldError if the name or the address cannot be used.

        `addresses` are the lines of its list.
        """
        Account.objects.select_for_update(no_key=True).get(id=account.id)
        if account.forums.count() >= Forum.MAX_PER_ACCOUNT:
            raise FieldError("name", _("can't be added: an account can't have more forums"))
        forum = Forum(account=account, name=name, **fields)
        forum.check_name(name)
        forum.check_segment()
        forum.claim_host(host)
        forum.save(force_insert=True)
        forum.replace_addresses(addresses)
        account.categories.create(forum_id=forum.id, name=first_category_name(account), position=1)
        return forum

    def visible_to(self, user: User | None) -> Self:
        """Return the forums that a user of the account, or a visitor (None), may read.

        For a member it takes a statement, and a fixed number of further ones if the account has forums for segments.
        """
        if user is not None and user.is_team:
            return self
        readable = Q(access__in=membership.READABLE)
        return self.filter(readable if user is None else readable | membership.belongs_to(user))

    def find_rights(self, user: User, forum_id: int) -> ForumRights:
        """Return whether a user may read a forum of the account, and take part in it. It takes no statement for the team."""
        # The role counts also where a session has only the rights of a member.
        if user.role in User.TEAM:
            return ForumRights(may_read=True, may_write=True)
        return membership.find_rights(user.account, forum_id, user_id=user.id, email_key=user.email_key)


def first_category_name(account: Account) -> str:
    """Return the name of the first category of a forum, in the language of the account."""
    language = account.language if account.language in dict(settings.LANGUAGES) else settings.LANGUAGE_CODE
    with translation.override(language):
        return gettext("General")


class Forum(Audited, TenantModel):
    """A forum. It has exactly one host. The default forum is also shown at the account's own address."""

    Access = membership.ForumAccess

    audit_group = "forum"
    audited = ("name", "description", "access", "segment_id", "approval", "host_id")

    MAX_PER_ACCOUNT = 100

    # Annotations of `with_account`: the forums of the account with their hosts, and whether not everyone may read all of them.
    forum_rows: list[dict[str, Any]]
    has_closed_forums: bool
    # The host, where it was read together with the forum.
    host: Host

    host_id = models.BigIntegerField()
    name = TrimmedCharField(max_length=255)
    description = models.CharField(max_length=1000, blank=True, default="", db_default="")
    access = models.CharField(
        max_length=255, choices=Access.choices, default=Access.PUBLIC, db_default=Access.PUBLIC.value
    )
    # The segment of clients for `Access.SEGMENT`, which an upper room defines (`membership.SegmentSource`). It may have been deleted.
    segment_id = models.BigIntegerField(null=True)
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
            models.CheckConstraint(condition=Q(access__in=membership.ForumAccess.values), name="forum_access_known"),
        ]
        # The foreign key uses this index when a view is deleted.
        indexes = [
            models.Index(
                fields=["account", "segment_id"], name="forum_by_segment", condition=Q(segment_id__isnull=False)
            )
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def has_siblings(self) -> bool:
        return len(self.forum_rows) > 1

    @property
    def forum_ids(self) -> list[int]:
        """The ids of all forums of the account."""
        return [row["id"] for row in self.forum_rows]

    @property
    def takes_sign_ups(self) -> bool:
        """Return whether people may sign up without an invitation: everyone, or those whom the list or the segment names."""
        return self.access == self.Access.PUBLIC or self.selects_people

    @property
    def selects_people(self) -> bool:
        """Return whether a list or a segment names the people who may sign up."""
        return self.access in membership.SELECTIVE

    @property
    def summary(self) -> str:
        """Return a sentence about the forum for search engines, in the active language."""
        return gettext("What people suggest to %(name)s, and what becomes of it.") % {"name": self.name}

    def may_be_read_by(self, user: User | None) -> bool:
        """Return whether a user of the account, or a visitor (None), may read the forum."""
        return self.access in membership.READABLE or (user is not None and self._find_rights(user).may_read)

    def may_be_joined_by(self, user: User | None) -> bool:
        """Return whether a user of the account may suggest, vote and comment. A visitor (None) has to sign in first."""
        return user is not None and (self.access == self.Access.PUBLIC or self._find_rights(user).may_write)

    def _find_rights(self, user: User) -> ForumRights:
        """Return the rights of a user, which are read once for each instance of the forum."""
        if user.id not in self._rights:
            self._rights[user.id] = Forum.objects.find_rights(user, self.id)
        return self._rights[user.id]

    @cached_property
    def _rights(self) -> dict[int, ForumRights]:
        return {}

    def admits(self, email: str, user: User | None) -> bool:
        """Return whether the person with a confirmed e-mail, who may be a user, may sign in or sign up here.

        It takes the same statements whether or not the person is a user, so that the response time does not show it.
        """
        if self.access == self.Access.PUBLIC:
            return True
        user_id, key = (0, membership.key_of_email(email)) if user is None else (user.id, user.email_key)
        rights = membership.find_rights(self.account, self.id, user_id=user_id, email_key=key)
        return rights.may_write or (user is not None and (user.role in User.TEAM or rights.may_read))

    def members_among(self, user_ids: Collection[int]) -> set[int]:
        """Return those of the users who may read the forum."""
        if self.access in membership.READABLE or not user_ids:
            return set(user_ids)
        person = membership.Person.outer(self.account_id)
        belongs = Q(role__in=User.TEAM) | Q(person.membership(self.id))
        if self.access == self.Access.LIST:
            belongs |= Q(person.listing(self.id))
        if self.access == self.Access.SEGMENT and self.segment_id is not None:
            for condition in person.segments(self.account, [self.segment_id]).values():
                belongs |= condition
        return set(self.account.users.filter(belongs, id__in=user_ids).values_list("id", flat=True))

    def siblings_for(self, user: User) -> list[tuple[str, str]]:
        """Return the names of the account's other forums that the user may read, and the stored names of their hosts.

        For the team, these are addresses under BASE_DOMAIN.
        """
        siblings = [forum for forum in self.forums_for(user) if forum.id != self.id]
        return [(forum.name, forum.host_for(forum.host, self.account, by_team=user.is_team)) for forum in siblings]

    def forums_for(self, user: User) -> "list[Forum]":
        """Return the account's forums that the user may read, the default forum first."""
        # Most accounts have no forum that a member may not read.
        if user.is_team or not self.has_closed_forums:
            return self.forums
        readable = set(self.account.forums.visible_to(user).values_list("id", flat=True))
        return [forum for forum in self.forums if forum.id in readable]

    @cached_property
    def forums(self) -> "list[Forum]":
        """All forums of the account, the default forum first, with what their names and addresses need."""
        forums = []
        for row in self.forum_rows:
            host = Host(id=row["host_id"], name=row["host_name"])
            host.proven_at = datetime.fromisoformat(row["proven_at"]) if row["proven_at"] else None
            forum = Forum(id=row["id"], name=row["name"], is_default=row["is_default"], host_id=host.id)
            forum.host = host
            forums.append(forum)
        return forums

    def host_for(self, host: Host, account: Account, *, by_team: bool) -> str:
        """Return the stored name of the host to which links of the team, or of other users, lead. `host` is the forum's host."""
        if host.is_proven and not (by_team and host.is_domain):
            return host.name
        return account.prefix if self.is_default else host.own_name(account)

    def check_name(self, name: str) -> None:
        """Raise FieldError if the name has format characters, or looks like the name of another forum of the account.

        The caller must have locked the account.
        """
        check_visible(name=name)
        others = self.account.forums.exclude(id=self.id).values_list("name", flat=True)
        if looks_like_any(name, others[: self.MAX_PER_ACCOUNT]):
            raise FieldError("name", _("is already taken"))

    @transaction.atomic(savepoint=False)
    def change(self, *, host: str, addresses: str | None = None, **values: Any) -> None:
        """Change the forum. Raise FieldError if it cannot have the address, the new name or the segment.

        A name that is not changed is not checked: older names may look alike. `addresses` are the lines of the list. If the forum is no
        longer open to everyone, those who took part wait for the team to decide whether they are members.
        """
        was_public = self.access == self.Access.PUBLIC
        Account.objects.select_for_update(no_key=True).get(id=self.account_id)
        name = values.get("name", self.name)
        if name != self.name:
            self.check_name(name)
        host_id_before = self.host_id
        self.claim_host(host)
        for name, value in values.items():
            setattr(self, name, value)
        self.check_segment()
        self.save(update_fields=[*values, "host_id", "updated_at"])
        if addresses is not None:
            self.replace_addresses(addresses)
        if was_public and self.access != self.Access.PUBLIC:
            ForumMember.objects.add_pending(self.account, self.id)
        if self.host_id != host_id_before:
            Host.objects.release(self.account, host_id_before)

    def check_segment(self) -> None:
        """Raise FieldError if the forum is for a segment that it cannot have. The caller must have locked the account."""
        if self.access != self.Access.SEGMENT:
            return
        if self.segment_id not in dict(segment_source().choices(self.account)):
            raise FieldError("segment_id", _("is not a segment that forums can have"), "choice")
        others = self.account.forums.filter(access=self.Access.SEGMENT).exclude(id=self.id)
        if others.count() >= membership.MAX_SEGMENTS:
            message = _("can't be used: {most} forums have segments")
            raise FieldError("segment_id", message, "too_many", {"most": membership.MAX_SEGMENTS})

    def replace_addresses(self, text: str) -> None:
        """Replace the list of e-mails and domains by the lines of a text. Raise FieldError for a line that is neither."""
        addresses = read_addresses(text)
        former = self.account.forum_addresses.filter(forum_id=self.id)
        keys = set(former.values_list("address_key", flat=True))
        former.delete()
        rows = [ForumAddress(account=self.account, forum_id=self.id, address=address) for address in addresses]
        ForumAddress.objects.bulk_create(rows)
        if added_or_removed := keys ^ {row.address_key for row in rows}:
            self.record("addresses_changed", addresses=sorted(added_or_removed))

    @property
    def addresses(self) -> str:
        """The list of e-mails and domains, one on each line."""
        rows = self.account.forum_addresses.filter(forum_id=self.id).order_by("address_key")
        return "\n".join(rows.values_list("address", flat=True)[: membership.MAX_ADDRESSES])

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
        categories = self.account.categories.filter(forum_id=self.id)
        if self.account.posts.filter(category_id__in=categories.values("id")).exists():
            raise FieldError("forum", _("has suggestions, perhaps in the trash"))
        categories.delete()
        self.account.forum_members.filter(forum_id=self.id).delete()
        self.account.forum_addresses.filter(forum_id=self.id).delete()
        Forum.objects.filter(pk=self.pk).delete()
        self.record("deleted")
        Host.objects.release(self.account, self.host_id)


@prepared(account_id=int, host_id=int)
def _forum_at_host(account_id: int, host_id: int) -> models.QuerySet[Any]:
    return Account(id=account_id).forums.for_host(host_id).values_list("id", "name")[:1]


@prepared(account_id=int, id=int)
def _forum_with_account(account_id: int, id: int) -> models.QuerySet[models.Model]:
    forums = Forum.objects.filter(account_id=account_id)
    closed = forums.exclude(access__in=membership.READABLE)
    hosts = Host.objects.filter(account_id=OuterRef("account_id"), id=OuterRef("host_id"))
    columns: dict[str, Any] = {name: F(name) for name in ("id", "name", "is_default", "host_id")}
    columns |= {"host_name": Subquery(hosts.values("name")), "proven_at": Subquery(hosts.values("proven_at"))}
    rows = forums.order_by("-is_default", "name", "id").values(row=JSONObject(**columns))
    annotations = {"forum_rows": ArraySubquery(rows[: Forum.MAX_PER_ACCOUNT]), "has_closed_forums": Exists(closed)}
    pictures = (f"account__branding__{name}" for name in MAKERS)
    forums = Account(id=account_id).forums.filter(id=id).annotate(**annotations)
    return forums.select_related("account__branding").defer(*pictures)[:1]


@prepared(account_id=int, forum_id=int)
def requires_approval(account_id: int, forum_id: int) -> models.QuerySet[Any]:
    """Return whether the team must approve new posts of members."""
    return Forum.objects.filter(account_id=account_id, id=forum_id).values_list("approval", flat=True)
