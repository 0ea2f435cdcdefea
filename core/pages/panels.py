"""Panels that an upper room adds to the pages of a lower one. The module `registration` of a subject registers its panels."""

from collections import defaultdict
from collections.abc import Callable, Collection
from typing import Any

from django.utils.html import format_html_join
from django.utils.safestring import SafeString

from core.http.requests import RequestOfPage

# A function that returns the HTML of a panel for the row that the page shows, or "" if there is nothing to show. Its first argument is the
# `RequestOfPage`, whose attributes the upper rooms know more precisely.
Renderer = Callable[[Any, Any], SafeString | str]

# A function of the request that returns HTML by id, for those of the rows of a list that have something to show.
RowRenderer = Callable[[Any, Collection[int]], dict[int, SafeString]]

_panels: defaultdict[str, list[Renderer]] = defaultdict(list)
_row_panels: defaultdict[str, list[RowRenderer]] = defaultdict(list)


def register(page: str, render: Renderer) -> None:
    """Add a panel to a page: `post`, the page of a suggestion for the team, or `user`, the page of a user in the settings."""
    _panels[page].append(render)


def render_panels(page: str, request: RequestOfPage, row: object) -> SafeString:
    """Return the HTML of the panels of a page, in the order of their registration."""
    return format_html_join("\n", "{}", ((render(request, row),) for render in _panels[page]))


def register_for_rows(page: str, render: RowRenderer) -> None:
    """Add a panel to each row of a page: `inbox`, the team's inbox, or `posts`, a list of suggestions in an order of the team."""
    _row_panels[page].append(render)


def render_row_panels(page: str, request: RequestOfPage, ids: Collection[int]) -> dict[int, SafeString]:
    """Return the HTML of the panels of each row that has some, by the id of the row."""
    if not ids:
        return {}
    found = [render(request, ids) for render in _row_panels[page]]
    return {
        id: format_html_join("\n", "{}", ((panels[id],) for panels in found if id in panels))
        for id in set().union(*found)
    }
