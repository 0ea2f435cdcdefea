"""The derivations of the timeline and of the summaries from the rows of the rooms below (`core.db.derived`).

- The mirrored entries of the timeline (`team.timeline.mirrored_entries`) depend on notes, posts, votes of the team and deals, and on the links of
  contacts and deals. The others log updates of clients, contacts and deals (`team.timeline.logged_entries`).
- The summaries of clients, contacts and deals (`team.summaries.models`) depend on these rows, and on the entries and the tasks that link to
  them. They are written after the entries.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

from django.db import models
from django.db.models import Q

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
from team.timeline.logged_entries import log_changes, logged_columns
from team.timeline.mirrored_entries import LINK_COLUMNS, MIRRORS, either, keys_of_links, write_entries
from team.timeline.models import LINKS, MIRRORED_KINDS

# The kinds of the keys of rows.
RESOURCES: dict[type[models.Model], str] = {
    Client: "client",
    Contact: "contact",
    Deal: "deal",
    Note: "note",
    Post: "post",
    ProxyVote: "vote",
}

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


def mirror(model: type[models.Model], columns: Collection[str], **options: Any) -> AnyDerivation:
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


def log(model: type[models.Model], *links: str) -> Comparison:
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
def links_of_notes(account_id: int, ids: Sequence[int]) -> models.QuerySet[models.Model, object]:
    """Return the links of the entries of notes."""
    entries = account_of(account_id).timeline_entries.filter(
        resource="note", resource_id__any=ids, kind__in=MIRRORED_KINDS
    )
    found: models.QuerySet[models.Model, object] = entries.order_by().values_list(*(f"{link}_id" for link in LINKS))
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
    model: type[models.Model], resource: str, columns: Collection[str], concerns_new: Callable[[Trashable], bool]
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


def is_trashed(row: Trashable) -> bool:
    """Return whether a new row is in the trash. The CTEs write the values of the others."""
    return row.trashed_at is not None


def never(_row: object) -> bool:
    return False


def register_derivations() -> None:
    insert_with(Client, NEW_CLIENT)
    insert_with(Contact, NEW_CONTACT)
    insert_with(Deal, MIRRORS["deal"].insert_with)
    insert_with(Note, MIRRORS["note"].insert_with)
    register_comparisons(log(Client, "contact"), log(Contact, "client"), log(Deal, "client", "contact"))
    # In this order: the summaries depend on the entries.
    register(
        mirror(Client, (), concerns_new=never),
        mirror(Contact, (), concerns_new=never),
        mirror(Deal, (), concerns_new=never),
        mirror(Note, {"noted_at", "kind", "trashed_at", *LINK_COLUMNS}, concerns_new=never),
        mirror(
            Post,
            {
                "created_at",
                "completed_at",
                "closed",
                "scheduled_at",
                "category_id",
                "user_id",
                "trashed_at",
                *LINK_COLUMNS,
            },
            concerns_new=has_link,
            concerns_changed=lambda row, columns: (
                columns is None or not set(LINK_COLUMNS).isdisjoint(columns) or has_link(row)
            ),
        ),
        mirror(ProxyVote, {"created_at", "client_id", "contact_id", "from_post_id"}),
        follow_rows(Client, "client", {"trashed_at"}, is_trashed),
        follow_rows(Contact, "contact", {"client_id", "trashed_at"}, is_trashed),
        follow_rows(
            Deal,
            "deal",
            {"client_id", "contact_id", "status_id", "currency", "price", "trashed_at"},
            lambda _deal: True,
        ),
        follow_new_notes(),
    )
