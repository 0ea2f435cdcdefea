"""Template filters for the pages of records."""

from decimal import Decimal

from django import template

from workspace.pages.editing import number_text

register = template.Library()


@register.filter
def number(value: Decimal | int | float) -> str:
    """Return a number in the format of the active language."""
    return number_text(value)
