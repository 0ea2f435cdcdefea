"""The clients behind suggestions in the lists of the forum: two orders by revenue, filters, and a panel of each row.

The stored figures count all clients and deals, so users with limited access have only the filter by segment.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from decimal import Decimal

from django.db.models import Model, QuerySet
from django.http import QueryDict
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
from forum.lists import team_filters
from team.backers.post_revenue import stored_revenue
from team.backers.segments import MIN_CLIENTS, MIN_REVENUE, PARAMETERS, SEGMENT, SuggestionFilter
from team.lists.saved_views import SavedView, views_of


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
        names[MIN_CLIENTS] = ngettext("At least %(n)d client", "At least %(n)d clients", found.min_clients) % {
            "n": found.min_clients
        }
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
