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
