"""The field types of the CRM: derived names and external ids."""

import re
from decimal import Decimal
from typing import Any

from django.utils.translation import gettext_lazy as _
from rest_framework.fields import empty

from core.api.fields import MAX_NAME_LENGTH, BooleanField, TextField, WireField, to_object
from core.db.text import is_xml_text
from core.errors import FieldError, FieldErrors
from core.rows.trimmed import is_blank, trim
from crm.resources.external_ids import MAX_EXTERNAL_IDS, MAX_VALUE_LENGTH, ExternallyIdentified, normalize_value

_TRY_UPDATE = BooleanField()


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
