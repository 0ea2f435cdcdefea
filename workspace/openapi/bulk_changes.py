"""Bulk changes in the OpenAPI document."""

from core.api.fields import MAX_INTEGER
from core.openapi.fields import WireFieldExtension
from core.openapi.operations import SHAPES, JSONSchema, Shape, example_of, register_operation
from core.openapi.values import object_of
from workspace.api.bulk_changes import MAX_IDS, BulkChangeSerializer, LeftAloneField, SelectedIdsField
from workspace.bulk import MAX_LEFT_ALONE, MAX_ROWS, BulkChange
from workspace.bulk_actions import Result


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

register_operation(
    "GET /app/bulk_changes.json",
    "list_bulk_changes",
    "List bulk changes",
    "The newest first. Agents see their own changes. `left_alone` is empty in the list.",
    BULK_TAG,
    response_example=[{**BULK_CHANGE, "left_alone": []}],
)
register_operation(
    "POST /app/bulk_changes.json",
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
    body_serializers={"bulk_change": BulkChangeSerializer},
)
register_operation(
    "GET /app/bulk_changes/{id}.json",
    "read_bulk_change",
    "Read a bulk change",
    f"Its progress, and the rows that it left alone, at most {MAX_LEFT_ALONE}.",
    BULK_TAG,
    response_example=BULK_CHANGE,
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
        f"{action}_bulk_change",
        summary,
        description,
        BULK_TAG,
        response_example=BULK_CHANGE,
        body_serializers={},
        error_statuses=frozenset({409}),
    )
