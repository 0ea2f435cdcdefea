"""Filters of lists whose rows have external ids or an e-mail address."""

import re
from collections.abc import Mapping
from typing import Any

from django import forms
from django.db.models import Model, QuerySet

from core.api.fields import TextField, WireField
from core.api.filters import WireFilter
from core.rows.trimmed import fold_email, trim
from crm.fields.api.conditions import ConditionFilters
from crm.resources.api.fields import ExternalIds
from crm.resources.external_ids import MAX_EXTERNAL_IDS, ExternallyIdentified

PARAMETER = re.compile(r"external_ids\[(.*)\]", re.DOTALL)


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


class LookupText(TextField):
    """A text to look up. A blank text does not filter."""

    blank_is_null = True


class EmailFilter(WireFilter):
    """A filter for the rows with the given e-mail address, ignoring case."""

    def __init__(self) -> None:
        super().__init__(LookupText())

    def filter(self, rows: QuerySet[Model], value: str | None) -> QuerySet[Model]:
        return rows if value is None else rows.filter(email_key=fold_email(value))


class ExternalIdsListFilters(ConditionFilters):
    """The filters of a list whose rows have external ids."""

    @classmethod
    def parameters(cls) -> list[str]:
        return [f"{name}[key]" if name == "external_ids" else name for name in super().parameters()]
