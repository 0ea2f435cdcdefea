"""The path converter `id`, the path of a row, and the routes of resources."""

from collections.abc import Iterator
from functools import cache
from typing import Any

from django.urls import URLPattern, path, reverse

from core.registry import Resource


class IdConverter:
    """A converter for an id of at most 18 digits, which fits into a 64-bit integer."""

    regex = "[0-9]{1,18}"

    def to_python(self, value: str) -> int:
        return int(value)

    def to_url(self, value: int) -> str:
        return str(value)


def path_of(route: str, id: int) -> str:
    """Return the path of the route of a row. `reverse` takes 50 µs, so it is called once for each route."""
    start, end = _path_around_id(route)
    return f"{start}{id}{end}"


@cache
def _path_around_id(route: str) -> tuple[str, str]:
    longest_id = 10**18 - 1
    start, _, end = reverse(route, args=[longest_id]).partition(str(longest_id))
    return start, end


LIST: dict[str, Any] = {"get": "list"}
CREATE: dict[str, Any] = {"post": "create"}
UPSERT: dict[str, Any] = {"put": "upsert", "patch": "upsert"}
BULK: dict[str, Any] = {"post": "bulk"}
ITEM: dict[str, Any] = {"get": "retrieve", "put": "update", "patch": "update", "delete": "destroy"}


def resource_urls(resource: Resource) -> Iterator[URLPattern]:
    """Yield the routes of the collection and of one row: `/app/clients.json` and `/app/clients/{id}.json`, with the names of the list
    (`crm-json-clients`) and of the row (`crm-json-client`).
    """
    room = resource.model._meta.app_label
    for route, name, actions in (
        (
            f"app/{resource.collection}.json",
            f"{room}-json-{resource.collection.replace('_', '-')}",
            LIST | CREATE | UPSERT,
        ),
        (f"app/{resource.collection}/<id:id>.json", resource.route, ITEM),
    ):
        offered = {method: action for method, action in actions.items() if hasattr(resource.viewset, action)}
        yield path(route, resource.viewset.as_view(offered), name=name)
