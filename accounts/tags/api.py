"""Lists of tags, one for each kind of resource with tags, and the filter of lists by a tag."""

from typing import Any

from django.db.models import QuerySet
from django.http import HttpResponse
from rest_framework.response import Response

from accounts.hosts.api import APIRequest, TypedViewSet
from accounts.tags.models import Tag, count_tags
from accounts.users.models import User
from core.api.fields import TextField
from core.api.filters import WireFilter
from core.api.views import JSONViewSet
from core.db.tenancy import fold
from core.errors import FieldErrors
from core.openapi.values import ID, NAME, array_of, object_of
from core.registry import registry
from core.rows.trash import limit
from core.rows.trimmed import trim


class TagViewSet(TypedViewSet, JSONViewSet):
    """List of the tags of one kind of resource, most used first."""

    kind = ""

    def needed_areas(self, *, writes: bool) -> list[str]:
        """Return the areas of the resources that have the tags."""
        return list(registry[self.kind].viewset.areas)

    def list(self, request: APIRequest) -> HttpResponse:
        if errors := self.ignore_parameters(()):
            raise FieldErrors(errors.values())
        return Response(tags_in_use(self.request.user, self.kind))


def tags_in_use(user: User, kind: str) -> list[dict[str, object]]:
    """Return the id, name and count of the tags of the resources of the kind that the user may access, most used first."""
    tags = user.account.tags.all()
    if not user.access.is_limited:
        return list(tags.in_use(kind))
    rows = registry[kind].rows_of(user.account).filter(trashed_at=None)
    return tags.with_counts(count_tags(limit(rows, user.access)))


class TagName(TextField):
    blank_is_null = True


class TagFilter(WireFilter):
    """A filter by the name of a tag, ignoring case."""

    def __init__(self) -> None:
        super().__init__(TagName())

    def filter(self, rows: QuerySet[Any], value: str | None) -> QuerySet[Any]:
        if value is None:
            return rows
        # Rows store the name of the tag. The name in the request may have letters of other case.
        tag = Tag.objects.filter(account=self.parent.account, name_key=fold(" ".join(trim(value).split()))).first()
        return rows.filter(tags__contains=[tag.name]) if tag else rows.none()


# The schema of the lists of tags of upper rooms in the OpenAPI document
TAGS = array_of(object_of(id=ID, name=NAME, count={"type": "integer", "minimum": 1}))
