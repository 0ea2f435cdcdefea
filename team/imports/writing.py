"""The base of the writers of imports: which row a line creates or changes, and what is recorded of it."""

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from django.utils.text import slugify
from django.utils.translation import gettext_lazy as _

from accounts.account.models import Account
from accounts.fields.api import FieldDefinitionSerializer
from accounts.fields.catalogue import defined_name
from accounts.fields.models import MAX_CHOICES, FieldDefinition
from accounts.roles.models import ASSIGNABLE
from accounts.statuses.api import StatusSerializer
from accounts.statuses.models import Status
from accounts.users.models import User
from core.api.fields import MAX_NAME_LENGTH
from core.errors import FieldError, FieldErrors
from core.rows.declared import FieldType
from crm.clients.models import Client
from crm.contacts.models import Contact
from crm.resources.models import CRMResource
from team.batches.models import RecordedRow, RowResult
from team.batches.restoring import values_of
from team.import_lines.fields import ImportField, RowKind
from team.import_lines.lines import NAMED_LINKS, Line, LinkText, NewChoice
from team.import_lines.lookups import RowKey, find_ids, key_of, keys_of, split_names
from team.import_lines.settings import ColumnMapping, ImportPlan, Mode, Unknown

MISSING = object()
# The models of the rows that may be created for a link by name.
LINKED_MODELS: dict[FieldType, type[CRMResource]] = {FieldType.CLIENT: Client, FieldType.CONTACT: Contact}

# The rows to which links are looked up, by the type of the field or the name of a column of posts.
RELATIONS: dict[str, str] = {
    FieldType.USER: "users",
    FieldType.STATUS: "statuses",
    FieldType.CLIENT: "clients",
    FieldType.CONTACT: "contacts",
    FieldType.DEAL: "deals",
    "category_id": "categories",
    "forum_id": "forums",
}
# The kind of statuses of each kind of rows.
STATUS_KINDS = {
    RowKind.CLIENT: Status.Kind.CLIENT,
    RowKind.DEAL: Status.Kind.DEAL,
    RowKind.TASK: Status.Kind.POST,
    RowKind.SUGGESTION: Status.Kind.POST,
}
# The link of a row to the row of an earlier kind in the same line.
LINKS_OF_LINE = {
    RowKind.CONTACT: {"client_id": RowKind.CLIENT},
    RowKind.DEAL: {"client_id": RowKind.CLIENT, "contact_id": RowKind.CONTACT},
    RowKind.TASK: {"client_id": RowKind.CLIENT, "contact_id": RowKind.CONTACT, "deal_id": RowKind.DEAL},
    RowKind.SUGGESTION: {"client_id": RowKind.CLIENT, "contact_id": RowKind.CONTACT},
}


@dataclass
class RowOutcome:
    """The change of a row by a line. `names` are the fields that are recorded."""

    line: Line
    kind: RowKind
    row: Any
    result: str
    names: list[str]
    # What the line is matched by, with the kind; empty if it is not matched.
    key: str = ""
    before: dict[str, Any] = field(default_factory=dict)
    after: dict[str, Any] = field(default_factory=dict)


@dataclass
class PartOutcome:
    """The result of the lines of a part."""

    rows: list[RowOutcome] = field(default_factory=list)
    faulty: list[Line] = field(default_factory=list)
    # Clients and contacts that links name, and that were created for them.
    linked: list[RowOutcome] = field(default_factory=list)
    # Names of what was created on the way, such as statuses, choices and members, and of links and further ids that were left out.
    created_names: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    left_out: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    further_ids: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))

    def recorded_rows(self) -> list[RecordedRow]:
        """Return what the batch records, one row for each row of the account."""
        found: dict[tuple[str, int], RecordedRow] = {}
        for outcome in (*self.linked, *self.rows):
            if outcome.result == RowResult.UNCHANGED:
                continue
            key = (outcome.kind.resource, outcome.row.id)
            if (earlier := found.get(key)) is not None:
                earlier.before = {**outcome.before, **(earlier.before or {})}
                earlier.after = {**(earlier.after or {}), **outcome.after}
                continue
            found[key] = RecordedRow(*key, outcome.result, outcome.before, outcome.after, outcome.line.number)
        return list(found.values())


@dataclass
class PartContext:
    """The base of the writers of the kinds."""

    account: Account
    user: User
    plan: ImportPlan
    outcome: PartOutcome = field(default_factory=PartOutcome)


@dataclass
class PendingRow:
    """A row of a line with the validated values, which are not assigned yet."""

    kind: RowKind
    row: Any
    values: dict[str, Any]
    is_new: bool
    names: list[str]


class KindWriter(ABC):
    """The base of the writers of one kind of rows in a part."""

    def __init__(self, part: PartContext, kind: RowKind) -> None:
        self.part, self.kind = part, kind
        self.account, self.user, self.settings = part.account, part.user, part.plan.settings
        self.match = self.settings.match.get(kind, "")
        # The rows of the account that the lines match, and the rows that earlier lines have created.
        self.matches: dict[RowKey, list[int]] = {}
        self.rows: dict[int, Any] = {}
        self.created: dict[RowKey, Any] = {}
        self.changed: dict[int, Any] = {}
        # The key by which each line is matched, by its number.
        self.keys: dict[int, RowKey] = {}
        # What links and new choices stand for.
        self.links: dict[tuple[str, RowKey], list[int]] = {}

    @abstractmethod
    def find_rows(self) -> Any:
        """Return the rows that may be matched and changed."""

    @abstractmethod
    def make(self) -> Any:
        """Return a new row with an id."""

    @abstractmethod
    def validate(self, row: Any, data: dict[str, Any], *, is_new: bool) -> dict[str, Any]:
        """Return the valid values. Raise FieldErrors."""

    @abstractmethod
    def assign_values(self, row: Any, values: dict[str, Any], *, is_new: bool) -> None:
        """Assign the values, without writing them."""

    @abstractmethod
    def flush(self) -> None:
        """Write the assigned rows."""

    # Looking up

    def look_up(self, lines: Sequence[Line]) -> None:
        """Read the rows that the lines match and link to."""
        keys = [
            (line, keys_of(self.match, str(value)))
            for line in lines
            if (value := line.values[self.kind].get(self.match)) is not None
        ]
        if keys:
            self.matches = find_ids(self.find_rows(), chain(*(found for _line, found in keys)), self.user)
            self.choose_keys(keys)
            ids = {ids[0] for ids in self.matches.values() if len(ids) == 1}
            self.rows = {row.id: row for row in self.find_rows().filter(id__in=ids).order_by("id").locked()}
            for row in self.rows.values():
                row.account = self.account
        texts: dict[str, dict[RowKey, ImportField]] = defaultdict(dict)
        for line in lines:
            for name, value in line.values[self.kind].items():
                for link in (value, *value.others) if isinstance(value, LinkText) else ():
                    texts[name] |= dict.fromkeys(keys_of(link.way, link.text), link.field)
        for name, keys_of_name in texts.items():
            found = find_ids(self.linked_rows(next(iter(keys_of_name.values()))), keys_of_name, self.user)
            self.links |= {(name, key): ids for key, ids in found.items()}

    def choose_keys(self, keys: Sequence[tuple[Line, list[RowKey]]]) -> None:
        """Choose the key of each line. Of several ids it is the first one of a row that exists or that an earlier line creates."""
        known = set(self.matches)
        for line, found in keys:
            chosen = self.keys[line.number] = next((key for key in found if key in known), found[0])
            known.add(chosen)
            if len(found) > 1:
                values = line.values[self.kind]
                values[self.match] = chosen[1]
                if values.get("name"):
                    values["name"] = split_names(values["name"], len(found))[found.index(chosen)]
                self.part.outcome.further_ids[str(self.kind.label)] |= {text for _way, text in found} - {chosen[1]}

    def linked_rows(self, field: ImportField) -> Any:
        """Return the rows to which a field may link."""
        rows = getattr(self.account, RELATIONS[field.name if field.name in NAMED_LINKS else field.type])
        if rows.model is User:
            return rows.filter(**ASSIGNABLE)
        if rows.model is Status:
            return rows.filter(kind=STATUS_KINDS[self.kind])
        return rows.live().accessible_to(self.user) if hasattr(rows.all(), "live") else rows.all()

    def match_key(self, line: Line) -> RowKey | None:
        return self.keys.get(line.number)

    def find(self, line: Line) -> Any:
        """Return the row that a line matches, or None. Raise FieldError."""
        key = self.match_key(line)
        if key is None:
            if self.match and self.settings.mode == Mode.UPDATE:
                raise FieldError(self.match, _("is blank, so no entry can be found"), "required")
            return None
        if (row := self.created.get(key)) is not None:
            return row
        ids = self.matches.get(key, [])
        if len(ids) > 1:
            params = {"n": len(ids), "ids": ", ".join(map(str, ids[:5]))}
            raise FieldError(self.match, _("belongs to several entries ({ids})"), "several", params)
        return self.rows.get(ids[0]) if ids else None

    # Reading a line

    def read(self, line: Line, ids: dict[RowKind, int]) -> PendingRow | None:
        """Validate the row of a line. Return None if the settings leave it alone. Raise FieldErrors."""
        row = self.find(line)
        if row is None and self.settings.mode == Mode.UPDATE:
            raise FieldError(self.match, _("is not that of an entry"), "missing")
        if row is not None and self.settings.mode == Mode.CREATE:
            return PendingRow(self.kind, row, {}, is_new=False, names=[])
        is_new = row is None
        data = self.resolve(line, row=row)
        for name, kind in LINKS_OF_LINE.get(self.kind, {}).items():
            if kind in ids and data.get(name) is None:
                data[name] = ids[kind]
                self.admit(name, ids[kind])
        if row is None:
            row = self.make()
        names = [name for name in data if name != "id"]
        return PendingRow(self.kind, row, self.validate(row, data, is_new=is_new), is_new, names)

    def resolve(self, line: Line, *, row: Any) -> dict[str, Any]:
        """Return the data of a line with ids instead of texts. `row` is the matched row, or None. Raise FieldErrors."""
        data, errors = {}, []
        for name, value in line.values[self.kind].items():
            if value is None and row is None:
                continue
            try:
                data[name] = self.resolve_value(name, value)
            except FieldErrors as caught:
                errors += caught.errors
            if data.get(name, MISSING) is MISSING:
                data.pop(name, None)
        if errors:
            raise FieldErrors(errors)
        return data

    def resolve_value(self, name: str, value: Any) -> Any:
        if isinstance(value, LinkText):
            return self.resolve_link(name, value)
        if isinstance(value, NewChoice):
            return self.create_choice(name, value.text)
        if isinstance(value, list):
            return [self.resolve_value(name, item) for item in value]
        return value

    def choose_link(self, name: str, link: LinkText) -> tuple[LinkText, RowKey]:
        """Return the first text and key of a link that name a row, or else the last ones."""
        found = [(text, key) for text in (link, *link.others) for key in keys_of(text.way, text.text)]
        return next((pair for pair in found if self.links.get((name, pair[1]))), found[-1])

    def resolve_link(self, name: str, link: LinkText) -> Any:
        keys = keys_of(link.way, link.text)
        link, key = self.choose_link(name, link)
        if len(keys) > 1:
            _way, kept = key if key in keys else keys[0]
            self.part.outcome.further_ids[str(link.field.field.label)] |= {text for _way, text in keys} - {kept}
        ids = self.links.get((name, key), [])
        if len(ids) == 1 or (ids and link.field.type == FieldType.STATUS):
            return ids[0]
        params = {"value": link.text[:100], "n": len(ids)}
        if ids:
            raise FieldError(name, _("“{value}” is the name of {n} entries"), "several", params)
        if self.settings.unknown == Unknown.FAULT:
            raise FieldError(name, _("“{value}” can't be found"), "missing", params)
        if self.settings.unknown == Unknown.CREATE and link.field.type == FieldType.STATUS:
            return self.create_choice(name, link.text)
        if self.settings.unknown == Unknown.CREATE and link.way == "name" and link.field.type in LINKED_MODELS:
            return self.create_linked(name, link)
        self.part.outcome.left_out[str(link.field.label)].add(link.text)
        return MISSING

    def create_linked(self, name: str, link: LinkText) -> int:
        """Create the client or contact that a link names. The undo of the import removes it."""
        model = LINKED_MODELS[link.field.type]
        row = model(account=self.account)
        row.write({"name": link.text[:MAX_NAME_LENGTH]}, by=self.user)
        kind = RowKind(link.field.type.value)
        key = f"{kind} name {key_of('name', link.text)[1]}"
        self.part.outcome.linked.append(RowOutcome(Line(0), kind, row, RowResult.CREATED, ["name"], key))
        self.links[name, key_of(link.way, link.text)] = [row.id]
        self.admit(name, row.id)
        id: int = row.id
        return id

    def create_choice(self, name: str, text: str) -> Any:
        """Create a status or a choice of a field of the account, unless an earlier line has. Return the value."""
        field = self.part.plan.fields[self.kind][f"{self.kind}.{name}"]
        self.part.outcome.created_names[str(field.field.label)].add(text)
        if field.type == FieldType.STATUS:
            key = (name, key_of("name", text))
            if key not in self.links:
                self.links[key] = [create_status(self.account, STATUS_KINDS[self.kind], text, by=self.user).id]
                self.admit(name, self.links[key][0])
            return self.links[key][0]
        add_choice(self.definition_of(field), text, by=self.user)
        return text

    def definition_of(self, field: ImportField) -> FieldDefinition:
        """Return the definition of a field with choices, which `validate` uses."""
        raise NotImplementedError

    def admit(self, name: str, id: int) -> None:  # noqa: B027  # a writer may look links up itself
        """Accept the id of a row that was created after the look-up as the value of a link."""

    # Assigning

    def assign(self, line: Line, pending: PendingRow) -> RowOutcome:
        """Assign the values of a line to its row, if they differ."""
        row, names = pending.row, self.recorded_names(pending)
        if pending.is_new:
            self.assign_values(row, pending.values, is_new=True)
            self.remember(line, row)
            return RowOutcome(line, self.kind, row, RowResult.CREATED, names, self.text_key(line))
        before = self.values_of(row, names)
        changed = self.change(row, pending.values, before) if pending.values else []
        if changed:
            self.changed[row.id] = row
        result = RowResult.CHANGED if changed else RowResult.UNCHANGED
        return RowOutcome(
            line, self.kind, row, result, changed, self.text_key(line), {name: before[name] for name in changed}
        )

    def text_key(self, line: Line) -> str:
        key = self.match_key(line)
        return "" if key is None else f"{self.kind} {key[0]} {key[1]}"

    @abstractmethod
    def change(self, row: Any, values: dict[str, Any], before: dict[str, Any]) -> list[str]:
        """Assign values to an existing row, and return the names of those in `before` that differ."""

    def recorded_names(self, pending: PendingRow) -> list[str]:
        return pending.names

    def values_of(self, row: Any, names: Iterable[str]) -> dict[str, Any]:
        """Return the current values of a row, with those that are not written yet."""
        return values_of(row, names)

    def remember(self, line: Line, row: Any) -> None:
        """Let later lines match a new row."""
        key = self.match_key(line)
        if key is not None and self.match != "id":
            self.created.setdefault(key, row)
        self.changed[row.id] = row


def create_status(account: Account, kind: str, name: str, *, by: User) -> Status:
    """Create a status with the name, and a code derived from it. Raise FieldError."""
    if not by.is_admin:
        raise FieldError(
            "status_id", _("“{value}” is not a status, and only admins can add one"), "forbidden", {"value": name[:100]}
        )
    serializer = StatusSerializer(
        data={"kind": kind, "name": name, "code": slugify(name)[:255] or "status"}, context={"account": account}
    )
    try:
        values = serializer.read()
    except FieldErrors as caught:
        raise FieldErrors(
            FieldError("status_id", error.message, error.code, error.params) for error in caught.errors
        ) from None
    status = Status(account=account)
    status.write(values)
    return status


def add_choice(definition: FieldDefinition, choice: str, *, by: User) -> None:
    """Add a choice to a field of the account. Raise FieldError."""
    name = defined_name(definition.key)
    if not by.is_admin:
        raise FieldError(
            name,
            _("“{value}” is not one of the choices, and only admins can add one"),
            "forbidden",
            {"value": choice[:100]},
        )
    if len(definition.choices) >= MAX_CHOICES:
        raise FieldError(name, _("has too many choices (maximum is {most})"), "too_many", {"most": MAX_CHOICES})
    definition.write({"choices": [*definition.choices, choice[:MAX_NAME_LENGTH]]})


def define_field(account: Account, kind: str, label: str, type: str, mapping: ColumnMapping, *, by: User) -> str:
    """Define a field of the account for a column, and return its name. Raise FieldErrors."""
    if not by.is_admin:
        raise FieldError("columns", _("{column}: only admins can add a field"), "forbidden", {"column": label})
    data: dict[str, Any] = {"resource": kind, "label": label[:MAX_NAME_LENGTH], "type": type}
    if type in ("choice", "choices"):
        data["choices"] = list(mapping.values) or [str(_("Other"))]
    serializer = FieldDefinitionSerializer(data=data, context={"account": account})
    try:
        values = serializer.read()
    except FieldErrors as caught:
        params = {"column": label, "error": caught.errors[0].text}
        raise FieldError("columns", _("{column}: {error}"), "field", params) from None
    definition = FieldDefinition(account=account)
    definition.write(values)
    return defined_name(definition.key)
