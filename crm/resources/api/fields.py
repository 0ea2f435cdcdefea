"""The field types of the CRM (derived names and external ids), the lookup of rows by external ids, and the filters by external ids and e-mails."""

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from decimal import Decimal
from typing import Any, TypeVar

from django import forms
from django.db.models import Model, QuerySet
from django.utils.translation import gettext_lazy as _
from rest_framework.fields import empty

from accounts.account.models import Account
from accounts.fields.api import DefinedTextField
from accounts.fields.models import FieldDefinition, definitions_of
from accounts.users.models import User
from core.api.conditions import ConditionFilters
from core.api.fields import MAX_NAME_LENGTH, BooleanField, ReferenceMixin, TextField, WireField, to_object
from core.api.filters import WireFilter
from core.db.tenancy import next_ids
from core.db.text import is_xml_text
from core.errors import FieldError, FieldErrors
from core.rows.access import Access
from core.rows.trimmed import fold_email, is_blank, trim
from crm.resources.models import (
    MAX_EXTERNAL_IDS,
    MAX_VALUE_LENGTH,
    CRMResource,
    ExternallyIdentified,
    Pair,
    normalize_value,
)

ResourceT = TypeVar("ResourceT", bound=CRMResource)

_TRY_UPDATE = BooleanField()

PARAMETER = re.compile(r"external_ids\[(.*)\]", re.DOTALL)


def is_try_update(data: object) -> bool:
    """Return whether the input has a true `try_update`. The serializer refuses an invalid value, together with all other errors."""
    try:
        return isinstance(data, dict) and bool(_TRY_UPDATE.run_validation(data.get("try_update")))
    except FieldErrors:
        return False


class DerivedName(TextField):
    """A name. A blank one is derived from `first_name` and `last_name`, or else from `email`."""

    def __init__(self, **kwargs: Any):
        super().__init__(**{"required": True, **kwargs})

    def run_validation(self, data: Any = empty) -> object:
        if data is empty or data is None or (isinstance(data, str) and is_blank(data)):
            data = self._derive()
        return super().run_validation(data)

    def _derive(self) -> str:
        names = " ".join(filter(None, (self._part("first_name"), self._part("last_name"))))
        return (names or self._part("email"))[:MAX_NAME_LENGTH]

    def _part(self, name: str) -> str:
        data = self.parent.initial_data
        value = data[name] if name in data else getattr(self.parent.instance, name, None)
        text = "" if value is None or isinstance(value, bool | list | dict) else str(value)
        return "" if is_blank(text) else trim(text)


class ExternalIds(WireField):
    """An object of keys and values, merged into the external ids of the row. Null removes a key."""

    KEY = re.compile(r"[A-Za-z0-9_.-]{1,64}")
    default_error_messages = {
        "object": "must be an object of key to identifier",
        "key": "key {key} is not made of 1-64 letters, digits, _, . and -",
        "value": "{key} must be a text of 1-255 characters",
        "too_many": _("are too many (maximum is {most})"),
    }

    def __init__(self, model: type[ExternallyIdentified], **kwargs: Any):
        self.model = model
        super().__init__(**kwargs)

    def run_validation(self, data: object = empty) -> object:
        return super().run_validation({} if data is None else data)

    def to_internal_value(self, data: object) -> dict[str, str | None]:
        data = to_object(data)
        if not isinstance(data, dict):
            self.fail("object")
        pairs: dict[str, str | None] = {}
        errors: list[FieldError] = []
        for key, value in data.items():
            text = None if value is None else normalize_value(value)
            if not self.KEY.fullmatch(key):
                errors.append(FieldError("", self.error_messages["key"], "key", {"key": key[:64]}))
            elif isinstance(value, bool | list | dict) or (text is not None and not self.is_valid_pair(key, text)):
                errors.append(FieldError("", self.error_messages["value"], "value", {"key": key}))
            else:
                pairs[key] = text
        if errors:
            raise FieldErrors(errors)
        row = self.parent.instance
        # A new row has no others.
        set_pairs = {key: value for key, value in pairs.items() if value is not None}
        if len(set_pairs if row is None else row.merged_external_ids(pairs)) > MAX_EXTERNAL_IDS:
            self.fail("too_many", most=MAX_EXTERNAL_IDS)
        self.check_holders(set_pairs, row)
        return pairs

    def check_holders(self, set_pairs: dict[str, str], row: ExternallyIdentified | None) -> None:
        """Raise FieldErrors for the pairs that other rows hold."""
        lookup = self.context["lookup"]
        if lookup.optimistic and row is None:
            lookup.skipped_lookup = bool(set_pairs)
            return
        held = lookup.holders(self.model, set_pairs)
        others = {pair: holder for pair, holder in held.items() if row is None or holder != row.id}
        lookup.check_accessible(self.model, others)
        if others:
            raise FieldErrors(self.model.taken_error(pair, lookup.label_of(holder)) for pair, holder in others.items())

    @classmethod
    def valid_pairs(cls, external_ids: Any) -> dict[str, str]:
        """Return those pairs of an unvalidated input that are valid. Their holders are looked up."""
        if not isinstance(external_ids, dict):
            return {}
        return {
            key: text
            for key, value in external_ids.items()
            if isinstance(value, str | int | Decimal)
            and not isinstance(value, bool)
            and cls.is_valid_pair(key, text := normalize_value(value))
        }

    @classmethod
    def is_valid_pair(cls, key: str, value: str) -> bool:
        is_valid_value = not is_blank(value) and len(value) <= MAX_VALUE_LENGTH and is_xml_text(value)
        return bool(cls.KEY.fullmatch(key) and is_valid_value)


class Lookup:
    """A lookup in the database.

    An `optimistic` lookup leaves out the holders of a new row's external ids, because the insert checks them, and sets `skipped_lookup`.
    """

    def __init__(self, account: Account, access: Access, *, optimistic: bool = False):
        self.account, self.access = account, access
        self.optimistic = optimistic
        self.skipped_lookup = False
        self._definitions: dict[str, dict[str, FieldDefinition]] = {}

    def definitions(self, resource: str) -> dict[str, FieldDefinition]:
        """Return the field definitions of a resource by key, in their order."""
        if resource not in self._definitions:
            rows = definitions_of(self.account, resource)
            self._definitions[resource] = {row.key: row for row in rows}
        return self._definitions[resource]

    def holders(self, model: type[ExternallyIdentified], pairs: Mapping[str, str]) -> dict[Pair, int]:
        """Return the ids of the holders, by pair."""
        return model.holders(self.account.id, pairs.items())

    def label_of(self, id: int) -> int | str:
        """Return the label of a holder in error messages: its id."""
        return id

    def check_accessible(self, model: type[ExternallyIdentified], holders: Mapping[Pair, int]) -> None:
        """Raise FieldErrors for the pairs whose holder the user may not access."""
        hidden_ids = model.hidden_ids(self.account.id, holders.values(), self.access)
        if errors := model.hidden_errors(holders, hidden_ids):
            raise FieldErrors(errors)

    def new(self, model: type[ResourceT]) -> ResourceT:
        return model(account=self.account)


class BulkLookup(Lookup):
    """A lookup for the items of a bulk request. It reads the database once for all items.

    `assign` adds the values of each item to the lookup. So each item is validated as if the items before it had been written already.
    """

    def __init__(self, account: Account, access: Access, *, max_new: int):
        super().__init__(account, access)
        # Those ids in the items that exist, by field.
        self.existing_ids: dict[str, Mapping[int, int]] = {}
        self._ids = iter(next_ids(account.id, max_new))
        # The ids of the holders that the user may not access.
        self._hidden_ids: set[int] = set()
        self._holders: dict[type[ExternallyIdentified], dict[Pair, int]] = defaultdict(dict)
        # The locked and the new rows of all kinds: the resources of an account share one sequence of ids.
        self._rows: dict[int, Any] = {}
        # The positions of the items that create a row, by the row's id. Empty if items are created in spite of errors in other items.
        self._item_positions: dict[int, int] = {}

    def look_up_links(self, fields: Mapping[str, object], bodies: Collection[dict[str, object]]) -> None:
        """Look up the ids that the bodies name."""
        for name, field in fields.items():
            if isinstance(field, ReferenceMixin):
                ids: set[int] = set().union(*(field.ids_in(body.get(name)) for body in bodies))
                self.existing_ids[name] = field.look_up(self.account, ids, self.access)

    def look_up_holders(self, model: type[ExternallyIdentified], bodies: Iterable[dict[str, object]]) -> None:
        """Look up the holders of the external ids that the bodies name."""
        pairs = {pair for body in bodies for pair in ExternalIds.valid_pairs(body.get("external_ids")).items()}
        self._holders[model] |= model.holders(self.account.id, pairs)
        self._hidden_ids |= model.hidden_ids(self.account.id, self._holders[model].values(), self.access)

    def check_accessible(self, model: type[ExternallyIdentified], holders: Mapping[Pair, int]) -> None:
        if errors := model.hidden_errors(holders, self._hidden_ids):
            raise FieldErrors(errors)

    def holders(self, model: type[ExternallyIdentified], pairs: Mapping[str, str]) -> dict[Pair, int]:
        holders = self._holders[model]
        return {pair: holders[pair] for pair in pairs.items() if pair in holders}

    def label_of(self, id: int) -> int | str:
        """Return the label of a holder in error messages: its id, or its item if one error keeps all rows from being created."""
        return f"item {self._item_positions[id]}" if id in self._item_positions else id

    def new(self, model: type[ResourceT]) -> ResourceT:
        return model(account=self.account, id=next(self._ids))

    def assign(self, row: CRMResource, values: dict[str, object], *, by: User, item: int | None = None) -> None:
        """Assign the values of an item to its row. Later items are validated with these values.

        `item` is the position of the item, if one error keeps all rows from being created, else None.
        """
        self.assign_all([row], lambda: row.assign(values, by=by), item=item)

    def assign_all(self, rows: list[CRMResource], assign: Callable[[], None], *, item: int | None) -> None:
        """Call `assign`, which changes these rows, and add their new values to the lookup."""
        before = [getattr(row, "external_ids", {}) for row in rows]
        assign()
        for row, old_pairs in zip(rows, before, strict=True):
            self._rows[row.id] = row
            if item is not None and row._state.adding:
                self._item_positions.setdefault(row.id, item)
            if isinstance(row, ExternallyIdentified):
                holders = self._holders[type(row)]
                for pair in old_pairs.items() - row.external_ids.items():
                    holders.pop(pair, None)
                holders |= dict.fromkeys(row.external_ids.items(), row.id)


# Filters


def external_ids_in(parameters: Mapping[str, str]) -> dict[str, str]:
    """Return the pairs of the parameters `external_ids[key]=value`."""
    return {match[1]: trim(parameters[name]) for name in parameters if (match := PARAMETER.fullmatch(name))}


class _ExternalIdsWidget(forms.Widget):
    def value_from_datadict(self, data: Any, files: object, name: str) -> dict[str, str]:
        return external_ids_in(data)


class ExternalIdPairs(WireField):
    """The external ids in the query of a URL."""

    default_error_messages = {
        "pair": "must be external_ids[key]=value: a key of 1-64 letters, digits, _, . and -, a value of 1-255 characters",
        "too_many": ExternalIds.default_error_messages["too_many"],
    }

    def to_internal_value(self, data: dict[str, str]) -> dict[str, str]:
        if any(not ExternalIds.is_valid_pair(key, value) for key, value in data.items()):
            self.fail("pair")
        if len(data) > MAX_EXTERNAL_IDS:
            self.fail("too_many", most=MAX_EXTERNAL_IDS)
        return data


class ExternalIdPairsFilter(WireFilter):
    """The filter `external_ids[key]=value`: the row that holds all of the given pairs."""

    widget = _ExternalIdsWidget

    def __init__(self, model: type[ExternallyIdentified]):
        super().__init__(ExternalIdPairs())
        self.model = model

    def filter(self, rows: QuerySet[Model], pairs: dict[str, str] | None) -> QuerySet[Model]:
        if not pairs:
            return rows
        holder_id = self.model.holder_of_all(self.parent.account.id, pairs)
        return rows.none() if holder_id is None else rows.filter(id=holder_id)


class EmailFilter(WireFilter):
    """A filter for the rows with the given e-mail address, ignoring case."""

    def __init__(self) -> None:
        super().__init__(DefinedTextField())

    def filter(self, rows: QuerySet[Model], value: str | None) -> QuerySet[Model]:
        return rows if value is None else rows.filter(email_key=fold_email(value))


class ExternallyIdentifiedFilters(ConditionFilters):
    """The filters of a list whose rows have external ids."""

    @classmethod
    def parameters(cls) -> list[str]:
        return [f"{name}[key]" if name == "external_ids" else name for name in super().parameters()]
