"""The actions of bulk changes.

An action gets locked rows of one account, and returns their values before and after. The number of statements does not depend on the
number of rows.
"""

import copy
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from accounts.account.models import Account
from accounts.fields.catalogue import Field, fields_of
from accounts.users.models import User
from core.api.fields import MISSING
from core.api.views import NOT_SETTABLE
from core.errors import FieldError, FieldErrors
from core.registry import registry
from core.rows.additional_fields import to_json_value
from core.rows.declared import FieldType
from core.rows.trash import TrashedId
from crm.clients.models import Client
from crm.contacts.models import Contact
from crm.deals.models import Deal
from crm.resources.api.views import name_defined_field, read_values
from team.batches.models import RowResult
from team.batches.restoring import COMPANIONS, CONTACT_LISTS, has_tag, has_too_many_tags, split_name, values_of


@dataclass(frozen=True)
class Outcome:
    """The result for a row, with the values of the changed fields before and after, by name."""

    result: str
    before: dict[str, object] | None = None
    after: dict[str, object] | None = None


# The resources of which rows can be changed together, and their rows.
RESOURCES = ("client", "contact", "deal")
BulkRow = Client | Contact | Deal


def changed_outcomes(rows: Iterable[BulkRow], before: Mapping[int, dict[str, object]]) -> dict[int, Outcome]:
    """Return the outcomes of changed rows. `before` has the former values of each row by name."""
    return {row.id: Outcome(RowResult.CHANGED, before[row.id], values_of(row, before[row.id])) for row in rows}


@dataclass(frozen=True)
class Action(ABC):
    """An action on the rows of these resources. `field` is the name of its value, or empty."""

    key: str
    label: str | Promise
    resources: tuple[str, ...]
    # The question whether to change `rows`, such as "5,000 clients", to `value`.
    question: str | Promise
    field: str = ""

    def read(self, data: Mapping[str, object], resource: str, account: Account, user: User) -> Any:
        """Return the valid value of `field` in `data`. Raise FieldErrors."""
        return read_value(self.field, data.get(self.field), resource, account, user)

    @abstractmethod
    def apply(self, rows: list[BulkRow], value: Any, *, by: User) -> dict[int, Outcome]:
        """Change the rows. Return the outcomes by the ids of the rows."""


def read_value(name: str, value: object, resource: str, account: Account, user: User) -> Any:
    """Return the value of a field as the JSON API reads it."""
    row: Any = registry[resource].model(account=account)
    return read_values(row, {name: value}, by=user, is_new=False)[name]


def flush(rows: list[Any]) -> None:
    if rows:
        type(rows[0]).flush(rows)


@dataclass(frozen=True)
class SetLink(Action):
    """An action that sets the id of a linked row, or null."""

    def apply(self, rows: list[BulkRow], value: Any, *, by: User) -> dict[int, Outcome]:
        before = {row.id: values_of(row, [self.field]) for row in rows}
        changed = [row for row in rows if getattr(row, self.field) != value]
        for row in changed:
            row.assign({self.field: value}, by=by)
        flush(changed)
        return {row.id: Outcome(RowResult.UNCHANGED) for row in rows} | changed_outcomes(changed, before)


@dataclass(frozen=True)
class SetFields(Action):
    """An action that sets fields by their names, such as `city` or `additional_fields[size]`. Its value is an object, as the API takes it."""

    def read(self, data: Mapping[str, object], resource: str, account: Account, user: User) -> dict[str, object]:
        given = data.get(self.field)
        if not isinstance(given, dict) or not given:
            raise FieldError(self.field, MISSING, "required")
        known = {field.name for field in settable_fields(account, resource)}
        if unknown := sorted(given.keys() - known):
            raise FieldErrors(FieldError(f"{self.field}.{name}", NOT_SETTABLE, "unknown") for name in unknown)
        try:
            row: Any = registry[resource].model(account=account)
            read_values(row, given, by=user, is_new=False)
        except FieldErrors as caught:
            raise FieldErrors(name_defined_field(error).move_into(self.field) for error in caught.errors) from None
        return given

    def apply(self, rows: list[BulkRow], value: dict[str, object], *, by: User) -> dict[int, Outcome]:
        if not rows:
            return {}
        names = [*value, *(name for field in value for name in COMPANIONS.get(field, ()))]
        before = {row.id: values_of(row, names) for row in rows}
        values = read_values(type(rows[0])(account=rows[0].account), value, by=by, is_new=False)
        own = {**values, **cast(dict[str, object], values.get("additional_fields") or {})}
        wanted = {name: to_json_value(own.get(split_name(name)[1] or name)) for name in value}
        changed = [row for row in rows if {name: before[row.id][name] for name in value} != wanted]
        for row in changed:
            row.assign(copy.deepcopy(values), by=by)
        flush(changed)
        return {row.id: Outcome(RowResult.UNCHANGED) for row in rows} | changed_outcomes(changed, before)


def settable_fields(account: Account, resource: str) -> list[Field]:
    """Return the fields that a bulk change sets. Tags have actions of their own."""
    left_out = (FieldType.TAGS, FieldType.CLIENT, FieldType.CONTACT)
    return [field for field in fields_of(account, resource) if not field.read_only and field.type not in left_out]


@dataclass(frozen=True)
class ChangeTags(Action):
    """An action that adds tags to the rows, or removes tags from them."""

    removes: bool = False

    def read(self, data: Mapping[str, object], resource: str, account: Account, user: User) -> list[str]:
        names: list[str] = super().read(data, resource, account, user)
        if not names:
            raise FieldError(self.field, MISSING, "required")
        return names

    def apply(self, rows: list[BulkRow], value: list[str], *, by: User) -> dict[int, Outcome]:
        outcomes: dict[int, Outcome] = {}
        before, changed = {row.id: values_of(row, ["tags"]) for row in rows}, []
        for row in rows:
            if self.removes:
                names = [name for name in row.tags if not has_tag(value, name)]
            else:
                names = row.tags + [name for name in value if not has_tag(row.tags, name)]
            if names == row.tags:
                outcomes[row.id] = Outcome(RowResult.UNCHANGED)
            elif has_too_many_tags(names):
                outcomes[row.id] = Outcome(RowResult.TOO_MANY_TAGS)
            else:
                row.assign({"tags": names}, by=by)
                changed.append(row)
        flush(changed)
        return outcomes | changed_outcomes(changed, before)


@dataclass(frozen=True)
class ChangeContactList(Action):
    """An action that adds contacts to a contact list, or takes them off it."""

    removes: bool = False

    def read(self, data: Mapping[str, object], resource: str, account: Account, user: User) -> int:
        id = data.get(self.field)
        if id is None or id == "":
            raise FieldError(self.field, MISSING, "required")
        try:
            [list_id] = read_value(CONTACT_LISTS, [id], resource, account, user)
        except FieldErrors:
            list_id = None
        if list_id is None or isinstance(list_id, TrashedId):
            raise FieldError(self.field, _("can't be found"), "missing")
        return int(list_id)

    def apply(self, rows: list[Any], value: int, *, by: User) -> dict[int, Outcome]:
        before = {row.id: values_of(row, [CONTACT_LISTS]) for row in rows}
        changed = [row for row in rows if (value in row.contact_list_ids) == self.removes]
        for row in changed:
            others = [id for id in row.contact_list_ids if id != value]
            row.assign({CONTACT_LISTS: others if self.removes else [*others, value]}, by=by)
        flush(changed)
        return {row.id: Outcome(RowResult.UNCHANGED) for row in rows} | changed_outcomes(changed, before)


@dataclass(frozen=True)
class Trash(Action):
    """The action that moves rows to the trash."""

    def read(self, data: Mapping[str, object], resource: str, account: Account, user: User) -> None:
        return None

    def apply(self, rows: list[Any], value: None, *, by: User) -> dict[int, Outcome]:
        if not rows:
            return {}
        type(rows[0]).trash_all(rows, by=by)
        return changed_outcomes(rows, {row.id: {"trashed_at": None} for row in rows})


ACTIONS: dict[str, Action] = {
    action.key: action
    for action in (
        SetLink(
            "set_responsible",
            _("Change responsible"),
            RESOURCES,
            _("Change the responsible of %(rows)s to %(value)s?"),
            "responsible_id",
        ),
        SetLink(
            "set_status",
            _("Change status"),
            ("client", "deal"),
            _("Change the status of %(rows)s to %(value)s?"),
            "status_id",
        ),
        SetFields(
            "set_fields", _("Change a field"), RESOURCES, _("Change a field of %(rows)s to %(value)s?"), "fields"
        ),
        ChangeTags("add_tags", _("Add tags"), RESOURCES, _("Add the tags %(value)s to %(rows)s?"), "tags"),
        ChangeTags(
            "remove_tags",
            _("Remove tags"),
            RESOURCES,
            _("Remove the tags %(value)s from %(rows)s?"),
            "tags",
            removes=True,
        ),
        ChangeContactList(
            "add_to_contact_list",
            _("Add to a contact list"),
            ("contact",),
            _("Add %(rows)s to the contact list %(value)s?"),
            "contact_list_id",
        ),
        ChangeContactList(
            "remove_from_contact_list",
            _("Take off a contact list"),
            ("contact",),
            _("Take %(rows)s off the contact list %(value)s?"),
            "contact_list_id",
            removes=True,
        ),
        Trash("trash", _("Move to trash"), RESOURCES, _("Move %(rows)s to the trash?")),
    )
}
