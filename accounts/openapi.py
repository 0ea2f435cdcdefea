"""The schemas of accounts, users, statuses, trash and changes in the OpenAPI document, as far as views and serializers do not tell them."""

from accounts.account.api import AccountSerializer, AccountSettingsSerializer
from accounts.account_creation.api import NewAccountSerializer, OwnerSerializer, Prefix
from accounts.statuses.api.pipelines import PipelineSerializer
from accounts.statuses.api.statuses import StatusSerializer
from accounts.users.api import Login, NewUserSerializer, Password, UserGroupSerializer, UserSerializer
from accounts.users.models import User
from core.api.changes import FeedSerializer, SinceField
from core.api.serializers import declared_fields
from core.changes.models import Change
from core.openapi.fields import NON_XML_CHARACTERS, WHITE_SPACE, TextExtension, describe_field
from core.openapi.operations import BODIES, QUERY_PARAMETERS, RESPONSES, SHAPES, Shape
from core.openapi.schema import JSONOperationSchema, field_parameters
from core.openapi.values import BOOLEAN, ID, ID_PARAMETER, NAME, TIME, JSONSchema, array_of, object_of, one_of, or_null
from core.registry import registry

SHAPES[UserSerializer] = Shape(User)
SHAPES[NewUserSerializer] = Shape(User, computed=frozenset({"role"}))
SHAPES[PipelineSerializer] = SHAPES[StatusSerializer] = Shape(computed=frozenset({"position"}))

describe_field(SinceField, request={"type": "string", "description": "The cursor of the previous response, or `now`."})


# A number is accepted as a prefix too, and read as its digits. A prefix has at least two characters.
NAME_OF_HOST = "[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])"
PREFIX = {"type": "string", "pattern": rf"^[{WHITE_SPACE}]*{NAME_OF_HOST}[{WHITE_SPACE}]*$"}
describe_field(Prefix, request={**PREFIX, "type": ["string", "integer"], "minimum": 10}, query=PREFIX, response=NAME)


class LoginExtension(TextExtension):
    target_class = Login

    def request_schema(self) -> JSONSchema:
        inner, end = f"[^:{NON_XML_CHARACTERS}]", f"[^:{NON_XML_CHARACTERS}{WHITE_SPACE}]"
        pattern = f"^{end}({inner}*{end})?$"
        return {"type": ["string", "number"], "maxLength": self.target.max_length, "pattern": pattern}


class PasswordExtension(TextExtension):
    target_class = Password

    def query_schema(self) -> JSONSchema:
        return {**super().query_schema(), "minLength": 8, "format": "password"}


def account_schema(schema: JSONOperationSchema, status: int) -> JSONSchema:
    """Return the schema of an account with its URL. For a new account (201), add its owner and the first token."""
    properties = schema.output_schema(AccountSerializer)["properties"]
    times = {name: properties.pop(name) for name in ("created_at", "updated_at")}
    properties["url"] = {"type": "string", "format": "uri"}
    if status == 201:
        # The token is null in a response that is repeated for an Idempotency-Key.
        properties |= {"user": schema.output_component(UserSerializer), "api_token": or_null(NAME)}
    return schema.component("schemas", "MadeAccount" if status == 201 else "Account", object_of(properties | times))


def restored_schema(schema: JSONOperationSchema, status: int) -> JSONSchema:
    """Return the schema of a restored resource, which may be of any kind."""
    viewsets = [resource.viewset for _, resource in sorted(registry.trashable().items())]
    return {"oneOf": [schema.output_component(viewset.serializer_class) for viewset in viewsets]}


RESPONSES["read_account"] = RESPONSES["update_account"] = RESPONSES["create_account"] = account_schema
BODIES["update_account"] = {"account": AccountSettingsSerializer}
BODIES["create_account"] = {"account": NewAccountSerializer, "user": OwnerSerializer}
BODIES["update_user"] = {"user": UserGroupSerializer}

MOVE_TO = "The pipeline to which the statuses with deals move. The other statuses are deleted."
QUERY_PARAMETERS["delete_pipeline"] = {"move_to_id": {**ID_PARAMETER, "description": MOVE_TO}}

QUERY_PARAMETERS["list_trash"] = QUERY_PARAMETERS["restore"] = {"resource": one_of(sorted(registry.trashable()))}
TRASHED = object_of(id=ID, resource=NAME, name=NAME, trashed_at=TIME, trashed_by_id=or_null(ID))
RESPONSES["list_trash"] = array_of(TRASHED)
RESPONSES["restore"] = restored_schema

QUERY_PARAMETERS["list_changes"] = field_parameters(declared_fields(FeedSerializer))
CHANGE = object_of(resource=NAME, id=ID, change=one_of(Change.Kind.values), at=TIME)
RESPONSES["list_changes"] = object_of(changes=array_of(CHANGE), cursor=NAME, more=BOOLEAN)
