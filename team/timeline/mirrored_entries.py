"""The mirrored entries of the timeline (`team.timeline.models`): which entries the rows of the sources should have, how they are written,
and the comparison with these rows (`recount_entries`).

A new client or contact has no entry.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from django.db import transaction
from psycopg.types.numeric import Int8

from core.db.derived import Key, add_keys, compute_at_end
from core.db.prepared import ASSUMED_ARRAY_LENGTH, array_literal, fetch
from team.summaries.models import write_summaries
from team.summaries.recount import fetch_ids, pages
from team.timeline.models import LINKS, MIRRORED_KINDS

TABLE = "team_timelineentry"
LINK_COLUMNS = [name for link in LINKS for name in (f"{link}_id", f"trashed_{link}_id")]
COLUMNS = "account_id, at, kind, resource, resource_id, client_id, contact_id, deal_id, user_id"
IS_MIRRORED = f"kind IN {MIRRORED_KINDS}"
# The linked contact and deal of a row with the alias `source`, and their own links.
JOINS = """
LEFT JOIN crm_contact AS contact
    ON contact.account_id = source.account_id AND contact.id = coalesce(source.contact_id, source.trashed_contact_id)
LEFT JOIN crm_deal AS deal
    ON deal.account_id = source.account_id AND deal.id = coalesce(source.deal_id, source.trashed_deal_id)
"""
JOINED_LINKS = """
coalesce(
    source.client_id, source.trashed_client_id, deal.client_id, deal.trashed_client_id,
    contact.client_id, contact.trashed_client_id
) AS client_id,
coalesce(source.contact_id, source.trashed_contact_id, deal.contact_id, deal.trashed_contact_id) AS contact_id,
coalesce(source.deal_id, source.trashed_deal_id) AS deal_id
"""


def either(row: str, link: str) -> str:
    """Return the id of a link, also while the linked row is in the trash."""
    return f"coalesce({row}.{link}_id, {row}.trashed_{link}_id)"


def has_links(row: str) -> str:
    return f"num_nonnulls({', '.join(f'{row}.{name}' for name in LINK_COLUMNS)}) > 0"


@dataclass(frozen=True)
class Mirror:
    """A table whose rows have mirrored entries."""

    resource: str
    table: str
    # The values of an entry, beside the account, the resource and its id. The alias of the table is `source`.
    values: str
    joins: str = ""
    # The condition of the rows that have entries.
    where: str = "true"

    def entries(self, condition: str = "true", *, source: str = "") -> str:
        """Return the statement that selects the entries that the rows should have, of the rows that match a condition.

        `source` replaces the table.
        """
        return f"""
            SELECT {COLUMNS} FROM (
                SELECT source.account_id, '{self.resource}' AS resource, source.id AS resource_id, {self.values}
                FROM {source or self.table} AS source {self.joins} WHERE {self.where} AND {condition}
            ) AS entry
        """  # noqa: S608

    @property
    def insert_with(self) -> str:
        """The CTE that inserts the entries of the new rows in the CTE `row`."""
        entries = self.entries(source="row")
        return f", entry AS (INSERT INTO {TABLE} ({COLUMNS}, data) SELECT {COLUMNS}, '{{}}' FROM ({entries}) AS new) "  # noqa: S608


NOTES = Mirror(
    "note",
    "crm_note",
    f"source.noted_at AS at, source.kind, source.creator_id AS user_id, {JOINED_LINKS}",
    JOINS,
    "source.trashed_at IS NULL",
)
# A task that is closed has a second entry, with the time at which it was closed. Nothing records who closed it.
POSTS = Mirror(
    "post",
    "forum_post",
    f"event.at, event.kind, event.user_id, {JOINED_LINKS}",
    f"""{JOINS}
    CROSS JOIN LATERAL (VALUES
        (source.created_at, CASE WHEN source.category_id IS NULL THEN 'task' ELSE 'suggestion' END, source.user_id),
        (CASE WHEN source.category_id IS NULL THEN source.completed_at END, 'task_done', NULL)
    ) AS event (at, kind, user_id)""",
    f"source.trashed_at IS NULL AND event.at IS NOT NULL AND {has_links('source')}",
)
# A vote that was copied from a merged post is no further entry.
VOTES = Mirror(
    "vote",
    "forum_proxyvote",
    """source.created_at AS at, 'vote' AS kind, source.user_id,
    coalesce(source.client_id, contact.client_id, contact.trashed_client_id) AS client_id, source.contact_id, NULL::bigint AS deal_id""",
    "LEFT JOIN crm_contact AS contact ON contact.account_id = source.account_id AND contact.id = source.contact_id",
    "source.from_post_id IS NULL",
)
# The entries of a deal in the trash stay, like its stages and changes. The timeline does not show them.
DEALS = Mirror(
    "deal",
    "crm_deal",
    f"""source.created_at AS at, 'deal' AS kind, source.creator_id AS user_id,
    {either("source", "client")} AS client_id, {either("source", "contact")} AS contact_id, source.id AS deal_id""",
)
MIRRORS = {mirror.resource: mirror for mirror in (DEALS, NOTES, POSTS, VOTES)}


# The entries are locked in the order of their rows, so that concurrent transactions do not deadlock.
LOCKED_ORDER = "resource, resource_id, kind, number"


@cache
def statement(resources: tuple[tuple[str, int], ...]) -> str:
    """Return the statement that writes the mirrored entries of rows, and returns their old and new links.

    Its parameters are the ids of the rows, by resource. `resources` are pairs of a resource and a limit of the number of ids, or 0. Like
    the lookup `any` of `core.db.prepared`, the limit keeps PostgreSQL from planning each execution for short lists anew.
    """

    def ids_of(resource: str) -> str:
        return f"ARRAY(SELECT id FROM given WHERE resource = '{resource}')"  # noqa: S608

    given = " UNION ALL ".join(
        f"(SELECT '{resource}'::text, unnest(%({resource})s::bigint[]){f' LIMIT {limit}' if limit else ''})"
        for resource, limit in resources
    )
    wanted = " UNION ALL ".join(
        MIRRORS[resource].entries(f"source.account_id = %(account)s AND source.id = ANY ({ids_of(resource)})")
        for resource, _limit in resources
    )
    links = ", ".join(f"{link}_id" for link in LINKS)
    return f"""
        WITH given (resource, id) AS MATERIALIZED ({given}), stored AS MATERIALIZED (
            SELECT entry.* FROM given JOIN {TABLE} AS entry
                ON account_id = %(account)s AND entry.resource = given.resource AND resource_id = id AND {IS_MIRRORED}
            ORDER BY {LOCKED_ORDER.replace("resource,", "entry.resource,")} FOR UPDATE OF entry
        ), wanted AS MATERIALIZED ({wanted}), deleted AS (
            DELETE FROM {TABLE} AS entry USING (
                SELECT resource, resource_id, kind FROM stored EXCEPT SELECT resource, resource_id, kind FROM wanted
            ) AS gone
            WHERE account_id = %(account)s AND entry.resource = gone.resource AND entry.resource_id = gone.resource_id
                AND entry.kind = gone.kind AND entry.{IS_MIRRORED}
        ), written AS (
            INSERT INTO {TABLE} ({COLUMNS}, data)
            SELECT {COLUMNS}, '{{}}' FROM (SELECT {COLUMNS} FROM wanted EXCEPT SELECT {COLUMNS} FROM stored) AS new
            ORDER BY resource, resource_id, kind
            ON CONFLICT (account_id, resource, resource_id, kind) WHERE {IS_MIRRORED}
            DO UPDATE SET at = EXCLUDED.at, user_id = EXCLUDED.user_id, client_id = EXCLUDED.client_id,
                contact_id = EXCLUDED.contact_id, deal_id = EXCLUDED.deal_id
        )
        SELECT {links} FROM stored UNION SELECT {links} FROM wanted
    """  # noqa: S608


# The entries with links to rows whose own links have changed, or that were erased.
LINKED = f"""
SELECT resource, resource_id, number, {IS_MIRRORED} FROM {TABLE}
WHERE account_id = %(account)s
    AND ({" OR ".join(f"{link}_id = ANY (%({link})s::bigint[])" for link in LINKS)})
ORDER BY {LOCKED_ORDER} FOR UPDATE
"""  # noqa: S608

# A logged entry has the links of the client, contact or deal that it is about, and is deleted with it. After a merge it is about the kept row.
RELINK = f"""
WITH found AS (
    SELECT number, owner.* FROM {TABLE} AS entry LEFT JOIN LATERAL (
        SELECT source.id AS client_id, NULL::bigint AS contact_id, NULL::bigint AS deal_id FROM crm_client AS source
        WHERE entry.resource = 'client' AND source.account_id = entry.account_id AND source.id = entry.client_id
        UNION ALL
        SELECT {either("source", "client")}, source.id, NULL FROM crm_contact AS source
        WHERE entry.resource = 'contact' AND source.account_id = entry.account_id AND source.id = entry.contact_id
        UNION ALL
        SELECT {either("source", "client")}, {either("source", "contact")}, source.id FROM crm_deal AS source
        WHERE entry.resource = 'deal' AND source.account_id = entry.account_id AND source.id = entry.deal_id
    ) AS owner ON true
    WHERE entry.account_id = %(account)s AND number = ANY (%(numbers)s::bigint[])
), erased AS (
    DELETE FROM {TABLE} AS entry USING found
    WHERE account_id = %(account)s AND entry.number = found.number
        AND num_nonnulls(found.client_id, found.contact_id, found.deal_id) = 0
)
UPDATE {TABLE} AS entry SET client_id = found.client_id, contact_id = found.contact_id, deal_id = found.deal_id FROM found
WHERE account_id = %(account)s AND entry.number = found.number
    AND num_nonnulls(found.client_id, found.contact_id, found.deal_id) > 0
    AND (entry.client_id, entry.contact_id, entry.deal_id) IS DISTINCT FROM (found.client_id, found.contact_id, found.deal_id)
RETURNING entry.number
"""  # noqa: S608


def write_entries(account_id: int, keys: list[Key]) -> None:
    """Write the entries that depend on rows, and then the summaries of the rows to which these entries link.

    The key of a note, post, vote or deal names a row whose mirrored entries are written. The key of a client, contact or deal also names a
    row whose own links have changed, or that was erased: the entries with links to it follow.
    """
    ids: dict[str, set[int]] = {}
    for kind, id in keys:
        ids.setdefault(kind, set()).add(id)
    if any(link in ids for link in LINKS):
        numbers = []
        linked = {link: array_literal(ids.get(link, ())) for link in LINKS}
        for resource, id, number, is_mirrored in fetch(LINKED, {"account": Int8(account_id), **linked}):
            if is_mirrored:
                ids.setdefault(resource, set()).add(id)
            else:
                numbers.append(number)
        if numbers:
            fetch(RELINK, {"account": Int8(account_id), "numbers": array_literal(numbers)})
    if rows := {resource: ids[resource] for resource in MIRRORS if resource in ids}:
        lengths = {resource: len(of_kind) for resource, of_kind in rows.items()}
        limits = tuple((name, length if length < ASSUMED_ARRAY_LENGTH else 0) for name, length in lengths.items())
        parameters = {resource: array_literal(sorted(of_kind)) for resource, of_kind in rows.items()}
        links = fetch(statement(limits), {"account": Int8(account_id), **parameters})
        add_keys(account_id, write_summaries, keys_of_links(links))


def keys_of_links(rows: Iterable[tuple[int, ...]]) -> Iterable[Key]:
    """Return the keys of the summaries of linked rows, from tuples of the ids of a client, a contact and a deal."""
    return ((link, id) for row in rows for link, id in zip(LINKS, row, strict=True) if id is not None)


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
