"""Stored values in the OpenAPI document."""

from core.openapi.operations import JSONSchema, register_operation
from core.openapi.values import TIME, object_of
from workspace.openapi.backers import REVENUE, REVENUE_EXAMPLE

STORED: dict[str, JSONSchema] = {"last_activity_at": TIME, "next_task_at": {**TIME, "type": ["string", "null"]}}
STORED_EXAMPLE = {"last_activity_at": "2026-11-21T12:00:00+01:00", "next_task_at": None}
for resource, id, tag in (("client", 26, "Clients"), ("contact", 27, "Contacts"), ("deal", 29, "Deals")):
    revenue = {"revenue": {"type": "array", "items": REVENUE}} if resource == "client" else {}
    sums = (
        " The revenue has the open and the won deals per currency, as far as the user can access them."
        if revenue
        else ""
    )
    register_operation(
        f"GET /app/{resource}s/{{id}}/summary.json",
        f"read_{resource}_summary",
        f"Read the summary of a {resource}",
        f"The time of the last activity of the {resource} and all that belongs to it, and of its next planned task.{sums}",
        tag,
        response_example=STORED_EXAMPLE | ({"revenue": [REVENUE_EXAMPLE]} if revenue else {}),
        parameters={"id": id},
        response=object_of(STORED | revenue),
    )
