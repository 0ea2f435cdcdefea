"""The base classes of the team's pages, the type of their requests, and what several of their menu entries use."""

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpResponse, QueryDict
from django.utils.functional import Promise
from django.utils.translation import gettext as _

from accounts.hosts.requests import PageRequest, UserRequest, is_team
from core.api.paging import ListPage
from core.db.text import replace_non_xml
from core.error_responses import error_response
from core.errors import FieldErrors
from core.pages.base import Page, redirect
from core.pages.navigation import MenuEntry
from core.search.queries import MAX_QUERY_LENGTH

GROUP = "crm"
# The parameter of forms that choose a client.
CLIENT = {"client": "client_id"}


def is_team_of_site(request: PageRequest) -> bool:
    return request.site is not None and is_team(request)


def main_entry(name: str, label: str | Promise, order: int, shortcut: str, **options: Any) -> MenuEntry:
    """Return the entry of the page `team-{name}` in the main menu."""
    options |= {"order": order, "shortcut": shortcut, "group": GROUP, "is_shown": is_team_of_site}
    return MenuEntry(name, label, f"team-{name}", **options)


def new_entry(name: str, label: str | Promise, icon: str, order: int, **options: Any) -> MenuEntry:
    """Return the entry of the page `team-{name}-new` in the menu of the button "New"."""
    return MenuEntry(name, label, f"team-{name}-new", icon, order=order, is_shown=is_team_of_site, **options)


class TeamRequest(UserRequest):
    """A request of a page that only the team sees."""


class TeamPage(Page):
    """A page for the team. Rows start at the account, limited to those that the user may access (`accessible_to`)."""

    request: TeamRequest
    access = "team"
    # The name of the page's entry in the main menu.
    section = ""

    def render(self, template: str | None = None, *, http_status: int = 200, **context: object) -> HttpResponse:
        return super().render(template, http_status=http_status, **{"section": self.section} | context)

    def fills(self, element_id: str) -> bool:
        """Return whether htmx requests the content of an element of the page."""
        return bool(self.request.htmx) and self.request.htmx.target == element_id

    @property
    def in_dialog(self) -> bool:
        """True if the page is loaded into the dialog of the base template."""
        return self.fills("dialog-content")

    def leave(self, row: object, path: str) -> HttpResponse:
        """Return a redirect to `path`, after the user handed the row over to a user whose rows they may not see."""
        messages.success(self.request, _("%(name)s is saved. You do not see it any more.") % {"name": str(row)})
        return self.go_to(path)

    def go_to(self, path: str) -> HttpResponse:
        """Return a redirect of the whole page, also if htmx sent the request."""
        return HttpResponse(headers={"HX-Redirect": path}) if self.request.htmx else redirect(path)

    def read_page(self, **overrides: int) -> ListPage:
        """Return the requested page of a list. `overrides` replace parameters of the query."""
        try:
            return ListPage.read({**self.request.GET.dict(), **overrides})
        except FieldErrors:
            raise Http404 from None


class ActionsPage(TeamPage):
    """A page whose forms post to the page itself. The field `do` names the action."""

    # The method for each value of `do`.
    actions: dict[str, str] = {}

    def post(self, request: TeamRequest, **kwargs: Any) -> HttpResponse:
        action = self.actions.get(request.POST.get("do", ""))
        return error_response(request, 400) if action is None else getattr(self, action)(**kwargs)


def search_text(values: QueryDict, name: str = "q") -> str:
    """Return the text of a search in the values of a form or of an address."""
    return replace_non_xml(values.get(name, ""))[:MAX_QUERY_LENGTH].strip()
