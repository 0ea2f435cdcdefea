"""The schema of the account in the OpenAPI document, as far as views and serializers do not tell it."""

from accounts.account.api import AccountSerializer, AccountSettingsSerializer
from core.openapi.operations import BODIES, RESPONSES
from core.openapi.schema import JSONOperationSchema
from core.openapi.values import JSONSchema, object_of


def describe_account(schema: JSONOperationSchema, **further: JSONSchema) -> JSONSchema:
    """Return the schema of an account with its URL, and with further properties before the times."""
    properties = schema.output_schema(AccountSerializer)["properties"]
    times = {name: properties.pop(name) for name in ("created_at", "updated_at")}
    properties["url"] = {"type": "string", "format": "uri"}
    return object_of(properties | further | times)


def account_schema(schema: JSONOperationSchema, status: int) -> JSONSchema:
    return schema.component("schemas", "Account", describe_account(schema))


RESPONSES["read_account"] = RESPONSES["update_account"] = account_schema
BODIES["update_account"] = {"account": AccountSettingsSerializer}
