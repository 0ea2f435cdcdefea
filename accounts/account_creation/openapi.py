"""The schema of a new account in the OpenAPI document, as far as views and serializers do not tell it."""

from accounts.account.openapi import describe_account
from accounts.account_creation.api import NewAccountSerializer, OwnerSerializer, Prefix
from accounts.users.api import UserSerializer
from core.openapi.fields import WHITE_SPACE, describe_field
from core.openapi.operations import BODIES, RESPONSES
from core.openapi.schema import JSONOperationSchema
from core.openapi.values import NAME, JSONSchema, or_null

# A number is accepted as a prefix too, and read as its digits. A prefix has at least two characters.
NAME_OF_HOST = "[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])"
PREFIX = {"type": "string", "pattern": rf"^[{WHITE_SPACE}]*{NAME_OF_HOST}[{WHITE_SPACE}]*$"}
describe_field(Prefix, request={**PREFIX, "type": ["string", "integer"], "minimum": 10}, query=PREFIX, response=NAME)


def new_account_schema(schema: JSONOperationSchema, status: int) -> JSONSchema:
    """Return the schema of a new account with its owner and the first token."""
    owner = schema.output_component(UserSerializer)
    # The token is null in a response that is repeated for an Idempotency-Key.
    return schema.component("schemas", "MadeAccount", describe_account(schema, user=owner, api_token=or_null(NAME)))


RESPONSES["create_account"] = new_account_schema
BODIES["create_account"] = {"account": NewAccountSerializer, "user": OwnerSerializer}
