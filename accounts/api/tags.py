from django.http import HttpResponse

from accounts.api.resources import JSONViewSet


class TagViewSet(JSONViewSet):
    """The tags that the resources of one kind have, most used first."""

    kind = ""

    def list(self, request) -> HttpResponse:
        return self.answer(list(self.account.tags.in_use(self.kind)))
