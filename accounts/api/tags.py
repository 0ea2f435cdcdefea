"""Lists of tags, one for each kind of resource with tags."""

from typing import Any

from django.http import HttpResponse
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.models import User
from accounts.tags import count_tags
from core.api.views import JSONViewSet
from core.db.limited_rows import limit
from core.errors import FieldErrors
from core.registry import registry


class TagViewSet(JSONViewSet):
    """List of the tags of one kind of resource, most used first."""

    kind = ""

    def list(self, request: Request) -> HttpResponse:
        if errors := self.ignore_parameters(()):
            raise FieldErrors(errors.values())
        return Response(tags_in_use(self.request.user, self.kind))


def tags_in_use(user: User, kind: str) -> list[dict[str, Any]]:
    """Return the id, name and count of the tags of the resources of the kind that the user may access, most used first."""
    tags = user.account.tags.all()
    if not user.access.is_limited:
        return list(tags.in_use(kind))
    rows = registry[kind].rows_of(user.account).filter(trashed_at=None)
    return tags.with_counts(count_tags(limit(rows, user.access)))
