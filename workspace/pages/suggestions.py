"""The revenue of suggestions in the lists of the forum: two orders, and a panel of each row.

The stored figures count all clients and deals, so users with limited access have neither.
"""

from collections.abc import Collection

from django.template.loader import render_to_string
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from accounts.models import User
from core.requests import PageRequest
from forum import team_orders
from workspace.post_revenue import sort_by, stored_revenue


def sees_all_revenue(user: User) -> bool:
    return user.is_team and not user.access.is_limited


def register_orders() -> None:
    note = _("Only suggestions with clients behind them. Changes appear here after about a minute.")
    for name, label, column in (
        ("revenue", pgettext_lazy("order", "Most revenue"), "total"),
        ("clients", pgettext_lazy("order", "Most clients"), "clients"),
    ):
        team_orders.register(name, team_orders.TeamOrder(label, note, sort_by(column), sees_all_revenue))


def render_revenue(request: PageRequest, post_ids: Collection[int]) -> dict[int, SafeString]:
    """Return the number of clients and the sums of their deals for each suggestion that has clients."""
    user = request.user
    if user is None or not sees_all_revenue(user):
        return {}
    return {
        id: render_to_string("workspace/post_revenue.html", {"id": id, "number": number, "revenue": revenue})
        for id, (number, revenue) in stored_revenue(request.account, post_ids).items()
    }
