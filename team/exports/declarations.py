"""The kinds of exports: the lists of the team's pages, and further kinds of rows that have no list with columns.

The fields of the lists are those of `team.list_queries.declarations`, so this module declares only the fields of the further kinds.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from django.core.serializers.json import DjangoJSONEncoder
from django.db.models import BigIntegerField, Exists, F, Model, OuterRef, QuerySet, Subquery, Value
from django.db.models.expressions import Combinable
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from accounts.account.models import Account
from accounts.fields.catalogue import Field
from accounts.users.models import User
from core.rows.declared import FieldType
from crm.clients.models import Client
from crm.contacts.models import Contact, ContactListMembership
from crm.deals.models import Deal
from crm.notes.models import Note
from crm.resources.models import links_to_accessible
from team.fields.names import name_of_row
from team.list_queries.declarations import LISTS, RecordList
from team.timeline.models import KINDS

# The column of each row that people call its number. Rows that other tables do not refer to have none.
ID = Field("id", _("Number"), FieldType.NUMBER, read_only=True)
AUTHOR = Field("user_id", _("Author"), FieldType.USER, read_only=True, in_lists=True)
CREATED = Field("created_at", _("Created"), FieldType.TIME, read_only=True, in_lists=True)
CHANGED = Field("updated_at", _("Changed"), FieldType.TIME, read_only=True)
CLIENT = Field("client_id", _("Client"), FieldType.CLIENT, in_lists=True)
CONTACT = Field("contact_id", _("Contact"), FieldType.CONTACT, in_lists=True)
DEAL = Field("deal_id", _("Deal"), FieldType.DEAL, in_lists=True)
POST = Field("post_id", _("Suggestion or task"), FieldType.NUMBER, in_lists=True)
FROM_POST = Field("from_post_id", _("Number of the merged suggestion"), FieldType.NUMBER, read_only=True)
# Fields with the id of a row whose name the query annotates: the type of a field has no such rows (`team.fields.names.LINKS`).
NAMED = frozenset({"post_id", "contact_list_id"})

# The key of the suggestions in the list of the forum's pages, which has its own filters and orders.
FORUM_SUGGESTIONS = "forum_suggestion"

COMMENT_FIELDS = (
    ID,
    POST,
    Field("comment", _("Comment"), FieldType.LONG_TEXT, required=True, in_lists=True),
    AUTHOR,
    Field("internal", _("Internal"), FieldType.BOOLEAN, in_lists=True),
    Field("approved", _("Approved"), FieldType.BOOLEAN),
    CREATED,
    Field("edited_at", _("Edited"), FieldType.TIME, read_only=True),
    FROM_POST,
)
VOTE_FIELDS = (
    POST,
    Field("voter_id", _("Voter"), FieldType.USER, in_lists=True),
    CLIENT,
    CONTACT,
    Field("cast_by_id", _("Cast by"), FieldType.USER, read_only=True, in_lists=True),
    CREATED,
    FROM_POST,
)
NOTE_FIELDS = (
    ID,
    Field("kind", _("Kind"), FieldType.CHOICE, in_lists=True),
    Field("content", _("Note"), FieldType.LONG_TEXT, required=True, in_lists=True),
    Field("noted_at", _("Time"), FieldType.TIME, in_lists=True),
    Field("duration", _("Minutes"), FieldType.NUMBER, in_lists=True),
    Field("outcome", _("Outcome"), FieldType.CHOICE, in_lists=True),
    CLIENT,
    CONTACT,
    DEAL,
    Field("creator_id", _("Created by"), FieldType.USER, read_only=True, in_lists=True),
    Field("created_at", _("Created"), FieldType.TIME, read_only=True),
    Field("updater_id", _("Changed by"), FieldType.USER, read_only=True),
    CHANGED,
)
TIMELINE_FIELDS = (
    Field("at", _("Time"), FieldType.TIME, in_lists=True),
    Field("kind", _("Event"), FieldType.CHOICE, in_lists=True),
    Field("subject", _("About"), FieldType.TEXT, in_lists=True),
    CLIENT,
    CONTACT,
    DEAL,
    Field("user_id", _("By"), FieldType.USER, in_lists=True),
    Field("resource", _("Kind of entry"), FieldType.TEXT),
    Field("resource_id", _("Number of the entry"), FieldType.NUMBER),
    Field("data", _("Details"), FieldType.LONG_TEXT),
)
MEMBERSHIP_FIELDS = (
    Field("contact_list_id", _("Contact list"), FieldType.NUMBER, in_lists=True),
    Field("contact_id", _("Contact"), FieldType.CONTACT, in_lists=True),
)


# A queryset of the rows of an account that a user may access, with the columns of the fields. It is read in the order of its primary key.
Rows = Callable[[Account, User], "QuerySet[Model]"]


@dataclass(frozen=True, kw_only=True)
class ExportResource:
    """A kind of rows that can be exported."""

    key: str
    label: str | Promise
    # The fields of a kind of rows without a list, and the tables with its rows, which are written one after the other.
    fields: tuple[Field, ...] = ()
    tables: tuple[Rows, ...] = ()
    # What people read instead of the stored value of a field.
    texts: Mapping[str, Callable[[Any], str]] = field(default_factory=dict)


def names_of(account: Account) -> dict[str, Subquery]:
    """Return the annotations with the names of rows to which fields in `NAMED` link."""
    posts = account.posts.live().filter(id=OuterRef("post_id")).values("title")[:1]
    return {
        "post_name": Subquery(posts),
        "contact_list_name": name_of_row(account.contact_lists.all(), "contact_list_id"),
    }


def of_live_posts(rows: Any, account: Account) -> "QuerySet[Model]":
    found: QuerySet[Model] = rows.filter(Exists(account.posts.live().without_tasks().filter(id=OuterRef("post_id"))))
    return found


def votes_of_users(account: Account, user: User) -> "QuerySet[Model]":
    none = Value(None, BigIntegerField(null=True))
    columns: dict[str, Combinable] = {"client_id": none, "contact_id": none, "cast_by_id": none}
    return of_live_posts(account.votes.annotate(voter_id=F("user_id"), **columns), account)


def votes_of_customers(account: Account, user: User) -> "QuerySet[Model]":
    voter = Value(None, BigIntegerField(null=True))
    rows = account.proxy_votes.accessible_to(user).annotate(voter_id=voter, cast_by_id=F("user_id"))
    return of_live_posts(rows, account)


def timeline_entries(account: Account, user: User) -> "QuerySet[Model]":
    entries = account.timeline_entries.with_subjects(account, user.access)
    # An entry about a suggestion has a subject that everyone of the team sees, on the timelines of rows that only some see.
    return (
        entries.filter(links_to_accessible(user.access, Client, Contact, Deal)) if user.access.is_limited else entries
    )


def memberships(account: Account, user: User) -> "QuerySet[Model]":
    contacts = account.contacts.live().accessible_to(user).filter(id=OuterRef("contact_id"))
    lists = account.contact_lists.live().filter(id=OuterRef("contact_list_id"))
    return ContactListMembership.objects.filter(Exists(contacts), Exists(lists), account_id=account.id)


def texts_of(declaration: RecordList) -> dict[str, Callable[[Any], str]]:
    def reader(labels: dict[str, str | Promise]) -> Callable[[Any], str]:
        return lambda value: str(labels.get(value, value))

    return {name: reader(dict(choices)) for name, choices in declaration.choices.items()}


EXPORTS: dict[str, ExportResource] = {
    resource.key: resource
    for resource in (
        *(
            ExportResource(key=declaration.resource, label=declaration.label, texts=texts_of(declaration))
            for declaration in LISTS.values()
        ),
        ExportResource(
            key=FORUM_SUGGESTIONS,
            label=_("Suggestions, with the filters of the forum"),
            texts=texts_of(LISTS["suggestion"]),
        ),
        ExportResource(
            key="comment",
            label=_("Comments"),
            fields=COMMENT_FIELDS,
            tables=(lambda account, user: account.comments.of_live_posts(user.access),),
        ),
        ExportResource(key="vote", label=_("Votes"), fields=VOTE_FIELDS, tables=(votes_of_users, votes_of_customers)),
        ExportResource(
            key="note",
            label=_("Notes"),
            fields=NOTE_FIELDS,
            tables=(lambda account, user: account.notes.live().accessible_to(user),),
            texts={"kind": lambda kind: str(Note.Kind(kind).label)},
        ),
        ExportResource(
            key="timeline",
            label=_("Timeline"),
            fields=TIMELINE_FIELDS,
            tables=(timeline_entries,),
            texts={
                "kind": lambda kind: str(KINDS[kind].label) if kind in KINDS else kind,
                "subject": lambda subject: str(subject["title"]),
                "data": lambda data: json.dumps(data, cls=DjangoJSONEncoder, ensure_ascii=False) if data else "",
            },
        ),
        ExportResource(
            key="membership", label=_("Members of contact lists"), fields=MEMBERSHIP_FIELDS, tables=(memberships,)
        ),
    )
}


def fields_of_export(resource: str, account: Account) -> list[Field]:
    """Return the fields of the rows, with those that the account defines. Except for `ID`, all of a list are those of the list."""
    of_list = "suggestion" if resource == FORUM_SUGGESTIONS else resource
    return list(EXPORTS[resource].fields) or [ID, *LISTS[of_list].fields(account)]
