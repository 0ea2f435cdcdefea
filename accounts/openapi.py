"""The OpenAPI operations on accounts, users, statuses, trash and changes, and on the document itself."""

from typing import Any

from accounts.api.account import AccountSerializer, AccountSettingsSerializer, OwnerSerializer, Prefix
from accounts.api.pipelines import PipelineSerializer
from accounts.api.statuses import StatusSerializer
from accounts.api.users import Login, NewUserSerializer, Password, UserGroupSerializer, UserSerializer
from accounts.models import Pipeline, Status, User
from core.api.changes import FeedSerializer, SinceField
from core.api.fields import WireField
from core.api.serializers import declared_fields
from core.changes.models import Change
from core.openapi.fields import NON_XML_CHARACTERS, WHITE_SPACE, TextExtension, WireFieldExtension
from core.openapi.operations import SHAPES, JSONSchema, Shape, register_list, register_operation, register_resource
from core.openapi.schema import ID, JSONOperationSchema
from core.openapi.values import NAME, TIME, object_of
from core.registry import registry

TIMES = {"created_at": "2026-11-21T12:00:00+01:00", "updated_at": "2026-11-21T12:00:00+01:00"}

SHAPES[UserSerializer] = Shape(User)
SHAPES[NewUserSerializer] = Shape(User, computed=frozenset({"role"}))
SHAPES[PipelineSerializer] = Shape(Pipeline, computed=frozenset({"position"}))
SHAPES[StatusSerializer] = Shape(Status, computed=frozenset({"position"}))


class SinceExtension(WireFieldExtension):
    """A cursor, which is opaque to clients."""

    target_class = SinceField

    def query_schema(self) -> JSONSchema:
        return {"type": "string", "description": "The cursor of the previous response, or `now`."}


class PrefixExtension(TextExtension):
    target_class = Prefix

    def request_schema(self) -> JSONSchema:
        # A number is accepted too and read as its digits. A prefix has at least two characters.
        return {**self.query_schema(), "type": ["string", "integer"], "minimum": 10}

    def query_schema(self) -> JSONSchema:
        inner = "[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])"
        return {"type": "string", "pattern": rf"^[{WHITE_SPACE}]*{inner}[{WHITE_SPACE}]*$"}


class LoginExtension(TextExtension):
    target_class = Login

    def request_schema(self) -> JSONSchema:
        return {**self.query_schema(), "type": ["string", "number"]}

    def query_schema(self) -> JSONSchema:
        inner, end = f"[^:{NON_XML_CHARACTERS}]", f"[^:{NON_XML_CHARACTERS}{WHITE_SPACE}]"
        return {"type": "string", "maxLength": self.target.max_length, "pattern": f"^{end}({inner}*{end})?$"}


class PasswordExtension(TextExtension):
    target_class = Password

    def query_schema(self) -> JSONSchema:
        return {**super().query_schema(), "minLength": 8, "format": "password"}


def query_schema(field: WireField) -> JSONSchema:
    """Return the schema of a query parameter with this field."""
    return WireFieldExtension.of(field).query_schema()


def account_schema(schema: JSONOperationSchema, status: int) -> JSONSchema:
    """Return the schema of an account with its URL. For a new account (201), add its owner and the first token."""
    account = schema.output_schema(AccountSerializer)
    properties = dict(account["properties"])
    times = {name: properties.pop(name) for name in TIMES}
    properties["url"] = {"type": "string", "format": "uri"}
    if status == 201:
        # The token is null in a response that is repeated for an Idempotency-Key.
        properties |= {"user": schema.output_component(UserSerializer), "api_token": {"type": ["string", "null"]}}
    properties |= times
    name = "MadeAccount" if status == 201 else "Account"
    return schema.component("schemas", name, {**account, "properties": properties, "required": list(properties)})


USER = {
    "id": 15,
    "login": "ann",
    "email": "ann@example.com",
    "name": "Ann Kowalska",
    "role": "agent",
    "notification": "own",
    "description": "",
    "www": None,
    "group_id": None,
    **TIMES,
}
ACCOUNT: dict[str, Any] = {
    "id": 271828182845904,
    "prefix": "shop",
    "initial_module": "crm",
    "from_partner": None,
    "name": "Shop",
    "time_zone": "Europe/Warsaw",
    "language": "en",
    "currency": "EUR",
    "agents_see": "all",
    "link_guests_by_email": True,
    "won_reasons": ["Price", "Features", "Recommendation"],
    "lost_reasons": ["Too expensive", "No answer"],
    "url": "https://shop.example.com",
    **TIMES,
}
STATUS = {
    "id": 37,
    "code": "paid",
    "name": "Paid",
    "kind": "deal",
    "color": "#16a34a",
    "position": 13,
    "closed": True,
    "on_roadmap": False,
    "outcome": "won",
    "probability": 100,
    "pipeline_id": 1,
    "rot_days": None,
    **TIMES,
}
GROUP = {"id": 41, "name": "Sales", **TIMES}
PIPELINE = {"id": 1, "name": "Sales", "position": 1, **TIMES}

register_operation(
    "GET /app/account.json",
    "read_account",
    "Read the account",
    "The account that the token belongs to.",
    "Account",
    response_example=ACCOUNT,
    response=account_schema,
)
for method, verb in (("PUT", "update"), ("PATCH", "patch")):
    register_operation(
        f"{method} /app/account.json",
        f"{verb}_account",
        "Update the account",
        "For admins. `agents_see` is `all` or `own`: the clients, contacts, deals and tasks that agents access. "
        "With `link_guests_by_email`, a client inside a deal is the only client with its e-mail, without `try_update`. The reasons are offered to "
        "the team when a deal is won or lost.",
        "Account",
        {"account": {"lost_reasons": ["Too expensive", "No answer"]}},
        ACCOUNT,
        body_serializers={"account": AccountSettingsSerializer},
        response=account_schema,
    )
register_operation(
    "POST /app/account.json",
    "create_account",
    "Create an account",
    "For admins of a partner. Creates an account with its first user and the first token of this user. Only this response contains the token.",
    "Account",
    {
        "account": {"prefix": "new-shop", "initial_module": "crm"},
        "user": {"login": "eve", "email": "eve@example.org", "password": "kind-of-blue-59"},
    },
    {
        **ACCOUNT,
        "prefix": "new-shop",
        "url": "https://new-shop.example.com",
        "user": {**USER, "role": "owner", "login": "eve", "email": "eve@example.org"},
        "api_token": "x7KqNc2mBv8rTz4wLs6dHj1pGf5yQa3e/new-shop",
    },
    body_serializers={"account": AccountSerializer, "user": OwnerSerializer},
    response=account_schema,
)
register_list(
    "/app/users.json",
    "list_users",
    "List the team",
    "Account",
    [USER],
    description="The users who can be responsible for a resource.",
)
register_operation(
    "GET /app/users/{id}.json",
    "read_user",
    "Read a user of the team",
    "A user who can be responsible for a resource.",
    "Account",
    response_example=USER,
)
for method, verb in (("PUT", "update"), ("PATCH", "patch")):
    register_operation(
        f"{method} /app/users/{{id}}.json",
        f"{verb}_user",
        "Change the group of a user",
        "For admins. Only an owner can change an owner.",
        "Account",
        {"user": {"group_id": 41}},
        {**USER, "group_id": 41},
        body_serializers={"user": UserGroupSerializer},
    )

register_operation(
    "DELETE /app/users/{id}/sessions.json",
    "end_sessions",
    "Sign a user out everywhere",
    "For admins, also of members. Ends all sessions of the user on the pages. Passwords and tokens stay valid. Only an owner can do "
    "this to an owner.",
    "Account",
    response_example="ok",
    parameters={"id": 15},
)

register_list(
    "/app/groups.json",
    "list_groups",
    "List groups",
    "Account",
    [GROUP],
    description="The groups of the team, by name. If agents see only their own rows, the users of a group access each other's rows.",
)
register_resource(
    "/app/groups",
    "group",
    "Account",
    response_example=GROUP,
    create={"name": "Sales"},
    update={"name": "Sales in Poland"},
    creation="For admins. The name must be unique in the account.",
    deletion="For admins. Its users have no group then.",
)

register_list(
    "/app/statuses.json",
    "list_statuses",
    "List statuses",
    "Statuses",
    [STATUS],
    description="All statuses, by kind and position.",
    kind="deal",
)
register_resource(
    "/app/statuses",
    "status",
    "Statuses",
    response_example=STATUS,
    create={"kind": "deal", "code": "paid", "name": "Paid", "outcome": "won"},
    update={"color": "#16a34a"},
    creation="For admins. If a status with this kind and code exists, it is updated (200). A status of deals that is closed without an "
    "outcome is lost.",
    deletion="For admins. A status that is in use cannot be deleted, nor can the last status for posts.",
    create_statuses=(201, 200),
    delete_error_statuses=frozenset({422}),
)

register_list(
    "/app/pipelines.json",
    "list_pipelines",
    "List pipelines",
    "Pipelines",
    [PIPELINE],
    description="The pipelines of deals, by position. The statuses of deals of a pipeline are its stages.",
)
register_resource(
    "/app/pipelines",
    "pipeline",
    "Pipelines",
    response_example=PIPELINE,
    create={"name": "Repairs"},
    update={"name": "Sales in Poland"},
    creation="For admins. The name must be unique in the account.",
    deletion="For admins. A pipeline with statuses cannot be deleted without `move_to_id`. The last pipeline cannot be deleted.",
    delete_error_statuses=frozenset({422}),
    delete_parameters=lambda: {
        "move_to_id": {
            **ID,
            "description": "The pipeline to which the statuses with deals move. The other statuses are deleted.",
        }
    },
)

TRASHED = object_of(
    id={"type": "integer"}, resource=NAME, name=NAME, trashed_at=TIME, trashed_by_id={"type": ["integer", "null"]}
)


def resource_parameter() -> dict[str, JSONSchema]:
    return {"resource": {"type": "string", "enum": sorted(registry.trashable())}}


def restored_schema(schema: JSONOperationSchema, status: int) -> JSONSchema:
    """Return the schema of a restored resource, which may be of any kind."""
    viewsets = [resource.viewset for _, resource in sorted(registry.trashable().items())]
    return {"oneOf": [schema.output_component(viewset.serializer_class) for viewset in viewsets]}


register_list(
    "/app/trash.json",
    "list_trash",
    "List the trash",
    "Trash",
    [
        {
            "id": 27,
            "resource": "contact_list",
            "name": "Newsletter",
            "trashed_at": TIMES["created_at"],
            "trashed_by_id": 15,
        }
    ],
    description="For admins. The resources that were deleted in the last 30 days, newest first.",
    query_parameters=resource_parameter,
    response={"type": "array", "items": TRASHED},
    resource="contact_list",
)
register_operation(
    "POST /app/trash/{id}/restore.json",
    "restore",
    "Restore from the trash",
    "For admins. The response is the restored resource. It gets its external ids back, except for those that another resource has now.",
    "Trash",
    response_example={"id": 27, "name": "Newsletter", "contacts_count": 0, **TIMES},
    body_serializers={},
    query_parameters=resource_parameter,
    response=restored_schema,
)

CHANGE = object_of(
    resource=NAME, id={"type": "integer"}, change={"type": "string", "enum": Change.Kind.values}, at=TIME
)
FEED = object_of(changes={"type": "array", "items": CHANGE}, cursor=NAME, more={"type": "boolean"})
register_operation(
    "GET /app/changes.json",
    "list_changes",
    "List changes",
    "All changes since a cursor, in the order in which they were committed. With `since=now`, the response is a cursor to start from.",
    "Changes",
    response_example={
        "changes": [{"resource": "client", "id": 26, "change": "updated", "at": TIMES["updated_at"]}],
        "cursor": "AAAAAAAAAA0ABkbXn2kq8Q7r3vYt5wZa",
        "more": False,
    },
    parameters={"since": "now"},
    query_parameters=lambda: {name: query_schema(field) for name, field in declared_fields(FeedSerializer).items()},
    response=FEED,
)

register_operation(
    "GET /app/openapi.json",
    "read_openapi",
    "This document",
    "OpenAPI 3.1, for everyone.",
    "Documentation",
    response_example={"openapi": "3.1.0", "info": {"title": "Rostrum", "version": "0.1.0"}, "paths": {}},
    response={
        "type": "object",
        "properties": {
            "openapi": {"type": "string"},
            "info": {"type": "object"},
            "paths": {"type": "object"},
        },
        "required": ["openapi", "info", "paths"],
    },
)
register_operation(
    "GET /app/docs/swagger",
    "show_interface",
    "Browse and try out this document",
    "Swagger UI, for everyone.",
    "Documentation",
    response_example="<!DOCTYPE html>…",
    response={"type": "string"},
)
