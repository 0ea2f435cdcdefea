"""The CRM in the OpenAPI document: the schemas of its own fields, and its operations with their names and examples."""

from typing import Any, cast

from core.api.fields import MAX_NAME_LENGTH
from core.api.serializers import ResourceSerializer, declared_fields
from core.openapi.additional_fields import typed_shape
from core.openapi.components import API_TOKEN, error_schema
from core.openapi.fields import NON_XML_CHARACTERS, NOT_BLANK, WHITE_SPACE, XML_TEXT, TextExtension, WireFieldExtension
from core.openapi.operations import (
    SHAPES,
    TO_TRASH,
    JSONSchema,
    Shape,
    example_of,
    register_list,
    register_operation,
    register_resource,
    register_tags,
)
from core.openapi.schema import JSONOperationSchema
from core.openapi.values import COUNT, NAME, ROW_ID, TIME, object_of, or_null
from crm.api.field_definitions import MAX_COMPARED_ROWS, ChoicesField, FieldDefinitionSerializer, KeyField
from crm.api.fields import DerivedName, ExternalIds
from crm.api.filters import ExternalIdPairs
from crm.api.notes import IdListField, NoteSerializer
from crm.api.serializers import (
    ClientSerializer,
    ContactListSerializer,
    ContactSerializer,
    DealSerializer,
    NestedClient,
    NestedClientSerializer,
)
from crm.api.similar import SimilarSerializer
from crm.api.user_links import UserLinkSerializer
from crm.api.views import BulkViewSet
from crm.external_ids import MAX_EXTERNAL_IDS
from crm.field_definitions import MAX_CHOICES, MAX_DEFINITIONS
from crm.models import Client, Contact, Deal, FieldDefinition, UserLink
from crm.similar import MAX_SHOWN, Reason

# The characters with which the key of a defined field neither begins nor ends.
OTHER = NON_XML_CHARACTERS + WHITE_SPACE
KEY = f"^{ExternalIds.KEY.pattern}$"
VALUE = {"type": "string", "minLength": 1, "maxLength": MAX_NAME_LENGTH}


class DerivedNameExtension(TextExtension):
    """The schema of a name. A blank name is derived from other fields."""

    target_class = DerivedName

    def request_schema(self) -> JSONSchema:
        return {"type": ["string", "number", "null"], "maxLength": self.target.max_length, **XML_TEXT}


class ExternalIdsExtension(WireFieldExtension):
    target_class = ExternalIds

    def request_schema(self) -> JSONSchema:
        return {
            "type": "object",
            "propertyNames": {"pattern": KEY},
            "additionalProperties": {**VALUE, "type": ["string", "number", "null"], **NOT_BLANK},
            "maxProperties": MAX_EXTERNAL_IDS,
        }

    def response_schema(self) -> JSONSchema:
        return {"type": "object", "propertyNames": {"pattern": KEY}, "additionalProperties": VALUE}


class ExternalIdPairsExtension(WireFieldExtension):
    target_class = ExternalIdPairs

    def query_schema(self) -> JSONSchema:
        return {
            "type": "object",
            "propertyNames": {"pattern": KEY},
            "additionalProperties": {**VALUE, **NOT_BLANK},
            "maxProperties": MAX_EXTERNAL_IDS,
        }


def external_ids_parameter() -> dict[str, JSONSchema]:
    """Return the schema of the parameter that an upsert requires."""
    return {"external_ids": {**ExternalIdPairsExtension(ExternalIdPairs()).query_schema(), "minProperties": 1}}


class NestedClientExtension(WireFieldExtension):
    target_class = NestedClient

    def request_schema(self) -> JSONSchema:
        return {
            "type": "object",
            "properties": {
                name: WireFieldExtension.of(field).map_serializer_field(None, "request")
                for name, field in declared_fields(NestedClientSerializer).items()
                if not field.read_only
            },
            "additionalProperties": True,
        }


class KeyExtension(TextExtension):
    """The schema of the key of a defined field. A blank key is made from the label."""

    target_class = KeyField

    def request_schema(self) -> JSONSchema:
        pattern = rf"^([^\[\]{OTHER}]([^\[\]{NON_XML_CHARACTERS}]*[^\[\]{OTHER}])?)?$"
        return {"type": "string", "maxLength": self.target.max_length, "pattern": pattern}


class ChoicesExtension(WireFieldExtension):
    target_class = ChoicesField

    def request_schema(self) -> JSONSchema:
        choice = {"type": ["string", "number"], "maxLength": ChoicesField.MAX_LENGTH, **XML_TEXT}
        return {"type": "array", "items": choice, "maxItems": MAX_CHOICES}

    def response_schema(self) -> JSONSchema:
        choice = {"type": "string", "minLength": 1, "maxLength": ChoicesField.MAX_LENGTH}
        return {"type": "array", "items": choice, "maxItems": MAX_CHOICES}


class IdListExtension(WireFieldExtension):
    target_class = IdListField

    def response_schema(self) -> JSONSchema:
        return {"type": "array", "items": {"type": "integer"}}


def require_name(schema: JSONSchema, partial: bool) -> JSONSchema:
    """Return the schema of a new row, which requires a name or a field that the name is derived from."""
    if partial:
        return schema
    text = {"type": ["string", "number"], **NOT_BLANK}
    return {
        **{keyword: value for keyword, value in schema.items() if keyword != "required"},
        "anyOf": [
            {"required": [name], "properties": {name: text}} for name in ("name", "first_name", "last_name", "email")
        ],
    }


def require_target(schema: JSONSchema, partial: bool) -> JSONSchema:
    """Return the schema of a new link, which requires a user and either a client or a contact."""
    if partial:
        return schema
    id = {"type": ["integer", "string"], **NOT_BLANK}
    targets = ("client_id", "contact_id")
    links = [{"required": ["user_id", name], "properties": {"user_id": id, name: id}} for name in targets]
    return {**schema, "oneOf": links}


SHAPES[ClientSerializer] = typed_shape(ClientSerializer, Client, refine_input=require_name)
SHAPES[ContactSerializer] = typed_shape(ContactSerializer, Contact, refine_input=require_name)
SHAPES[UserLinkSerializer] = Shape(UserLink, refine_input=require_target)
SHAPES[FieldDefinitionSerializer] = Shape(FieldDefinition, computed=frozenset({"key", "position"}))
SHAPES[DealSerializer] = typed_shape(DealSerializer, Deal)

WRITE_FIELDS = {
    "creator_id": 15,
    "updater_id": 15,
    "created_at": "2026-11-21T12:00:00+01:00",
    "updated_at": "2026-11-21T12:00:00+01:00",
}

CLIENT = example_of(
    ClientSerializer,
    id=26,
    name="Ann Kowalska",
    email="ann@example.com",
    note="prefers e-mail",
    external_ids={"shop_id": "1043"},
    first_name="Ann",
    last_name="Kowalska",
    company=False,
    phone="+48 22 555 01 00",
    city="Kraków",
    discount=2.5,
    tags=["vip", "wholesale"],
    responsible_id=15,
    additional_fields={"shoe size": 42},
    contacts_count=1,
    posts_count=0,
    deals_count=1,
    last_activity="2026-11-21T12:00:00+01:00",
    do_not_contact=False,
    **WRITE_FIELDS,
)
NEW_CLIENT = {
    "name": "Ann Kowalska",
    "email": "ann@example.com",
    "note": "prefers e-mail",
    "external_ids": {"shop_id": 1043},
    "tags": ["vip", "wholesale"],
    "discount": 2.5,
}
CONTACT = example_of(
    ContactSerializer,
    id=28,
    name="Jan Nowak",
    email="jan@example.com",
    client_id=26,
    contact_list_ids=[27],
    position="Buyer",
    tags=[],
    additional_fields={},
    external_ids={"crm_id": "77"},
    consent=True,
    consent_at="2026-11-21T12:00:00+01:00",
    consent_by_id=15,
    do_not_contact=False,
    **WRITE_FIELDS,
)
CONTACT_LIST = example_of(
    ContactListSerializer,
    id=27,
    name="Newsletter",
    contacts_count=12,
    created_at=WRITE_FIELDS["created_at"],
    updated_at=WRITE_FIELDS["updated_at"],
)
DEAL = example_of(
    DealSerializer,
    id=29,
    name="Order 1043",
    description="Two chairs",
    price=149.9,
    client_id=26,
    external_ids={"order_id": "1043"},
    currency="EUR",
    expected_close_date="2026-12-31",
    tags=[],
    additional_fields={},
    **WRITE_FIELDS,
)
NEW_DEAL = {
    "name": "Order 1043",
    "description": "Two chairs",
    "price": 149.9,
    "external_ids": {"order_id": 1043},
    "client": {"name": "Ann Kowalska", "email": "ann@example.com", "external_ids": {"shop_id": 1043}},
}

CONDITIONS = (
    "The page of the resources that match all filters. The list also accepts conditions on every field, such as `city__contains`, `sort`, "
    "and `view`, the id of a saved view: see the document of the interface."
)
register_list("/app/clients.json", "list_clients", "List clients", "Clients", [CLIENT], description=CONDITIONS)
register_resource(
    "/app/clients",
    "client",
    "Clients",
    response_example=CLIENT,
    create=NEW_CLIENT,
    update={"note": "prefers e-mail"},
    creation="A blank name becomes first_name and last_name, or email if both are blank. With try_update, the client that has "
    "one of the external ids, or else the e-mail address, is updated instead (200).",
    deletion=f"{TO_TRASH} Its contacts, deals and posts stay, with client_id null.",
    create_statuses=(201, 200),
)
register_list(
    "/app/contacts.json",
    "list_contacts",
    "List contacts",
    "Contacts",
    [CONTACT],
    description=CONDITIONS,
    client_id=26,
)
register_resource(
    "/app/contacts",
    "contact",
    "Contacts",
    response_example=CONTACT,
    create={"name": "Jan Nowak", "email": "jan@example.com", "client_id": 26, "contact_list_ids": [27]},
    update={"position": "Buyer", "contact_list_ids": [27]},
    creation="contact_list_ids has the ids of the contact lists that the contact is on.",
    deletion=TO_TRASH,
)
register_list(
    "/app/contact_lists.json",
    "list_contact_lists",
    "List contact lists",
    "Contact lists",
    [CONTACT_LIST],
    order="name",
)
register_resource(
    "/app/contact_lists",
    "contact list",
    "Contact lists",
    response_example=CONTACT_LIST,
    create={"name": "Newsletter"},
    update={"name": "Newsletter"},
    creation="The name must be unique in the account.",
    deletion=f"{TO_TRASH} Its contacts stay.",
)
register_list("/app/deals.json", "list_deals", "List deals", "Deals", [DEAL], description=CONDITIONS, client_id=26)
register_resource(
    "/app/deals",
    "deal",
    "Deals",
    response_example=DEAL,
    create=NEW_DEAL,
    update={"price": 149.9},
    creation="Instead of client_id, the body may contain a client. It is the client that has one of the given external ids, or a new one.",
    deletion=TO_TRASH,
)
NOTE = example_of(
    NoteSerializer,
    id=41,
    client_id=26,
    kind="call",
    content="Wants an offer by Friday. @bob takes over.",
    noted_at="2026-11-21T12:00:00+01:00",
    duration=15,
    mentioned_user_ids=[16],
    **WRITE_FIELDS,
)
FIELD_DEFINITION = example_of(
    FieldDefinitionSerializer,
    id=40,
    resource="client",
    key="shoe_size",
    label="Shoe size",
    type="choice",
    choices=["S", "M", "L"],
    required=False,
    in_lists=True,
    position=1,
    created_at=WRITE_FIELDS["created_at"],
    updated_at=WRITE_FIELDS["updated_at"],
)
register_list("/app/notes.json", "list_notes", "List notes", "Notes", [NOTE], client_id=26)
register_resource(
    "/app/notes",
    "note",
    "Notes",
    response_example=NOTE,
    create={"client_id": 26, "kind": "call", "content": "Wants an offer by Friday. @bob takes over.", "duration": 15},
    update={"content": "Wants an offer by Thursday."},
    creation="A note is about one client, one contact or one deal. An @ with the login or the name of a user of the team mentions them.",
    deletion=TO_TRASH,
)
register_operation(
    "GET /app/similar.json",
    "find_similar",
    "Find similar clients and contacts",
    "The clients and contacts that have the e-mail, the tax number or a similar name, at most "
    f"{2 * MAX_SHOWN}, the strongest reason first. Call it before a create, to avoid duplicates.",
    "Search",
    parameters={"name": "Ann Kowalska", "email": "ann@example.com"},
    response_example=[
        {"resource": "client", "id": 26, "name": "Ann Kowalska", "email": "ann@example.com", "reason": "email"}
    ],
    query_parameters=lambda: {
        name: WireFieldExtension.of(each).query_schema() for name, each in declared_fields(SimilarSerializer).items()
    },
    response={
        "type": "array",
        "items": object_of(
            resource={"type": "string", "enum": ["client", "contact"]},
            id=ROW_ID,
            name=NAME,
            email=or_null(NAME),
            reason={"type": "string", "enum": [*Reason]},
        ),
        "maxItems": 2 * MAX_SHOWN,
    },
)
USER_LINK = example_of(UserLinkSerializer, id=42, user_id=17, client_id=26, state="confirmed", **WRITE_FIELDS)
register_list(
    "/app/user_links.json",
    "list_user_links",
    "List the links of users",
    "Links of users",
    [USER_LINK],
    state="confirmed",
)
register_resource(
    "/app/user_links",
    "user link",
    "Links of users",
    response_example=USER_LINK,
    create={"user_id": 17, "client_id": 26},
    update={"state": "rejected"},
    creation="Links a member to one client or one contact. The votes and suggestions of a user with a confirmed link count for the client.",
    deletion="The link is deleted. It may be proposed again; a rejected link is not.",
)
register_list(
    "/app/field_definitions.json",
    "list_field_definitions",
    "List field definitions",
    "Field definitions",
    [FIELD_DEFINITION],
    description="The definitions of the additional fields that match the filters, by resource and position.",
    resource="client",
)
register_resource(
    "/app/field_definitions",
    "field definition",
    "Field definitions",
    response_example=FIELD_DEFINITION,
    create={"resource": "client", "label": "Shoe size", "type": "choice", "choices": ["S", "M", "L"]},
    update={"required": True},
    creation=f"For admins. A resource has at most {MAX_DEFINITIONS} definitions. A blank key is made from the label.",
    deletion="For admins. The values of the field stay, and may be anything again.",
)
register_operation(
    "GET /app/field_definitions/{id}/misfits.json",
    "count_misfits",
    "Count the values that do not fit a field definition",
    f"Compares the values of the newest {MAX_COMPARED_ROWS:,} rows. If the account has more rows, `complete` is false.",
    "Field definitions",
    response_example={"count": 2, "compared": 120, "complete": True},
    parameters={"id": 40},
    response=object_of(count=COUNT, compared=COUNT, complete={"type": "boolean"}),
)
STAGE = object_of(
    status_id={"type": ["integer", "null"]}, entered_at=TIME, left_at=or_null(TIME), user_id={"type": "integer"}
)
register_operation(
    "GET /app/deals/{id}/stages.json",
    "list_stages",
    "List the stages of a deal",
    "The statuses that the deal has had, oldest first, with the users who moved it. The current stage has no left_at.",
    "Deals",
    response_example=[{"status_id": 10, "entered_at": "2026-11-21T12:00:00+01:00", "left_at": None, "user_id": 15}],
    parameters={"id": 29},
    response={"type": "array", "items": STAGE},
)
for kind, tag in (("client", "Clients"), ("contact", "Contacts"), ("deal", "Deals")):
    register_tags(kind, tag)

for key, article, answer, changes, pair in (
    ("contact", "the contact", CONTACT, {"name": "Jan Nowak", "position": "Buyer"}, {"crm_id": "77"}),
    ("client", "the client", CLIENT, {"name": "Ann Kowalska", "email": "ann@example.com"}, {"shop_id": "1043"}),
    ("deal", "the deal", DEAL, {"name": "Order 1043", "price": 149.9}, {"order_id": "1043"}),
):
    for method, verb in (("PUT", "put"), ("PATCH", "patch")):
        register_operation(
            f"{method} /app/{key}s.json",
            f"{verb}_{key}_by_external_id",
            f"Update or create a {key} by its external ids",
            f"Updates {article} that has the external ids of the query (200), or creates one with them (201).",
            f"{key.capitalize()}s",
            {key: changes},
            answer,
            {"external_ids": pair},
            statuses=(200, 201),
            query_parameters=external_ids_parameter,
        )


def bulk(
    key: str, serializer: type[ResourceSerializer], tag: str, item: dict[str, Any], answer: dict[str, Any]
) -> None:
    """Add the operation of a bulk create. An item may be any JSON value, because each item has a result of its own."""

    def body_schema(operation: JSONOperationSchema) -> JSONSchema:
        items = {"anyOf": [operation.input_component(serializer), {}]}
        view = cast(BulkViewSet, operation.view)
        array = {"type": "array", "maxItems": view.MAX_BULK_ITEMS, "items": items}
        properties: dict[str, JSONSchema] = {"api_token": API_TOKEN, f"{key}s": array}
        properties |= {name: {"description": "Allowed here as in each item."} for name in view.body_keys}
        return {"type": "object", "properties": properties, "required": [f"{key}s"], "additionalProperties": True}

    def response_schema(operation: JSONOperationSchema, status: int) -> JSONSchema:
        done = {"status": {"enum": [201, 200]}, key: operation.output_component(serializer)}
        pending = {
            "type": "array",
            "items": {"type": "string"},
            "description": "As in the header X-Pending-Links, for this item.",
        }
        refused = error_schema(422)
        refused["properties"] = {"status": {"const": 422}, **refused["properties"]}
        refused["required"] = ["status", *refused["required"]]
        written = {
            "type": "object",
            "properties": {**done, "pending_links": pending},
            "required": list(done),
            "additionalProperties": False,
        }
        return {"type": "array", "items": {"anyOf": [written, refused]}}

    error = {"code": "validation_failed", "message": "Name can't be blank", "errors": {"name": ["can't be blank"]}}
    register_operation(
        f"POST /app/{key}s/bulk.json",
        f"create_{key}s",
        f"Create up to 1,000 {key}s",
        "Each item is processed as if it had been sent alone, after the items before it. The results are in the same order, each "
        "with a status. An invalid item does not prevent the others from being written, unless X-Atomic is true.",
        tag,
        {f"{key}s": [item, {"name": ""}]},
        [{"status": 201, key: answer}, {"status": 422, **error}],
        body_schema=body_schema,
        response=response_schema,
        header_parameters=("X-Atomic",),
    )


bulk("client", ClientSerializer, "Clients", NEW_CLIENT, CLIENT)
bulk("contact", ContactSerializer, "Contacts", {"name": "Jan Nowak", "client_id": 26}, CONTACT)
bulk("deal", DealSerializer, "Deals", NEW_DEAL, DEAL)
