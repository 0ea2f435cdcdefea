"""Filters of lists: declared with django-filter, read by the same fields, and refused in the same words, as a body."""

import django_filters
from django import forms
from rest_framework.exceptions import ValidationError
from rest_framework.fields import Field


class _FormField(forms.Field):
    def __init__(self, wire: Field, **kwargs):
        super().__init__(required=False)
        self.wire = wire

    def to_python(self, value):
        if value is None:
            return None
        try:
            return self.wire.run_validation(value)
        except ValidationError as error:
            raise forms.ValidationError([str(message) for message in error.detail]) from None


class WireFilter(django_filters.Filter):
    """A filter whose value is read by a field of the wire."""

    def __init__(self, wire: Field, *, field_name: str | None = None, lookup_expr: str = "exact"):
        super().__init__(field_name=field_name, lookup_expr=lookup_expr)
        self.wire = wire

    @property
    def field(self) -> _FormField:
        # Bound anew: the field reads times in the zone of the account that asks.
        wire = type(self.wire)(*self.wire._args, **self.wire._kwargs)
        wire._context = {"account": self.parent.account}
        return _FormField(wire)


class FilterSet(django_filters.FilterSet):
    def __init__(self, parameters, queryset, *, account):
        self.account = account
        super().__init__(parameters, queryset=queryset)

    def rows(self):
        """The rows that pass. Raises ValidationError naming every filter whose value can't be read."""
        if not self.is_valid():
            raise ValidationError({name: list(messages) for name, messages in self.errors.items()})
        return self.qs
