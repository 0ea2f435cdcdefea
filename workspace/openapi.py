"""The operations of the room `workspace` in the OpenAPI document."""

from typing import Any

from core.api.fields import MAX_INTEGER
from core.api.serializers import declared_fields
from core.openapi.fields import NOT_BLANK, WHITE_SPACE, WireFieldExtension
from core.openapi.operations import (
    SHAPES,
    JSONSchema,
    Operation,
    Shape,
    example_of,
    register_list,
    register_operation,
    register_resource,
)
from core.openapi.schema import PAGE_PARAMETERS, JSONOperationSchema
from core.search.queries import MAX_QUERY_LENGTH
from crm.openapi import DEAL
from workspace.api.board import MoveSerializer
from workspace.api.bulk_changes import MAX_IDS, BulkChangeSerializer, LeftAloneField, SelectedIdsField
from workspace.api.merges import BODIES, ChangesField, ChoicesField, FieldNamesField, MergeSerializer, PairsField
from workspace.api.saved_views import SavedViewSerializer
from workspace.bulk import MAX_LEFT_ALONE, MAX_ROWS, BulkChange
from workspace.bulk_actions import Result
from workspace.comparison import Choice
from workspace.find import GROUPS, MAX_FOUND
from workspace.merging import Merge
from workspace.reports.periods import DEFAULT_MONTHS, MAX_MONTHS
from workspace.reports.queries import REPORTS, Report
from workspace.reports.tables import TIMES, Column, Kind
from workspace.timeline import KINDS
from workspace.views import MAX_SHARED_VIEWS, MAX_VIEWS_OF_USER, SavedView


def object_of(properties: dict[str, JSONSchema]) -> JSONSchema:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


# The search over everything

FOUND = object_of(
    {
        "id": {"type": "integer"},
        "name": {"type": "string"},
        "detail": {"type": ["string", "null"]},
        "url": {"type": "string", "format": "uri"},
    }
)
EXAMPLE_CLIENT = {
    "id": 24,
    "name": "Northwind",
    "detail": "office@northwind.example",
    "url": "https://forum.example.com/app/clients/24",
}
register_operation(
    "GET /app/find.json",
    Operation(
        "search_everything",
        "Search for everything",
        f"Finds at most {MAX_FOUND} rows of each kind whose texts have the words of `q`, the best matches first. Mistyped words are found too.",
        "Search",
        parameters={"q": "northwind"},
        response_example={group.name: [EXAMPLE_CLIENT] if group.name == "clients" else [] for group in GROUPS},
        query_parameters=lambda: {"q": {"type": "string", "minLength": 1, "maxLength": MAX_QUERY_LENGTH, **NOT_BLANK}},
        required_parameters=frozenset({"q"}),
        response=object_of({group.name: {"type": "array", "items": FOUND, "maxItems": MAX_FOUND} for group in GROUPS}),
        error_statuses=frozenset({422}),
    ),
)

# Reports

MONTH: JSONSchema = {"type": "string", "pattern": "^2[01][0-9]{2}-(0[1-9]|1[0-2])$"}
ID: JSONSchema = {"type": "integer", "minimum": 0, "maximum": 10**18 - 1}
VALUES: dict[Kind, JSONSchema] = {
    Kind.TEXT: {"type": ["string", "null"]},
    Kind.MONTH: {"anyOf": [MONTH, {"type": "string", "enum": list(TIMES)}]},
    Kind.COUNT: {"type": "integer", "minimum": 0},
    Kind.MONEY: {"type": "number"},
    Kind.SHARE: {"type": ["number", "null"], "minimum": 0, "maximum": 1},
    Kind.DAYS: {"type": ["number", "null"], "minimum": 0},
    Kind.HOURS: {"type": ["number", "null"], "minimum": 0},
}
EXAMPLES: dict[Kind, Any] = {
    Kind.TEXT: "EUR",
    Kind.MONTH: "2026-11",
    Kind.COUNT: 2,
    Kind.MONEY: 149.9,
    Kind.SHARE: 0.25,
    Kind.DAYS: 3.5,
    Kind.HOURS: 3.5,
}


def row_of(columns: tuple[Column, ...], report: Report) -> JSONSchema:
    values = {column.name: VALUES[column.kind] for column in columns}
    return object_of(values | ({"id": {"type": ["integer", "null"]}} if report.has_ids else {}))


def description_of(report: Report) -> str:
    months = f"the next {DEFAULT_MONTHS} months" if report.ahead else f"the last {DEFAULT_MONTHS} months"
    amounts = any(column.kind == Kind.MONEY for column in report.columns)
    currencies = " Each currency has rows of its own." if amounts else ""
    return f"{report.description} The period is {months} by default, and at most {MAX_MONTHS} months.{currencies}"


for report in REPORTS.values():
    example = {column.name: EXAMPLES[column.kind] for column in report.columns} | ({"id": 16} if report.has_ids else {})
    register_operation(
        f"GET /app/reports/{report.name}.json",
        Operation(
            f"get_{report.name}_report",
            f"Read the report “{report.label}”",
            description_of(report),
            "Reports",
            response_example={"report": report.name, "from": "2026-11", "to": "2026-11", "rows": [example]},
            query_parameters=lambda report=report: {  # type: ignore[misc]  # the value of this turn of the loop
                "from": MONTH,
                "to": MONTH,
                **dict.fromkeys(report.id_parameters, ID),
            },
            response=object_of(
                {
                    "report": {"type": "string", "const": report.name},
                    "from": MONTH,
                    "to": MONTH,
                    "rows": {"type": "array", "items": row_of(tuple(report.columns), report)},
                }
            ),
        ),
    )


# Bulk changes


class SelectedIdsExtension(WireFieldExtension):
    target_class = SelectedIdsField

    def request_schema(self) -> JSONSchema:
        ids = {"type": "integer", "minimum": 1, "maximum": MAX_INTEGER}
        return {"type": "array", "items": ids, "minItems": 1, "maxItems": MAX_IDS}


class LeftAloneExtension(WireFieldExtension):
    target_class = LeftAloneField

    def response_schema(self) -> JSONSchema:
        row = object_of(
            {
                "id": {"type": "integer"},
                "name": {"type": ["string", "null"]},
                "result": {"type": "string", "enum": list(Result.LABELS)},
            }
        )
        return {"type": "array", "items": row, "maxItems": MAX_LEFT_ALONE}


def ids_or_query(schema: JSONSchema, partial: bool) -> JSONSchema:
    """Require exactly one of the two fields. A field that is null counts as missing."""
    alternatives = [
        {"required": [name], "properties": {name: {"not": {"type": "null"}}}, "not": {"required": [other]}}
        for name, other in (("ids", "query"), ("query", "ids"))
    ]
    return {**schema, "oneOf": alternatives}


SHAPES[BulkChangeSerializer] = Shape(
    BulkChange,
    nullable=frozenset({"query", "failure", "responsible_id", "status_id", "contact_list_id"}),
    refine_input=ids_or_query,
)
BULK_CHANGE = example_of(
    BulkChangeSerializer,
    id=41,
    resource="client",
    action="set_responsible",
    query="status_id=3",
    responsible_id=4,
    tags=[],
    state="done",
    total=120,
    changed=118,
    unchanged=1,
    skipped=1,
    restored=0,
    kept=0,
    author_id=3,
    finished_at="2026-11-21T12:00:00+01:00",
    created_at="2026-11-21T12:00:00+01:00",
    updated_at="2026-11-21T12:00:00+01:00",
    left_alone=[{"id": 17, "name": "Northwind", "result": "in_trash"}],
)
BULK_TAG = "Bulk changes"
ONE: dict[str, Any] = {"id": 41}

register_operation(
    "GET /app/bulk_changes.json",
    Operation(
        "list_bulk_changes",
        "List bulk changes",
        "The newest first. Agents see their own changes. `left_alone` is empty in the list.",
        BULK_TAG,
        response_example=[{**BULK_CHANGE, "left_alone": []}],
        query_parameters=lambda: PAGE_PARAMETERS,
    ),
)
register_operation(
    "POST /app/bulk_changes.json",
    Operation(
        "create_bulk_change",
        "Change many rows",
        "One action on the clients, contacts or deals with these `ids`, or on all rows that match the `query`: the parameters of the address"
        f" of their list on the pages, at most {MAX_ROWS} rows. Many rows are changed in the background; read the change to see its progress.",
        BULK_TAG,
        body={
            "bulk_change": {
                "resource": "client",
                "action": "set_responsible",
                "ids": [24],
                "responsible_id": 4,
            }
        },
        response_example=BULK_CHANGE,
        statuses=(201,),
        body_serializers={"bulk_change": BulkChangeSerializer},
    ),
)
register_operation(
    "GET /app/bulk_changes/{id}.json",
    Operation(
        "read_bulk_change",
        "Read a bulk change",
        f"Its progress, and the rows that it left alone, at most {MAX_LEFT_ALONE}.",
        BULK_TAG,
        response_example=BULK_CHANGE,
        parameters=ONE,
    ),
)
for action, summary, description in (
    (
        "undo",
        "Undo a bulk change",
        "Each row gets its own previous value back. Values that others changed since are left alone.",
    ),
    ("cancel", "Cancel a bulk change", "The rows that are not changed yet stay as they are."),
):
    register_operation(
        f"POST /app/bulk_changes/{{id}}/{action}.json",
        Operation(
            f"{action}_bulk_change",
            summary,
            description,
            BULK_TAG,
            response_example=BULK_CHANGE,
            parameters=ONE,
            body_serializers={},
            error_statuses=frozenset({409}),
        ),
    )
# Saved views

SHAPES[SavedViewSerializer] = Shape(SavedView, computed=frozenset({"position"}))

SAVED_VIEW = example_of(
    SavedViewSerializer,
    id=48,
    resource="client",
    name="Leads in Kraków",
    query="city=Krak%C3%B3w&responsible_id=me&sort=name",
    shared=True,
    owner_id=15,
    position=1,
    created_at="2026-11-21T12:00:00+01:00",
    updated_at="2026-11-21T12:00:00+01:00",
)
register_list(
    "/app/views.json",
    "list_views",
    "List saved views",
    "Saved views",
    [SAVED_VIEW],
    description="The own views and those that are shared with the team, by list and position. The shared ones of a list come first.",
    query_parameters=lambda: {
        **PAGE_PARAMETERS,
        "resource": WireFieldExtension.of(declared_fields(SavedViewSerializer)["resource"]).query_schema(),
    },
    resource="client",
)
register_resource(
    "/app/views",
    "view",
    "Saved views",
    id=48,
    response_example=SAVED_VIEW,
    create={
        "resource": "client",
        "name": "Leads in Kraków",
        "query": "city=Kraków&responsible_id=me&sort=name",
        "shared": True,
    },
    update={"name": "Leads"},
    body_serializers={"view": SavedViewSerializer},
    creation=f"The query is that of a list in the team's pages. A user has at most {MAX_VIEWS_OF_USER} views, and the team shares at most "
    f"{MAX_SHARED_VIEWS}.",
    deletion="For the owner, and for admins if the view is shared. The rows of the list stay.",
)
# Timelines

TIME = {"type": "string", "format": "date-time"}
LINKED_ID: JSONSchema = {"type": ["integer", "null"]}
ENTRY = object_of(
    {
        "kind": {"type": "string", "enum": list(KINDS)},
        "at": TIME,
        "user_id": LINKED_ID,
        "client_id": LINKED_ID,
        "contact_id": LINKED_ID,
        "deal_id": LINKED_ID,
        "resource": {"type": "string", "enum": ["client", "contact", "deal", "note", "post"]},
        "resource_id": {"type": "integer"},
        "title": {"type": "string"},
        "data": {"type": "object"},
    }
)
ENTRY_EXAMPLE = {
    "kind": "call",
    "at": "2026-11-21T12:00:00+01:00",
    "user_id": 15,
    "client_id": 26,
    "contact_id": None,
    "deal_id": None,
    "resource": "note",
    "resource_id": 41,
    "title": "Wants an offer by Friday.",
    "data": {"text": "Wants an offer by Friday.", "duration": 15},
}
KIND_PATTERN = f"[{WHITE_SPACE}]*({'|'.join(KINDS)})?[{WHITE_SPACE}]*"
KIND_PARAMETER = {
    "kind": {
        "type": "string",
        "pattern": f"^{KIND_PATTERN}(,{KIND_PATTERN})*$",
        "description": f"Only entries of these kinds, separated by commas: {', '.join(f'`{kind}`' for kind in KINDS)}.",
        "example": "note,call",
    }
}

for resource, article, id, tag in (
    ("client", "a client, with those of its contacts and deals", 26, "Clients"),
    ("contact", "a contact, with those of its deals", 27, "Contacts"),
    ("deal", "a deal", 29, "Deals"),
):
    register_operation(
        f"GET /app/{resource}s/{{id}}/timeline.json",
        Operation(
            f"list_{resource}_timeline",
            f"Read the timeline of a {resource}",
            f"The events of {article}, newest first: notes, tasks, deals and their stages, suggestions, votes, and changed fields.",
            tag,
            response_example=[ENTRY_EXAMPLE],
            parameters={"id": id},
            query_parameters=lambda: KIND_PARAMETER | PAGE_PARAMETERS,
            response={"type": "array", "items": ENTRY},
        ),
    )
# The deal board

ROW_ID: JSONSchema = {"type": "integer", "minimum": 1}
NAME: JSONSchema = {"type": "string"}
NUMBER: JSONSchema = {"type": "number"}
COUNT: JSONSchema = {"type": "integer", "minimum": 0}


def object_of_fields(**properties: JSONSchema) -> JSONSchema:
    """Return the schema of an object that has all of the properties."""
    return object_of(properties)


def or_null(schema: JSONSchema) -> JSONSchema:
    return {**schema, "type": [schema["type"], "null"]}


TOTAL = object_of_fields(currency=NAME, count=COUNT, sum=NUMBER, weighted_sum=NUMBER)
CARD = object_of_fields(
    id=ROW_ID,
    name=NAME,
    client_id=or_null(ROW_ID),
    client_name=or_null(NAME),
    price=or_null(NUMBER),
    currency=NAME,
    responsible_id=or_null(ROW_ID),
    expected_close_date=or_null({"type": "string", "format": "date"}),
    stage_entered_at=or_null({"type": "string", "format": "date-time"}),
    overdue={"type": "boolean"},
    rotting={"type": "boolean"},
)
COLUMN = object_of_fields(
    status_id=ROW_ID,
    count=or_null(COUNT),
    totals=or_null({"type": "array", "items": TOTAL}),
    deals={"type": "array", "items": CARD},
    next=or_null(NAME),
)
BOARD: dict[str, Any] = {
    "pipeline_id": 1,
    "columns": [
        {
            "status_id": 12,
            "count": 1,
            "totals": [{"currency": "EUR", "count": 1, "sum": 149.9, "weighted_sum": 89.94}],
            "deals": [
                {
                    "id": 29,
                    "name": "Order 1043",
                    "client_id": 26,
                    "client_name": "Ann Kowalska",
                    "price": 149.9,
                    "currency": "EUR",
                    "responsible_id": 15,
                    "expected_close_date": "2026-12-31",
                    "stage_entered_at": "2026-11-21T12:00:00+01:00",
                    "overdue": False,
                    "rotting": False,
                }
            ],
            "next": None,
        }
    ],
}


def board_parameters() -> dict[str, JSONSchema]:
    id = {"type": "integer", "minimum": 1, "maximum": 10**18 - 1}
    return {
        "pipeline_id": {**id, "description": "The default is the first pipeline."},
        "mine": {"type": "boolean", "description": "Only deals that the user is responsible for."},
        "q": {"type": "string", "maxLength": MAX_QUERY_LENGTH, "description": "A search."},
        "column": {**id, "description": "The id of a status: only this column."},
        "after": {
            "type": "string",
            "pattern": "^-?[0-9]{1,18}_[0-9]{1,18}$",
            "description": "The `next` of the column: the deals after those.",
        },
    }


def one_place(schema: JSONSchema, partial: bool) -> JSONSchema:
    """Allow at most one of the two names of a place. A field that is null or blank counts as missing."""
    names = ("after_id", "position")
    given = {"type": ["integer", "string"], **NOT_BLANK}
    return {**schema, "not": {"required": list(names), "properties": dict.fromkeys(names, given)}}


SHAPES[MoveSerializer] = Shape(refine_input=one_place)

register_operation(
    "GET /app/deals/board.json",
    Operation(
        "read_board",
        "Read the deal board",
        "The statuses of a pipeline, each with its number of deals, their sums, and its first 50 deals in the order of the board. "
        "weighted_sum is the sum times the probability of the status. The conditions of the list of deals on the pages, such as "
        "`price__after=1000`, select deals. If they select more than 5,000, count and totals are null. A deal is rotting if it is in its "
        "status for `rot_days` and no task is planned.",
        "Deals",
        response_example=BOARD,
        parameters={"pipeline_id": 1},
        query_parameters=board_parameters,
        response=object_of_fields(pipeline_id=ROW_ID, columns={"type": "array", "items": COLUMN}),
    ),
)
register_operation(
    "POST /app/deals/{id}/move.json",
    Operation(
        "move_deal",
        "Move a deal on the board",
        "Moves the deal to a status, below the deal `after_id` (0 for the first place) or to the place `position`, counted from 1. Without "
        "them, the deal comes first in another status, and keeps its place in its own. `reason` becomes the reason for winning or losing "
        "the deal. If the deal is no longer in `seen_status_id`, or `after_id` no longer in the status, the answer is 409, and the deal "
        "stays where it is.",
        "Deals",
        {"move": {"position": 1}},
        DEAL | {"status_id": 12, "stage_entered_at": "2026-11-21T12:00:00+01:00"},
        {"id": 29},
        body_serializers={"move": MoveSerializer},
    ),
)

# The clients behind a suggestion

REVENUE: JSONSchema = {
    "type": "object",
    "properties": {
        "currency": {"type": "string"},
        "open_deals": {"type": "integer", "minimum": 0},
        "open_sum": {"type": "number"},
        "won_deals": {"type": "integer", "minimum": 0},
        "won_sum": {"type": "number"},
    },
    "required": ["currency", "open_deals", "open_sum", "won_deals", "won_sum"],
    "additionalProperties": False,
}
REVENUE_EXAMPLE = {"currency": "EUR", "open_deals": 2, "open_sum": 4800, "won_deals": 1, "won_sum": 12000.5}
register_operation(
    "GET /app/posts/{id}/clients.json",
    Operation(
        "list_clients_of_post",
        "List the clients behind a suggestion",
        "The clients with a vote on their behalf, with a suggestion that was written for them, or with a linked user who voted for it or "
        "wrote it. Those with the highest revenue in the currency of the account come first.",
        "Posts",
        response_example=[{"client_id": 26, "name": "Northwind", "revenue": [REVENUE_EXAMPLE]}],
        parameters={"id": 30},
        query_parameters=lambda: PAGE_PARAMETERS,
        response={
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "client_id": {"type": "integer"},
                    "name": {"type": "string"},
                    "revenue": {"type": "array", "items": REVENUE},
                },
                "required": ["client_id", "name", "revenue"],
                "additionalProperties": False,
            },
        },
    ),
)
register_operation(
    "GET /app/posts/{id}/revenue.json",
    Operation(
        "get_revenue_of_post",
        "Read the revenue behind a suggestion",
        "The number of the clients behind a suggestion, and the sums of their open and won deals in each currency.",
        "Posts",
        response_example={"clients": 1, "revenue": [REVENUE_EXAMPLE]},
        parameters={"id": 30},
        response={
            "type": "object",
            "properties": {
                "clients": {"type": "integer", "minimum": 0},
                "revenue": {"type": "array", "items": REVENUE},
            },
            "required": ["clients", "revenue"],
            "additionalProperties": False,
        },
    ),
)

# Merges

MERGES = "Merges"


class ChoicesExtension(WireFieldExtension):
    target_class = ChoicesField

    def request_schema(self) -> JSONSchema:
        return {"type": "object", "additionalProperties": {"type": "string", "enum": list(Choice)}}


class ChangesExtension(WireFieldExtension):
    target_class = ChangesField

    def response_schema(self) -> JSONSchema:
        change = {
            "type": "object",
            "properties": {"before": {}, "after": {}},
            "required": ["before", "after"],
            "additionalProperties": False,
        }
        return {"type": "object", "additionalProperties": change}


class PairsExtension(WireFieldExtension):
    target_class = PairsField

    def response_schema(self) -> JSONSchema:
        pair = {"type": "array", "items": {"type": "string"}, "minItems": 2, "maxItems": 2}
        return {"type": "array", "items": pair}


class FieldNamesExtension(WireFieldExtension):
    target_class = FieldNamesField

    def response_schema(self) -> JSONSchema:
        return {"type": "array", "items": {"type": "string"}}


SHAPES[MergeSerializer] = Shape(Merge)

MERGE = example_of(
    MergeSerializer,
    id=45,
    client_id=26,
    merged_client_id=31,
    user_id=15,
    changes={"phone": {"before": None, "after": "+48 22 555 01 00"}},
    external_ids=[["shop_id", "2077"]],
    unrestored_fields=[],
    created_at="2026-11-21T12:00:00+01:00",
    updated_at="2026-11-21T12:00:00+01:00",
)
UNDONE = {**MERGE, "undone_at": "2026-11-21T12:05:00+01:00", "undone_by_id": 15}


def merge_schema(schema: JSONOperationSchema, status: int) -> JSONSchema:
    return schema.output_component(MergeSerializer)


for kind, id, other in (("client", 26, 31), ("contact", 28, 33)):
    register_operation(
        f"POST /app/{kind}s/{{id}}/merge.json",
        Operation(
            f"merge_{kind}s",
            f"Merge another {kind} into a {kind}",
            f"The rows of the other {kind} are linked to this {kind}, which also gets its external ids. The other {kind} is moved to the "
            "trash. `fields` tells for which fields the value of the other one is taken.",
            MERGES,
            {"merge": {f"merged_{kind}_id": other, "fields": {"phone": "merged"}}},
            MERGE
            if kind == "client"
            else {**MERGE, "client_id": None, "merged_client_id": None, "contact_id": id, "merged_contact_id": other},
            {"id": id},
            statuses=(201,),
            body_serializers={"merge": BODIES[kind]},
            response=merge_schema,
        ),
    )
register_list(
    "/app/merges.json",
    "list_merges",
    "List merges",
    MERGES,
    [MERGE],
    description="The merges that match the filters, with those that were undone. A merge is erased with the merged client or contact.",
    client_id=26,
)
register_operation(
    "GET /app/merges/{id}.json",
    Operation(
        "read_merge",
        "Read a merge",
        "The merge with that id.",
        MERGES,
        response_example=MERGE,
        parameters={"id": 45},
    ),
)
register_operation(
    "POST /app/merges/{id}/undo.json",
    Operation(
        "undo_merge",
        "Undo a merge",
        "Restores the merged client or contact, with the rows that are still linked to the kept one. `unrestored_fields` has the names of "
        "the fields that were changed after the merge, and that keep their values.",
        MERGES,
        response_example=UNDONE,
        parameters={"id": 45},
        response=merge_schema,
    ),
)

# Stored values

SUM: JSONSchema = {"type": "number"}
REVENUE_OF_CLIENT = object_of(
    {"currency": {"type": "string"}, "open_deals": COUNT, "open_sum": SUM, "won_deals": COUNT, "won_sum": SUM}
)
STORED: dict[str, JSONSchema] = {"last_activity_at": TIME, "next_task_at": {**TIME, "type": ["string", "null"]}}
STORED_EXAMPLE = {"last_activity_at": "2026-11-21T12:00:00+01:00", "next_task_at": None}
for resource, id, tag in (("client", 26, "Clients"), ("contact", 27, "Contacts"), ("deal", 29, "Deals")):
    revenue = {"revenue": {"type": "array", "items": REVENUE_OF_CLIENT}} if resource == "client" else {}
    sums = (
        " The revenue has the open and the won deals per currency, as far as the user can access them."
        if revenue
        else ""
    )
    register_operation(
        f"GET /app/{resource}s/{{id}}/summary.json",
        Operation(
            f"read_{resource}_summary",
            f"Read the summary of a {resource}",
            f"The time of the last activity of the {resource} and all that belongs to it, and of its next planned task.{sums}",
            tag,
            response_example=STORED_EXAMPLE | ({"revenue": [REVENUE_EXAMPLE]} if revenue else {}),
            parameters={"id": id},
            response=object_of(STORED | revenue),
        ),
    )
