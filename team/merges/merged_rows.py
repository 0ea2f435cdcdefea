"""The rows that a merge moves from the merged client or contact to the kept one, and that its undo moves back.

Each function takes a fixed number of statements, however many rows there are.
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Protocol

from django.db import connection, models
from django.db.backends.utils import CursorWrapper
from django.utils.translation import gettext_lazy as _

from accounts.account.models import Account
from accounts.attachments.models import Attachment
from core.db.derived import add_keys, writing
from core.errors import FieldError
from crm.clients.models import Client
from crm.contacts.models import Contact, ContactListCount, ContactListMembership
from crm.deals.models import Deal
from crm.notes.models import Note
from crm.resources.models import ExternallyIdentified
from crm.user_links.models import UserLink
from forum.posts.models import Post
from forum.votes.models import ProxyVote
from team.timeline.mirrored_entries import write_entries
from team.timeline.models import TimelineEntry

# The maximum number of rows that a merge moves. What depends on each of them is computed within one transaction.
MAX_MOVED_ROWS = 20_000


@dataclass(frozen=True)
class Link:
    """A column with the id of a client or contact. A merge updates it."""

    model: type[models.Model]
    column: str
    # The column that identifies a row in an account.
    id: str = "id"
    # The column with which the link is unique. A row stays linked to the merged row if the kept row has one with the same value.
    unique_with: str = ""
    # The SQL condition of the rows that a merge updates.
    condition: str = "true"

    @property
    def name(self) -> str:
        """The name in `MergedRow.link`."""
        return f"{self.model._meta.model_name}.{self.column}"

    @property
    def table(self) -> str:
        return self.model._meta.db_table

    @property
    def is_free(self) -> str:
        """The SQL condition of the rows that can be linked to the kept row."""
        if not self.unique_with:
            return "true"
        return f"""NOT EXISTS (
            SELECT FROM {self.table} AS own WHERE own.account_id = linked.account_id AND own.{self.column} = %(kept)s
                AND own.{self.unique_with} = linked.{self.unique_with}
        )"""


VOTES = {resource: Link(ProxyVote, f"{resource}_id") for resource in ("client", "contact")}
LINKS: dict[str, tuple[Link, ...]] = {
    resource: (
        *(Link(model, f"{resource}_id") for model in (other, Deal, Note, Post)),
        Link(UserLink, f"{resource}_id", unique_with="user_id"),
        VOTES[resource],
        Link(Attachment, "row_id", condition=f"resource = '{resource}'"),
    )
    for resource, other in (("client", Contact), ("contact", Client))
}
# The logged entries of the timeline about the row itself. Other entries follow the rows that they are about (`team.timeline.mirrored_entries`).
HISTORY = {
    resource: Link(TimelineEntry, f"{resource}_id", id="number", condition=f"resource = '{resource}'")
    for resource in LINKS
}
# The models whose changes are logged.
LOGGED = (Client, Contact, Deal)
# The contact lists that the kept contact was added to. The memberships of the merged contact stay, as for every contact in the trash.
MEMBERSHIP = "contactlistmembership.contact_id"

VOTE_COLUMNS = "account_id, id, post_id, client_id, contact_id, user_id, from_post_id, created_at"


class MergeIds(Protocol):
    """The attributes of a `Merge` that the functions use."""

    account_id: int
    id: int

    @property
    def resource(self) -> str: ...

    @property
    def kept_id(self) -> int: ...

    @property
    def merged_id(self) -> int: ...


class MergedRow(models.Model):
    """A row that a merge moved from the merged row to the kept one."""

    pk = models.CompositePrimaryKey("account_id", "merge_id", "link", "row_id")
    account = models.ForeignKey(Account, models.CASCADE, related_name="+", db_index=False)
    merge_id = models.BigIntegerField()
    # The table and the column, as `Link.name`; or `MEMBERSHIP`.
    link = models.CharField(max_length=255)
    # The id of the row, or of the contact list. The row may have been erased since.
    row_id = models.BigIntegerField()
    # The values of a vote that was deleted because both rows had voted for the post.
    deleted = models.JSONField(null=True)


def check_number(account: Account, resource: str, merged: ExternallyIdentified) -> None:
    """Raise FieldError if more than `MAX_MOVED_ROWS` rows are linked to the row."""
    limit = MAX_MOVED_ROWS + 1
    parts = " UNION ALL ".join(
        f"(SELECT FROM {link.table} WHERE account_id = %(account)s AND {link.column} = %(id)s LIMIT {limit})"
        for link in LINKS[resource]
    )
    with connection.cursor() as cursor:
        sql = f"SELECT count(*) FROM ({parts}) AS linked"  # noqa: S608
        cursor.execute(sql, {"account": account.id, "id": merged.id})
        [number] = cursor.fetchone()
    if number > MAX_MOVED_ROWS:
        message = _("has too many linked rows to be merged (maximum is {most}): merge the other way round")
        raise FieldError(f"merged_{resource}_id", message, "too_many", {"most": MAX_MOVED_ROWS})


def parameters_of(merge: MergeIds) -> dict[str, int | str | list[int] | None]:
    return {"account": merge.account_id, "merge": merge.id, "kept": merge.kept_id, "merged": merge.merged_id}


@contextmanager
def deriving(merge: MergeIds, from_id: int) -> Iterator[None]:
    """Compute again what depends on both rows, and on the rows that link to `from_id`, one of them. Log the change of these links."""
    ids = [merge.kept_id, merge.merged_id]
    with (
        writing(Client if merge.resource == "client" else Contact, merge.account_id, ids, act="delete"),
        ExitStack() as stack,
    ):
        for link in LINKS[merge.resource]:
            if link.model in LOGGED:
                rows = link.model._default_manager.filter(**{"account_id": merge.account_id, link.column: from_id})
                linked = list(rows.order_by("id").values_list("id", flat=True))
                stack.enter_context(writing(link.model, merge.account_id, linked, {link.column}))
        yield


def move_rows(merge: MergeIds) -> None:
    """Link the rows of the merged row to the kept row, and record them."""
    votes = VOTES[merge.resource]
    parameters = parameters_of(merge) | {"votes": votes.name}
    with deriving(merge, merge.merged_id), connection.cursor() as cursor:
        # Of two votes for one post, keep the one that is not a copy: undoing the merge of the posts deletes copies.
        cursor.execute(
            f"""
            WITH pair AS (
                SELECT CASE WHEN kept.from_post_id IS NOT NULL AND merged.from_post_id IS NULL THEN kept.id
                    ELSE merged.id END AS id
                FROM {votes.table} AS kept JOIN {votes.table} AS merged USING (account_id, post_id)
                WHERE account_id = %(account)s AND kept.{votes.column} = %(kept)s
                    AND merged.{votes.column} = %(merged)s
            ), deleted AS (
                DELETE FROM {votes.table} AS vote USING pair
                WHERE vote.account_id = %(account)s AND vote.id = pair.id RETURNING vote.*
            )
            INSERT INTO team_mergedrow (account_id, merge_id, link, row_id, deleted)
            SELECT %(account)s, %(merge)s, %(votes)s, id, to_jsonb(deleted) FROM deleted
            """,  # noqa: S608
            parameters,
        )
        for link in (*LINKS[merge.resource], HISTORY[merge.resource]):
            cursor.execute(
                f"""
                WITH moved AS (
                    UPDATE {link.table} AS linked SET {link.column} = %(kept)s
                    WHERE account_id = %(account)s AND {link.column} = %(merged)s AND {link.condition} AND {link.is_free}
                    RETURNING {link.id}
                )
                INSERT INTO team_mergedrow (account_id, merge_id, link, row_id)
                SELECT %(account)s, %(merge)s, %(link)s, {link.id} FROM moved
                """,  # noqa: S608
                parameters | {"link": link.name},
            )


def add_to_lists(merge: MergeIds) -> None:
    """Add the kept contact to the contact lists of the merged one."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            WITH added AS (
                INSERT INTO crm_contactlistmembership (account_id, contact_id, contact_list_id)
                SELECT account_id, %(kept)s, contact_list_id FROM crm_contactlistmembership
                WHERE account_id = %(account)s AND contact_id = %(merged)s
                ON CONFLICT DO NOTHING RETURNING contact_list_id
            )
            INSERT INTO team_mergedrow (account_id, merge_id, link, row_id)
            SELECT %(account)s, %(merge)s, %(link)s, contact_list_id FROM added RETURNING row_id
            """,
            parameters_of(merge) | {"link": MEMBERSHIP},
        )
        list_ids = [list_id for (list_id,) in cursor.fetchall()]
    ContactListCount.change(merge.account_id, dict.fromkeys(list_ids, 1))


def move_back(merge: MergeIds, others: Sequence[MergeIds]) -> None:
    """Link the rows that are still linked to the kept row to the merged row again."""
    votes, other_ids = VOTES[merge.resource], [other.id for other in others]
    with deriving(merge, merge.kept_id), connection.cursor() as cursor:
        for link in (*LINKS[merge.resource], HISTORY[merge.resource]):
            # An array, because PostgreSQL has no statistics of the new rows, and might join them in a nested loop.
            returned = "linked.post_id" if link == votes else "NULL"
            cursor.execute(
                f"""
                UPDATE {link.table} AS linked SET {link.column} = %(merged)s
                WHERE account_id = %(account)s AND {link.column} = %(kept)s AND {link.id} = ANY(ARRAY(
                    SELECT row_id FROM team_mergedrow
                    WHERE account_id = %(account)s AND merge_id = %(merge)s AND link = %(link)s AND deleted IS NULL
                ))
                RETURNING {returned}
                """,  # noqa: S608
                parameters_of(merge) | {"link": link.name},
            )
            if link == votes:
                post_ids = [post_id for (post_id,) in cursor.fetchall()]
        insert_votes(merge, cursor, "rows.merge_id = %(merge)s", {"merge": merge.id})
        if post_ids and others:
            # The vote of the kept row for such a post was that of the merged row. Another merged row may have voted for it too.
            inserted = insert_votes(
                merge,
                cursor,
                "rows.merge_id = ANY(%(others)s) AND vote.post_id = ANY(%(posts)s)",
                {"others": other_ids, "posts": post_ids},
                voter_id=merge.kept_id,
            )
            moved = MergedRow.objects.filter(account_id=merge.account_id, merge_id__in=other_ids, link=votes.name)
            moved.filter(row_id__in=inserted).update(deleted=None)
        if post_ids:
            move_copies(merge, cursor, post_ids)


def insert_votes(
    merge: MergeIds,
    cursor: CursorWrapper,
    condition: str,
    parameters: dict[str, int | str | list[int] | None],
    *,
    voter_id: int | None = None,
) -> list[int]:
    """Insert recorded votes again, and return their ids.

    `voter_id` replaces the voter. A vote is left out if its post was erased, or if it was the copy of a vote for a post that is not
    merged any more.
    """
    votes = VOTES[merge.resource]
    columns = ", ".join(f"vote.{name}" for name in VOTE_COLUMNS.split(", "))
    columns = columns.replace(f"vote.{votes.column}", f"coalesce(%(voter)s, vote.{votes.column})")
    cursor.execute(
        f"""
        INSERT INTO {votes.table} ({VOTE_COLUMNS})
        SELECT {columns} FROM team_mergedrow AS rows
        CROSS JOIN LATERAL jsonb_populate_record(
            NULL::{votes.table}, rows.deleted || jsonb_build_object('account_id', rows.account_id)
        ) AS vote
        JOIN forum_post AS post ON post.account_id = vote.account_id AND post.id = vote.post_id
        LEFT JOIN forum_post AS source ON source.account_id = vote.account_id AND source.id = vote.from_post_id
        WHERE rows.account_id = %(account)s AND rows.link = %(link)s AND rows.deleted IS NOT NULL AND {condition}
            AND (vote.from_post_id IS NULL OR source.duplicate_from_id = vote.post_id)
        ORDER BY rows.merge_id, rows.row_id
        ON CONFLICT DO NOTHING RETURNING id
        """,  # noqa: S608
        parameters_of(merge) | {"link": votes.name, "voter": voter_id} | parameters,
    )
    inserted = [id for (id,) in cursor.fetchall()]
    add_keys(merge.account_id, write_entries, [("vote", id) for id in inserted])
    return inserted


def move_copies(merge: MergeIds, cursor: CursorWrapper, post_ids: list[int]) -> None:
    """Give the merged row the copies of its votes, which were made when the posts were merged after this merge."""
    votes = VOTES[merge.resource]
    cursor.execute(
        f"""
        WITH RECURSIVE copies AS (
            SELECT id, post_id FROM {votes.table} AS vote
            WHERE account_id = %(account)s AND {votes.column} = %(kept)s AND from_post_id = ANY(%(posts)s)
                AND NOT EXISTS (
                    SELECT FROM {votes.table} AS own WHERE own.account_id = vote.account_id
                        AND own.{votes.column} = %(kept)s AND own.post_id = vote.from_post_id
                )
            UNION
            SELECT vote.id, vote.post_id FROM copies JOIN {votes.table} AS vote ON vote.from_post_id = copies.post_id
            WHERE vote.account_id = %(account)s AND vote.{votes.column} = %(kept)s
        )
        UPDATE {votes.table} AS vote SET {votes.column} = %(merged)s FROM copies
        WHERE vote.account_id = %(account)s AND vote.id = copies.id AND NOT EXISTS (
            SELECT FROM {votes.table} AS own WHERE own.account_id = %(account)s
                AND own.{votes.column} = %(merged)s AND own.post_id = vote.post_id
        )
        """,  # noqa: S608
        parameters_of(merge) | {"posts": post_ids},
    )


def leave_lists(merge: MergeIds, others: Sequence[MergeIds]) -> None:
    """Take the kept contact off the lists that it got with the merge.

    The merged contact stays only in lists in which the kept contact still is: taking the kept contact off a list was meant for both.
    A list of another merged contact passes to the record of that merge.
    """
    memberships = ContactListMembership.objects.filter(account_id=merge.account_id)
    own = memberships.filter(contact_id=merge.kept_id)
    memberships.filter(contact_id=merge.merged_id).exclude(contact_list_id__in=own.values("contact_list_id")).delete()
    moved = MergedRow.objects.filter(account_id=merge.account_id, merge_id=merge.id, link=MEMBERSHIP)
    still_on = own.filter(contact_list_id__in=moved.values("row_id"))
    added = set(still_on.values_list("contact_list_id", flat=True))
    if added and others:
        merges = {other.merged_id: other for other in others}
        pairs = memberships.filter(contact_id__in=merges, contact_list_id__in=added).order_by("contact_id")
        owners = {list_id: merges[id] for id, list_id in pairs.values_list("contact_id", "contact_list_id")}
        MergedRow.objects.bulk_create(
            MergedRow(account_id=merge.account_id, merge_id=other.id, link=MEMBERSHIP, row_id=list_id)
            for list_id, other in owners.items()
        )
        added -= owners.keys()
    if added:
        own.filter(contact_list_id__in=added).delete()
        ContactListCount.change(merge.account_id, dict.fromkeys(added, -1))
