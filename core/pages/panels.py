"""Panels that an upper room adds to the pages of a lower one. Each app registers its panels in `AppConfig.ready`."""

from collections import defaultdict
from collections.abc import Callable
from typing import Any

from django.utils.html import format_html_join
from django.utils.safestring import SafeString

from core.requests import PageRequest

# A function that returns the HTML of a panel for the row that the page shows, or "" if there is nothing to show.
Renderer = Callable[[PageRequest, Any], SafeString | str]

_panels: defaultdict[str, list[Renderer]] = defaultdict(list)


def register(page: str, render: Renderer) -> None:
    """Add a panel to a page: `post`, the page of a suggestion for the team, or `user`, the page of a user in the settings."""
    _panels[page].append(render)


def render_panels(page: str, request: PageRequest, row: Any) -> SafeString:
    """Return the HTML of the panels of a page, in the order of their registration."""
    return format_html_join("\n", "{}", ((render(request, row),) for render in _panels[page]))
