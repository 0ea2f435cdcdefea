from functools import partial

from django.dispatch import receiver
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from accounts.account.models import Account, currency_changed
from accounts.statuses.models import Status, outcome_changed
from core.pages.navigation import register_panel, register_row_panels
from core.registry import registry
from forum.forums.membership import SegmentSource, register_segment_source
from forum.lists import team_filters
from team.backers.models import sort_by
from team.backers.pages import CustomerFilter, render_backers_panel, render_revenue, sees_all_revenue
from team.backers.revenue_changes import queue_all, register_revenue_changes
from team.backers.segments import choices_of, conditions_of

register_revenue_changes()
register_segment_source(SegmentSource(choices_of, conditions_of))

for name in ("clients", "revenue"):
    registry.register_sample(f"posts/{name}", "suggestion", registry["post"].samples["post"])

register_panel("post", render_backers_panel)
for page in ("inbox", "posts"):
    register_row_panels(page, render_revenue)

team_filters.register_filter(CustomerFilter.read)
NOTE = _("Only suggestions with clients behind them. Changes appear here after about a minute.")
for name, label, column in (
    ("revenue", pgettext_lazy("order", "Most revenue"), "total"),
    ("clients", pgettext_lazy("order", "Most clients"), "clients"),
):
    team_filters.register_order(name, team_filters.TeamOrder(label, NOTE, partial(sort_by, column), sees_all_revenue))


@receiver(outcome_changed)
def queue_after_outcome(*, status: Status, **_options: object) -> None:
    queue_all(status.account_id)


@receiver(currency_changed)
def queue_after_currency(*, account: Account, **_options: object) -> None:
    queue_all(account.id)
