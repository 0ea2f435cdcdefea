"""Paths of routes: of those that lower rooms lead to and upper rooms have, which the settings name, and of rows of lists."""

from functools import cache

from django.conf import settings
from django.urls import reverse


def home_path() -> str:
    """Return the path of the page where a visitor begins."""
    return reverse(settings.HOME_URL)


def sign_in_path(target: str, *, unsaved: bool = False) -> str:
    """Return the path of the sign-in page, which leads on to `target`. With `unsaved`, it says that nothing was saved."""
    return reverse(settings.LOGIN_URL, query={"next": target} | ({"unsaved": 1} if unsaved else {}))


def path_with_id(route: str, id: int) -> str:
    """Return what `reverse` does for a route that takes one id. For rows of lists: the route is reversed once per process."""
    before, after = _around_id(route)
    return f"{before}{id}{after}"


@cache
def _around_id(route: str) -> tuple[str, str]:
    """Return the parts of the route's path before and after the id."""
    marker = "9" * 18
    before, _, after = reverse(route, args=[marker]).partition(marker)
    return before, after
