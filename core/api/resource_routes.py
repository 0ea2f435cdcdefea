"""The routes of resources, which derive from their declarations."""

from collections.abc import Iterator

from django.urls import URLPattern, path

from core.api.routing import CREATE, ITEM, LIST, UPSERT
from core.registry import Resource


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
