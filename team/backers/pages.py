"""The clients behind a suggestion: a page, and a panel on the page of the suggestion for the team.

The lists of the forum have two orders by revenue, filters, and a panel of each row. The stored figures count all clients and deals, so
users with limited access have only the filter by segment.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from decimal import Decimal

from django.db.models import Model, QuerySet
from django.http import Http404, HttpResponse, QueryDict
from django.utils.safestring import SafeString
from django.utils.translation import get_language, ngettext
from django.utils.translation import gettext as _

from accounts.account.models import Account
from accounts.hosts.requests import PageRequest
from accounts.users.models import User
from core.numbers import plain_text
from core.pages.formatting import amount_text
from core.pages.number_fields import answered_text
from core.pages.templates import render_part
from forum.forums.requests import ForumUserRequest
from forum.lists import team_filters
from forum.posts.models import Post
from forum.team_tools.pages import ForumTeamPage
from team.backers.models import backers_of, order_by_revenue, revenue_of, stored_revenue, total_revenue
from team.backers.segments import MIN_CLIENTS, MIN_REVENUE, PARAMETERS, SEGMENT, SuggestionFilter
from team.lists.saved_views import SavedView, views_of

# The number of clients in the panel, before the link to all of them.
PANEL_SIZE = 5


class BackersPage(ForumTeamPage):
    """The clients behind a suggestion, those with the highest revenue first. For htmx, the response is the content of the panel."""

    template_name = "team/backers/backers.html"

    def get(self, request: ForumUserRequest, id: int) -> HttpResponse:
        post, account, user = self.find(id), request.account, request.user
        page = self.read_page()
        is_panel = bool(request.htmx)
        start, size = (0, PANEL_SIZE) if is_panel else (page.start, page.size)
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


def sees_all_revenue(user: User) -> bool:
    return user.is_team and not user.access.is_limited


@dataclass(frozen=True)
class CustomerFilter(team_filters.TeamFilter):
    """The filters of the team's lists by the clients behind the suggestions, with a form."""

    found: SuggestionFilter = None  # type: ignore[assignment]  # always given
    # The saved views that can be chosen, and the texts of the inputs.
    views: list[SavedView] = field(default_factory=list)
    texts: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls, parameters: QueryDict, account: Account, user: User) -> "CustomerFilter":
        views = views_of(SavedView.Target.CLIENT, account=account, user=user)
        texts = {name: (answered_text(parameters, name) or "").strip() for name in PARAMETERS}
        found = SuggestionFilter.read(texts, account=account, user=user, views=views, language=get_language())
        # The addresses of the page have the number in a form that has one meaning in every language.
        texts |= {name: plain_text(Decimal(number)) for name, number in found.numbers.items() if number is not None}
        names = names_of(found)
        return cls({name: texts[name] for name in names}, names, found.errors, found, views, texts)

    def select(self, posts: QuerySet[Model]) -> QuerySet[Model]:
        return self.found.select(posts)

    def render_form(self, action: str, hidden: Mapping[str, object]) -> SafeString:
        context = {
            "action": action,
            "hidden": [(name, value) for name, value in hidden.items() if value not in ("", None)],
            "views": [(str(view.id), view.name) for view in self.views],
            "texts": self.texts,
            "invalid": {error.field for error in self.errors},
            "currency": self.found.account.currency,
            "has_figures": sees_all_revenue(self.found.user),
        }
        return render_part("team/backers/filter.html", context)


def names_of(found: SuggestionFilter) -> dict[str, str]:
    """Return the texts of the filters in use, by their parameters."""
    names = {}
    if found.view is not None:
        names[SEGMENT] = _("Segment “%(name)s”") % {"name": found.view.name}
    if found.min_revenue is not None:
        amount = amount_text(found.min_revenue, found.account.currency)
        names[MIN_REVENUE] = _("Revenue from %(amount)s") % {"amount": f"{amount} {found.account.currency}"}
    if found.min_clients is not None:
        number = found.min_clients
        names[MIN_CLIENTS] = ngettext("At least %(n)d client", "At least %(n)d clients", number) % {"n": number}
    return names


def render_revenue(request: PageRequest, post_ids: Collection[int]) -> dict[int, SafeString]:
    """Return the number of clients and the sums of their deals for each suggestion that has clients."""
    user = request.user
    if user is None or not sees_all_revenue(user):
        return {}
    return {
        id: render_part("team/backers/post_revenue.html", {"id": id, "number": number, "revenue": revenue})
        for id, (number, revenue) in stored_revenue(request.account, post_ids).items()
    }
