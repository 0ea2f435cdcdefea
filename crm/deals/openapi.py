"""The schemas of deals in the OpenAPI document, as far as views and serializers do not tell them."""

from core.api.serializers import declared_fields
from core.openapi.fields import WireFieldExtension
from core.openapi.operations import RESPONSES
from core.openapi.values import ID, TIME, JSONSchema, array_of, object_of, or_null
from crm.deals.api import NestedClient, NestedClientSerializer
from crm.resources.openapi import describe_operations


class NestedClientExtension(WireFieldExtension):
    target_class = NestedClient

    def request_schema(self) -> JSONSchema:
        fields = declared_fields(NestedClientSerializer).items()
        properties = {
            name: WireFieldExtension.find_for(field).map_serializer_field(None, "request")
            for name, field in fields
            if not field.read_only
        }
        return {"type": "object", "properties": properties, "additionalProperties": True}


describe_operations("deal")
RESPONSES["list_stages"] = array_of(
    object_of(status_id=or_null(ID), entered_at=TIME, left_at=or_null(TIME), user_id=ID)
)
