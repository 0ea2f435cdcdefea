"""The registry of resources.

A model declares that its rows are a resource: `api_resource = Resource(…)`. The routes, the trash, the change feed, the OpenAPI document and the
API examples read the registry, so that they do not depend on particular resources.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from django.core.exceptions import ImproperlyConfigured
from django.db.models import Model, QuerySet
from django.urls import URLPattern, path
from django.utils.functional import Promise
from django.utils.module_loading import import_string

from core.api.routing import CREATE, ITEM, LIST, UPSERT
from core.db.tenancy import rows_of
from core.rows.trash import Trashable

if TYPE_CHECKING:
    from core.api.resources import ResourceViewSet

# A function that returns, for an account, a query for at most one row with one column: the sample value.
Sample = Callable[[Any], QuerySet[Model, object]]


@dataclass(eq=False)
class Resource:
    """A kind of rows that the Account API creates, reads, updates and deletes."""

    # The name in JSON bodies, in the trash and in the change feed.
    key: str
    # The names on pages (singular and plural), and the name of an icon of Lucide.
    label: str | Promise
    plural_label: str | Promise
    icon: str
    # The segment after `/app/` with which paths of the resource begin. The default is the plural of the key.
    collection: str = ""
    # The dotted path of the `ResourceViewSet`, if it is not in the module `api` of the subject, or not named after the model.
    viewset_path: str = ""
    # True if rows are customers, on whose behalf the team can vote and write.
    is_customer: bool = False
    # Sample values, by name. In the API examples, they replace the ids of the OpenAPI document. `client` also replaces `client_id`.
    # The default is the id of the newest row that the user may read, under the key of the resource.
    samples: dict[str, Sample] = field(default_factory=dict)
    # The names of the samples for `{id}` in paths, by format (`json`, `xml`). The first sample that exists in the account is used.
    path_samples: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def contribute_to_class(self, model: type[Model], name: str) -> None:
        """Register the resource. Django calls this for an attribute of a model."""
        setattr(model, name, self)
        self.model = model
        self.collection = self.collection or f"{self.key}s"
        self.viewset_path = self.viewset_path or f"{self.package}.api.{model.__name__}ViewSet"
        self.samples.setdefault(self.key, self.newest_id)
        registry.register(self)

    @property
    def package(self) -> str:
        """The subject of the resource: the package with its models."""
        return self.model.__module__.rpartition(".")[0]

    @property
    def route(self) -> str:
        """The name of the route of a single row."""
        return f"{self.model._meta.app_label}-json-{self.key.replace('_', '-')}"

    def urls(self) -> Iterator[URLPattern]:
        """Yield the routes of the collection and of one row: `/app/clients.json` and `/app/clients/{id}.json`, with the names of the list
        (`crm-json-clients`) and of the row (`crm-json-client`).
        """
        list_name = f"{self.model._meta.app_label}-json-{self.collection.replace('_', '-')}"
        for part, name, actions in (("", list_name, LIST | CREATE | UPSERT), ("/<id:id>", self.route, ITEM)):
            offered = {method: action for method, action in actions.items() if hasattr(self.viewset, action)}
            yield path(f"app/{self.collection}{part}.json", self.viewset.as_view(offered), name=name)

    @cached_property
    def viewset(self) -> "type[ResourceViewSet]":
        """The view. It is imported at first use, because views import models."""
        viewset: type[ResourceViewSet] = import_string(self.viewset_path)
        return viewset

    def newest_id(self, request: Any) -> QuerySet[Any, Any]:
        """Return the query for the id of the newest row that the user of a request may read."""
        rows: Any = self.rows_of(request.account)
        if self.is_trashable:
            rows = rows.live()
        return newest_id(rows.accessible_to(request.user) if hasattr(rows, "accessible_to") else rows)

    @property
    def is_trashable(self) -> bool:
        return issubclass(self.model, Trashable)

    def rows_of(self, account: object) -> QuerySet[Any]:
        return rows_of(account, self.model)

    def samples_in_path(self, format: str) -> tuple[str, ...]:
        """Return the names of the samples for `{id}` in a path of this format (`json` or `xml`), in order of preference."""
        return self.path_samples.get(format, (self.key,))


class Registry:
    """The registered resources, in the order of registration."""

    def __init__(self) -> None:
        self._resources: dict[str, Resource] = {}
        # The key and the sample of rows that are not resources, by collection.
        self._further_samples: dict[str, tuple[str, Sample]] = {}

    def __iter__(self) -> Iterator[Resource]:
        return iter(self._resources.values())

    def register(self, resource: Resource) -> None:
        if resource.key in self._resources:
            raise ImproperlyConfigured(f"The resource {resource.key!r} is registered twice.")
        self._resources[resource.key] = resource

    def __getitem__(self, key: str) -> Resource:
        return self._resources[key]

    def get(self, key: str) -> Resource | None:
        return self._resources.get(key)

    def find_by_model(self, model: type[Model]) -> Resource:
        return next(resource for resource in self if resource.model is model)

    def trashable(self) -> dict[str, Resource]:
        """Return the resources that can be moved to the trash, by key."""
        return {resource.key: resource for resource in self if resource.is_trashable}

    def trashable_models(self) -> dict[str, type[Trashable]]:
        return {resource.key: resource.model for resource in self if issubclass(resource.model, Trashable)}

    def customers(self) -> list[Resource]:
        return [resource for resource in self if resource.is_customer]

    def find_by_collection(self, name: str) -> Resource | None:
        """Return the resource whose paths begin with `/app/name`."""
        return next((resource for resource in self if resource.collection == name), None)

    def samples(self) -> dict[str, Sample]:
        samples = {name: sample for resource in self for name, sample in resource.samples.items()}
        return samples | dict(self._further_samples.values())

    def register_sample(self, collection: str, key: str, sample: Sample) -> None:
        """Register a sample for the ids in the paths of a collection of rows that are not resources, such as `/app/webhooks/{id}.json`.

        An operation on only a part of the rows of a resource has a sample of its own: `/app/posts/{id}/clients.json` is the collection
        `posts/clients`.
        """
        self._further_samples[collection] = (key, sample)

    def key_in_collection(self, name: str) -> str:
        """Return the key of the rows whose paths begin with `/app/name`, or "" if none are registered."""
        resource = self.find_by_collection(name)
        return resource.key if resource else self._further_samples.get(name, ("", None))[0]


registry = Registry()


def newest_id(rows: QuerySet[Model]) -> QuerySet[Model, object]:
    """Return the query for the id of the newest row, for `Resource.samples`."""
    return rows.order_by("-id").values("id")[:1]
