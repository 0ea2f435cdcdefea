"""Reports in the OpenAPI document."""

from typing import Any

from core.openapi.operations import JSONSchema, register_operation
from core.openapi.values import object_of
from workspace.reports.periods import DEFAULT_MONTHS, MAX_MONTHS
from workspace.reports.queries import MAX_SUGGESTIONS, REPORTS, Report
from workspace.reports.tables import TIMES, Column, Kind

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
    amounts = any(column.kind == Kind.MONEY for column in report.columns)
    currencies = " Each currency has rows of its own." if amounts else ""
    if not report.has_period:
        return f"{report.description} There are at most {MAX_SUGGESTIONS} for each currency.{currencies}"
    months = f"the next {DEFAULT_MONTHS} months" if report.ahead else f"the last {DEFAULT_MONTHS} months"
    return f"{report.description} The period is {months} by default, and at most {MAX_MONTHS} months.{currencies}"


for report in REPORTS.values():
    example = {column.name: EXAMPLES[column.kind] for column in report.columns} | ({"id": 16} if report.has_ids else {})
    register_operation(
        f"GET /app/reports/{report.name}.json",
        f"get_{report.name}_report",
        f"Read the report “{report.label}”",
        description_of(report),
        "Reports",
        response_example={
            "report": report.name,
            **({"from": "2026-11", "to": "2026-11"} if report.has_period else {}),
            "rows": [example],
        },
        query_parameters=lambda report=report: {
            name: MONTH if name in ("from", "to") else ID for name in report.parameters
        },
        response=object_of(
            {
                "report": {"type": "string", "const": report.name},
                **({"from": MONTH, "to": MONTH} if report.has_period else {}),
                "rows": {"type": "array", "items": row_of(tuple(report.columns), report)},
            }
        ),
    )
