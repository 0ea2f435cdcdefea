"""Routes of upper rooms that lower rooms lead to. The settings name them, so that no lower room knows whose they are."""

from django.conf import settings
from django.urls import reverse


def home_path() -> str:
    """Return the path of the page where a visitor begins."""
    return reverse(settings.HOME_URL)


def sign_in_path(target: str, *, unsaved: bool = False) -> str:
    """Return the path of the sign-in page, which leads on to `target`. With `unsaved`, it says that nothing was saved."""
    return reverse(settings.LOGIN_URL, query={"next": target} | ({"unsaved": 1} if unsaved else {}))
