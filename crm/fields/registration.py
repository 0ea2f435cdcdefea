"""The registration of field definitions (`core.rooms`)."""

from django.utils.translation import gettext_lazy as _

from core.registry import Resource, newest_id, registry
from crm.fields.models import FieldDefinition

registry.register(
    Resource(
        "field_definition",
        FieldDefinition,
        "crm.fields.api.definitions.FieldDefinitionViewSet",
        label=_("Field"),
        plural_label=_("Fields"),
        icon="text-cursor-input",
        collection="field_definitions",
        samples={"field_definition": lambda request: newest_id(request.account.field_definitions.all())},
    )
)
