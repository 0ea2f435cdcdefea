"""The comparison of the mirrored entries of the timeline with the rows of their sources, and their repair."""

from django.db import transaction

from core.db.derived import compute_at_end
from team.summaries.recount import fetch_ids, pages
from team.timeline.mirrored_entries import COLUMNS, IS_MIRRORED, MIRRORS, TABLE, Mirror, write_entries

DIFFERING_ENTRIES = """
WITH wanted AS ({wanted}), stored AS (SELECT {columns} FROM {stored})
SELECT DISTINCT resource_id FROM (
    (SELECT * FROM wanted EXCEPT SELECT * FROM stored) UNION ALL (SELECT * FROM stored EXCEPT SELECT * FROM wanted)
) AS differing ORDER BY 1
"""


def recount_entries(account_id: int, *, repair: bool) -> list[int]:
    """Compare the entries of all tables. Return the ids of the rows whose entries differ. With `repair`, write them."""
    return [id for mirror in MIRRORS.values() for id in recount_entries_of(account_id, mirror, repair=repair)]


def recount_entries_of(account_id: int, mirror: Mirror, *, repair: bool) -> list[int]:
    """Compare the mirrored entries of the timeline with the rows of a table. Return the ids of the rows whose entries differ."""
    differing = []
    of_rows = f"resource = '{mirror.resource}' AND {IS_MIRRORED}"
    sql = DIFFERING_ENTRIES.format(
        columns=COLUMNS,
        wanted=mirror.entries("source.account_id = %(account_id)s AND source.id = ANY (%(ids)s)"),
        stored=f"{TABLE} WHERE account_id = %(account_id)s AND resource_id = ANY (%(ids)s) AND {of_rows}",
    )
    for ids in pages(account_id, mirror.table, TABLE, "resource_id", of_rows):
        found = fetch_ids(sql, {"account_id": account_id, "ids": ids})
        if found and repair:
            with transaction.atomic(), compute_at_end():
                write_entries(account_id, [(mirror.resource, id) for id in found])
        differing += found
    return differing
