"""The entries of the timeline (`team.timeline.models`) that log the changed fields of clients, contacts and deals, and the stages of deals.

The statement that updates a row logs what it changed (`core.db.derived.Comparison`). A write that does not set `updated_at` was not made by
a user, so its entries name none.
"""

from collections.abc import Callable, Collection

from crm.fields.catalogue import builtin_fields
from team.timeline.mirrored_entries import TABLE, either
from team.timeline.models import LINKS

# A longer text is cut in the log of changes.
MAX_VALUE_LENGTH = 500
# The links of the entries about a row of a resource.
OWN_LINKS = {
    "client": ("row.id", "NULL::bigint", "NULL::bigint"),
    "contact": (either("row", "client"), "row.id", "NULL::bigint"),
    "deal": (either("row", "client"), either("row", "contact"), "row.id"),
}


def logged_columns(resource: str) -> list[str]:
    """Return the columns whose changes are logged, beside `additional_fields`. The stages of deals have entries of their own."""
    columns = [field.name for field in builtin_fields(resource) if not field.read_only]
    return [name for name in columns if (resource, name) != ("deal", "status_id")]


def status_object(account: str, id: str) -> str:
    """Return the SQL for the values of a status, which it keeps in the log when it is renamed or deleted. Null for no status."""
    return f"""(
        SELECT jsonb_build_object('id', id, 'code', code, 'name', name, 'color', color, 'outcome', outcome)
        FROM accounts_status WHERE account_id = {account} AND id = {id}
    )"""  # noqa: S608


# The stage of a deal, with the time at which the deal entered it.
STAGE = f"""
SELECT 1, coalesce(row.stage_entered_at, writer.at), 'stage', jsonb_build_object(
    'before', {status_object("before.account_id", "before.status_id")},
    'after', {status_object("row.account_id", "row.status_id")}
)
WHERE before.status_id IS DISTINCT FROM row.status_id
"""  # noqa: S608


def change(place: int, name: str) -> str:
    """Return the SQL for the old and the new value of a column, as JSON. A blank text is no value.

    The link to a row in the trash is pending, which is no change. When that row is erased, the link becomes null. No user changed this.
    """
    if name.removesuffix("_id") not in LINKS:
        old, new = (f"nullif(to_jsonb({row}.{name}), '\"\"')" for row in ("before", "row"))
    else:
        pending = f"trashed_{name}"
        new = f"to_jsonb(coalesce(row.{name}, row.{pending}))"
        old = f"""to_jsonb(CASE
            WHEN num_nonnulls(before.{name}, row.{name}, row.{pending}) > 0 THEN coalesce(before.{name}, before.{pending})
        END)"""
    return f"({place}, '{name}', {old}, {new})"


def cut(value: str) -> str:
    """Return the SQL for a value whose text is cut if it is long."""
    return f"""CASE WHEN length({value}::text) > {MAX_VALUE_LENGTH + 20}
        THEN to_jsonb(left({value} #>> '{{}}', {MAX_VALUE_LENGTH}) || '…') ELSE {value} END"""


def log_changes(resource: str) -> Callable[[Collection[str] | None], str]:
    """Return the function that returns the CTE that logs an update of these columns, or of all, for rows of a resource."""
    logged = list(enumerate(logged_columns(resource)))

    def ctes(columns: Collection[str] | None) -> str:
        changes = [change(place, name) for place, name in logged if columns is None or name in columns]
        values = [f"SELECT * FROM (VALUES {', '.join(changes)}) AS value (place, field, old, new)"] if changes else []  # noqa: S608
        if columns is None or "additional_fields" in columns:
            values.append(f"""
                SELECT {len(logged)}, 'additional_fields[' || key || ']', old.value, new.value
                FROM jsonb_each(before.additional_fields) AS old FULL JOIN jsonb_each(row.additional_fields) AS new USING (key)
            """)  # noqa: S608
        entries = [STAGE] if resource == "deal" and (columns is None or "status_id" in columns) else []
        if values:
            entries.append(f"""
                SELECT 2, writer.at, 'change', jsonb_build_object('changes', jsonb_agg(
                    jsonb_build_object('field', field, 'before', {cut("old")}, 'after', {cut("new")}) ORDER BY place, field
                ))
                FROM ({" UNION ALL ".join(values)}) AS value (place, field, old, new) WHERE old IS DISTINCT FROM new
                HAVING count(*) > 0
            """)  # noqa: S608
        if not entries:
            return ""
        return f""", logged AS (
            INSERT INTO {TABLE} (account_id, at, kind, resource, resource_id, client_id, contact_id, deal_id, user_id, data)
            SELECT row.account_id, entry.at, entry.kind, '{resource}', row.id, {", ".join(OWN_LINKS[resource])}, writer.id, entry.data
            FROM row JOIN before USING (account_id, id)
            CROSS JOIN LATERAL (
                SELECT CASE WHEN is_user THEN row.updater_id END, CASE WHEN is_user THEN row.updated_at ELSE clock_timestamp() END
                FROM (SELECT row.updated_at IS DISTINCT FROM before.updated_at) AS write (is_user)
            ) AS writer (id, at)
            CROSS JOIN LATERAL ({" UNION ALL ".join(entries)}) AS entry (place, at, kind, data)
            ORDER BY row.id, entry.place
        ) """  # noqa: S608

    return ctes
