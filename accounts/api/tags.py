from django.http import HttpResponse

from core.api.views import JSONViewSet
from core.errors import FieldErrors


class TagViewSet(JSONViewSet):
    """The tags that the resources of one kind have, most used first."""

    kind = ""

    def list(self, request) -> HttpResponse:
        if errors := self.ignore_parameters(()):
            raise FieldErrors(errors.values())
        return self.answer(list(self.account.tags.in_use(self.kind)))
