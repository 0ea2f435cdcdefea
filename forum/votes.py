"""Votes: of users, and of clients and contacts, for whom the team votes. A post's `votes_cache` counts them all.

Those of a post that is merged are copied to the original, for voters that have none there: `from_post_id` is where they are from.
"""

from typing import Self

from django.db import connection, migrations, models
from django.db.models import Exists, F, OuterRef, Q, Subquery
from django.utils import timezone

from accounts.models import Account, User
from core.db.prepared import prepared
from core.db.tenancy import TenantModel


class CastQuerySet(models.QuerySet):
    """Votes of one account."""

    def copy(self, account_id: int, *, of: int, to: int) -> int:
        """Copy the votes of one post to another, for voters that have none there; returns how many."""
        meta = self.model._meta
        same = ", ".join(self.model.COPIED)
        with connection.cursor() as cursor:
            cursor.execute(
                f"""
                INSERT INTO {meta.db_table} (account_id, post_id, from_post_id, {same})
                SELECT account_id, %s, post_id, {same} FROM {meta.db_table} WHERE account_id = %s AND post_id = %s
                ON CONFLICT DO NOTHING
                """,  # noqa: S608
                [to, account_id, of],
            )
            return cursor.rowcount

    def reattach(self, account_id: int, *, of: int, to: int, others: list[int]) -> int:
        """Undo `copy`; returns how many are gone. A voter of `others`, which are merged too, keeps the vote from there."""
        copies = self.filter(account_id=account_id, post_id=to, from_post_id=of)
        if others:
            same = Q()
            for voter in self.model.VOTERS:
                same |= Q(**{voter: OuterRef(voter)})
            elsewhere = self.model.objects.filter(same, account_id=account_id, post_id__in=others).order_by("post_id")
            copies.filter(Exists(elsewhere)).update(
                from_post_id=Subquery(elsewhere.values("post_id")[:1]),
                created_at=Subquery(elsewhere.values("created_at")[:1]),
            )
        return copies.delete()[0]


def from_post_index(name: str) -> models.Index:
    """What came with a merged post, to be taken back; also for when that is erased."""
    return models.Index(fields=["account", "from_post_id"], name=name, condition=Q(from_post_id__isnull=False))


class VoteQuerySet(CastQuerySet):
    def of(self, user: User, post_ids: list[int]) -> set[int]:
        """Those of the posts that the user has voted for."""
        return set(_voted(account_id=user.account_id, user_id=user.id, post_ids=post_ids)) if post_ids else set()

    def voters(self, account_id: int, post_id: int, *, most: int) -> list[tuple[int, str]]:
        """Ids and names of the first voters of a post, in the order in which they joined; `votes_cache` says how many there are."""
        return _voters(account_id=account_id, post_id=post_id, most=most)


@prepared(account_id=int, user_id=int, post_ids=list)
def _voted(account_id, user_id, post_ids):
    votes = Vote.objects.filter(account_id=account_id, user_id=user_id, post_id__any=post_ids)
    return votes.values_list("post_id", flat=True)


@prepared(account_id=int, post_id=int)
def _voters(account_id, post_id, most):
    votes = Vote.objects.filter(account_id=account_id, post_id=post_id)
    return votes.order_by("user_id").values_list("user_id", "user__name")[:most]


class Vote(models.Model):
    VOTERS, COPIED = ("user_id",), ("user_id", "created_at")

    pk = models.CompositePrimaryKey("account_id", "post_id", "user_id")
    account = models.ForeignKey(Account, models.CASCADE, related_name="votes", db_index=False)
    post_id = models.BigIntegerField()
    post = models.ForeignObject(
        "forum.Post",
        models.DO_NOTHING,
        from_fields=["account_id", "post_id"],
        to_fields=["account_id", "id"],
        related_name="cast",
    )
    user_id = models.BigIntegerField()
    user = models.ForeignObject(
        User, models.DO_NOTHING, from_fields=["account_id", "user_id"], to_fields=["account_id", "id"], related_name="+"
    )
    from_post_id = models.BigIntegerField(null=True, editable=False)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    objects = VoteQuerySet.as_manager()

    class Meta:
        indexes = [
            # The posts that a user has voted for, the last first.
            models.Index(fields=["account", "user_id", "created_at", "post_id"], name="vote_of_user"),
            from_post_index("vote_from_post"),
        ]


class ProxyVoteQuerySet(CastQuerySet):
    def with_names(self) -> Self:
        """With the name of who it is for, and of who cast it."""
        return self.annotate(client_name=F("client__name"), contact_name=F("contact__name"), nick=F("user__name"))

    def of_post(self, post_id: int) -> Self:
        return self.filter(post_id=post_id).order_by("id")


class ProxyVote(TenantModel):
    """A vote of a client or a contact, which a user cast for them. The database counts it (`count_proxy_votes`)."""

    VOTERS = ("client_id", "contact_id")
    COPIED = (*VOTERS, "user_id", "created_at")

    post_id = models.BigIntegerField()
    client_id = models.BigIntegerField(null=True)
    client = models.ForeignObject(
        "crm.Client",
        models.DO_NOTHING,
        from_fields=["account_id", "client_id"],
        to_fields=["account_id", "id"],
        related_name="+",
        null=True,
    )
    contact_id = models.BigIntegerField(null=True)
    contact = models.ForeignObject(
        "crm.Contact",
        models.DO_NOTHING,
        from_fields=["account_id", "contact_id"],
        to_fields=["account_id", "id"],
        related_name="+",
        null=True,
    )
    user_id = models.BigIntegerField()
    user = models.ForeignObject(
        User, models.DO_NOTHING, from_fields=["account_id", "user_id"], to_fields=["account_id", "id"], related_name="+"
    )
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
            # What a client or a contact has voted for; also for when these are erased.
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


# Migrations

# A client is erased by housekeeping and its votes with it, by a foreign key; so the database counts. Posts are held in the order
# of their ids, as by whoever else holds several.
COUNT_PROXY_VOTES = """
CREATE FUNCTION count_proxy_votes() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM FROM forum_post WHERE (account_id, id) IN (SELECT account_id, post_id FROM changed)
    ORDER BY account_id, id FOR NO KEY UPDATE;
    UPDATE forum_post SET votes_cache = votes_cache + TG_ARGV[0]::integer * counted.number
    FROM (SELECT account_id, post_id, count(*) AS number FROM changed GROUP BY account_id, post_id) AS counted
    WHERE forum_post.account_id = counted.account_id AND forum_post.id = counted.post_id;
    RETURN NULL;
END $$;
CREATE TRIGGER count_cast AFTER INSERT ON forum_proxyvote REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION count_proxy_votes('1');
CREATE TRIGGER count_withdrawn AFTER DELETE ON forum_proxyvote REFERENCING OLD TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION count_proxy_votes('-1');
"""

COUNT_NO_PROXY_VOTES = """
DROP TRIGGER count_withdrawn ON forum_proxyvote;
DROP TRIGGER count_cast ON forum_proxyvote;
DROP FUNCTION count_proxy_votes();
"""


def count_proxy_votes() -> migrations.RunSQL:
    return migrations.RunSQL(COUNT_PROXY_VOTES, COUNT_NO_PROXY_VOTES)
