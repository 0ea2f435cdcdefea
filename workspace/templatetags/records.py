"""Template filters for the pages of records."""

from datetime import date, timedelta
from decimal import Decimal

from django import template
from django.utils import timezone
from django.utils.translation import gettext as _

from core.pages.dates import date_text
from core.pages.numbers import amount_text, number_text

register = template.Library()


register.filter("day", date_text)
register.filter("number", number_text)
register.filter("amount", amount_text)


@register.filter
def rounded(value: Decimal) -> str:
    """Return a number without decimal places."""
    return number_text(value, 0)


@register.filter
def day_name(day: date) -> str:
    """Return "Today", "Yesterday" or the date."""
    today = timezone.localdate()
    if day == today:
        return _("Today")
    return _("Yesterday") if day == today - timedelta(days=1) else date_text(day)


@register.simple_tag
def card_labels() -> dict[str, str]:
    """Return the texts that all cards of a board have in common. They are translated once for all cards, which saves a fifth of the time."""
    return {
        "close_date": _("Expected close date"),
        "move": _("Move…"),
        "overdue": _("Overdue:"),
        "pick_up": _("Pick up:"),
        "responsible": _("Responsible"),
    }
