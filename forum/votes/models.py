"""Votes of users, and proxy votes, which the team casts for clients and contacts. A post's `votes_cache` counts both.

Triggers update the count, and the weight of the votes (`forum.posts.sort_keys`), for each write of votes.

When a post is merged, its votes are copied to the original. A voter who has a vote for the original gets no copy. The `from_post_id` of
a copy is the id of the merged post.
"""

from collections.abc import Collection
from typing import Any, ClassVar, Self, cast

from django.core.exceptions import PermissionDenied
from django.db import connection, models, transaction
from django.db.models import Exists, F, Func, OuterRef, Q, Subquery, Value
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from psycopg.types.numeric import Int8

from accounts.account.models import Account
from accounts.audit.origin import current_origin
from accounts.users.models import User
from core.changes.events import insert_events, record_event
from core.db.derived import DerivingQuerySet
from core.db.prepared import prepared
from core.db.tenancy import TenantModel, foreign_object
from core.errors import FieldError
from core.registry import registry
from core.rows.access import Access
from core.rows.trash import Trashable, TrashableQuerySet, limit
from forum.lists.locking import LockablePost

# For readers outside the team, names of voters are searched in at most this number of votes of a post.
MAX_SCANNED_VOTES = 1000


class VoteBaseQuerySet(DerivingQuerySet[models.Model]):
    """The base of the querysets of votes and of proxy votes. It copies votes when posts are merged, and undoes that."""

    # Exactly one of these columns of a vote is set. A voter has at most one vote for a post.
    VOTER_COLUMNS: ClassVar[tuple[str, ...]]
    # The columns that a copy has in common with its source.
    COPIED_COLUMNS: ClassVar[tuple[str, ...]]

    def copy(self, account_id: int, *, from_id: int, to_id: int) -> None:
        """Copy the votes of one post to another, except those of voters who have a vote there."""
        table = self.model._meta.db_table
        columns = ", ".join(self.COPIED_COLUMNS)
        with connection.cursor() as cursor:
            cursor.execute(
                f"""
                INSERT INTO {table} (account_id, post_id, from_post_id, {columns})
                SELECT account_id, %s, post_id, {columns} FROM {table} WHERE account_id = %s AND post_id = %s
                ON CONFLICT DO NOTHING
                """,  # noqa: S608
                [to_id, account_id, from_id],
            )

    def undo_copy(self, account_id: int, *, from_id: int, to_id: int, other_ids: list[int]) -> None:
        """Undo `copy`.

        `other_ids` are the ids of other posts that are merged into the same original. If a voter also has a vote for one of those
        posts, the copy is kept, as a copy of that vote.
        """
        copies = self.filter(account_id=account_id, post_id=to_id, from_post_id=from_id)
        if other_ids:
            same_voter = Q(*((column, OuterRef(column)) for column in self.VOTER_COLUMNS), _connector=Q.OR)
            others = self.model._default_manager.filter(same_voter, account_id=account_id, post_id__in=other_ids)
            others = others.order_by("post_id")
            copies.filter(Exists(others)).update(
                from_post_id=Subquery(others.values("post_id")[:1]),
                created_at=Subquery(others.values("created_at")[:1]),
            )
        copies.delete()


def from_post_index(name: str) -> models.Index:
    """Return the index of copied rows by the merged post. Undoing a merge and erasing the merged post use it."""
    return models.Index(fields=["account", "from_post_id"], name=name, condition=Q(from_post_id__isnull=False))


class VoteQuerySet(VoteBaseQuerySet):
    VOTER_COLUMNS = ("user_id",)
    COPIED_COLUMNS = ("user_id", "created_at")

    def voted_post_ids(self, user: User, post_ids: Collection[int]) -> set[int]:
        """Return those of the ids whose posts the user has voted for."""
        if not post_ids:
            return set()
        return set(_voted_post_ids(account_id=user.account_id, user_id=user.id, post_ids=post_ids))

    def voter_names(self, account_id: int, post_id: int, *, limit: int, reader: User | None) -> list[Any]:
        """Return the names of voters of a post that the reader may see, ordered by user id. For the team, return tuples of name and id.

        The team sees the names of all voters. Others see only the names of users who show their votes and are not blocked, and only
        among the first `MAX_SCANNED_VOTES` votes.
        """
        read = _voter_names if reader is not None and reader.is_team else _shown_voter_names
        return list(read(account_id=account_id, post_id=post_id, limit=limit))


@prepared(account_id=int, user_id=int, post_ids=list)
def _voted_post_ids(account_id: int, user_id: int, post_ids: list[int]) -> models.QuerySet[models.Model]:
    votes = Vote.objects.filter(account_id=account_id, user_id=user_id, post_id__any=post_ids)
    return votes.values_list("post_id", flat=True)


@prepared(account_id=int, post_id=int)
def _voter_names(account_id: int, post_id: int, limit: int) -> models.QuerySet[models.Model]:
    votes = Vote.objects.filter(account_id=account_id, post_id=post_id)
    return votes.order_by("user_id").values_list("user__name", "user_id")[:limit]


@prepared(account_id=int, post_id=int)
def _shown_voter_names(account_id: int, post_id: int, limit: int) -> models.QuerySet[models.Model]:
    votes = Vote.objects.filter(account_id=account_id, post_id=post_id).order_by("user_id")
    users = User.objects.filter(
        account_id=account_id, shows_votes=True, blocked_at=None, id__in=votes.values("user_id")[:MAX_SCANNED_VOTES]
    )
    return users.order_by("id").values_list("name", flat=True)[:limit]


class Vote(models.Model):
    pk = models.CompositePrimaryKey("account_id", "post_id", "user_id")
    account = models.ForeignKey(Account, models.CASCADE, related_name="votes", db_index=False)
    post_id = models.BigIntegerField()
    post = foreign_object("forum.Post", "post_id", related_name="votes")
    user_id = models.BigIntegerField()
    user = foreign_object(User, "user_id")
    from_post_id = models.BigIntegerField(null=True, editable=False)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    objects = VoteQuerySet.as_manager()

    class Meta:
        indexes = [
            # The posts that a user has voted for, by the time of the vote.
            models.Index(fields=["account", "user_id", "created_at", "post_id"], name="vote_of_user"),
            from_post_index("vote_from_post"),
        ]


class ProxyVoteQuerySet(VoteBaseQuerySet):
    VOTER_COLUMNS = ("client_id", "contact_id")
    COPIED_COLUMNS = (*VOTER_COLUMNS, "user_id", "created_at")

    def with_names(self) -> Self:
        """Annotate each vote with the names of its client or contact, and of the user who cast it."""
        return self.annotate(client_name=F("client__name"), contact_name=F("contact__name"), nick=F("user__name"))

    def of_post(self, post_id: int) -> Self:
        return self.filter(post_id=post_id).order_by("id")

    def accessible_to(self, user: User) -> Self:
        """Return the votes of the clients and contacts that the user may access."""
        return self.limited_to(user.access)

    def limited_to(self, access: Access) -> Self:
        """Return the votes of the clients and contacts of the access."""
        if not access.is_limited:
            return self
        return self.filter(access.condition("client__responsible_id") | access.condition("contact__responsible_id"))


class ProxyVote(TenantModel):
    """A vote of a client or a contact, which a user cast for them."""

    post_id = models.BigIntegerField()
    client_id = models.BigIntegerField(null=True)
    client = foreign_object("crm.Client", "client_id", null=True)
    contact_id = models.BigIntegerField(null=True)
    contact = foreign_object("crm.Contact", "contact_id", null=True)
    user_id = models.BigIntegerField()
    user = foreign_object(User, "user_id")
    from_post_id = models.BigIntegerField(null=True, editable=False)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    objects = ProxyVoteQuerySet.as_manager()

    class Meta:
        default_related_name = "proxy_votes"
        constraints = [
            models.CheckConstraint(
                condition=Q(client_id=None, contact_id__isnull=False) | Q(client_id__isnull=False, contact_id=None),
                name="proxyvote_of_client_or_contact",
            ),
            *(
                models.UniqueConstraint(fields=["account", "post_id", f"{voter}_id"], name=f"proxyvote_{voter}_unique")
                for voter in ("client", "contact")
            ),
        ]
        indexes = [
            # The votes of a client or contact. The foreign keys use these indexes when a client or contact is erased.
            *(
                models.Index(
                    fields=["account", f"{voter}_id"],
                    name=f"proxyvote_of_{voter}",
                    condition=Q(**{f"{voter}_id__isnull": False}),
                )
                for voter in ("client", "contact")
            ),
            from_post_index("proxyvote_from_post"),
        ]

    def __str__(self) -> str:
        return f"{self.client_id or self.contact_id} for {self.post_id}"


class VoteChange(models.Model):
    """A post whose votes changed: a queue for an upper room that derives values from votes, and deletes the rows that it has read.

    The trigger that counts votes writes it, in the statement that changes the votes.
    """

    pk = models.CompositePrimaryKey("account_id", "number")
    account = models.ForeignKey(Account, models.CASCADE, db_index=False, db_constraint=False)
    number = models.BigIntegerField(
        db_default=Func(Value("forum_votechange_numbers"), function="nextval"), editable=False
    )
    post_id = models.BigIntegerField()
    # The user who voted, or null for proxy votes.
    user_id = models.BigIntegerField(null=True)

    class Meta:
        default_related_name = "vote_changes"

    def __str__(self) -> str:
        return f"votes for post {self.post_id}"


# The CTE of `Post.lock_and_insert` for a new vote. Its trigger counts the vote.
CREATED = insert_events("""
    SELECT account_id, 'vote', post_id, 'created', %s::bigint,
        jsonb_build_object('before', NULL, 'after', NULL, 'user_id', user_id)
    FROM voted
""")
INSERT_VOTE = f"""
voted AS (
    INSERT INTO forum_vote (account_id, post_id, user_id, created_at) SELECT account_id, id, %s, %s FROM post
    ON CONFLICT DO NOTHING RETURNING account_id, post_id, user_id
),
event AS ({CREATED}),
inserted AS (SELECT true FROM voted)
"""  # noqa: S608


class Votable(LockablePost):
    """The methods of `Post` for its votes."""

    class Meta:
        abstract = True

    def vote_for(self, voter: User, *, by: User) -> bool:
        """Cast the vote of another user, as `vote` does. Raise FieldError if that user may not vote, and PermissionDenied for a member."""
        if not by.is_team:
            raise PermissionDenied
        forum = None if self.forum_id is None else self.account.forums.get(id=self.forum_id)
        voter.account = self.account
        if not (voter.is_team or (forum is not None and forum.may_be_joined_by(voter))):
            raise FieldError("user_id", _("may not take part in this forum"), "member")
        return self.vote(by=voter, actor=by)

    def vote(self, *, by: User, actor: User | None = None) -> bool:
        """Cast the vote of a user, and return whether it is new. `actor` is another user who casts it for them.

        Raise FieldError if the post is merged into another, and ConcurrentUpdate if it changed meanwhile.
        """
        is_new = self.lock_and_insert(INSERT_VOTE, [Int8(by.id), timezone.now(), Int8((actor or by).id)]) is not None
        # A trigger has updated the count in the database.
        self.votes_cache += is_new
        return bool(is_new)

    @transaction.atomic(savepoint=False)
    def withdraw_vote(self, *, by: User, voter: User | None = None) -> bool:
        """Withdraw the vote of a user, or for the team that of another one, and return whether it existed.

        Raise FieldError if the post is merged into another.
        """
        voter = voter or by
        if voter.id != by.id and not by.is_team:
            raise PermissionDenied
        self.lock()
        self.check_not_merged()
        withdrawn, _by_model = self.account.votes.filter(post_id=self.id, user_id=voter.id).delete()
        self.votes_cache -= withdrawn
        if withdrawn:
            record_event(self, "vote.deleted", actor=by, ids={"user_id": voter.id})
        return bool(withdrawn)

    @transaction.atomic(savepoint=False)
    def cast_proxy_vote(self, *, by: User, client_id: int | None = None, contact_id: int | None = None) -> bool:
        """Cast the vote of a client or of a contact, and return whether it is new.

        Raise FieldError if the account has no such client or contact, or if the post is merged into another.
        """
        self.lock()
        self.check_not_merged()
        voter = self._voter(client_id, contact_id)
        for customer in registry.customers():
            link = f"{customer.key}_id"
            rows = cast(TrashableQuerySet[Trashable], customer.rows_of(self.account))
            if link in voter and not limit(rows.live(), by.access).filter(id=voter[link]).exists():
                raise FieldError(link, _("can't be found"), "gone")
        _row, is_new = self.account.proxy_votes.get_or_create(post_id=self.id, **voter, defaults={"user_id": by.id})
        self.votes_cache += is_new
        if is_new:
            record_event(self, "vote.created", actor=by, ids=voter)
        return bool(is_new)

    @transaction.atomic(savepoint=False)
    def withdraw_proxy_vote(self, *, client_id: int | None = None, contact_id: int | None = None) -> bool:
        """Withdraw the vote of a client or contact, and return whether it existed. Raise FieldError if the post is merged into another."""
        self.lock()
        self.check_not_merged()
        voter = self._voter(client_id, contact_id)
        withdrawn, _by_model = self.account.proxy_votes.filter(post_id=self.id, **voter).delete()
        self.votes_cache -= withdrawn
        if withdrawn:
            record_event(self, "vote.deleted", actor=current_origin().user, ids=voter)
        return bool(withdrawn)

    @staticmethod
    def _voter(client_id: int | None, contact_id: int | None) -> dict[str, int]:
        """Return the id that is not None, by its column. Raise FieldError if both ids are None, or if none is."""
        ids = {"client_id": client_id, "contact_id": contact_id}
        voter = {link: id for link, id in ids.items() if id is not None}
        if len(voter) != 1:
            raise FieldError("client_id", _("must be given, or else a contact_id"))
        return voter
