"""The base of the serializers of JSON resources."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, ClassVar
from zoneinfo import ZoneInfo

from django.db.models import Model
from django.utils.translation import gettext_lazy as _
from rest_framework import serializers

from core.api.fields import MISSING, DateTimeField, IntegerField, TextField
from core.db.trash import TrashedId
from core.errors import FieldError, FieldErrors


def format_time(value: datetime | None, zone: ZoneInfo) -> str | None:
    """Return a time as both APIs write it: in the account's zone, to the second, with a numeric offset."""
    return None if value is None else value.astimezone(zone).isoformat(timespec="seconds")


class WireSerializer(serializers.Serializer):
    """An object whose fields are `WireField`s."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.values: dict[str, Any] = {}

    def to_internal_value(self, data) -> dict[str, Any]:
        """Return the values of the fields. Raises FieldErrors with the errors of all fields at once."""
        values, errors = {}, []
        for field in self._writable_fields:
            try:
                values[field.field_name] = field.run_validation(field.get_value(data))
            except FieldErrors as caught:
                errors += [error.within(field.field_name) for error in caught.errors]
            except serializers.SkipField:
                pass
        if errors:
            raise FieldErrors(errors)
        return values

    def read(self) -> dict[str, Any]:
        """Read what was sent into `values`. Raises FieldErrors."""
        self.values = self.run_validation(self.initial_data)
        return self.values

    def find_errors(self) -> list[FieldError]:
        """Read what was sent into `values`, or return what is wrong with it."""
        try:
            self.read()
        except FieldErrors as caught:
            return caught.errors
        return []


class ResourceSerializer(WireSerializer):
    """The fields of a resource, in the order in which they are written.

    It reads only the fields that were sent, so a PUT changes only these. The names of unknown and read-only fields are collected
    in `ignored`.
    """

    id = IntegerField(read_only=True)
    created_at = DateTimeField(read_only=True)
    updated_at = DateTimeField(read_only=True)

    # Attributes of the row, for fields that have another name there.
    sources: ClassVar[dict[str, str]] = {}
    # A text field that is a column of the model has the limit of that column, unless the field sets one of its own.
    model: ClassVar[type[Model] | None] = None

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.ignored: list[str] = []

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        declared = cls._declared_fields
        if cls.model is not None:
            cls._limit_texts(cls.model)
        # Inherited fields come first in a subclass, but the times belong at the end.
        order = [name for name in declared if name not in ("created_at", "updated_at")] + ["created_at", "updated_at"]
        cls.names: ClassVar = tuple(name for name in order if not declared[name].write_only)
        cls.times: ClassVar = tuple(name for name in cls.names if isinstance(declared[name], DateTimeField))
        cls.columns: ClassVar = tuple(cls.sources.get(name, name) for name in cls.names)
        # The position of each writable field, and the names of those that a new resource must have.
        cls.writable: ClassVar = {name: n for n, (name, field) in enumerate(declared.items()) if not field.read_only}
        cls.required_names: ClassVar = {name for name in cls.writable if declared[name].required}

    @classmethod
    def _limit_texts(cls, model: type[Model]) -> None:
        limits = {column.name: column.max_length for column in model._meta.concrete_fields}
        for name, field in cls._declared_fields.items():
            limit = limits.get(cls.sources.get(name, name))
            if limit and isinstance(field, TextField) and "max_length" not in field._kwargs:
                # DRF copies a field from these arguments.
                field._kwargs["max_length"] = field.max_length = limit

    def get_fields(self) -> dict[str, serializers.Field]:
        given = self.initial_data if isinstance(getattr(self, "initial_data", None), dict) else {}
        names = self.writable.keys() & given.keys() | (set() if self.partial else self.required_names)
        declared = self._declared_fields
        return {
            name: type(declared[name])(*declared[name]._args, **declared[name]._kwargs)
            for name in sorted(names, key=self.writable.__getitem__)
        }

    def run_validation(self, data=serializers.empty):
        if data is None or data is serializers.empty:
            raise FieldError("", MISSING, "required")
        if not isinstance(data, dict):
            raise FieldError("", _("must be an object"), "object")
        self.ignored = [name for name in data if name not in self.writable]
        return super().run_validation(data)

    @property
    def pending_links(self) -> list[str]:
        """The names of the links that point at a row in the trash."""
        return [
            name
            for name, value in self.values.items()
            if any(isinstance(id, TrashedId) for id in (value if isinstance(value, list) else [value]))
        ]

    @classmethod
    def represent(cls, row: Any, zone: ZoneInfo) -> dict[str, Any]:
        return cls.represent_values([getattr(row, column) for column in cls.columns], zone)

    @classmethod
    def represent_values(cls, values: Sequence, zone: ZoneInfo) -> dict[str, Any]:
        """Return what is answered for a row, from the values of its `columns`."""
        data = dict(zip(cls.names, values, strict=True))
        for name in cls.times:
            data[name] = format_time(data[name], zone)
        return data
