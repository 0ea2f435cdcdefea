from django.urls import path

from accounts.fields.api import FieldDefinitionViewSet

urlpatterns = [
    path(
        "app/field_definitions/<id:id>/misfits.json",
        FieldDefinitionViewSet.as_view({"get": "misfits"}),
        name="accounts-json-field-definition-misfits",
    )
]
