"""The base classes of serializers, and the field for unique names."""

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Any, ClassVar, cast
from zoneinfo import ZoneInfo

from django.db.models import Model, QuerySet
from django.utils.translation import gettext_lazy as _
from rest_framework import serializers

from core.api import fields
from core.errors import FieldError, FieldErrors
from core.rows import declared
from core.rows.trash import TrashedId
from core.rows.trimmed import TrimmedCharField, name_key


def format_time(value: datetime | None, zone: ZoneInfo) -> str | None:
    """Return a time in the format of both APIs: in the time zone of the account, to the second, with a numeric offset."""
    return None if value is None else value.astimezone(zone).isoformat(timespec="seconds")


def declared_fields(serializer: "type[WireSerializer] | WireSerializer") -> dict[str, fields.WireField]:
    """Return the fields of a serializer by name. DRF has no public name for them."""
    return cast(dict[str, fields.WireField], serializer._declared_fields)


def arguments_of(field: fields.WireField) -> tuple[list[object], dict[str, object]]:
    """Return the positional and keyword arguments with which a field was created. DRF stores them to copy the field."""
    return field._args, field._kwargs  # type: ignore[attr-defined]


def copy_field(field: fields.WireField) -> fields.WireField:
    """Return a new field with the same arguments, which no serializer has bound yet. This is faster than creating the field again."""
    copied: fields.WireField = object.__new__(type(field))
    copied.__dict__.update(field.__dict__)
    return copied


FIELDS: dict[type[declared.DeclaredField], type[fields.WireField]] = {
    declared.Text: fields.TextField,
    declared.TrimmedText: fields.TextField,
    declared.CurrencyCode: fields.CurrencyField,
    declared.Number: fields.DecimalField,
    declared.YesOrNo: fields.BooleanField,
    declared.Day: fields.DateField,
    declared.Moment: fields.DateTimeField,
    declared.TagNames: fields.TagsField,
    declared.RowId: fields.IntegerField,
}


def make_field(column: declared.DeclaredField) -> fields.WireField:
    """Return the serializer field of a declared field."""
    if isinstance(column, declared.RowId) and column.relation and column.editable:
        return fields.RelatedField(column.relation, **column.filters)
    kind = next(FIELDS[base] for base in type(column).__mro__ if base in FIELDS)
    if not column.editable:
        return kind(read_only=True)
    return kind(required=True) if column.is_required else kind()


# The values of fields by name, each of the type of its field.
Values = dict[str, Any]


class WireSerializer(serializers.Serializer[object]):
    """An object whose fields are `WireField`s."""

    instance: Any

    def __init__(self, instance: object = None, data: object = serializers.empty, **options: Any) -> None:
        super().__init__(instance, data, **options)
        self.values: Values = {}
        # The names of unknown and read-only fields that were sent.
        self.ignored: list[str] = []
        if hasattr(self, "initial_data"):
            self.initial_data = fields.to_object(self.initial_data)

    def to_internal_value(self, data: Any) -> Values:
        """Return the values of the fields. Raise FieldErrors with the errors of all fields."""
        values: Values = {}
        errors: list[FieldError] = []
        for field in cast(Iterable[fields.WireField], self._writable_fields):
            try:
                values[field.field_name] = field.run_validation(field.get_value(data))
            except FieldErrors as caught:
                errors += [error.move_into(field.field_name) for error in caught.errors]
            except serializers.SkipField:
                pass
        if errors:
            raise FieldErrors(errors)
        return values

    def read(self) -> Values:
        """Validate the data, and set and return `values`. Raise FieldErrors."""
        self.values = self.run_validation(self.initial_data)
        return self.values

    def find_errors(self) -> list[FieldError]:
        """Validate the data, and set `values` or return the errors."""
        try:
            self.read()
        except FieldErrors as caught:
            return caught.errors
        return []


class ResourceSerializer(WireSerializer):
    """The base of the serializers of resources. Responses have the fields in the order of their declaration.

    Only the fields that were sent are read, so a PUT changes only these fields.
    """

    id = fields.IntegerField(read_only=True)
    created_at = fields.DateTimeField(read_only=True)
    updated_at = fields.DateTimeField(read_only=True)

    # The column of each field whose name differs from that of its column.
    sources: ClassVar[dict[str, str]] = {}
    # A text field is normalized as its column in this model. Without a `max_length`, it has that of its column.
    model: ClassVar[type[Model] | None] = None
    # False if the serializer has only some of the declared fields of its model (`core.rows.declared`).
    is_derived: ClassVar[bool] = True

    # Derived from the fields of each subclass: the names of the fields in responses, the names of times, and the columns of `names`.
    names: ClassVar[tuple[str, ...]]
    times: ClassVar[tuple[str, ...]]
    columns: ClassVar[tuple[str, ...]]
    # The positions of the writable fields, and the names of the fields that a new resource must have.
    writable: ClassVar[dict[str, int]]
    required_names: ClassVar[set[str]]

    def __init_subclass__(cls, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        if cls.model is not None:
            if cls.is_derived:
                cls._add_declared_fields(cls.model)
            cls._read_columns(cls.model)
        known = declared_fields(cls)
        # DRF puts inherited fields first, but the times belong at the end.
        order = [name for name in known if name not in ("created_at", "updated_at")] + ["created_at", "updated_at"]
        cls.names = tuple(name for name in order if not known[name].write_only)
        cls.times = tuple(name for name in cls.names if isinstance(known[name], fields.DateTimeField))
        cls.columns = tuple(cls.sources.get(name, name) for name in cls.names)
        cls.writable = {name: n for n, (name, field) in enumerate(known.items()) if not field.read_only}
        cls.required_names = {name for name in cls.writable if known[name].required}

    @classmethod
    def _add_declared_fields(cls, model: type[Model]) -> None:
        """Add a field for each declared field of the model that the serializer does not declare itself.

        The order is: the fields of base classes of the serializer, the declared fields of the model, the other fields of the serializer, and the
        declared fields of the model's bases. A field with `after` follows the field of that name. As in DRF, a serializer leaves out a field
        that it sets to None.
        """
        known = declared_fields(cls)
        own, inherited = (
            {column.name: make_field(column) for column in columns if vars(cls).get(column.name, column) is not None}
            for columns in declared.declared_columns(model)
        )
        inherited_names = {name for base in cls.__bases__ for name in getattr(base, "_declared_fields", ())}
        first = {
            name: field
            for name, field in known.items()
            if name in inherited_names or (field.write_only and name in getattr(cls, "typed", ()))
        }
        added = {name: field for name, field in known.items() if name not in first}
        placed = {name: field for name, field in added.items() if field.after}
        all_fields = own | inherited | added
        names = list(dict.fromkeys([*own, *added, *inherited]))
        for name, field in placed.items():
            names.remove(name)
            names.insert(names.index(field.after) + 1, name)
        cls._declared_fields = {**first, **{name: all_fields[name] for name in names if name not in first}}

    @classmethod
    def _read_columns(cls, model: type[Model]) -> None:
        columns = {column.name: column for column in model._meta.concrete_fields}
        for name, field in declared_fields(cls).items():
            column = columns.get(cls.sources.get(name, name))
            if column is None or not isinstance(field, fields.TextField):
                continue
            if column.max_length and "max_length" not in arguments_of(field)[1]:
                # DRF copies a field from these arguments.
                arguments_of(field)[1]["max_length"] = field.max_length = column.max_length
            if isinstance(column, TrimmedCharField):
                field.normalize = column.normalize

    def get_fields(self) -> dict[str, Any]:
        """Return copies of the fields to read: the fields that were sent and, for a new resource, the required fields."""
        data: object = getattr(self, "initial_data", None)
        sent = data.keys() if isinstance(data, dict) else set()
        names = self.writable.keys() & sent | (set() if self.partial else self.required_names)
        return {name: copy_field(declared_fields(self)[name]) for name in sorted(names, key=self.writable.__getitem__)}

    def run_validation(self, data: object = serializers.empty) -> Any:
        if data is None or data is serializers.empty:
            raise FieldError("", fields.MISSING, "required")
        if not isinstance(data, dict):
            raise FieldError("", _("must be an object"), "object")
        self.ignored = [name for name in data if name not in self.writable]
        return super().run_validation(data)

    @property
    def pending_links(self) -> list[str]:
        """The names of the fields that link to a row in the trash."""
        return [
            name
            for name, value in self.values.items()
            if any(isinstance(id, TrashedId) for id in (value if isinstance(value, list) else [value]))
        ]

    @classmethod
    def represent(cls, row: Any, zone: ZoneInfo) -> Values:
        """Return the response for a row."""
        return cls.represent_values([getattr(row, column) for column in cls.columns], zone)

    @classmethod
    def represent_values(cls, values: Sequence[Any], zone: ZoneInfo) -> Values:
        """Return the response for a row, from the values of its `columns`."""
        data = dict(zip(cls.names, values, strict=True))
        for name in cls.times:
            data[name] = format_time(data[name], zone)
        return data


class UniqueNameField(fields.TextField):
    """A name that no other row has, without regard to case and blanks. `rows_of` returns the rows of an account, with a `name_key`."""

    default_error_messages = {"taken": _("is already taken")}

    def __init__(self, rows_of: Callable[[Any], QuerySet[Any]], **options: Any) -> None:
        super().__init__(**options)
        self.rows_of = rows_of

    def to_internal_value(self, data: object) -> str:
        name = cast(str, super().to_internal_value(data))
        row = self.parent.instance
        others = self.rows_of(self.context["account"]).exclude(id=row.id if row else None)
        if others.filter(name_key=name_key(name)).exists():
            self.fail("taken")
        return name
