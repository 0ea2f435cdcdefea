"""The menus of the pages. The module `registration` of each subject registers its entries."""

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from django.urls import reverse
from django.utils.functional import Promise

from core.http.requests import RequestOfPage


@dataclass(frozen=True)
class MenuEntry:
    """A link in a menu."""

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
    # A number beside the link, such as that of unread notifications. It takes at most one statement, and none for members. 0 is not shown.
    count: Callable[[Any], int] = lambda request: 0

    @property
    def path(self) -> str:
        """The path of the page."""
        return reverse(self.route)

    def path_for(self, rows: Mapping[str, int | None]) -> str:
        """Return the path of the page for the rows that the current page is about: ids by the key of the resource."""
        query = {name: rows[key] for key, name in self.links.items() if rows.get(key) is not None}
        return reverse(self.route, query=query)


_menus: defaultdict[str, list[MenuEntry]] = defaultdict(list)


def register(menu: str, *entries: MenuEntry) -> None:
    """Add entries to a menu: `main`, `search`, `new`, `header`, `user`, `profile` or `settings`."""
    _menus[menu] = sorted([*_menus[menu], *entries], key=lambda entry: entry.order)


def entries(menu: str, request: RequestOfPage) -> list[MenuEntry]:
    """Return, in order, the entries of a menu that the user of the request may see."""
    return [entry for entry in _menus[menu] if entry.is_shown(request)]
