"""The clients behind a suggestion: a page, and a panel on the page of the suggestion for the team."""

from django.http import Http404, HttpResponse
from django.utils.safestring import SafeString

from accounts.hosts.requests import PageRequest
from core.pages.templates import render_part
from forum.forums.requests import ForumUserRequest
from forum.posts.models import Post
from forum.team_tools.pages import ForumTeamPage
from team.backers.queries import backers_of, order_by_revenue, revenue_of, total_revenue

# The number of clients in the panel, before the link to all of them.
PANEL_SIZE = 5


class BackersPage(ForumTeamPage):
    """The clients behind a suggestion, those with the highest revenue first. For htmx, the response is the content of the panel."""

    template_name = "team/backers/backers.html"

    def get(self, request: ForumUserRequest, id: int) -> HttpResponse:
        post, account, user = self.find(id), request.account, request.user
        page = self.read_page()
        is_panel = bool(request.htmx)
        size = PANEL_SIZE if is_panel else page.size
        start = 0 if is_panel else page.start
        clients = backers_of(account, user, id)
        number = clients.count()
        found = order_by_revenue(clients, account, user).values_list("id", "name")
        rows = list(found[start : start + size]) if number else []
        if not rows and page.number > 1:
            raise Http404
        revenue = revenue_of(account, user, [client_id for client_id, _ in rows]) if rows else {}
        return self.render(
            "team/backers/found.html" if is_panel else None,
            section="suggestions",
            post=post,
            number=number,
            totals=total_revenue(account, user, id) if number else [],
            clients=[(client_id, name, revenue.get(client_id, [])) for client_id, name in rows],
            page=page,
            more=start + size < number,
            is_panel=is_panel,
        )


def render_backers_panel(request: PageRequest, post: Post) -> SafeString:
    """Return the panel for the page of a suggestion. JavaScript loads its content, and without it there is a link to the page."""
    return render_part("team/backers/panel.html", {"post": post}, request)
