"""The registry of resources: what the parts that serve every resource need to know of each.

An app registers its resources in `AppConfig.ready`. The trash, the change feed, the OpenAPI document and the API examples read
them here, so that none of these names a resource.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from django.core.exceptions import ImproperlyConfigured
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.utils.functional import Promise
from django.utils.module_loading import import_string

from core.db.trash import Trashable

if TYPE_CHECKING:
    from core.api.resources import ResourceViewSet

# Returns a query for at most one row with one column: a value that the account of the request has.
Sample = Callable[[HttpRequest], QuerySet]


@dataclass(frozen=True)
class Resource:
    """A kind of rows that the JSON API creates, reads, updates and deletes."""

    # The name in JSON bodies, in the trash and in the change feed.
    key: str
    model: type[Model]
    # The dotted path of the `ResourceViewSet`. It is imported at first use, because views need all models.
    viewset_path: str
    # For people: one, many, and an icon of Lucide.
    label: str | Promise
    plural_label: str | Promise
    icon: str
    # The segment that paths of the resource begin with, after `/app/`.
    collection: str
    # Whether rows are customers, for whom the team can vote and write.
    is_customer: bool = False
    # Values by which the API examples replace the ids of the document, by name: `client` stands for `client_id` too.
    samples: Mapping[str, Sample] = field(default_factory=dict)
    # The samples for `{id}` in paths, by the language of the operation; the first that the account has is used.
    path_samples: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @cached_property
    def viewset(self) -> "type[ResourceViewSet]":
        return import_string(self.viewset_path)

    @property
    def is_trashable(self) -> bool:
        return issubclass(self.model, Trashable)

    def rows_of(self, account: Model) -> QuerySet:
        return getattr(account, self.model._meta.default_related_name)

    def samples_in_path(self, language: str) -> tuple[str, ...]:
        """Return the names of the samples for `{id}` in a path, the preferred one first."""
        return self.path_samples.get(language, (self.key,))


class Registry:
    """The registered resources, in the order of registration."""

    def __init__(self):
        self._resources: dict[str, Resource] = {}

    def __iter__(self) -> Iterator[Resource]:
        return iter(self._resources.values())

    def register(self, *resources: Resource) -> None:
        for resource in resources:
            if resource.key in self._resources:
                raise ImproperlyConfigured(f"The resource {resource.key!r} is registered twice.")
            self._resources[resource.key] = resource

    def get(self, key: str) -> Resource | None:
        return self._resources.get(key)

    def trashable(self) -> dict[str, Resource]:
        """Return the resources that can be moved to the trash, by key."""
        return {resource.key: resource for resource in self if resource.is_trashable}

    def trashable_models(self) -> dict[str, type[Trashable]]:
        return {key: resource.model for key, resource in self.trashable().items()}

    def customers(self) -> list[Resource]:
        return [resource for resource in self if resource.is_customer]

    def in_collection(self, name: str) -> Resource | None:
        """Return the resource whose paths begin with `/app/name`."""
        return next((resource for resource in self if resource.collection == name), None)

    def samples(self) -> dict[str, Sample]:
        return {name: sample for resource in self for name, sample in resource.samples.items()}


registry = Registry()


def newest_id(rows: QuerySet) -> QuerySet:
    """Return the query for the id of the newest row, for `Resource.samples`."""
    return rows.order_by("-id").values("id")[:1]
