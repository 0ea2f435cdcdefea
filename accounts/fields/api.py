"""Defined fields in the Account API (JSON): the values that `accounts.fields.models` allow in `additional_fields`, and the definitions."""

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, cast

from django.db.models import QuerySet
from django.http import HttpResponse
from django.utils.translation import gettext_lazy as _
from rest_framework.response import Response

from accounts.account.models import Account
from accounts.fields.models import EXTERNAL_ID, MAX_CHOICES, MAX_DEFINITIONS, MAX_KEY_LENGTH, FieldDefinition
from accounts.hosts.api import APIRequest
from accounts.roles.permissions import IsAdminOrTeamReadOnly
from core.api import fields
from core.api.additional_fields import AdditionalFieldsField, AdditionalFieldsSerializer, AnyScalarField, FieldTypes
from core.api.filters import ListFilters, WireFilter
from core.api.lists import Listing
from core.api.resources import ResourceViewSet
from core.api.serializers import ResourceSerializer, declared_fields
from core.db.ordering import MAX_POSITION
from core.db.text import is_xml_text
from core.errors import FieldError, FieldErrors
from core.openapi.fields import NON_XML_CHARACTERS, WHITE_SPACE, XML_TEXT, TextExtension, describe_field
from core.openapi.operations import LIMITS, RESPONSES, SHAPES, Shape
from core.openapi.values import BOOLEAN, COUNT, JSONSchema, array_of, object_of
from core.registry import Resource, registry
from core.rows.access import Access
from core.rows.additional_fields import to_json_value

MAX_LINK_LENGTH = 2000
# The separator of several choices in a response, where every additional field is a single value.
SEPARATOR = ", "
# The number of rows, newest first, whose values are compared with a definition.
MAX_COMPARED_ROWS = 10_000

Type = FieldDefinition.Type


class DefinedTextField(fields.TextField):
    """A text. A blank text means null."""

    blank_is_null = True


class LinkField(DefinedTextField):
    default_error_messages = {"form": _("is not a link that begins with https:// or http://")}

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(max_length=MAX_LINK_LENGTH, pattern=r"https?://[^\s/][^\s]*", **kwargs)


class NumberField(fields.DecimalField):
    """A number, stored without decimal places if it is whole."""

    def to_internal_value(self, data: object) -> Any:
        number = super().to_internal_value(data)
        return int(number) if number == number.to_integral_value() else number.normalize()


class DefinedChoiceField(DefinedTextField):
    default_error_messages = {"choice": _("is not one of {choices}")}

    def __init__(self, choices: list[str], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.choices = choices

    def to_internal_value(self, data: object) -> str:
        text = super().to_internal_value(data)
        if text not in self.choices:
            self.fail("choice", choices=", ".join(self.choices))
        return text


class DefinedChoicesField(fields.WireField):
    """Several of the choices of a definition, as a list or as one text with commas. They are stored in the order of the definition."""

    default_error_messages = {
        "list": _("must be a list of texts, or one text with commas"),
        "choice": _("has {choice}, which is not one of {choices}"),
    }

    def __init__(self, choices: list[str], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.choices = choices

    def to_internal_value(self, data: object) -> list[str] | None:
        texts = data.split(",") if isinstance(data, str) else fields.to_list(data)
        if not isinstance(texts, list):
            texts = [texts]
        if any(text is None or isinstance(text, bool | list | dict) for text in texts):
            self.fail("list")
        chosen = [text for item in texts if (text := str(item).strip())]
        for text in chosen:
            if text not in self.choices:
                self.fail("choice", choice=text[:100], choices=", ".join(self.choices))
        return [choice for choice in self.choices if choice in chosen] or None


READERS: dict[str, Callable[[FieldDefinition], fields.WireField]] = {
    Type.TEXT: lambda definition: DefinedTextField(max_length=fields.MAX_TEXT_LENGTH),
    Type.NUMBER: lambda definition: NumberField(),
    Type.MONEY: lambda definition: NumberField(),
    Type.DATE: lambda definition: fields.DateField(),
    Type.BOOLEAN: lambda definition: fields.BooleanField(),
    Type.CHOICE: lambda definition: DefinedChoiceField(definition.choices),
    Type.CHOICES: lambda definition: DefinedChoicesField(definition.choices),
    Type.LINK: lambda definition: LinkField(),
}


def fits(definition: FieldDefinition, value: object) -> bool:
    """Return whether a stored value fits the definition unchanged."""
    reader = READERS[definition.type](definition)
    # It is no part of a serializer, which would have the context.
    reader._context = {"account": definition.account}  # type: ignore[attr-defined]
    try:
        return bool(to_json_value(reader.run_validation(value)) == value)
    except FieldErrors:
        return False


# The types that a definition may give to a key which the API reads with a field of its own.
COMPATIBLE_TYPES: dict[object, set[str]] = {
    fields.TextField: {Type.TEXT, Type.LINK, Type.CHOICE},
    fields.IntegerField: {Type.NUMBER, Type.MONEY},
    fields.DecimalField: {Type.NUMBER, Type.MONEY},
    fields.BooleanField: {Type.BOOLEAN},
    fields.DateField: {Type.DATE},
    fields.DateTimeField: set(),
    AnyScalarField: {*Type.values} - {Type.CHOICES},
}


def compatible_types(typed: FieldTypes, key: str) -> set[str]:
    """Return the types that a definition of the key may have."""
    return COMPATIBLE_TYPES[type(typed[key]())] if key in typed else {*Type.values}


def is_blank(value: object) -> bool:
    return value is None or value == [] or (isinstance(value, str) and not value.strip())


def represent(value: object) -> object:
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
        stored: dict[str, object] = self.instance.additional_fields if self.instance else {}
        return stored

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
                    params = {"key": key, "error": FieldError("", fields.MISSING, "required")}
                    yield FieldError("additional_fields", "{key} {error.text}", "required", params)

    @classmethod
    def additional_fields_of(cls, data: dict[str, object]) -> dict[str, object]:
        values = super().additional_fields_of(data)
        if any(isinstance(value, list) for value in values.values()):
            values = {key: represent(value) for key, value in values.items()}
        return values


# Field definitions


def resource_of(target: str) -> Resource:
    """Return the resource of the rows whose fields an account can define. Suggestions are posts."""
    return registry["post" if target == FieldDefinition.Target.SUGGESTION else target]


def serializer_of(target: str) -> type[AdditionalFieldsSerializer]:
    return cast(type[AdditionalFieldsSerializer], resource_of(target).viewset.serializer_class)


class KeyField(fields.TextField):
    """A key of additional fields. Brackets are excluded, because URLs name the field as `additional_fields[key]`."""

    blank_is_null = True

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**{"max_length": MAX_KEY_LENGTH, "pattern": r"[^\[\]\s]([^\[\]]*[^\[\]\s])?", **kwargs})


class ChoicesField(fields.ListField):
    """The choices of a definition: a list of different texts."""

    MAX_LENGTH = 255
    default_error_messages = {
        "list": _("must be a list of texts"),
        "too_many": _("are too many (maximum is {most})"),
        "too_long": _("has a text that is too long (maximum is {most} characters)"),
        "characters": fields.TextField.default_error_messages["characters"],
        "repeated": _("has {choice} more than once"),
    }

    def to_internal_value(self, data: object) -> list[str]:
        items = fields.to_list(data)
        if not isinstance(items, list) or any(isinstance(item, bool | list | dict) or item is None for item in items):
            self.fail("list")
        choices = [text for item in items if (text := " ".join(str(item).split()))]
        if len(choices) > MAX_CHOICES:
            self.fail("too_many", most=MAX_CHOICES)
        for choice, number in Counter(choices).items():
            if not is_xml_text(choice):
                self.fail("characters")
            if len(choice) > self.MAX_LENGTH:
                self.fail("too_long", most=self.MAX_LENGTH)
            if number > 1:
                self.fail("repeated", choice=choice)
        return choices


class FieldDefinitionSerializer(ResourceSerializer):
    model = FieldDefinition

    resource = fields.ChoiceField(FieldDefinition.Target.values, required=True)
    key = KeyField()
    label = fields.TextField(required=True)  # type: ignore[assignment]  # DRF takes the declared fields out of the class
    type = fields.ChoiceField(FieldDefinition.Type.values)
    choices = ChoicesField()
    required = fields.BooleanField()  # type: ignore[assignment]
    in_lists = fields.BooleanField()
    position = fields.IntegerField(min_value=-MAX_POSITION, max_value=MAX_POSITION)

    def validate(self, values: dict[str, Any]) -> dict[str, object]:
        """Apply the rules that involve several fields. A null is ignored."""
        values = {name: value for name, value in values.items() if value is not None}
        row = self.instance
        if row is None:
            if "key" not in values:
                values["key"] = self.free_key(values["resource"], values["label"])
            values.setdefault("type", FieldDefinition.Type.TEXT)
        errors = [
            FieldError(name, _("can't be changed"), "fixed")
            for name in ("resource", "key")
            if row is not None and values.get(name, getattr(row, name)) != getattr(row, name)
        ]
        after: dict[str, Any] = {
            name: values[name] if name in values else getattr(row, name, [])
            for name in ("resource", "key", "type", "choices")
        }
        resource, key, type, choices = after.values()
        if not errors:
            errors += self.find_conflicts(resource, key, type)
        errors += self.find_wrong_choices(type, choices, is_new=row is None or "choices" in values)
        if values.get("required") and resource == FieldDefinition.Target.SUGGESTION:
            errors.append(FieldError("required", _("can't be true for suggestions: visitors write them"), "suggestion"))
        others = self.context["account"].field_definitions.filter(resource=resource)
        others = others.exclude(id=row.id) if row else others
        errors += [
            FieldError(name, _("is already taken"), "taken")
            for name in ("key", "label")
            if name in values and others.filter(**{name: values[name]}).exists()
        ]
        if errors:
            raise FieldErrors(errors)
        return values

    def free_key(self, resource: str, label: str) -> str:
        """Return a key made from a label, with a number at its end if another field of the resource has that key."""
        letters = "".join(letter if letter.isalnum() else " " for letter in label.lower())
        key = "_".join(letters.split())[:MAX_KEY_LENGTH].rstrip("_") or "field"
        taken = {*self.context["account"].field_definitions.filter(resource=resource).values_list("key", flat=True)}
        # The account has at most `MAX_DEFINITIONS` definitions, so one of these keys is free.
        endings = ("", *(f"_{number}" for number in range(2, MAX_DEFINITIONS + 2)))
        keys = (key[: MAX_KEY_LENGTH - len(ending)] + ending for ending in endings)
        return next(key for key in keys if key not in taken)

    @staticmethod
    def find_conflicts(resource: str, key: str, type: str) -> list[FieldError]:
        """Return the errors of a key that the API uses for a field of its own."""
        serializer = serializer_of(resource)
        if key == EXTERNAL_ID or (key in declared_fields(serializer) and key not in serializer.typed):
            return [FieldError("key", _("is the name of another field"), "taken")]
        if type not in compatible_types(serializer.typed, key):
            allowed = ", ".join(sorted(compatible_types(serializer.typed, key)))
            if not allowed:
                return [FieldError("key", _("is the name of another field"), "taken")]
            return [FieldError("type", _("can only be {types} for this key"), "type", {"types": allowed})]
        return []

    @staticmethod
    def find_wrong_choices(type: str, choices: list[str], *, is_new: bool) -> list[FieldError]:
        if type not in (FieldDefinition.Type.CHOICE, FieldDefinition.Type.CHOICES):
            if choices and is_new:
                return [FieldError("choices", _("can only be set for the types choice and choices"), "type")]
            return []
        if not choices:
            return [FieldError("choices", _("can't be blank"), "required")]
        if type == FieldDefinition.Type.CHOICES and any("," in choice for choice in choices):
            # Requests and responses separate several choices by commas.
            return [FieldError("choices", _("can't have commas for the type choices"), "comma")]
        return []


def count_misfits(definition: FieldDefinition, access: Access) -> dict[str, Any]:
    """Count the values that do not fit the definition, among the newest rows of its resource in the access.

    `complete` tells whether all of these rows were compared.
    """
    rows: Any = resource_of(definition.resource).rows_of(definition.account)
    rows = rows.live().limited_to(access)
    if definition.resource == FieldDefinition.Target.SUGGESTION:
        rows = rows.without_tasks()
    newest = rows.order_by("-id").values_list(f"additional_fields__{definition.key}", flat=True)
    values = list(newest[: MAX_COMPARED_ROWS + 1])
    compared = values[:MAX_COMPARED_ROWS]
    return {
        "count": sum(value is not None and not fits(definition, value) for value in compared),
        "compared": len(compared),
        "complete": len(values) <= MAX_COMPARED_ROWS,
    }


class FieldDefinitionFilters(ListFilters):
    resource = WireFilter(fields.ChoiceField(FieldDefinition.Target.values))


class FieldDefinitionViewSet(Listing, ResourceViewSet):
    areas = ("clients",)
    account: Account
    request: APIRequest

    model = FieldDefinition
    serializer_class = FieldDefinitionSerializer
    permission_classes = [IsAdminOrTeamReadOnly]
    filterset_class = FieldDefinitionFilters
    ordering = ("resource", "position", "id")

    def get_queryset(self) -> QuerySet[FieldDefinition]:
        return self.account.field_definitions.all()

    def perform_update(self, serializer: ResourceSerializer) -> None:
        serializer.instance.write(serializer.values)

    def perform_destroy(self, row: FieldDefinition) -> None:
        row.erase()

    def misfits(self, request: APIRequest, id: int) -> HttpResponse:
        return Response(count_misfits(self.get_object(), self.access))


# The OpenAPI document

LIMITS |= {"MAX_DEFINITIONS": MAX_DEFINITIONS, "MAX_COMPARED_ROWS": MAX_COMPARED_ROWS}

describe_field(
    ChoicesField,
    request=array_of(
        {"type": ["string", "number"], "maxLength": ChoicesField.MAX_LENGTH, **XML_TEXT}, maxItems=MAX_CHOICES
    ),
    response=array_of({"type": "string", "minLength": 1, "maxLength": ChoicesField.MAX_LENGTH}, maxItems=MAX_CHOICES),
)


class KeyExtension(TextExtension):
    """The schema of the key of a defined field. A blank key is made from the label."""

    target_class = KeyField

    def request_schema(self) -> JSONSchema:
        # The key neither begins nor ends with these characters.
        other = NON_XML_CHARACTERS + WHITE_SPACE
        pattern = rf"^([^\[\]{other}]([^\[\]{NON_XML_CHARACTERS}]*[^\[\]{other}])?)?$"
        return {"type": "string", "maxLength": self.target.max_length, "pattern": pattern}


SHAPES[FieldDefinitionSerializer] = Shape(computed=frozenset({"key", "position"}))
RESPONSES["count_misfits"] = object_of(count=COUNT, compared=COUNT, complete=BOOLEAN)
