"""The comparison of the stored values with the rows that they summarize, and their repair."""

from collections.abc import Iterator
from typing import Any

from django.db import connection, transaction

from accounts.models import Account
from core.db import last_changes, locks
from core.db.derived import at_the_end
from crm.models import Client, Contact, Deal
from forum import sort_keys
from workspace.backers import values_of
from workspace.mirrored_entries import COLUMNS as ENTRY_COLUMNS
from workspace.mirrored_entries import IS_MIRRORED, MIRRORS, Mirror, write_entries
from workspace.mirrored_entries import TABLE as ENTRIES
from workspace.post_revenue import RevenueChange, affected_posts, figures_of, process_batch, revenue_lock, update_post
from workspace.revenue import FIGURES
from workspace.summaries import COLUMNS, update_summaries

# The number of rows of one statement.
BATCH_SIZE = 2000
# In this order, because the summaries of contacts depend on those of deals, and the summaries of clients on all others.
SUMMARIES = ("deals", "revenue", "contacts", "clients")
KINDS = ("entries", *SUMMARIES, "posts", "sort_keys", "last_changes")

# The ids of rows, and of stored values whose rows do not exist.
PAGE_OF_IDS = """
SELECT id FROM (
    (SELECT id FROM {rows} WHERE account_id = %(account_id)s AND id > %(after)s ORDER BY id LIMIT %(limit)s)
    UNION
    (
        SELECT {id} FROM {stored} WHERE account_id = %(account_id)s AND {id} > %(after)s AND {condition}
        ORDER BY {id} LIMIT %(limit)s
    )
) AS ids ORDER BY id LIMIT %(limit)s
"""

DIFFERING_ENTRIES = """
WITH wanted AS ({wanted}), stored AS (SELECT {columns} FROM {stored})
SELECT DISTINCT resource_id FROM (
    (SELECT * FROM wanted EXCEPT SELECT * FROM stored) UNION ALL (SELECT * FROM stored EXCEPT SELECT * FROM wanted)
) AS differing ORDER BY 1
"""

DIFFERING = """
SELECT new.{kind}_id FROM workspace_current_{kind}s(%(account_id)s, %(ids)s) AS new
LEFT JOIN workspace_{kind}summary AS old ON old.account_id = %(account_id)s AND old.{kind}_id = new.{kind}_id
WHERE NOT new.is_found OR old.{kind}_id IS NULL OR ({new}) IS DISTINCT FROM ({old}) ORDER BY 1
"""

REVENUE_OF_DEALS = """
SELECT deal.client_id, deal.currency,
    count(*) FILTER (WHERE outcome = 'open') AS open_deals, coalesce(sum(price) FILTER (WHERE outcome = 'open'), 0) AS open_sum,
    count(*) FILTER (WHERE outcome = 'won') AS won_deals, coalesce(sum(price) FILTER (WHERE outcome = 'won'), 0) AS won_sum
FROM (
    SELECT deal.client_id, deal.currency, deal.price, coalesce(status.outcome, 'open') AS outcome FROM crm_deal AS deal
    LEFT JOIN accounts_status AS status ON status.account_id = %(account_id)s AND status.id = deal.status_id
    WHERE deal.account_id = %(account_id)s AND deal.client_id = ANY (%(ids)s) AND deal.trashed_at IS NULL
) AS deal
WHERE outcome IN ('open', 'won') GROUP BY deal.client_id, deal.currency
"""

DIFFERING_REVENUE = f"""
WITH stored AS (SELECT * FROM workspace_clientrevenue WHERE account_id = %(account_id)s AND client_id = ANY (%(ids)s))
SELECT DISTINCT client_id FROM ({REVENUE_OF_DEALS}) AS counted FULL JOIN stored USING (client_id, currency)
WHERE (counted.open_deals, counted.open_sum, counted.won_deals, counted.won_sum)
    IS DISTINCT FROM (stored.open_deals, stored.open_sum, stored.won_deals, stored.won_sum)
ORDER BY client_id
"""  # noqa: S608

WRITE_REVENUE = f"""
INSERT INTO workspace_clientrevenue (account_id, client_id, currency, open_deals, open_sum, won_deals, won_sum)
SELECT %(account_id)s, * FROM ({REVENUE_OF_DEALS}) AS counted
"""  # noqa: S608


def fetch_ids(sql: str, parameters: dict[str, Any]) -> list[int]:
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters)
        return [id for (id,) in cursor.fetchall()]


def batches(account_id: int, kind: str, table: str = "") -> Iterator[list[int]]:
    """Return the ids of all rows of a kind ("deal", "contact" or "client"), in batches."""
    yield from pages(account_id, f"crm_{kind}", table or f"workspace_{kind}summary", f"{kind}_id")


def pages(account_id: int, rows: str, stored: str, id: str, condition: str = "true") -> Iterator[list[int]]:
    sql, after = PAGE_OF_IDS.format(rows=rows, stored=stored, id=id, condition=condition), 0
    while ids := fetch_ids(sql, {"account_id": account_id, "after": after, "limit": BATCH_SIZE}):
        yield ids
        after = ids[-1]


def recount(account_id: int, *, repair: bool = False) -> dict[str, list[int]]:
    """Compare all stored values of an account with its rows. Return the ids of the rows whose values differ, by the names in `KINDS`.

    The ids of "entries" are those of deals, notes, suggestions, tasks or votes, the ids of "revenue" are those of clients, those of "posts" and "sort_keys" those of suggestions or tasks, and those of "last_changes"
    those of clients, contacts or deals. With `repair`, write the differing values. Each batch of summaries is compared in one statement, so concurrent transactions cause no differences.
    """
    differing: dict[str, list[int]] = {name: [] for name in KINDS}
    for mirror in MIRRORS.values():
        differing["entries"] += recount_entries(account_id, mirror, repair=repair)
    for name in SUMMARIES:
        for ids in batches(account_id, *(("client", "workspace_clientrevenue") if name == "revenue" else (name[:-1],))):
            found = find_differing(account_id, name, ids)
            if found and repair:
                write(account_id, name, found)
            differing[name] += found
    differing["posts"] = recount_posts(account_id, repair=repair)
    differing["sort_keys"] = sort_keys.find_differing(account_id)
    if differing["sort_keys"] and repair:
        sort_keys.repair(Account.objects.get(id=account_id), differing["sort_keys"])
    for model in (Client, Contact, Deal):
        found = last_changes.find_differing(model, account_id)
        if found and repair:
            last_changes.repair(model, account_id, found)
        differing["last_changes"] += found
    return differing


def recount_entries(account_id: int, mirror: Mirror, *, repair: bool) -> list[int]:
    """Compare the mirrored entries of the timeline with the rows of a table. Return the ids of the rows whose entries differ."""
    differing = []
    of_rows = f"resource = '{mirror.resource}' AND {IS_MIRRORED}"
    sql = DIFFERING_ENTRIES.format(
        columns=ENTRY_COLUMNS,
        wanted=mirror.entries("source.account_id = %(account_id)s AND source.id = ANY (%(ids)s)"),
        stored=f"{ENTRIES} WHERE account_id = %(account_id)s AND resource_id = ANY (%(ids)s) AND {of_rows}",
    )
    for ids in pages(account_id, mirror.table, ENTRIES, "resource_id", of_rows):
        found = fetch_ids(sql, {"account_id": account_id, "ids": ids})
        if found and repair:
            with transaction.atomic(), at_the_end():
                write_entries(account_id, [(mirror.resource, id) for id in found])
        differing += found
    return differing


def recount_posts(account_id: int, *, repair: bool) -> list[int]:
    """Compare the stored clients and figures of all suggestions. Return the ids of those that differ. With `repair`, write them.

    A suggestion that differs is compared again after its queued changes, which are no errors.
    """
    account = Account.objects.get(id=account_id)
    process_queue(account_id)
    ids = [id for id in posts_with_clients(account) if differs(account, id)]
    if ids:
        process_queue(account_id)
    found = []
    for id in ids:
        with transaction.atomic():
            locks.acquire(revenue_lock(account_id))
            if differs(account, id):
                found.append(id)
                if repair:
                    update_post(account, id)
    return found


def process_queue(account_id: int) -> None:
    while process_batch(account_id):
        pass


def posts_with_clients(account: Account) -> list[int]:
    """Return the ids of the suggestions that have stored clients or figures, or whose customers, authors or voters may be clients."""
    sources = [
        *affected_posts(account, RevenueChange.Kind.CLIENT, values_of("id", account.clients.all())),
        *(values_of("post_id", rows.all()) for rows in (account.post_backers, account.post_revenues)),
    ]
    first, *others = sources
    found = first.union(*others).values_list(first.query.values_select[0], flat=True)
    # A suggestion that was merged into another one counts for that one.
    merged = account.posts.filter(id__any=list(found)).values_list("id", "duplicate_from_id")
    return sorted({duplicate_from_id or id for id, duplicate_from_id in merged})


def differs(account: Account, post_id: int) -> bool:
    forum_id, client_ids, revenue = figures_of(account, post_id)
    backers = account.post_backers.filter(post_id=post_id).values_list("client_id", flat=True)
    rows = account.post_revenues.filter(post_id=post_id).values_list("currency", "forum_id", "clients", *FIGURES)
    expected = {
        (currency, forum_id, len(client_ids), *(getattr(each, name) for name in FIGURES))
        for currency, each in revenue.items()
    }
    return set(backers) != client_ids or set(rows) != expected


def find_differing(account_id: int, name: str, ids: list[int]) -> list[int]:
    parameters = {"account_id": account_id, "ids": ids}
    if name == "revenue":
        return fetch_ids(DIFFERING_REVENUE, parameters)
    kind = name[:-1]
    new, old = (", ".join(f"{row}.{column}" for column in COLUMNS[kind]) for row in ("new", "old"))
    return fetch_ids(DIFFERING.format(kind=kind, new=new, old=old), parameters)


def write(account_id: int, name: str, ids: list[int]) -> None:
    """Write the summaries with these ids, in one transaction."""
    with transaction.atomic(), connection.cursor() as cursor:
        if name == "revenue":
            # Another transaction adds differences to the sums when it commits. The lock keeps it from doing so meanwhile.
            cursor.execute("LOCK TABLE workspace_clientrevenue IN SHARE ROW EXCLUSIVE MODE")
            parameters: dict[str, Any] = {"account_id": account_id, "ids": ids}
            cursor.execute(
                "DELETE FROM workspace_clientrevenue WHERE account_id = %(account_id)s AND client_id = ANY (%(ids)s)",
                parameters,
            )
            cursor.execute(WRITE_REVENUE, parameters)
        update_summaries(account_id, **{name if name in ("deals", "contacts") else "clients": ids})


def update_all(account_id: int) -> None:
    """Update all summaries of an account. Each batch is one transaction."""
    for name in ("deals", "contacts", "clients"):
        for ids in batches(account_id, name[:-1]):
            with transaction.atomic():
                update_summaries(account_id, **{name: ids})
