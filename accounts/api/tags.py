from django.http import HttpResponse
from rest_framework.exceptions import ValidationError

from core.api.views import JSONViewSet


class TagViewSet(JSONViewSet):
    """The tags that the resources of one kind have, most used first."""

    kind = ""

    def list(self, request) -> HttpResponse:
        if errors := self.ignore_parameters(()):
            raise ValidationError(errors)
        return self.answer(list(self.account.tags.in_use(self.kind)))
