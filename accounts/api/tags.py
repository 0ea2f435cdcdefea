"""Lists of tags, one for each kind of resource with tags."""

from django.http import HttpResponse
from rest_framework.request import Request

from core.api.views import JSONViewSet
from core.errors import FieldErrors


class TagViewSet(JSONViewSet):
    """List of the tags of one kind of resource, most used first."""

    kind = ""

    def list(self, request: Request) -> HttpResponse:
        if errors := self.ignore_parameters(()):
            raise FieldErrors(errors.values())
        return self.respond(self.account.tags.in_use_for(self.request.user, self.kind))
