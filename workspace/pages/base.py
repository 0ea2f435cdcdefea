"""The base class of the team's pages."""

from django.http import Http404, HttpResponse

from core.api.paging import Page as ListPage
from core.errors import FieldErrors
from core.pages.base import Page
from workspace.requests import TeamRequest


class WorkspacePage(Page):
    """A page for the team. Rows start at the account, limited to those that the user may access (`accessible_to`)."""

    request: TeamRequest
    access = "team"
    # The name of the page's entry in the main menu.
    section = ""

    def render(self, template: str | None = None, *, http_status: int = 200, **context: object) -> HttpResponse:
        return super().render(template, http_status=http_status, **{"section": self.section} | context)

    def read_page(self, **overrides: int) -> ListPage:
        """Return the requested page of a list. `overrides` replace parameters of the query."""
        try:
            return ListPage.read({**self.request.GET.dict(), **overrides})
        except FieldErrors:
            raise Http404 from None
