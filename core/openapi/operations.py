"""What the serving code does not say of an operation: its name, a few words, and an example. Each room adds its own."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Model

from core.api.serializers import ResourceSerializer

JSONSchema = dict[str, Any]
# A serializer, or the ones that a key may be read by.
Takes = type[ResourceSerializer] | tuple[type[ResourceSerializer], ...]


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
    takes: dict[str, Takes] | None = None
    accepts: Callable[[Any], JSONSchema] | None = None
    asks: Callable[[], dict[str, JSONSchema]] = dict
    gives: JSONSchema | type[ResourceSerializer] | Callable[[Any, int], JSONSchema] | None = None
    # Headers that are heeded (`components.PARAMETERS`), and refusals, beside those that follow from the code.
    heeds: tuple[str, ...] = ()
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


def operate(paths: str, operation: Operation) -> None:
    """`paths` is a method and a path."""
    OPERATIONS[paths] = operation


def operate_resource(
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
    takes: dict[str, Takes] | None = None,
    gives: Any = None,
    item_gives: Any = None,
) -> None:
    """A resource's own operations, with examples of what is sent to `create` and to `update` it, and of what is answered.

    `gives` is what its creation answers, `item_gives` what reading and updating it answer, where the viewset does not say so.
    """
    key = name.replace(" ", "_")
    item = f"{path}/{{id}}.json"
    ids = {"id": id}
    operate(
        f"POST {path}.json",
        Operation(
            f"create_{key}",
            f"Create a {name}",
            creation,
            tag,
            {key: create},
            answer,
            statuses=create_statuses,
            takes=takes,
            gives=gives,
        ),
    )
    operate(
        f"GET {item}",
        Operation(
            f"read_{key}",
            f"Read a {name}",
            f"The {name} with that id.",
            tag,
            answer=answer,
            parameters=ids,
            gives=item_gives,
        ),
    )
    words = "Only what is sent changes; the answer is the whole resource."
    changed = {**answer, **update}
    for method, id, note in (("PUT", f"update_{key}", ""), ("PATCH", f"patch_{key}", " The same as PUT.")):
        operate(
            f"{method} {item}",
            Operation(id, f"Update a {name}", words + note, tag, {key: update}, changed, ids, gives=item_gives),
        )
    operate(
        f"DELETE {item}",
        Operation(
            f"delete_{key}",
            f"Delete a {name}",
            deletion,
            tag,
            answer="ok",
            parameters=ids,
            gives={"type": "string", "const": "ok"},
            refusals=delete_refusals,
        ),
    )


def operate_list(
    path: str,
    id: str,
    summary: str,
    tag: str,
    answer: list,
    *,
    description: str = "Those that pass all filters, a page at a time.",
    asks: Callable[[], dict[str, JSONSchema]] = dict,
    gives: Any = None,
    **parameters: Any,
) -> None:
    """`parameters` are examples."""
    operate(
        f"GET {path}",
        Operation(id, summary, description, tag, answer=answer, parameters=parameters, asks=asks, gives=gives),
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


def operate_tags(kind: str, tag: str) -> None:
    operate(
        f"GET /app/{kind}s/tags.json",
        Operation(
            f"list_{kind}_tags",
            f"List the tags of {kind}s",
            f"The tags that {kind}s have, most used first, then by name.",
            tag,
            answer=[{"id": 24, "name": "vip", "count": 12}, {"id": 25, "name": "wholesale", "count": 3}],
            gives={"type": "array", "items": TAG},
        ),
    )
