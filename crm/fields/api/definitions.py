"""Field definitions in the Account API."""

from collections import Counter
from typing import Any, cast

from django.db.models import QuerySet
from django.http import HttpResponse
from django.utils.translation import gettext_lazy as _
from rest_framework.response import Response

from accounts.account.models import Account
from accounts.hosts.api import APIRequest
from accounts.roles.permissions import IsAdminOrTeamReadOnly
from core.api.additional_fields import AdditionalFieldsSerializer
from core.api.fields import BooleanField, ChoiceField, IntegerField, TextField, WireField, to_list
from core.api.filters import ListFilters, WireFilter
from core.api.lists import Listing
from core.api.resources import ResourceViewSet
from core.api.serializers import ResourceSerializer, declared_fields
from core.db.ordering import MAX_POSITION
from core.db.text import is_xml_text
from core.errors import FieldError, FieldErrors
from core.registry import registry
from core.rows.access import Access
from crm.fields.api.values import compatible_types, fits
from crm.fields.models import EXTERNAL_ID, MAX_CHOICES, MAX_DEFINITIONS, MAX_KEY_LENGTH, FieldDefinition

# The number of rows, newest first, whose values are compared with a definition.
MAX_COMPARED_ROWS = 10_000


def serializer_of(resource: str) -> type[AdditionalFieldsSerializer]:
    """Return the serializer of a resource whose fields an account can define."""
    return cast(type[AdditionalFieldsSerializer], registry[resource].viewset.serializer_class)


class KeyField(TextField):
    """A key of additional fields. Brackets are excluded, because URLs name the field as `additional_fields[key]`."""

    blank_is_null = True

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**{"max_length": MAX_KEY_LENGTH, "pattern": r"[^\[\]\s]([^\[\]]*[^\[\]\s])?", **kwargs})


class ChoicesField(WireField):
    """The choices of a definition: a list of different texts."""

    MAX_LENGTH = 255
    default_error_messages = {
        "list": _("must be a list of texts"),
        "too_many": _("are too many (maximum is {most})"),
        "too_long": _("has a text that is too long (maximum is {most} characters)"),
        "characters": TextField.default_error_messages["characters"],
        "repeated": _("has {choice} more than once"),
    }

    def run_validation(self, data: object = None) -> object:
        return super().run_validation([] if data is None else data)

    def to_internal_value(self, data: object) -> list[str]:
        items = to_list(data)
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

    resource = ChoiceField(FieldDefinition.Target.values, required=True)
    key = KeyField()
    label = TextField(required=True)  # type: ignore[assignment]  # DRF takes the declared fields out of the class
    type = ChoiceField(FieldDefinition.Type.values)
    choices = ChoicesField()
    required = BooleanField()  # type: ignore[assignment]
    in_lists = BooleanField()
    position = IntegerField(min_value=-MAX_POSITION, max_value=MAX_POSITION)

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
    rows: Any = registry[definition.resource].rows_of(definition.account)
    newest = (
        rows.live().limited_to(access).order_by("-id").values_list(f"additional_fields__{definition.key}", flat=True)
    )
    values = list(newest[: MAX_COMPARED_ROWS + 1])
    compared = values[:MAX_COMPARED_ROWS]
    return {
        "count": sum(value is not None and not fits(definition, value) for value in compared),
        "compared": len(compared),
        "complete": len(values) <= MAX_COMPARED_ROWS,
    }


class FieldDefinitionFilters(ListFilters):
    resource = WireFilter(ChoiceField(FieldDefinition.Target.values))


class FieldDefinitionViewSet(Listing, ResourceViewSet):
    """CRUD of field definitions."""

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
        """Respond with the number of values that do not fit the definition."""
        return Response(count_misfits(self.get_object(), self.access))
