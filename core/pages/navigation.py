"""The menus of the pages, panels that an upper room adds to the pages of a lower one, and the paths to which all pages link.

The module `registration` of each subject registers its entries and panels.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from django.conf import settings
from django.db import connection
from django.db.models import Model, QuerySet
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.html import format_html_join
from django.utils.safestring import SafeString

from core.http.requests import RequestOfPage


@dataclass(frozen=True)
class MenuEntry:
    # If a page passes this name to its template as `section` or `part`, the menu marks this entry as current.
    name: str
    label: str | Promise
    route: str
    icon: str = ""
    # A line separates the entries of the main menu by their group.
    group: str = ""
    # Entries of all apps are sorted by this number.
    order: int = 0
    # The keys that open the page, such as "g c". The help for the keyboard lists them.
    shortcut: str = ""
    # The page has a form that a dialog can show.
    in_dialog: bool = False
    # The parameters of the page for the rows that a page is about: of the form `client_id`, by the key of the resource.
    links: Mapping[str, str] = field(default_factory=dict)
    # Functions of a `RequestOfPage`, whose attributes the upper rooms know more precisely.
    is_shown: Callable[[Any], bool] = lambda request: True
    # A number beside the link, such as that of unread notifications, or the rows that are counted, which have a limit. 0 is not shown.
    count: Callable[[Any], int | QuerySet[Model, Any]] = lambda request: 0

    @property
    def path(self) -> str:
        return reverse(self.route)

    def path_for(self, rows: Mapping[str, int | None]) -> str:
        """Return the path of the page for the rows that the current page is about: ids by the key of the resource."""
        query = {name: rows[key] for key, name in self.links.items() if rows.get(key) is not None}
        return reverse(self.route, query=query)


_menus: defaultdict[str, list[MenuEntry]] = defaultdict(list)


def register(menu: str, *entries: MenuEntry) -> None:
    """Add entries to a menu: `main`, `search`, `new`, `header`, `user`, `profile`, `settings` or `first-steps`."""
    _menus[menu] = sorted([*_menus[menu], *entries], key=lambda entry: entry.order)


def count_entries(request: RequestOfPage) -> dict[str, int]:
    """Return the numbers beside the entries of the menus of the header, by the names of the entries. They take at most one statement."""
    found = {entry.name: entry.count(request) for name in ("main", "header") for entry in entries(name, request)}
    counted = {name: rows for name, rows in found.items() if not isinstance(rows, int)}
    numbers = {name: number for name, number in found.items() if isinstance(number, int)}
    if counted:
        parts = [rows.query.sql_with_params() for rows in counted.values()]
        columns = ", ".join(f"(SELECT count(*) FROM ({sql}) AS counted)" for sql, _parameters in parts)  # noqa: S608
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT {columns}", [value for _sql, parameters in parts for value in parameters])
            numbers |= dict(zip(counted, cursor.fetchone(), strict=True))
    return numbers


def entries(menu: str, request: RequestOfPage) -> list[MenuEntry]:
    """Return, in order, the entries of a menu that the user of the request may see."""
    return [entry for entry in _menus[menu] if entry.is_shown(request)]


# Panels

# A function that returns the HTML of a panel for the row that the page shows, or "" if there is nothing to show. Its first argument is the
# `RequestOfPage`, whose attributes the upper rooms know more precisely.
Renderer = Callable[[Any, Any], SafeString | str]

# A function of the request that returns HTML by id, for those of the rows of a list that have something to show.
RowRenderer = Callable[[Any, Collection[int]], dict[int, SafeString]]

_panels: defaultdict[str, list[Renderer]] = defaultdict(list)
_row_panels: defaultdict[str, list[RowRenderer]] = defaultdict(list)


def register_panel(page: str, render: Renderer) -> None:
    """Add a panel to a page.

    The page is `post`, the page of a suggestion for the team, `pane`, a suggestion in the inbox, `user`, the page of a user in the settings, or
    `suggestions`, a list of suggestions, whose "row" are the parameters of the list, or `sign-in`, whose "row" is the path of the page after it.
    """
    _panels[page].append(render)


def render_panels(page: str, request: RequestOfPage, row: object) -> SafeString:
    """Return the HTML of the panels of a page, in the order of their registration."""
    return format_html_join("\n", "{}", ((render(request, row),) for render in _panels[page]))


def register_row_panels(page: str, render: RowRenderer) -> None:
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


# Paths of routes that other rooms define and settings name


def home_path() -> str:
    return reverse(settings.HOME_URL)


# The labels and the routes of the pages at which the team of an account may start, by name.
_start_pages: dict[str, tuple[str | Promise, str]] = {}


def register_start_page(name: str, label: str | Promise, route: str) -> None:
    """Offer a page at which the team starts after it has signed in, and to which the name in the header leads."""
    _start_pages[name] = (label, route)


def start_page_choices() -> list[tuple[str, str | Promise]]:
    """Return the names and the labels of the pages at which the team may start."""
    return [(name, label) for name, (label, _route) in _start_pages.items()]


def start_path(account: Any, user: Any) -> str:
    """Return the path of the page at which a user of the account starts. Members and visitors, whose `user` is None, start at the home page."""
    if user is None or not user.is_team:
        return home_path()
    _label, route = _start_pages.get(account.start_page, ("", settings.HOME_URL))
    return reverse(route)


def sign_in_path(target: str, *, unsaved: bool = False) -> str:
    """Return the path of the sign-in page, which redirects to `target` afterwards. If `unsaved`, the page says that nothing was saved."""
    return reverse(settings.LOGIN_URL, query={"next": target} | ({"unsaved": 1} if unsaved else {}))
