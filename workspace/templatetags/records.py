"""Template filters for the pages of records."""

from datetime import date, timedelta
from decimal import Decimal

from django import template
from django.utils import formats, timezone
from django.utils.translation import gettext as _

from workspace.pages.editing import number_text

register = template.Library()


@register.filter
def number(value: Decimal | int | float) -> str:
    """Return a number in the format of the active language."""
    return number_text(value)


@register.filter
def day_name(day: date) -> str:
    """Return "Today", "Yesterday" or the date."""
    today = timezone.localdate()
    if day == today:
        return _("Today")
    return _("Yesterday") if day == today - timedelta(days=1) else formats.date_format(day, "DATE_FORMAT")


@register.filter
def amount(value: Decimal) -> str:
    """Return an amount of money: with two decimal places, or with none if it is whole."""
    places = 0 if value == value.to_integral_value() else 2
    return formats.number_format(value, places, use_l10n=True, force_grouping=True)


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
