"""What the serving code does not say of an operation: its name, a few words, and an example. Each room adds its own."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Model

from core.api.serializers import ResourceSerializer

JSONSchema = dict[str, Any]
# A serializer, or the ones that a key may be read by.
BodySerializers = type[ResourceSerializer] | tuple[type[ResourceSerializer], ...]


@dataclass(frozen=True)
class Operation:
    """`tag` is the heading that it stands under."""

    id: str
    summary: str
    description: str
    tag: str
    # Examples: of what is sent as the body, of what is answered, and of parameters.
    body: Any = None
    answer: Any = None
    parameters: dict[str, Any] = field(default_factory=dict)
    # Statuses of success; the example is of the first.
    statuses: tuple[int, ...] = (200,)
    # What the body has under its keys, or the whole of the body; the parameters of the query; and what is answered: where the
    # viewset does not say so. A schema, a serializer, or what makes a schema of the operation's (and the status).
    body_serializers: dict[str, BodySerializers] | None = None
    body_schema: Callable[[Any], JSONSchema] | None = None
    query_parameters: Callable[[], dict[str, JSONSchema]] = dict
    response: JSONSchema | type[ResourceSerializer] | Callable[[Any, int], JSONSchema] | None = None
    # Headers that are heeded (`components.PARAMETERS`), and refusals, beside those that follow from the code.
    header_parameters: tuple[str, ...] = ()
    refusals: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Shape:
    """What the fields of a serializer do not say. What is answered is null where a column of `model` may be, or as said."""

    model: type[Model] | None = None
    nullable: frozenset[str] = frozenset()
    # Rules between the fields: of a new one, and (partial) of changes.
    refine_input: Callable[[JSONSchema, bool], JSONSchema] = lambda schema, partial: schema
    refine_output: Callable[[JSONSchema], JSONSchema] = lambda schema: schema


# By method and path.
OPERATIONS: dict[str, Operation] = {}
SHAPES: dict[type[ResourceSerializer], Shape] = {}


def example_of(serializer: type[ResourceSerializer], **values: Any) -> dict[str, Any]:
    """Return an answer with these values, and null for all other fields, in the order of the serializer."""
    if unknown := values.keys() - set(serializer.names):
        raise ValueError(f"{serializer.__name__} answers no {', '.join(sorted(unknown))}")
    return {name: values.get(name) for name in serializer.names}


def register_operation(paths: str, operation: Operation) -> None:
    """`paths` is a method and a path."""
    OPERATIONS[paths] = operation


def register_resource(
    path: str,
    name: str,
    tag: str,
    *,
    id: int,
    answer: dict[str, Any],
    create: dict[str, Any],
    update: dict[str, Any],
    creation: str,
    deletion: str,
    create_statuses: tuple[int, ...] = (201,),
    delete_refusals: frozenset[int] = frozenset(),
    body_serializers: dict[str, BodySerializers] | None = None,
    response: Any = None,
    item_response: Any = None,
) -> None:
    """A resource's own operations, with examples of what is sent to `create` and to `update` it, and of what is answered.

    `gives` is what its creation answers, `item_gives` what reading and updating it answer, where the viewset does not say so.
    """
    key = name.replace(" ", "_")
    item = f"{path}/{{id}}.json"
    ids = {"id": id}
    register_operation(
        f"POST {path}.json",
        Operation(
            f"create_{key}",
            f"Create a {name}",
            creation,
            tag,
            {key: create},
            answer,
            statuses=create_statuses,
            body_serializers=body_serializers,
            response=response,
        ),
    )
    register_operation(
        f"GET {item}",
        Operation(
            f"read_{key}",
            f"Read a {name}",
            f"The {name} with that id.",
            tag,
            answer=answer,
            parameters=ids,
            response=item_response,
        ),
    )
    words = "Only what is sent changes; the answer is the whole resource."
    changed = {**answer, **update}
    for method, id, note in (("PUT", f"update_{key}", ""), ("PATCH", f"patch_{key}", " The same as PUT.")):
        register_operation(
            f"{method} {item}",
            Operation(id, f"Update a {name}", words + note, tag, {key: update}, changed, ids, response=item_response),
        )
    register_operation(
        f"DELETE {item}",
        Operation(
            f"delete_{key}",
            f"Delete a {name}",
            deletion,
            tag,
            answer="ok",
            parameters=ids,
            response={"type": "string", "const": "ok"},
            refusals=delete_refusals,
        ),
    )


def register_list(
    path: str,
    id: str,
    summary: str,
    tag: str,
    answer: list,
    *,
    description: str = "Those that pass all filters, a page at a time.",
    query_parameters: Callable[[], dict[str, JSONSchema]] = dict,
    response: Any = None,
    **parameters: Any,
) -> None:
    """`parameters` are examples."""
    register_operation(
        f"GET {path}",
        Operation(
            id,
            summary,
            description,
            tag,
            answer=answer,
            parameters=parameters,
            query_parameters=query_parameters,
            response=response,
        ),
    )


TO_TRASH = "It goes to the trash for 30 days, from which an admin can restore it."
TAG = {
    "type": "object",
    "properties": {
        "id": {"type": "integer"},
        "name": {"type": "string"},
        "count": {"type": "integer", "minimum": 1},
    },
    "required": ["id", "name", "count"],
    "additionalProperties": False,
}


def register_tags(kind: str, tag: str) -> None:
    register_operation(
        f"GET /app/{kind}s/tags.json",
        Operation(
            f"list_{kind}_tags",
            f"List the tags of {kind}s",
            f"The tags that {kind}s have, most used first, then by name.",
            tag,
            answer=[{"id": 24, "name": "vip", "count": 12}, {"id": 25, "name": "wholesale", "count": 3}],
            response={"type": "array", "items": TAG},
        ),
    )
