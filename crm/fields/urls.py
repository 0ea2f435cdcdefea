from django.urls import path

from core.api.routing import CREATE, ITEM, LIST
from crm.fields.api.definitions import FieldDefinitionViewSet

urlpatterns = [
    path(
        "app/field_definitions.json",
        FieldDefinitionViewSet.as_view(LIST | CREATE),
        name="crm-json-field-definitions",
    ),
    path("app/field_definitions/<id:id>.json", FieldDefinitionViewSet.as_view(ITEM), name="crm-json-field-definition"),
    path(
        "app/field_definitions/<id:id>/misfits.json",
        FieldDefinitionViewSet.as_view({"get": "misfits"}),
        name="crm-json-field-definition-misfits",
    ),
]
