"""The derivations of the timeline and of the summaries from the rows of the rooms below (`core.db.derived`).

- The mirrored entries of the timeline (`team.timeline.mirrored_entries`) depend on notes, posts, votes of the team and deals, and on the links of
  contacts and deals. The others log the changed fields of clients, contacts and deals, and the stages of deals: the statement that updates
  a row logs what it changed (`Comparison`). A write that does not set `updated_at` was not made by a user, so its entries name none.
- The summaries of clients, contacts and deals (`team.summaries.models`) depend on these rows, and on the entries and the tasks that link to
  them. They are written after the entries.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

from django.db.models import Model, Q, QuerySet

from accounts.fields.catalogue import builtin_fields
from core.db.derived import Act, AnyDerivation, Comparison, Derivation, Key, insert_with, register, register_comparisons
from core.db.prepared import prepared
from core.db.tenancy import account_of
from core.rows.trash import Trashable
from crm.clients.models import Client
from crm.contacts.models import Contact
from crm.deals.models import Deal
from crm.notes.models import Note
from forum.posts.models import Post
from forum.votes.models import ProxyVote
from team.summaries.models import write_summaries
from team.timeline.mirrored_entries import LINK_COLUMNS, MIRRORS, TABLE, either, keys_of_links, write_entries
from team.timeline.models import LINKS, MIRRORED_KINDS

# The kinds of the keys of rows.
RESOURCES: dict[type[Model], str] = {Client: "client", Contact: "contact", Deal: "deal"}
RESOURCES |= {Note: "note", Post: "post", ProxyVote: "vote"}

# A new row has no entries and no tasks. The summary of a row in the trash is written like that of a changed row.
NEW_CLIENT = """, summary AS (
    INSERT INTO team_clientsummary (account_id, client_id, last_activity_at, open_sum, won_sum)
    SELECT account_id, id, created_at, 0, 0 FROM row WHERE trashed_at IS NULL ON CONFLICT DO NOTHING
) """
NEW_CONTACT = """, summary AS (
    INSERT INTO team_contactsummary (account_id, contact_id, client_id, last_activity_at)
    SELECT account_id, id, client_id, created_at FROM row WHERE trashed_at IS NULL ON CONFLICT DO NOTHING
) """

# The entries of the timeline


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


def mirror(model: type[Model], columns: Collection[str], **options: Any) -> AnyDerivation:
    """Return the derivation of the entries that depend on the rows of a model, and of the summaries of the rows to which they link."""
    resource = RESOURCES[model]

    def keys_of(account_id: int, ids: Sequence[int], act: Act) -> Iterable[Key]:
        keys: list[Key] = [(resource, id) for id in ids]
        if model is Post and act == "delete":
            # PostgreSQL deletes the votes with the posts, and makes their copies votes for the original.
            votes = account_of(account_id).proxy_votes.filter(Q(post_id__in=list(ids)) | Q(from_post_id__in=list(ids)))
            keys += [("vote", id) for id in votes.order_by().values_list("id", flat=True)]
        return keys

    return Derivation(
        model=model,
        columns=frozenset(columns),
        keys_of=keys_of,
        keys_of_row=lambda row: [(resource, row.id)],
        update=write_entries,
        **options,
    )


def log(model: type[Model], *links: str) -> Comparison:
    """Return the comparison that logs the changes of rows with these links.

    The entries that link to a contact or a deal follow its own links. No entry follows the main contact of a client.
    """
    resource = RESOURCES[model]
    columns = {*logged_columns(resource), "additional_fields"}
    if model is Deal:
        columns |= {"status_id", "created_at"}
    old, new = (", ".join([f"{row}.created_at", *(either(row, link) for link in links)]) for row in ("before", "row"))
    return Comparison(
        model=model,
        columns=frozenset(columns),
        read_columns=frozenset(
            {"created_at", "updated_at", *(f"{prefix}{link}_id" for link in links for prefix in ("", "trashed_"))}
        ),
        ctes=log_changes(resource),
        condition="false" if model is Client else f"({old}) IS DISTINCT FROM ({new})",
        kind=resource,
        update=write_entries,
    )


# The summaries


@prepared(account_id=int, ids=list)
def links_of_notes(account_id: int, ids: Sequence[int]) -> QuerySet[Model, object]:
    entries = account_of(account_id).timeline_entries.filter(resource="note", kind__in=MIRRORED_KINDS)
    entries = entries.filter(resource_id__any=ids).order_by()
    found: QuerySet[Model, object] = entries.values_list(*(f"{link}_id" for link in LINKS))
    return found


def follow_new_notes() -> AnyDerivation:
    """Return the derivation of the summaries to which the entries of new notes link. `write_entries` updates those of changed notes."""

    def keys_of(account_id: int, ids: Sequence[int], act: Act) -> Iterable[Key]:
        return keys_of_links(links_of_notes(account_id=account_id, ids=ids)) if act == "insert" else ()

    def keys_of_row(note: Note) -> Iterable[Key] | None:
        # The summary of a linked row passes a change on to the rows to which it links, unless it is in the trash.
        if any(getattr(note, f"trashed_{link}_id") is not None for link in LINKS):
            return None
        return keys_of_links([tuple(getattr(note, f"{link}_id") for link in LINKS)])

    return Derivation(model=Note, columns=frozenset(), keys_of=keys_of, keys_of_row=keys_of_row, update=write_summaries)


def follow_rows(
    model: type[Model], resource: str, columns: Collection[str], concerns_new: Callable[[Trashable], bool]
) -> AnyDerivation:
    """Return the derivation of the summaries of the rows themselves. They pass a change on to the linked rows.

    Erasing a row also erases entries of other rows to which they link.
    """

    def keys_of(account_id: int, ids: Sequence[int], act: Act) -> Iterable[Key]:
        keys: list[Key] = [(resource, id) for id in ids]
        if act == "delete":
            entries = account_of(account_id).timeline_entries.filter(**{f"{resource}_id__in": list(ids)})
            keys += keys_of_links(entries.order_by().values_list(*(f"{link}_id" for link in LINKS)).distinct())
        return keys

    return Derivation(
        model=model, columns=frozenset(columns), keys_of=keys_of, update=write_summaries, concerns_new=concerns_new
    )


def has_link(row: object) -> bool:
    return any(getattr(row, name) is not None for name in LINK_COLUMNS)


def may_have_link(row: object, columns: Collection[str] | None) -> bool:
    """Return whether a post has a link, or may have had one before the update of these columns, or of all."""
    return columns is None or not set(LINK_COLUMNS).isdisjoint(columns) or has_link(row)


def is_trashed(row: Trashable) -> bool:
    """Return whether a new row is in the trash. The CTEs write the values of the others."""
    return row.trashed_at is not None


TASK_COLUMNS = ("completed_at", "closed", "scheduled_at")
POST_COLUMNS = {"created_at", "category_id", "user_id", "trashed_at", *TASK_COLUMNS, *LINK_COLUMNS}
DEAL_COLUMNS = {"client_id", "contact_id", "status_id", "currency", "price", "trashed_at"}


def register_derivations() -> None:
    insert_with(Client, NEW_CLIENT)
    insert_with(Contact, NEW_CONTACT)
    insert_with(Deal, MIRRORS["deal"].insert_with)
    insert_with(Note, MIRRORS["note"].insert_with)
    register_comparisons(log(Client, "contact"), log(Contact, "client"), log(Deal, "client", "contact"))
    # In this order: the summaries depend on the entries.
    register(
        mirror(Client, (), concerns_new=lambda _row: False),
        mirror(Contact, (), concerns_new=lambda _row: False),
        mirror(Deal, (), concerns_new=lambda _row: False),
        mirror(Note, {"noted_at", "kind", "trashed_at", *LINK_COLUMNS}, concerns_new=lambda _row: False),
        mirror(Post, POST_COLUMNS, concerns_new=has_link, concerns_changed=may_have_link),
        mirror(ProxyVote, {"created_at", "client_id", "contact_id", "from_post_id"}),
        follow_rows(Client, "client", {"trashed_at"}, is_trashed),
        follow_rows(Contact, "contact", {"client_id", "trashed_at"}, is_trashed),
        follow_rows(Deal, "deal", DEAL_COLUMNS, lambda _deal: True),
        follow_new_notes(),
    )
