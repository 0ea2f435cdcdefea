"""The operations of the room `workspace` in the OpenAPI document."""

from typing import Any

from core.openapi.fields import NOT_BLANK, WireFieldExtension
from core.openapi.operations import SHAPES, JSONSchema, Operation, Shape, example_of, register_list, register_operation
from core.openapi.schema import JSONOperationSchema
from core.search.queries import MAX_QUERY_LENGTH
from workspace.api.merges import BODIES, ChangesField, ChoicesField, FieldNamesField, MergeSerializer, PairsField
from workspace.comparison import Choice
from workspace.find import GROUPS, MAX_FOUND
from workspace.merging import Merge
from workspace.reports.periods import DEFAULT_MONTHS, MAX_MONTHS
from workspace.reports.queries import REPORTS, Report
from workspace.reports.tables import TIMES, Column, Kind


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
    "url": "https://acme.example.com/app/clients/24",
}
register_operation(
    "GET /app/find.json",
    Operation(
        "find",
        "Search for everything",
        f"Finds at most {MAX_FOUND} rows of each kind whose texts have the words of `q`, the best matches first. Mistyped words are found too.",
        "Search",
        response_example={group.name: [EXAMPLE_CLIENT] if group.name == "clients" else [] for group in GROUPS},
        query_parameters=lambda: {"q": {"type": "string", "minLength": 1, "maxLength": MAX_QUERY_LENGTH, **NOT_BLANK}},
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
