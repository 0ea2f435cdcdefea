"""Functions and filters for the templates of records."""

from datetime import date, datetime, timedelta
from decimal import Decimal
from functools import lru_cache

from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import get_language
from django.utils.translation import gettext as _

from core.pages.formatting import amount_text, date_text, time_text
from core.pages.templates import template_filter


@template_filter
def rounded_amount(value: Decimal, currency: str) -> str:
    """Return an estimated amount, rounded to the decimal places of its currency."""
    return amount_text(value, currency, is_rounded=True)


@template_filter
def day_name(day: date) -> str:
    """Return "Today", "Yesterday" or the date."""
    today = timezone.localdate()
    if day == today:
        return _("Today")
    return _("Yesterday") if day == today - timedelta(days=1) else date_text(day)


@template_filter
def time_element(moment: datetime) -> SafeString:
    """Return a time as a `<time>` element, with a short text in the format of the language."""
    text = time_text(moment)
    return format_html('<time datetime="{}">{}</time>', timezone.localtime(moment).isoformat(timespec="seconds"), text)


@template_filter
def change_label(field: str) -> str:
    """Return the label of the link to the form that changes a field with this label."""
    return _change_label(field, get_language())


@lru_cache(maxsize=1_000)
def _change_label(field: str, language: str | None) -> str:
    return _("Change: %(field)s") % {"field": field}
