"""Lists of tags, one for each kind of resource with tags."""

from django.http import HttpResponse
from rest_framework.request import Request

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
        if self.access.is_limited:
            return self.respond(self.account.tags.with_counts(self.count_accessible()))
        return self.respond(list(self.account.tags.in_use(self.kind)))

    def count_accessible(self) -> dict[str, int]:
        """Return the numbers of accessible resources that have a tag, by the name of the tag."""
        rows = registry[self.kind].rows_of(self.account)
        return count_tags(limit(rows.filter(trashed_at=None), self.access))
