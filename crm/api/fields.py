import re
from decimal import Decimal
from typing import Any

from django.utils.translation import gettext_lazy as _
from rest_framework.fields import empty

from core.api.fields import MAX_NAME_LENGTH, TextField, WireField
from core.db.text import is_xml_text
from core.errors import FieldError, FieldErrors
from crm.external_ids import MOST

# The field of a client that is one of its external ids, and the key of that.
EXTERNAL_ID = "external_id"


class BuiltName(TextField):
    """A name; when it is blank it is built from the first and the last name, failing these from the e-mail."""

    def __init__(self, **kwargs):
        super().__init__(**{"required": True, **kwargs})

    def run_validation(self, data=empty):
        if data is empty or data is None or (isinstance(data, str) and not data.strip()):
            data = self._built()
        return super().run_validation(data)

    def _built(self) -> str:
        names = " ".join(filter(None, (self._part("first_name"), self._part("last_name"))))
        return (names or self._part("email"))[:MAX_NAME_LENGTH]

    def _part(self, name: str) -> str:
        given = self.parent.initial_data
        value = given[name] if name in given else getattr(self.parent.instance, name, None)
        return "" if value is None or isinstance(value, bool | list | dict) else str(value).strip()


class ExternalIds(WireField):
    """An object of key to identifier; merged into what is there, a null value removes its key."""

    KEY = re.compile(r"[A-Za-z0-9_.-]{1,64}")
    default_error_messages = {
        "object": "must be an object of key to identifier",
        "key": "key {key} is not made of 1-64 letters, digits, _, . and -",
        "value": "{key} must be a text of 1-255 characters",
        "too_many": _("are too many (maximum is {most})"),
    }

    def __init__(self, model, **kwargs):
        self.model = model
        super().__init__(**kwargs)

    def run_validation(self, data=empty):
        return super().run_validation({} if data is None else data)

    def to_internal_value(self, data) -> dict[str, str | None]:
        if not isinstance(data, dict):
            self.fail("object")
        pairs, errors = {}, []
        for key, value in data.items():
            text = value if value is None or isinstance(value, str) else str(value)
            if not self.KEY.fullmatch(key):
                errors.append(FieldError("", self.error_messages["key"], "key", {"key": key[:64]}))
            elif isinstance(value, bool | list | dict) or (text is not None and not self.fits(key, text)):
                errors.append(FieldError("", self.error_messages["value"], "value", {"key": key}))
            else:
                pairs[key] = text
        if errors:
            raise FieldErrors(errors)
        row = self.parent.instance
        merged = (row or self.model()).merged_external_ids(pairs)
        if len(merged) > MOST:
            self.fail("too_many", most=MOST)
        self.check_holders(pairs, row)
        return pairs

    def check_holders(self, pairs: dict[str, str | None], row) -> None:
        wanted, lookup = {key: value for key, value in pairs.items() if value is not None}, self.context["lookup"]
        if lookup.optimistic and row is None:
            lookup.skipped_lookup = bool(wanted)
            return
        held = lookup.holders(self.model, wanted)
        others = {pair: holder for pair, holder in held.items() if row is None or holder != row.id}
        if others:
            raise FieldErrors(self.model.taken(pair, lookup.called(holder)) for pair, holder in others.items())

    @classmethod
    def readable(cls, external_ids: Any) -> dict[str, str]:
        """The pairs of what was sent that can be looked for, whatever is wrong with the others."""
        if not isinstance(external_ids, dict):
            return {}
        return {
            key: str(value)
            for key, value in external_ids.items()
            if isinstance(value, str | int | Decimal) and not isinstance(value, bool) and cls.fits(key, str(value))
        }

    @classmethod
    def fits(cls, key: str, value: str) -> bool:
        return bool(cls.KEY.fullmatch(key) and value.strip() and len(value) <= MAX_NAME_LENGTH and is_xml_text(value))


def with_external_id(given: dict[str, Any], external_ids: dict[str, str]) -> dict[str, Any]:
    """Return what is given for a client that has these external ids, with its `external_id` among the external ids.

    It is answered as a field, as an additional field and as an external id. When a client sends the resource back whole, the
    place that it changed counts.
    """
    own, additional = given.get("external_ids"), given.get("additional_fields")
    found = [place[EXTERNAL_ID] for place in (given, additional) if isinstance(place, dict) and EXTERNAL_ID in place]
    if not found or not (own is None or isinstance(own, dict)):
        return given
    # Only as an external id would a blank one be refused.
    found = [None if isinstance(value, str) and not value.strip() else value for value in found]
    if own and EXTERNAL_ID in own:
        found.append(own[EXTERNAL_ID])
    before = external_ids.get(EXTERNAL_ID)
    value = next((value for value in found if (value if value is None else str(value)) != before), found[0])
    given = {**given, "external_ids": {**(own or {}), EXTERNAL_ID: value}}
    given.pop(EXTERNAL_ID, None)
    if isinstance(additional, dict):
        given["additional_fields"] = {key: value for key, value in additional.items() if key != EXTERNAL_ID}
    return given
