"""Merges in the OpenAPI document."""

from core.openapi.fields import WireFieldExtension
from core.openapi.operations import JSONSchema, example_of, register_list, register_operation
from workspace.api.merges import BODIES, ChangesField, ChoicesField, FieldNamesField, MergeSerializer, PairsField
from workspace.comparison import Choice

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


for kind, id, other in (("client", 26, 31), ("contact", 28, 33)):
    register_operation(
        f"POST /app/{kind}s/{{id}}/merge.json",
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
    "read_merge",
    "Read a merge",
    "The merge with that id.",
    MERGES,
    response_example=MERGE,
)
register_operation(
    "POST /app/merges/{id}/undo.json",
    "undo_merge",
    "Undo a merge",
    "Restores the merged client or contact, with the rows that are still linked to the kept one. `unrestored_fields` has the names of "
    "the fields that were changed after the merge, and that keep their values.",
    MERGES,
    response_example=UNDONE,
)
