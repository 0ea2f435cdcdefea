"""The section "Timeline" on the pages of clients, contacts and deals.

It takes one statement for the entries with all names, and another one if changed fields have links, whose names it reads.
"""

import json
from dataclasses import dataclass, field
from datetime import date
from itertools import groupby

from django.utils import timezone
from django.utils.functional import Promise
from django.utils.text import Truncator
from django.utils.translation import gettext as _

from accounts.fields.catalogue import Field, builtin_fields, fields_of
from accounts.statuses.models import Status
from core.api.paging import ListPage
from core.api.routing import path_with_id
from core.rows.declared import FieldType
from crm.notes.models import Note
from forum.texts.markdown import render
from team.fields.forms import display
from team.fields.names import LINKS as LINK_TYPES
from team.fields.names import RECORD_ICONS, Names
from team.menu.pages import TeamRequest
from team.timeline.models import GROUPS, KINDS, LINKS, EntryKind, TimelineEntry, cut_text, timeline_of

PAGE_SIZE = 20
# A longer value of a changed field is cut.
MAX_VALUE_LENGTH = 120


@dataclass(frozen=True)
class ChangedField:
    """A change of a field, with the values as people see them. An empty value is blank."""

    label: str | Promise
    before: str
    after: str


@dataclass(frozen=True)
class Item:
    """An entry, as the page shows it."""

    entry: TimelineEntry
    kind: EntryKind
    href: str
    who: str
    text: str = ""
    # How a call ended.
    outcome: str = ""
    # The other rows to which the entry belongs: their icons, addresses and names.
    links: list[tuple[str, str, str]] = field(default_factory=list)
    changes: list[ChangedField] = field(default_factory=list)
    before: Status | None = None
    after: Status | None = None

    @property
    def html(self) -> str:
        """The text as HTML. Texts are Markdown."""
        return render(self.text)

    @property
    def title(self) -> str:
        """The name of the row that the entry is about: as the entry has it, or else as it is now. A note has its text instead."""
        return self.own_title or ("" if self.text else self.entry.subject["title"])

    @property
    def own_title(self) -> str:
        """The title that the entry itself has: the subject of a message, or the name of a record that was merged."""
        return str(self.entry.data.get("subject") or self.entry.data.get("name") or "")


@dataclass(frozen=True)
class Timeline:
    """A page of a timeline, by days."""

    days: list[tuple[date, list[Item]]]
    page: ListPage
    has_more: bool
    # The filters: their names in the address, their labels, and whether they are selected. The first one selects all entries.
    filters: list[tuple[str, str | Promise, bool]]

    @property
    def is_filtered(self) -> bool:
        return not self.filters[0][2]


def timeline_section(request: TeamRequest, resource: str, id: int, fields: list[Field], page: ListPage) -> Timeline:
    """Return the timeline of a record. `fields` are the fields of its resource.

    The parameter `show` of the address names a filter. An unknown filter selects all entries.
    """
    group = request.GET.get("show", "")
    group = group if group in GROUPS else ""
    kinds = [kind.key for kind in KINDS.values() if kind.group == group]
    entries = timeline_of(request.account, resource, id, access=request.user.access, page=page, kinds=kinds)
    shown = entries[: page.size]
    items = Items(request, resource, fields, shown)
    days = groupby(shown, key=lambda entry: timezone.localtime(entry.at).date())
    return Timeline(
        days=[(day, [items.build_item(entry) for entry in entries_of_day]) for day, entries_of_day in days],
        page=page,
        has_more=len(entries) > page.size,
        filters=[("", _("All"), not group), *((name, label, name == group) for name, label in GROUPS.items())],
    )


class Items:
    """Makes the items of a page. It reads the names for all changed fields at once."""

    def __init__(self, request: TeamRequest, resource: str, fields: list[Field], entries: list[TimelineEntry]) -> None:
        self.request, self.resource = request, resource
        self.fields = {resource: {field.name: field for field in fields}}
        self.names = Names.read(
            request.account,
            request.user,
            {
                (field.type, value)
                for entry in entries
                for change in entry.data.get("changes", ())
                if (field := self.field_of(entry.resource, change["field"])).type in LINK_TYPES
                for value in (change["before"], change["after"])
                if isinstance(value, int)
            },
        )

    def field_of(self, resource: str, name: str) -> Field:
        """Return the field with a name. A field without a definition has its key as its label."""
        key = name.removeprefix("additional_fields[").removesuffix("]")
        if resource not in self.fields:
            found = fields_of(self.request.account, resource) if key != name else builtin_fields(resource)
            self.fields[resource] = {field.name: field for field in found}
        known = self.fields[resource]
        if name not in known and key != name and not any(field.definition for field in known.values()):
            known.update({field.name: field for field in fields_of(self.request.account, resource)})
        return known.get(name) or Field(name, key, FieldType.TEXT)

    def build_item(self, entry: TimelineEntry) -> Item:
        kind, subject = KINDS[entry.kind], entry.subject
        return Item(
            entry,
            kind,
            href=self.href_of(entry),
            who=entry.user_name or "",
            text=cut_text(subject.get("text") or ""),
            outcome=str(Note.Outcome(subject["outcome"]).label) if subject.get("outcome") else "",
            links=[
                (RECORD_ICONS[link], path_with_id(f"team-{link}", getattr(entry, f"{link}_id")), name)
                for link in LINKS
                if link not in (self.resource, entry.resource) and (name := getattr(entry, f"{link}_name"))
            ],
            changes=self.changed_fields(entry),
            before=status_in(entry.data.get("before")),
            after=status_in(entry.data.get("after")),
        )

    def href_of(self, entry: TimelineEntry) -> str:
        """Return the address of the row that the entry is about, unless it is the record of the page."""
        if entry.kind in ("task", "task_done"):
            return path_with_id("team-task", entry.resource_id)
        if message_id := entry.data.get("message_id"):
            # Agents with limited access see their own messages only.
            is_shown = not self.request.user.access.is_limited or entry.user_id == self.request.user.id
            return path_with_id("team-message", message_id) if is_shown else ""
        if post_id := entry.subject.get("post_id"):
            return path_with_id("forum-post", post_id)
        if entry.resource == self.resource:
            return ""
        return path_with_id("forum-post" if entry.resource == "post" else f"team-{entry.resource}", entry.resource_id)

    def changed_fields(self, entry: TimelineEntry) -> list[ChangedField]:
        changes = {change["field"]: change for change in entry.data.get("changes", ())}
        # An amount is in the currency that the deal had at that time.
        current = entry.subject.get("currency") or ""
        currencies = changes.get("currency") or {"before": current, "after": current}
        found = []
        for name, change in changes.items():
            field = self.field_of(entry.resource, name)
            texts = [
                self.text_of(field, change[time], currencies[time] if name == "price" else "")
                for time in ("before", "after")
            ]
            found.append(ChangedField(field.label, *texts))
        return found

    def text_of(self, field: Field, value: object, currency: str) -> str:
        if value is None:
            return ""
        if field.type in LINK_TYPES and isinstance(value, int):
            return self.names.get_name(field.type, value)
        if isinstance(value, dict):
            value = json.dumps(value, ensure_ascii=False, default=str)
        if field.type not in LINK_TYPES:
            value = display(field, field.read_stored(value), self.request.account, currency=currency)
        return Truncator(str(value)).chars(MAX_VALUE_LENGTH)


def status_in(values: dict[str, str] | None) -> Status | None:
    """Return the status in the data of an entry, with the name that it had at that time."""
    if not values:
        return None
    return Status(kind=Status.Kind.DEAL, code=values["code"], name=values["name"], color=values["color"])
