"""Paths of routes that other apps define and settings name."""

from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.urls import reverse


def home_path() -> str:
    """Return the path of the home page."""
    return reverse(settings.HOME_URL)


# Returns the path of the page at which a user of an account starts, or None for the home page.
StartPage = Callable[[Any, Any], str | None]
_start_pages: list[StartPage] = []


def register_start_page(find: StartPage) -> None:
    """Let `find` choose the page at which users start after they have signed in, and to which the name in the header leads."""
    _start_pages.append(find)


def start_path(account: object, user: object) -> str:
    """Return the path of the page at which a user of the account starts. Visitors, whose `user` is None, start at the home page."""
    paths = (find(account, user) for find in _start_pages if user is not None)
    return next(filter(None, paths), None) or home_path()


def sign_in_path(target: str, *, unsaved: bool = False) -> str:
    """Return the path of the sign-in page, which redirects to `target` afterwards. If `unsaved`, the page says that nothing was saved."""
    return reverse(settings.LOGIN_URL, query={"next": target} | ({"unsaved": 1} if unsaved else {}))
