"""Requests, rows and routes for the tests, which derive from the declaration of a resource and the examples of its OpenAPI document."""

from collections.abc import Iterator
from functools import cache
from types import SimpleNamespace
from typing import Any

from django.db.models import Model

from accounts.users.models import User
from core.openapi.document import document
from core.registry import Resource, registry


@cache
def request_example(resource: Resource) -> dict[str, Any]:
    """Return the body of a create, from the OpenAPI document."""
    operation = document()["paths"][f"/app/{resource.collection}.json"]["post"]
    content = operation["requestBody"]["content"]["application/json"]
    example = content.get("example") or next(iter(content["examples"].values()))["value"]
    return example[resource.key]


def body_of(resource: Resource, ids: SimpleNamespace) -> dict[str, Any]:
    """Return the example with the ids of existing rows: `client_id` is that of the client."""
    fields = request_example(resource)
    return {
        name: getattr(ids, name.removesuffix("_id")) if name.endswith("_id") else value
        for name, value in fields.items()
    }


def make_row(resource: Resource, user: User, ids: SimpleNamespace) -> Model:
    row = resource.model(account=user.account)
    row.write(body_of(resource, ids), by=user)
    return row


def without_rows(covered: set[str]) -> Iterator[Resource]:
    """Yield the resources whose routes are not among those covered."""
    return (resource for resource in registry if f"app/{resource.collection}.json" not in covered)
