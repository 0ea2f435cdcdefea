"""The comparison of the summaries with the rows that they summarize, and their repair."""

from collections.abc import Iterator

from django.db import connection, transaction

from team.summaries.models import COLUMNS, update_summaries

# The number of rows of one statement.
BATCH_SIZE = 2000
# In this order, because the summaries of contacts depend on those of deals, and the summaries of clients on all others.
SUMMARIES = ("deals", "revenue", "contacts", "clients")
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

DIFFERING = """
SELECT new.{kind}_id FROM team_current_{kind}s(%(account_id)s, %(ids)s) AS new
LEFT JOIN team_{kind}summary AS old ON old.account_id = %(account_id)s AND old.{kind}_id = new.{kind}_id
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
WITH stored AS (SELECT * FROM team_clientrevenue WHERE account_id = %(account_id)s AND client_id = ANY (%(ids)s))
SELECT DISTINCT client_id FROM ({REVENUE_OF_DEALS}) AS counted FULL JOIN stored USING (client_id, currency)
WHERE (counted.open_deals, counted.open_sum, counted.won_deals, counted.won_sum)
    IS DISTINCT FROM (stored.open_deals, stored.open_sum, stored.won_deals, stored.won_sum)
ORDER BY client_id
"""  # noqa: S608

DELETE_REVENUE = "DELETE FROM team_clientrevenue WHERE account_id = %(account_id)s AND client_id = ANY (%(ids)s)"
WRITE_REVENUE = f"""
INSERT INTO team_clientrevenue (account_id, client_id, currency, open_deals, open_sum, won_deals, won_sum)
SELECT %(account_id)s, * FROM ({REVENUE_OF_DEALS}) AS counted
"""  # noqa: S608


def fetch_ids(sql: str, parameters: dict[str, int | list[int]]) -> list[int]:
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters)
        return [id for (id,) in cursor.fetchall()]


def pages(account_id: int, rows: str, stored: str, id: str, condition: str = "true") -> Iterator[list[int]]:
    """Return the ids of rows, and those of their stored values, in batches."""
    sql, after = PAGE_OF_IDS.format(rows=rows, stored=stored, id=id, condition=condition), 0
    while ids := fetch_ids(sql, {"account_id": account_id, "after": after, "limit": BATCH_SIZE}):
        yield ids
        after = ids[-1]


def recount_summaries(account_id: int, *, repair: bool) -> dict[str, list[int]]:
    """Compare all summaries and sums of an account. Return the ids of the rows whose values differ, by the names in `SUMMARIES`.

    With `repair`, write the differing values. Each batch is compared in one statement, so concurrent transactions cause no differences.
    """
    differing: dict[str, list[int]] = {name: [] for name in SUMMARIES}
    for name in SUMMARIES:
        kind = "client" if name == "revenue" else name[:-1]
        stored = "team_clientrevenue" if name == "revenue" else f"team_{kind}summary"
        for ids in pages(account_id, f"crm_{kind}", stored, f"{kind}_id"):
            found = find_differing(account_id, name, ids)
            if found and repair:
                write(account_id, name, found)
            differing[name] += found
    return differing


def find_differing(account_id: int, name: str, ids: list[int]) -> list[int]:
    parameters: dict[str, int | list[int]] = {"account_id": account_id, "ids": ids}
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
            cursor.execute("LOCK TABLE team_clientrevenue IN SHARE ROW EXCLUSIVE MODE")
            parameters: dict[str, int | list[int]] = {"account_id": account_id, "ids": ids}
            cursor.execute(DELETE_REVENUE, parameters)
            cursor.execute(WRITE_REVENUE, parameters)
        update_summaries(account_id, **{name if name in ("deals", "contacts") else "clients": ids})
