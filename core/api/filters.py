"""Filters of lists: declared with django-filter, read by the same fields, and refused with the same messages, as a body."""

import re

import django_filters
from django import forms
from rest_framework.fields import Field

from core.api.fields import DateTimeField, IntegerField, TextField
from core.errors import FieldError, FieldErrors
from core.search.queries import MAX_QUERY_LENGTH


class _Carrier(forms.ValidationError):
    """Carries an error of the wire through a form of Django."""

    def __init__(self, error: FieldError):
        super().__init__(error.message, error.code)
        self.error = error


class _FormField(forms.Field):
    def __init__(self, wire: Field, **kwargs):
        super().__init__(required=False, **kwargs)
        self.wire = wire

    def to_python(self, value):
        if value is None:
            return None
        try:
            return self.wire.run_validation(value)
        except FieldErrors as caught:
            raise forms.ValidationError([_Carrier(error) for error in caught.errors]) from None


class WireFilter(django_filters.Filter):
    """A filter whose value is read by a field of the wire."""

    # Where a value is not simply the parameter of the filter's name.
    widget: type[forms.Widget] | None = None

    def __init__(self, wire: Field, *, field_name: str | None = None, lookup_expr: str = "exact"):
        super().__init__(field_name=field_name, lookup_expr=lookup_expr)
        self.wire = wire

    @property
    def field(self) -> _FormField:
        # Bound anew: the field reads times in the zone of the account that asks.
        wire = type(self.wire)(*self.wire._args, **self.wire._kwargs)
        wire._context = {"account": self.parent.account}
        return _FormField(wire, widget=self.widget)


class QueryDateTimeField(DateTimeField):
    """A time in a query string, where the plus of its offset, unless it was escaped, has become a space."""

    def to_internal_value(self, data):
        return super().to_internal_value(re.sub(r" (\d\d(:?\d\d)?)$", r"+\1", data) if "T" in data else data)


class SearchTextField(TextField):
    default_error_messages = {"words": "must have a letter or a digit"}

    def __init__(self):
        super().__init__(max_length=MAX_QUERY_LENGTH)

    def to_internal_value(self, data) -> str | None:
        text = super().to_internal_value(data)
        if text.strip() and not any(character.isalnum() for character in text):
            self.fail("words")
        return text.strip() or None


class SearchFilter(WireFilter):
    """`q`: the list ranks what is found, when the other filters are laid on."""

    def __init__(self):
        super().__init__(SearchTextField())

    def filter(self, rows, value):
        return rows


def link_filter() -> WireFilter:
    """By the id of something that the rows name. One that there is not has no rows."""
    return WireFilter(IntegerField())


class ListFilters(django_filters.FilterSet):
    """What every list may be narrowed by."""

    # Times are shown to the second. Whatever changed later in the second that is given is found, and so is, again, the row
    # that its time was read from: nothing is missed.
    updated_since = WireFilter(QueryDateTimeField(), field_name="updated_at", lookup_expr="gte")
    q = SearchFilter()

    def __init__(self, parameters, queryset, *, account):
        self.account = account
        super().__init__(parameters, queryset=queryset)

    def find_errors(self) -> dict[str, FieldError]:
        """Return what is wrong with the values of the filters: the first error of each parameter."""
        if self.is_valid():
            return {}
        return {name: carriers[0].error.within(name) for name, carriers in self.errors.as_data().items()}

    def only(self, column: str):
        """The rows that pass what they are filtered by in that column."""
        rows = self.queryset.all()
        for name, one in self.filters.items():
            if one.field_name == column:
                rows = one.filter(rows, self.form.cleaned_data[name])
        return rows

    @classmethod
    def parameters(cls) -> list[str]:
        """The names of its parameters, as a refusal lists them."""
        return list(cls.base_filters)

    @property
    def are_used(self) -> bool:
        return any(value not in (None, {}) for name, value in self.form.cleaned_data.items() if name != "q")
