"""The parts of an operation that cannot be derived from its view: id, description and examples. Each app registers its operations."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Model

from core.api.serializers import ResourceSerializer
from core.openapi.values import NAME, object_of

JSONSchema = dict[str, Any]
# The serializer of a key of a body, or a tuple of alternative serializers.
BodySerializers = type[ResourceSerializer] | tuple[type[ResourceSerializer], ...]


@dataclass(frozen=True)
class Operation:
    """The description of an operation, with examples."""

    id: str
    summary: str
    description: str
    # The heading of its section.
    tag: str
    # Examples of the body, of the response and of parameters.
    body: Any = None
    response_example: Any = None
    parameters: dict[str, Any] = field(default_factory=dict)
    # Statuses of success. The example of the response belongs to the first of them. The default is 201 for a create, else 200.
    statuses: tuple[int, ...] = ()
    # A function that returns the schemas of query parameters, in addition to those of the page, the order and the filters.
    query_parameters: Callable[[], dict[str, JSONSchema]] = dict
    # The next three attributes replace what is derived from the view:
    # - the serializers of the keys of the body,
    # - a function that returns the schema of the body,
    # - the schema of the response, a serializer for it, or a function that returns the schema for an operation and a status.
    body_serializers: dict[str, BodySerializers] | None = None
    body_schema: Callable[[Any], JSONSchema] | None = None
    response: JSONSchema | type[ResourceSerializer] | Callable[[Any, int], JSONSchema] | None = None
    # The names of the query parameters that a request must have.
    required_parameters: frozenset[str] = frozenset()
    # Headers of the request (`components.PARAMETERS`) and statuses of errors, in addition to those that are derived from the view.
    header_parameters: tuple[str, ...] = ()
    error_statuses: frozenset[int] = frozenset()

    @property
    def parameter_examples(self) -> dict[str, Any]:
        """The examples of parameters. The default for the id in the path is the id of the response."""
        example = self.response_example
        return {**({"id": example["id"]} if isinstance(example, dict) and "id" in example else {}), **self.parameters}


@dataclass(frozen=True)
class Shape:
    """The parts of the schema of a serializer that cannot be derived from its fields."""

    # The default is the model of the serializer. A field of a response may be null if its column of the model may be, or if `nullable` names it.
    model: type[Model] | None = None
    nullable: frozenset[str] = frozenset()
    # Fields of a new row whose value is computed if it is not sent. The default of their column does not apply.
    computed: frozenset[str] = frozenset()
    # A function that adds rules between fields to the schema of the body. Its second argument is true for an update.
    refine_input: Callable[[JSONSchema, bool], JSONSchema] = lambda schema, partial: schema
    refine_output: Callable[[JSONSchema], JSONSchema] = lambda schema: schema


# By method and path, such as `GET /app/clients.json`.
OPERATIONS: dict[str, Operation] = {}
SHAPES: dict[type[ResourceSerializer], Shape] = {}


def example_of(serializer: type[ResourceSerializer], **values: Any) -> dict[str, Any]:
    """Return an example of a response with these values, and null for all other fields."""
    if unknown := values.keys() - set(serializer.names):
        raise ValueError(f"{serializer.__name__} has no {', '.join(sorted(unknown))}")
    return {name: values.get(name) for name in serializer.names}


def register_operation(route: str, /, *arguments: Any, **options: Any) -> None:
    """Register an operation by its method and path, such as `GET /app/clients.json`. The other arguments are those of `Operation`."""
    OPERATIONS[route] = Operation(*arguments, **options)


def register_resource(
    path: str,
    name: str,
    tag: str,
    *,
    response_example: dict[str, Any],
    create: dict[str, Any],
    update: dict[str, Any],
    creation: str,
    deletion: str,
    id: int | None = None,
    create_statuses: tuple[int, ...] = (201,),
    update_error_statuses: frozenset[int] = frozenset(),
    delete_error_statuses: frozenset[int] = frozenset(),
    delete_parameters: Callable[[], dict[str, JSONSchema]] = dict,
    body_serializers: dict[str, BodySerializers] | None = None,
    response: Any = None,
    item_response: Any = None,
) -> None:
    """Register the operations of a resource.

    `id` is the example of the id in the path, if it differs from that of `response_example`. `create`, `update` and `response_example` are examples of the bodies and of the response. `creation` and `deletion` are the
    descriptions of the operations that create and delete the resource.

    `response` is the response of a create, and `item_response` the response of a read or an update. Pass them if they cannot be derived
    from the view.
    """
    key = name.replace(" ", "_")
    item = f"{path}/{{id}}.json"
    ids = {"id": response_example["id"] if id is None else id}
    register_operation(
        f"POST {path}.json",
        f"create_{key}",
        f"Create a {name}",
        creation,
        tag,
        {key: create},
        response_example,
        statuses=create_statuses,
        body_serializers=body_serializers,
        response=response,
    )
    register_operation(
        f"GET {item}",
        f"read_{key}",
        f"Read a {name}",
        f"The {name} with that id.",
        tag,
        response_example=response_example,
        parameters=ids,
        response=item_response,
    )
    text = "Fields that are not sent keep their values. The response is the whole resource."
    changed = {**response_example, **update}
    # An update has no alternatives: it is of the kind of the row.
    is_single = body_serializers is not None and not any(isinstance(each, tuple) for each in body_serializers.values())
    for method, operation_id, addition in (
        ("PUT", f"update_{key}", ""),
        ("PATCH", f"patch_{key}", " The same as PUT."),
    ):
        register_operation(
            f"{method} {item}",
            operation_id,
            f"Update a {name}",
            text + addition,
            tag,
            {key: update},
            changed,
            ids,
            body_serializers=body_serializers if is_single else None,
            response=item_response,
            error_statuses=update_error_statuses,
        )
    register_operation(
        f"DELETE {item}",
        f"delete_{key}",
        f"Delete a {name}",
        deletion,
        tag,
        response_example="ok",
        parameters=ids,
        query_parameters=delete_parameters,
        error_statuses=delete_error_statuses,
    )


def register_list(
    path: str,
    id: str,
    summary: str,
    tag: str,
    response_example: list[Any],
    *,
    description: str = "The page of the resources that match all filters.",
    query_parameters: Callable[[], dict[str, JSONSchema]] = dict,
    response: Any = None,
    **parameters: Any,
) -> None:
    """Register the list of a resource. `parameters` are example values of query parameters."""
    register_operation(
        f"GET {path}",
        id,
        summary,
        description,
        tag,
        response_example=response_example,
        parameters=parameters,
        query_parameters=query_parameters,
        response=response,
    )


TO_TRASH = "It is moved to the trash, and an admin can restore it for 30 days."
TAG = object_of(id={"type": "integer"}, name=NAME, count={"type": "integer", "minimum": 1})


def register_tags(kind: str, tag: str) -> None:
    """Register the list of the tags of a resource."""
    register_operation(
        f"GET /app/{kind}s/tags.json",
        f"list_{kind}_tags",
        f"List the tags of {kind}s",
        f"The tags that {kind}s have, most used first, then by name.",
        tag,
        response_example=[{"id": 24, "name": "vip", "count": 12}, {"id": 25, "name": "wholesale", "count": 3}],
        response={"type": "array", "items": TAG},
    )
