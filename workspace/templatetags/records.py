"""Template filters and tags for the pages of records."""

from collections.abc import Iterable
from datetime import date, timedelta
from decimal import Decimal
from functools import cache
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from django import template
from django.utils import timezone
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from core.pages.dates import date_text, time_text
from core.pages.number_fields import number_question
from core.pages.numbers import amount_text, number_text
from core.pages.routes import path_with_id
from core.pages.rows import render_rows
from core.templatetags.rostrum import ago, color_dot, icon, initials, repeated_icon

if TYPE_CHECKING:
    from workspace.board import BoardQuery, Card
    from workspace.lists.cells import Cell
    from workspace.pages.lists import Row

register = template.Library()


register.filter("day", date_text)
register.filter("number", number_text)
register.filter("amount", amount_text)
register.simple_tag(number_question)


@register.filter
def rounded_amount(value: Decimal, currency: str) -> str:
    """Return an estimated amount, rounded to the decimal places of its currency."""
    return amount_text(value, currency, is_rounded=True)


@register.filter
def day_name(day: date) -> str:
    """Return "Today", "Yesterday" or the date."""
    today = timezone.localdate()
    if day == today:
        return _("Today")
    return _("Yesterday") if day == today - timedelta(days=1) else date_text(day)


@register.simple_tag
def board_cards(cards: Iterable["Card"], query: "BoardQuery") -> SafeString:
    """Return cards of the deal board. The path of the form that moves a deal has the query string of the board."""

    @cache
    def days_here(n: int) -> str:
        return ngettext("%(n)s day here, no task", "%(n)s days here, no task", n) % {"n": n}

    return render_rows(
        "workspace/board_cards.html",
        cards=cards,
        parameter=quote(query.query_string(), safe=""),
        labels={
            "close_date": _("Expected close date"),
            "move": _("Move…"),
            "overdue": _("Overdue:"),
            "pick_up": _("Pick up:"),
            "responsible": _("Responsible"),
        },
        days_here=days_here,
        amount=amount_text,
        day=date_text,
        icon=repeated_icon,
        initials=initials,
        path=path_with_id,
    )


@register.simple_tag
def list_rows(rows: Iterable["Row"], *, is_selectable: object) -> SafeString:
    """Return the rows of a list, each with a checkbox if rows can be selected."""
    select = _("Select %(name)s")
    return render_rows(
        "workspace/list_rows.html",
        rows=rows,
        is_selectable=is_selectable,
        select=lambda name: select % {"name": name},
        **_context_of_cells(),
    )


@register.simple_tag
def list_cell(cell: "Cell", *, focused: bool = False) -> SafeString:
    """Return one cell of a list. If `focused`, its link to the form gets the focus."""
    return render_rows("workspace/list_cells.html", cells=[cell], focused=focused, **_context_of_cells())


def _context_of_cells() -> dict[str, Any]:
    @cache
    def change(label: str) -> str:
        return _("Change: %(field)s") % {"field": label}

    return {
        "ago": ago,
        "change": change,
        "color_dot": color_dot,
        "icon": icon,
        "initials": initials,
        "overdue": _("Overdue:"),
        "local_time": timezone.localtime,
        "time_text": time_text,
    }
