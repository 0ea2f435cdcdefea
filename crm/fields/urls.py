from django.urls import path

from crm.fields.api import FieldDefinitionViewSet

urlpatterns = [
    path(
        "app/field_definitions/<id:id>/misfits.json",
        FieldDefinitionViewSet.as_view({"get": "misfits"}),
        name="crm-json-field-definition-misfits",
    )
]
