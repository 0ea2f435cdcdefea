"""The queue of the rows on which the figures of suggestions depend (`team.backers.models`).

Derivations (`core.db.derived`) add the rows that are written. Changes of an outcome or of the currency of the account add the whole account.
The forum queues the suggestions of votes (`forum.votes.models.VoteChange`), because a vote must release the row of its post before another
statement.
"""

from collections.abc import Collection, Iterable, Sequence
from datetime import timedelta
from typing import Any

from django.db.models import Model, QuerySet, Value
from django.db.models.functions import Now

from core.db.derived import Act, AnyDerivation, Derivation, Key, add_keys, insert_with, register
from core.db.prepared import prepared
from crm.clients.models import Client
from crm.contacts.models import Contact
from crm.deals.models import Deal
from crm.user_links.models import UserLink
from forum.posts.models import Post
from team.backers.models import RevenueChange

# The second run of a link finds the votes of transactions that did not see the link.
SECOND_RUN_AFTER = timedelta(minutes=2)

# A suggestion is queued if it has clients, or if its author is linked to one.
NEW_POST = """, queued AS (
    INSERT INTO team_revenuechange (account_id, kind, row_id)
    SELECT row.account_id, 'post', affected.id FROM row CROSS JOIN LATERAL (VALUES (row.id), (row.duplicate_from_id)) AS affected (id)
    WHERE row.category_id IS NOT NULL AND affected.id IS NOT NULL AND (
        num_nonnulls(row.client_id, row.contact_id, row.duplicate_from_id) > 0 OR EXISTS (
            SELECT FROM crm_userlink WHERE account_id = row.account_id AND user_id = row.user_id AND state = 'confirmed'
        )
    )
) """


def queue(account_id: int, keys: list[Key]) -> None:
    rows = [RevenueChange(account_id=account_id, kind=kind, row_id=id) for kind, id in keys]
    second = [(kind, id) for kind, id in keys if kind == RevenueChange.Kind.USER]
    due_at = Now() + Value(SECOND_RUN_AFTER)
    rows += [RevenueChange(account_id=account_id, kind=kind, row_id=id, due_at=due_at) for kind, id in second]
    RevenueChange.objects.bulk_create(rows, batch_size=1000)


def queue_all(account_id: int) -> None:
    """Queue all suggestions with clients, after a change of an outcome or of the currency of the account."""
    add_keys(account_id, queue, [(RevenueChange.Kind.ACCOUNT, account_id)])


def queue_rows(model: type[Model], kind: str, column: str, columns: Collection[str], **options: Any) -> AnyDerivation:
    """Return the derivation that queues the ids in a column of the rows."""

    def keys_of(account_id: int, ids: Sequence[int], _act: Act) -> Iterable[Key]:
        rows = model._default_manager.filter(account_id=account_id, id__in=list(ids))
        return ((kind, id) for id in rows.order_by().values_list(column, flat=True).distinct() if id is not None)

    def keys_of_row(row: object) -> Iterable[Key]:
        id = getattr(row, column)
        return [] if id is None else [(kind, id)]

    return Derivation(
        model=model,
        columns=frozenset(columns),
        keys_of=keys_of,
        keys_of_row=keys_of_row,
        key_columns=frozenset({column}),
        update=queue,
        **options,
    )


@prepared(account_id=int, ids=list)
def suggestions_of(account_id: int, ids: Sequence[int]) -> QuerySet[Model, object]:
    """Return the ids of suggestions among these posts, and of those into which they are merged."""
    posts = Post.objects.filter(account_id=account_id, id__any=ids, category_id__isnull=False)
    return posts.values_list("id", "duplicate_from_id")


def keys_of_posts(account_id: int, ids: Sequence[int], act: Act) -> Iterable[Key]:
    rows = suggestions_of(account_id=account_id, ids=ids)
    # The figures of a deleted suggestion are deleted with it.
    return keys_of_suggestions(row[1:] if act == "delete" else row for row in rows)


def keys_of_suggestions(rows: Iterable[Sequence[int | None]]) -> Iterable[Key]:
    return ((RevenueChange.Kind.POST, id) for row in rows for id in row if id is not None)


def is_confirmed(link: UserLink) -> bool:
    return link.state == UserLink.State.CONFIRMED


def register_revenue_changes() -> None:
    insert_with(Post, NEW_POST)
    register(
        Derivation(
            model=Post,
            columns=frozenset({"client_id", "contact_id", "user_id", "duplicate_from_id", "trashed_at", "forum_id"}),
            keys_of=keys_of_posts,
            keys_of_row=lambda post: (
                [] if post.category_id is None else keys_of_suggestions([(post.id, post.duplicate_from_id)])
            ),
            key_columns=frozenset({"duplicate_from_id"}),
            update=queue,
            concerns_new=lambda _row: False,
        ),
        queue_rows(Client, "client", "id", {"trashed_at"}, concerns_new=lambda _row: False),
        queue_rows(Contact, "contact", "id", {"client_id", "trashed_at"}, concerns_new=lambda _row: False),
        queue_rows(Deal, "client", "client_id", {"client_id", "status_id", "currency", "price", "trashed_at"}),
        queue_rows(UserLink, "user", "user_id", {"state", "client_id", "contact_id"}, concerns_new=is_confirmed),
    )
