"""Defined fields in the API: the values that `crm.fields.models` allow in `additional_fields`."""

from collections.abc import Callable, Iterator
from typing import Any, ClassVar, cast

from django.utils.translation import gettext_lazy as _

from core.api.additional_fields import AdditionalFieldsField, AdditionalFieldsSerializer, AnyScalarField, FieldTypes
from core.api.fields import (
    MAX_TEXT_LENGTH,
    MISSING,
    BooleanField,
    DateField,
    DateTimeField,
    DecimalField,
    IntegerField,
    TextField,
    WireField,
    to_list,
)
from core.errors import FieldError, FieldErrors
from core.rows.additional_fields import to_json_value
from crm.fields.models import FieldDefinition

MAX_LINK_LENGTH = 2000
# The separator of several choices in a response, where every additional field is a single value.
SEPARATOR = ", "

Type = FieldDefinition.Type


class DefinedTextField(TextField):
    """A text. A blank text means null."""

    blank_is_null = True


class LinkField(DefinedTextField):
    """The URL of a page."""

    default_error_messages = {"form": _("is not a link that begins with https:// or http://")}

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(max_length=MAX_LINK_LENGTH, pattern=r"https?://[^\s/][^\s]*", **kwargs)


class NumberField(DecimalField):
    """A number, stored without decimal places if it is whole."""

    def to_internal_value(self, data: Any) -> Any:
        number = super().to_internal_value(data)
        return int(number) if number == number.to_integral_value() else number.normalize()


class DefinedChoiceField(DefinedTextField):
    """One of the choices of a definition."""

    default_error_messages = {"choice": _("is not one of {choices}")}

    def __init__(self, choices: list[str], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.choices = choices

    def to_internal_value(self, data: object) -> str:
        text = super().to_internal_value(data)
        if text not in self.choices:
            self.fail("choice", choices=", ".join(self.choices))
        return text


class DefinedChoicesField(WireField):
    """Several of the choices of a definition, as a list or as one text with commas. They are stored in the order of the definition."""

    default_error_messages = {
        "list": _("must be a list of texts, or one text with commas"),
        "choice": _("has {choice}, which is not one of {choices}"),
    }

    def __init__(self, choices: list[str], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.choices = choices

    def to_internal_value(self, data: object) -> list[str] | None:
        texts = data.split(",") if isinstance(data, str) else to_list(data)
        if not isinstance(texts, list):
            texts = [texts]
        if any(text is None or isinstance(text, bool | list | dict) for text in texts):
            self.fail("list")
        chosen = [text for item in texts if (text := str(item).strip())]
        for text in chosen:
            if text not in self.choices:
                self.fail("choice", choice=text[:100], choices=", ".join(self.choices))
        return [choice for choice in self.choices if choice in chosen] or None


READERS: dict[str, Callable[[FieldDefinition], WireField]] = {
    Type.TEXT: lambda definition: DefinedTextField(max_length=MAX_TEXT_LENGTH),
    Type.NUMBER: lambda definition: NumberField(),
    Type.MONEY: lambda definition: NumberField(),
    Type.DATE: lambda definition: DateField(),
    Type.BOOLEAN: lambda definition: BooleanField(),
    Type.CHOICE: lambda definition: DefinedChoiceField(definition.choices),
    Type.CHOICES: lambda definition: DefinedChoicesField(definition.choices),
    Type.LINK: lambda definition: LinkField(),
}


def fits(definition: FieldDefinition, value: object) -> bool:
    """Return whether a stored value fits the definition unchanged."""
    try:
        return bool(to_json_value(READERS[definition.type](definition).run_validation(value)) == value)
    except FieldErrors:
        return False


# The types that a definition may give to a key which the API reads with a field of its own.
COMPATIBLE_TYPES: dict[object, set[str]] = {
    TextField: {Type.TEXT, Type.LINK, Type.CHOICE},
    IntegerField: {Type.NUMBER, Type.MONEY},
    DecimalField: {Type.NUMBER, Type.MONEY},
    BooleanField: {Type.BOOLEAN},
    DateField: {Type.DATE},
    DateTimeField: set(),
    AnyScalarField: {*Type.values} - {Type.CHOICES},
}


def compatible_types(typed: FieldTypes, key: str) -> set[str]:
    """Return the types that a definition of the key may have."""
    return COMPATIBLE_TYPES[type(typed[key]())] if key in typed else {*Type.values}


def is_blank(value: object) -> bool:
    return value is None or value == [] or (isinstance(value, str) and not value.strip())


def represent(value: Any) -> Any:
    """Return the value of an additional field in a response, from its stored value."""
    return SEPARATOR.join(map(str, value)) if isinstance(value, list) else value


class DefinedFieldsField(AdditionalFieldsField):
    """Additional fields, of which some are defined. A value that a request leaves unchanged is valid in any case."""

    def read_value(self, key: str, data: object) -> object:
        serializer = cast(DefinedFieldsSerializer, self.parent)
        definition = serializer.definitions.get(key)
        if definition is None:
            return super().read_value(key, data)
        stored = serializer.stored_fields.get(key)
        if stored is not None and data in (stored, represent(stored)):
            return stored
        if key in self.typed:
            data = super().read_value(key, data)
        return self.read_with(READERS[definition.type](definition), data)


class DefinedFieldsSerializer(AdditionalFieldsSerializer):
    """A resource whose additional fields may be defined. A new row needs the required fields, and an update may not blank them."""

    # The key of the resource.
    resource: ClassVar[str]

    @property
    def definitions(self) -> dict[str, FieldDefinition]:
        """The definitions of the account for this resource, by key."""
        return cast(dict[str, FieldDefinition], self.context["lookup"].definitions(self.resource))

    @property
    def stored_fields(self) -> dict[str, object]:
        fields: dict[str, object] = self.instance.additional_fields if self.instance else {}
        return fields

    def to_internal_value(self, data: Any) -> dict[str, object]:
        values: dict[str, object] = {}
        errors: list[FieldError] = []
        try:
            values = super().to_internal_value(data)
        except FieldErrors as caught:
            errors = caught.errors
        errors += [*self._invalid_typed(values), *self._missing(data)]
        if errors:
            raise FieldErrors(errors)
        return values

    def _invalid_typed(self, values: dict[str, object]) -> Iterator[FieldError]:
        """Read the values of typed additional fields, which are also fields of the resource, as their definitions say."""
        for key, definition in self.definitions.items():
            value = to_json_value(values.get(key)) if key in self.typed else None
            if value is None or value == self.stored_fields.get(key):
                continue
            field = READERS[definition.type](definition)
            field.bind("", self)
            try:
                values[key] = field.run_validation(value)
            except FieldErrors as caught:
                yield from (error.move_into(key) for error in caught.errors)

    def _missing(self, data: dict[str, object]) -> Iterator[FieldError]:
        """Return the errors of required fields without a value."""
        sources = [data.get("additional_fields"), {key: data[key] for key in self.typed if key in data}]
        for key, definition in self.definitions.items():
            if definition.required:
                given = [source[key] for source in sources if isinstance(source, dict) and key in source]
                if (all if self.instance is None else any)(is_blank(value) for value in given):
                    params = {"key": key, "error": FieldError("", MISSING, "required")}
                    yield FieldError("additional_fields", "{key} {error.text}", "required", params)

    @classmethod
    def additional_fields_of(cls, data: dict[str, object]) -> dict[str, object]:
        fields = super().additional_fields_of(data)
        if any(isinstance(value, list) for value in fields.values()):
            fields = {key: represent(value) for key, value in fields.items()}
        return fields
