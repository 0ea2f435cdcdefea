"""Filters of lists, declared with django-filter. They read values with the fields of request bodies, so the error messages are the same."""

import re
from datetime import datetime
from functools import cache
from typing import Any, Self, cast

import django_filters
from django import forms
from django.db.models import Model, QuerySet
from django_filters.rest_framework import DjangoFilterBackend
from rest_framework.request import Request

from core.api.fields import DateTimeField, IntegerField, TextField, WireField
from core.api.serializers import copy_field
from core.errors import FieldError, FieldErrors
from core.http.requests import RequestOfAPI
from core.rows.last_changes import has_last_changes, with_last_change
from core.search.queries import MAX_QUERY_LENGTH
from core.tenants import TenantAccount


class _WrappedFieldError(forms.ValidationError):
    """A FieldError inside an error of Django's forms."""

    def __init__(self, error: FieldError) -> None:
        super().__init__(str(error.message), error.code)
        self.error = error


class _FormField(forms.Field):
    def __init__(self, wire: WireField, *, widget: type[forms.Widget] | None) -> None:
        super().__init__(required=False, widget=widget)
        self.wire = wire

    def to_python(self, value: object) -> object:
        if value is None:
            return None
        try:
            return self.wire.run_validation(value)
        except FieldErrors as caught:
            raise forms.ValidationError([_WrappedFieldError(error) for error in caught.errors]) from None


class WireFilter(django_filters.Filter):
    """A filter that reads its value with a `WireField`."""

    # Set this if the value comes from other parameters than the parameter with the name of the filter.
    widget: type[forms.Widget] | None = None

    def __init__(self, wire: WireField, *, field_name: str | None = None, lookup_expr: str = "exact") -> None:
        super().__init__(field_name=field_name, lookup_expr=lookup_expr)
        self.wire = wire

    @property
    def field(self) -> _FormField:
        # Copy the field and give it the account of the request, in whose time zone the field reads times.
        wire: Any = copy_field(self.wire)
        wire._context = {"account": self.parent.account}
        return _FormField(wire, widget=self.widget)


class QueryDateTimeField(DateTimeField):
    """A time in a query string. An unescaped plus sign before the offset was decoded to a space."""

    def to_internal_value(self, data: object) -> datetime:
        # The time of day of another format, such as `01.12.2026 10:00`, is not an offset.
        return super().to_internal_value(re.sub(r"(:\d\d(?:\.\d+)?) (\d\d(:?\d\d)?)$", r"\1+\2", str(data)))


class SearchTextField(TextField):
    """A search text, or None if it is blank."""

    default_error_messages = {"words": "must have a letter or a digit"}

    def __init__(self) -> None:
        super().__init__(max_length=MAX_QUERY_LENGTH)

    def to_internal_value(self, data: object) -> str | None:
        text = super().to_internal_value(data) or ""
        if text.strip() and not any(character.isalnum() for character in text):
            self.fail("words")
        return text.strip() or None


class SearchFilter(WireFilter):
    """The parameter `q`. It filters nothing itself: the list searches the rows that pass the other filters."""

    def __init__(self) -> None:
        super().__init__(SearchTextField())

    def filter(self, rows: QuerySet[Model], value: object) -> QuerySet[Model]:
        return rows


class UpdatedSinceFilter(WireFilter):
    """The filter by the time of the last change, which is indexed in the rows or in their entries (`core.rows.last_changes`)."""

    def __init__(self) -> None:
        super().__init__(QueryDateTimeField(), field_name="updated_at", lookup_expr="gte")

    def filter(self, rows: QuerySet[Model], value: datetime | None) -> QuerySet[Model]:
        if value is not None and has_last_changes(rows.model):
            return with_last_change(rows).filter(last_changed_at__gte=value)
        return cast(QuerySet[Model], super().filter(rows, value))


def link_filter() -> WireFilter:
    """Return a filter by the id of a row to which the rows of the list link. An unknown id yields an empty list."""
    return WireFilter(IntegerField())


class ListFilters(django_filters.FilterSet):
    request: RequestOfAPI
    # True if the statements of the list have a time limit, because no index may serve a filter.
    has_time_limit = False
    # Responses show times to the second. Rows that changed within that second are included, so that no change is missed.
    updated_since = UpdatedSinceFilter()
    q = SearchFilter()

    @property
    def account(self) -> TenantAccount:
        return self.request._request.account

    @classmethod
    @cache
    def only_search(cls) -> type[Self]:
        """Return the class without the filters other than `q`."""
        removed = dict.fromkeys(name for name in cls.base_filters if name != "q")
        return cast(type[Self], type(cls.__name__, (cls,), {**removed, "__module__": cls.__module__}))

    def find_errors(self) -> dict[str, FieldError]:
        """Return the first error of each parameter."""
        if self.is_valid():
            return {}
        return {
            name: cast(_WrappedFieldError, wrapped_errors[0]).error.move_into(name)
            for name, wrapped_errors in self.errors.as_data().items()
        }

    @property
    def rows_for_estimate(self) -> QuerySet[Model]:
        """The rows whose number is estimated. A subclass leaves out conditions that PostgreSQL can't estimate."""
        return cast(QuerySet[Model], self.qs)

    def filter_by_column(self, rows: QuerySet[Model], column: str) -> QuerySet[Model]:
        """Return those of the rows that pass the filters by one column."""
        for name, list_filter in self.filters.items():
            if list_filter.field_name == column:
                rows = list_filter.filter(rows, self.form.cleaned_data[name])
        return rows

    @property
    def search_text(self) -> str | None:
        """The text to search, or None. Some lists have no search."""
        return cast("str | None", self.form.cleaned_data.get("q"))

    @classmethod
    def parameters(cls) -> list[str]:
        """Return the names of the parameters, in the order in which an error message lists them."""
        return list(cls.base_filters)

    @property
    def are_used(self) -> bool:
        """True if a filter other than `q` has a value."""
        return any(value not in (None, {}) for name, value in self.form.cleaned_data.items() if name != "q")


class ListFilterBackend(DjangoFilterBackend):
    """The filters of `filterset_class` of a `Paged` view. It reads the page too, so that a response has the errors of all parameters."""

    def get_filterset_kwargs(self, request: Request, queryset: QuerySet[Model], view: Any) -> dict[str, object]:
        return {"data": view.parameters, "queryset": queryset, "request": request}

    def filter_queryset(self, request: Request, queryset: QuerySet[Model], view: Any) -> QuerySet[Model]:
        filters: ListFilters | None = self.get_filterset(request, queryset, view)
        if filters is None:
            view.read_page()
            return queryset
        view.read_page(*filters.parameters(), errors=filters.find_errors())
        return cast(QuerySet[Model], filters.qs)
