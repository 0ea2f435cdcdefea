"""The operations of the room `workspace` in the OpenAPI document."""

from typing import Any

from core.openapi.fields import NOT_BLANK
from core.openapi.operations import JSONSchema, Operation, register_operation
from core.openapi.schema import PAGE_PARAMETERS
from core.search.queries import MAX_QUERY_LENGTH
from workspace.find import GROUPS, MAX_FOUND
from workspace.reports.periods import DEFAULT_MONTHS, MAX_MONTHS
from workspace.reports.queries import REPORTS, Report
from workspace.reports.tables import TIMES, Column, Kind
from workspace.timeline import KINDS


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
KIND_PARAMETER = {
    "kind": {
        "type": "string",
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
