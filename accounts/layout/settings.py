"""The base class of the settings pages."""

from django.http import Http404, HttpResponse

from accounts.hosts.requests import UserRequest
from core.api.paging import ListPage
from core.error_responses import error_response
from core.errors import FieldErrors
from core.pages.base import Page


class SettingsPage(Page):
    """A page of the settings. Its forms post to the page itself, and the field `do` names the action."""

    request: UserRequest
    access = "admin"
    # The name of the page's entry in the menu of the settings.
    part = ""
    # The method for each value of `do`. The first is the default.
    actions: dict[str, str] = {}

    def post(self, request: UserRequest, **kwargs: object) -> HttpResponse:
        action = self.actions.get(request.POST.get("do") or next(iter(self.actions), ""))
        if action is None:
            return error_response(request, 400)
        response: HttpResponse = getattr(self, action)(request, **kwargs)
        return response

    def render(self, template: str | None = None, *, http_status: int = 200, **context: object) -> HttpResponse:
        return super().render(template, http_status=http_status, part=self.part, **context)

    def read_page(self, **overrides: int) -> ListPage:
        """Return the requested page of a list. `overrides` replace parameters of the query."""
        try:
            return ListPage.read({**self.request.GET.dict(), **overrides})
        except FieldErrors:
            raise Http404 from None


def parse_id(value: str | None) -> int | None:
    """Return the id in a form value, or None if the value is not an id."""
    return int(value) if value and value.isascii() and value.isdigit() and len(value) <= 18 else None
