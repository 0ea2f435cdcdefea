"""The members of a forum, and which of them the service trusts.

The access of a forum (`ForumAccess`) says who enters it. In a forum that is not open to everyone, a user of the account is a member in one
of three ways: the team invited or added them, their e-mail or its domain is on the list of the forum, or a client or contact with their
e-mail is in the segment of the forum. The first is stored, the others are evaluated at each request, so a user who leaves the list or the
segment loses entry at once. The team belongs to all forums of its account.
"""

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self, cast

from django.db import models, transaction
from django.db.models import Exists, Func, OuterRef, Q, Value
from django.db.models.expressions import Combinable
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.account.models import Account
from accounts.audit.models import record
from accounts.users.models import User
from core.db.prepared import prepared
from core.db.tenancy import FoldedField, TenantModel, account_of, foreign_object
from core.errors import FieldError

# The limits of the list of a forum, of the people who wait for a decision after it was closed, and of the segments of an account's forums.
MAX_ADDRESSES = 1000
MAX_PENDING = 10_000
MAX_SEGMENTS = 10
_ADDRESS = re.compile(r"(?:[^\s@,;<>]+@|@)?[^\s@,;<>.]+(?:\.[^\s@,;<>.]+)+")


class ForumAccess(models.TextChoices):
    """Who may read a forum, and take part in it. The team always may."""

    PUBLIC = "public"  # everyone may read; everyone who signs up may take part
    MEMBERS = "members"  # everyone may read; those who are invited may take part
    PRIVATE = "private"  # only those who are invited may read and take part
    LIST = "list"  # also those whose e-mail, or its domain, is on the list of the forum
    SEGMENT = "segment"  # also those whose e-mail is that of a client or contact in the segment of the forum


# What everyone may read, without signing in.
READABLE = (ForumAccess.PUBLIC, ForumAccess.MEMBERS)
# Where some people who are not invited may sign up, though not everyone.
SELECTIVE = (ForumAccess.LIST, ForumAccess.SEGMENT)


class ForumMemberQuerySet(models.QuerySet["ForumMember"]):
    def confirmed(self) -> Self:
        return self.filter(state=ForumMember.State.MEMBER)

    def pending(self) -> Self:
        """Return the users who took part before the forum was closed, and of whom the team has not decided whether they may enter."""
        return self.filter(state=ForumMember.State.PENDING)

    @transaction.atomic(savepoint=False)
    def add(self, account: Account, forum_ids: Collection[int], user_ids: Collection[int]) -> None:
        """Make users members of forums. Ids of forums that were deleted are left out. A user who was pending is a member then."""
        forum_ids = list(account.forums.filter(id__in=forum_ids).values_list("id", flat=True))
        rows = [ForumMember(account=account, forum_id=id, user_id=user_id) for id in forum_ids for user_id in user_ids]
        ForumMember.objects.bulk_create(
            rows,
            update_conflicts=True,
            unique_fields=["account", "forum_id", "user_id"],
            update_fields=["state"],
            batch_size=1000,
        )
        for id in forum_ids:
            record(account.id, "forum.members_added", forum=id, users=list(user_ids))

    @transaction.atomic(savepoint=False)
    def decide(self, account: Account, forum_id: int, *, admits: bool) -> int:
        """Admit these people of a forum, or else remove them. Return their number."""
        ids = list(self.select_for_update().values_list("user_id", flat=True))
        rows = ForumMember.objects.filter(account_id=account.id, forum_id=forum_id, user_id__in=ids)
        number = rows.update(state=ForumMember.State.MEMBER) if admits else rows.delete()[0]
        if ids:
            record(account.id, f"forum.members_{'added' if admits else 'removed'}", forum=forum_id, users=ids)
        return number

    def add_pending(self, account: Account, forum_id: int) -> None:
        """List the members of the account who took part in a forum, the newest `MAX_PENDING`, for the team to decide."""
        posts = account.posts.filter(forum_id=forum_id)
        took_part = [
            posts.filter(user_id=OuterRef("id")),
            account.votes.filter(user_id=OuterRef("id"), post_id__in=posts.values("id")),
            account.comments.filter(user_id=OuterRef("id"), post_id__in=posts.values("id")),
        ]
        users = account.users.filter(
            Q(*(Exists(rows.order_by()) for rows in took_part), _connector=Q.OR), role=User.Role.MEMBER, is_active=True
        )
        ids = users.order_by("-id").values_list("id", flat=True)[:MAX_PENDING]
        state = ForumMember.State.PENDING
        rows = [ForumMember(account=account, forum_id=forum_id, user_id=id, state=state) for id in ids]
        ForumMember.objects.bulk_create(rows, ignore_conflicts=True, batch_size=1000)


class ForumMember(TenantModel):
    """A user whom the team invited or added to a forum, or who waits for the decision of the team."""

    class State(models.TextChoices):
        MEMBER = "member", _("Member")
        PENDING = "pending", _("Pending")

    forum_id = models.BigIntegerField()
    user_id = models.BigIntegerField()
    user = foreign_object(User, "user_id")
    state = models.CharField(max_length=255, choices=State.choices, default=State.MEMBER)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    objects = ForumMemberQuerySet.as_manager()

    class Meta:
        default_related_name = "forum_members"
        constraints = [models.UniqueConstraint(fields=["account", "forum_id", "user_id"], name="forummember_unique")]
        indexes = [
            # The foreign key uses this index when a user is erased.
            models.Index(fields=["account", "user_id"], name="forummember_of_user"),
            models.Index(
                fields=["account", "forum_id", "user_id"], name="forummember_pending", condition=Q(state="pending")
            ),
        ]

    def __str__(self) -> str:
        return f"{self.state} {self.user_id} of forum {self.forum_id}"


class AddressKeyField(FoldedField):
    """The key of an address: that of `User.email_key` for an e-mail, and its part after the @ for a domain."""

    @staticmethod
    def derive(text: str) -> str:
        local, _at, domain = text.strip().rpartition("@")
        key = key_of_email(f"{local or 'a'}@{domain}")
        return key if local else domain_of(key)


class ForumAddress(TenantModel):
    """An e-mail, or a domain of e-mails, on the list of a forum."""

    forum_id = models.BigIntegerField()
    address = models.CharField(max_length=255)
    address_key = AddressKeyField(source="address")

    class Meta:
        default_related_name = "forum_addresses"
        constraints = [
            models.UniqueConstraint(fields=["account", "forum_id", "address_key"], name="forumaddress_unique")
        ]

    def __str__(self) -> str:
        return self.address


def key_of_email(email: str) -> str:
    """Return the `email_key` of users with an e-mail."""
    return cast(FoldedField, User._meta.get_field("email_key")).derive(email)


def domain_of(email: str) -> str:
    return email.rpartition("@")[2]


def read_addresses(text: str) -> list[str]:
    """Return the e-mails and domains in the lines of a text, without a domain's @. Raise FieldError for a line that is neither."""
    found: dict[str, str] = {}
    for address in filter(None, re.split(r"[\s,;]+", text)):
        if len(address) > 255 or not _ADDRESS.fullmatch(address):
            message = _("has “{address}”, which is neither an e-mail nor a domain")
            raise FieldError("addresses", message, "address", {"address": address[:80]})
        found.setdefault(AddressKeyField.derive(address), address.removeprefix("@"))
    if len(found) > MAX_ADDRESSES:
        raise FieldError("addresses", _("has more than {most} lines"), "too_many", {"most": MAX_ADDRESSES})
    return list(found.values())


# Segments


@dataclass(frozen=True)
class SegmentSource:
    """How forums read the segments of clients. The forum has no clients: the room that has them registers a source."""

    # Returns the ids and the names of the segments that a forum can have.
    choices: Callable[[Account], Sequence[tuple[int, str]]]
    # Returns the conditions that a client or a contact in a segment has the e-mail (an expression for an `email_key`), by the ids of the
    # segments. It takes a fixed number of statements. Segments that are gone, or whose filters are gone, are left out.
    conditions: Callable[[Account, Collection[int], Combinable], dict[int, Q]]


_sources: list[SegmentSource] = []


def register_segment_source(source: SegmentSource) -> None:
    """Register the source of segments. Call this in a module `registration`."""
    _sources[:] = [source]


def segment_source() -> SegmentSource:
    [source] = _sources
    return source


# The rule


@dataclass(frozen=True)
class Person:
    """A user, or a person who may become one. The values are those of one person, or expressions for the users of a statement."""

    account_id: int
    id: int | Combinable | None
    email_key: str | Combinable | None
    domain: object

    @classmethod
    def outer(cls, account_id: int) -> "Person":
        """Return the users of an outer query."""
        domain = Func(OuterRef("email_key"), Value("@"), Value(-1), function="split_part")
        return cls(account_id, OuterRef("id"), OuterRef("email_key"), domain)

    def membership(self, forum_id: object) -> Exists:
        """Return the condition that the team invited or added the person to a forum."""
        rows = account_of(self.account_id).forum_members.confirmed()
        return Exists(rows.filter(forum_id=forum_id, user_id=self.id))

    def listing(self, forum_id: object) -> Exists:
        """Return the condition that the person is on the list of a forum."""
        rows = account_of(self.account_id).forum_addresses.filter(forum_id=forum_id)
        return Exists(rows.filter(Q(address_key=self.email_key) | Q(address_key=self.domain)))

    def segments(self, account: Account, ids: Collection[int]) -> dict[int, Q]:
        """Return the conditions that the person is in a segment, by the ids of the segments."""
        email = self.email_key if isinstance(self.email_key, Combinable) else Value(self.email_key)
        return segment_source().conditions(account, ids, email) if ids else {}


@prepared(account_id=int, forum_id=int, user_id=int, email_key=str, domain=str)
def _access_of_person(
    account_id: int, forum_id: int, user_id: int, email_key: str, domain: str
) -> models.QuerySet[Any]:
    person = Person(account_id, user_id, email_key, domain)
    conditions = {"is_member": person.membership(forum_id), "is_listed": person.listing(forum_id)}
    forums = Account(id=account_id).forums.filter(id=forum_id).annotate(**conditions)
    return forums.values_list("access", "segment_id", *conditions)


@dataclass(frozen=True)
class ForumRights:
    """Whether a person may read a forum, and whether they may suggest, vote and comment there."""

    may_read: bool = False
    may_write: bool = False


def find_rights(account: Account, forum_id: int, *, user_id: int, email_key: str) -> ForumRights:
    """Return the rights of a person who is not on the team. `user_id` is 0 for a person who is not a user.

    It takes one statement, and in a forum for a segment a fixed number of further ones.
    """
    domain = domain_of(email_key)
    row = _access_of_person.first(
        account_id=account.id, forum_id=forum_id, user_id=user_id, email_key=email_key, domain=domain
    )
    if row is None:
        return ForumRights()
    access, segment_id, is_member, is_listed = row
    if access == ForumAccess.PUBLIC:
        return ForumRights(may_read=True, may_write=True)
    belongs = is_member or (access == ForumAccess.LIST and is_listed)
    if not belongs and access == ForumAccess.SEGMENT and segment_id is not None:
        conditions = Person(account.id, user_id, email_key, domain).segments(account, [segment_id])
        belongs = segment_id in conditions and Account.objects.filter(conditions[segment_id], id=account.id).exists()
    return ForumRights(may_read=belongs or access in READABLE, may_write=belongs)


def belongs_to(user: User) -> Q:
    """Return the condition of the forums that a member of the account belongs to, besides those that are open to everyone.

    It takes one statement, and a fixed number of further ones if the account has forums for segments.
    """
    account = user.account
    person = Person(account.id, user.id, user.email_key, domain_of(user.email_key))
    belongs = Q(person.membership(OuterRef("id")))
    belongs |= Q(access=ForumAccess.LIST) & Q(person.listing(OuterRef("id")))
    segment_ids = account.forums.filter(access=ForumAccess.SEGMENT).values_list("segment_id", flat=True)
    conditions = person.segments(account, [id for id in segment_ids if id is not None])
    for id, condition in conditions.items():
        belongs |= Q(access=ForumAccess.SEGMENT, segment_id=id) & condition
    return belongs


# A member of whom everyone sees this number of posts and comments may publish links without an approval.
TRUSTED_TEXTS = 3


def count_public_texts(author: User, *, not_post: int = 0, not_comment: int = 0, before: datetime | None = None) -> int:
    """Return the number of posts and comments of an author that everyone sees, each counted up to `TRUSTED_TEXTS`.

    A post and a comment can be left out by their ids, and the texts that were written later than `before`.
    """
    account = Account(id=author.account_id)
    open_posts = account.posts.open()
    posts = open_posts.filter(user_id=author.id).exclude(id=not_post).order_by()
    comments = account.comments.public().filter(Exists(open_posts.filter(id=OuterRef("post_id"))), user_id=author.id)
    texts = [posts, comments.exclude(id=not_comment)]
    if before is not None:
        texts = [rows.filter(created_at__lte=before) for rows in texts]
    counted = [rows.values("account_id")[:TRUSTED_TEXTS] for rows in texts]
    return int(counted[0].union(counted[1], all=True).count())
