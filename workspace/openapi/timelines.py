"""Timelines in the OpenAPI document."""

from core.openapi.fields import WHITE_SPACE
from core.openapi.operations import JSONSchema, register_operation
from core.openapi.values import TIME, object_of
from workspace.timeline import KINDS

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
        f"list_{resource}_timeline",
        f"Read the timeline of a {resource}",
        f"The events of {article}, newest first: notes, tasks, deals and their stages, suggestions, votes, and changed fields.",
        tag,
        response_example=[ENTRY_EXAMPLE],
        parameters={"id": id},
        query_parameters=lambda: KIND_PARAMETER,
        response={"type": "array", "items": ENTRY},
    )
