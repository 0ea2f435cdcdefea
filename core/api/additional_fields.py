"""Additional fields in the API: the object `additional_fields`, and typed additional fields, which are also fields of the resource."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any, ClassVar, Unpack
from zoneinfo import ZoneInfo

from django.utils.translation import gettext_lazy as _
from rest_framework.fields import empty

from core.api import fields
from core.api.serializers import ResourceSerializer, Values, declared_fields, format_time
from core.db.text import is_xml_text
from core.errors import FieldError, FieldErrors
from core.rows.additional_fields import MAX_FIELDS, MAX_JSON_LENGTH, merge, to_json, to_json_value

# The fields that read typed additional fields, by key.
FieldTypes = Mapping[str, Callable[..., fields.WireField]]


class FloatField(fields.DecimalField):
    """A JSON number with a decimal point. One as long as a binary float is stored in the shortest form of that float, without rounding."""

    # The smallest float of full precision has more decimal places.
    MAX_FLOAT_PLACES = 50

    def to_internal_value(self, data: Any) -> int | Decimal:  # type: ignore[override]  # the value of a DecimalField has 6 places
        has_float_places = -self.MAX_FLOAT_PLACES <= data.adjusted() < self.MAX_WHOLE_DIGITS
        if has_float_places and len(data.as_tuple().digits) >= fields.MIN_FLOAT_DIGITS and not self.has_places(data):
            number = Decimal(repr(float(data)))
        else:
            number = super().to_internal_value(data)
        return int(number) if number == number.to_integral_value() else number.normalize()


class AnyScalarField(fields.WireField):
    """A text, a number, true or false, stored as it was sent."""

    def to_internal_value(self, data: object) -> object:
        if isinstance(data, bool):
            return data
        if isinstance(data, str | dict | list):
            return self.read_with(fields.long_text_field(), data)
        return self.read_with(FloatField() if isinstance(data, Decimal) else fields.IntegerField(), data)

    def read_with(self, field: fields.WireField, data: object) -> object:
        field.bind("", self)  # type: ignore[arg-type]  # the context of a field comes from any parent
        return field.run_validation(data)


# Custom fields, ten of each type: `string1` … `string10`.
CUSTOM_TYPES: FieldTypes = {
    "string": fields.long_text_field,
    "text": fields.long_text_field,
    "integer": fields.IntegerField,
    "decimal": fields.DecimalField,
    "boolean": fields.BooleanField,
    "checkbox": fields.BooleanField,
    "date": fields.DateField,
    "datetime": fields.DateTimeField,
}
CUSTOM_FIELDS: FieldTypes = {f"{name}{number}": make for name, make in CUSTOM_TYPES.items() for number in range(1, 11)}


class AdditionalFieldsField(fields.WireField):
    """An object whose values are texts, numbers, true or false. The object is merged into the stored object. Null removes a key.

    `typed` maps some keys to the fields that read their values.
    """

    MAX_KEY_LENGTH = 64
    default_error_messages = {
        "object": "must be an object of key to value",
        "key": "key {key} is not a text of 1-{most} characters",
    }

    def __init__(self, typed: FieldTypes, **kwargs: Unpack[fields.FieldOptions]) -> None:
        self.typed = typed
        super().__init__(**kwargs)

    def run_validation(self, data: object = empty) -> object:
        return super().run_validation({} if data is None else data)

    def to_internal_value(self, data: object) -> dict[str, object]:
        data = fields.to_object(data)
        if not isinstance(data, dict):
            self.fail("object")
        values: dict[str, object] = {}
        errors: list[FieldError] = []
        for key, value in data.items():
            if not key.strip() or len(key) > self.MAX_KEY_LENGTH or not is_xml_text(key):
                params = {"key": key[: self.MAX_KEY_LENGTH], "most": self.MAX_KEY_LENGTH}
                errors.append(FieldError("", self.error_messages["key"], "key", params))
                continue
            try:
                values[key] = self.read_value(key, value)
            except FieldErrors as caught:
                errors += [
                    FieldError("", "{key} {error.text}", error.code, {"key": key, "error": error})
                    for error in caught.errors
                ]
        if errors:
            raise FieldErrors(errors)
        return values

    def read_value(self, key: str, data: object) -> object:
        """Return the stored form of the value of a key. Raise FieldErrors."""
        return self.read_with(self.typed.get(key, AnyScalarField)(), data)

    def read_with(self, field: fields.WireField, data: object) -> object:
        field.bind("", self)  # type: ignore[arg-type]  # the context of a field comes from any parent
        return to_json_value(field.run_validation(data))


class AdditionalFieldsSerializer(ResourceSerializer):
    """A resource with additional fields. A subclass declares the field `additional_fields` at its place among the others.

    The keys in `typed` are also fields of the resource. They are part of a response if they are set.
    """

    typed: ClassVar[FieldTypes] = {}

    def __init_subclass__(cls, **kwargs: object) -> None:
        typed = {name: make(write_only=True) for name, make in cls.typed.items()}
        cls._declared_fields = {**typed, **declared_fields(cls)}
        super().__init_subclass__(**kwargs)

    def validate(self, values: Values) -> Values:
        """Move the typed fields into `additional_fields`, and check the limits of the result."""
        before = self.instance.additional_fields if self.instance else {}
        changes = values.pop("additional_fields", {})
        for name in self.typed.keys() & values.keys():
            value = to_json_value(values.pop(name))
            # A response shows the value in both places. A client may change one of them and send both back. The changed value is used.
            if name not in changes or value != before.get(name):
                changes[name] = value
        if changes:
            after = merge(before, changes)
            if len(after) > MAX_FIELDS:
                message = _("are too many (maximum is {most})")
                raise FieldError("additional_fields", message, "too_many", {"most": MAX_FIELDS})
            if len(to_json(after)) > MAX_JSON_LENGTH:
                message = _("are too long (maximum is {most} characters in all)")
                raise FieldError("additional_fields", message, "too_long", {"most": MAX_JSON_LENGTH})
            values["additional_fields"] = changes
        return values

    @classmethod
    def represent_values(cls, values: Sequence[Any], zone: ZoneInfo) -> Values:
        data = super().represent_values(values, zone)
        if stored := cls.additional_fields_of(data):
            shown = {
                name: format_time(datetime.fromisoformat(value), zone)
                if cls.typed.get(name) is fields.DateTimeField
                else value
                for name, value in sorted(stored.items())
            }
            data = {**data, "additional_fields": shown, **{name: shown[name] for name in cls.typed if name in shown}}
        return data

    @classmethod
    def additional_fields_of(cls, data: Values) -> Values:
        """Return the additional fields of a response. A subclass may omit some of them."""
        values: Values = data["additional_fields"]
        return values
