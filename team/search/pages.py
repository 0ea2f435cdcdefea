"""The search over everything that the team works with, from the header of every page."""

from django.http import HttpResponse
from django.urls import reverse

from core.http import throttling
from team.menu.pages import TeamPage, TeamRequest, search_text
from team.search.queries import MAX_FOUND, MAX_SUGGESTED, FoundRow, SearchGroup, find


class FindPage(TeamPage):
    """The results of the search, by kind. For htmx, the response is the list under the input, with fewer results."""

    template_name = "team/search/search.html"

    def get(self, request: TeamRequest) -> HttpResponse:
        q = search_text(request.GET)
        if q:
            throttling.count_search(request)
        enough = MAX_SUGGESTED if request.htmx else MAX_FOUND
        groups = find(request.account, request.user, q, enough=enough)
        return self.render(
            "team/search/found.html" if request.htmx else None,
            q=q,
            groups=[(group, results, list_path(group, results, q, enough)) for group, results in groups if results],
        )


def list_path(group: SearchGroup, results: list[FoundRow], q: str, enough: int) -> str:
    """Return the path of the list with all results, or "" if there may be no more."""
    return reverse(group.list_route, query={"q": q}) if group.list_route and len(results) >= enough else ""
