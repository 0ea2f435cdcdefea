"""E-mails to a user about the user's own sign-in, which requests of pages send."""

from typing import TYPE_CHECKING, Any

from django.urls import reverse
from django.utils import timezone, translation
from django.utils.translation import gettext as _

from accounts.hosts.requests import PageRequest
from accounts.mail import sending as mail
from accounts.mail.sending import sign_link
from accounts.sessions.models import Session
from accounts.users.models import User
from core.http.throttling import client_address_of
from core.pages.formatting import time_text

if TYPE_CHECKING:
    from accounts.tokens.models import APIToken

# The purpose of the links to set a password.
PASSWORD = "password"  # noqa: S105  # the name of a purpose


def email_user(user: User, template: str, request: PageRequest, *, to: str = "", **options: Any) -> None:
    """Send an e-mail in the user's language, to the address `to` or else to the user's own. `options` are those of `mail.send`."""
    mail.send(
        to or user.email,
        template,
        account_id=request.account.id,
        language=language_of_emails(user, request),
        sender=request.site.name,
        **options,
    )


def language_of_emails(user: User, request: PageRequest) -> str:
    return mail.supported_language(user.language or request.account.language)


def email_password_link(user: User, request: PageRequest, *, deliver: bool = True) -> None:
    """Send a user the link to set a new password."""
    token = sign_link({}, *user.link_subject(PASSWORD))
    # The person who manages a custom domain could read a link that leads there.
    url = request.address.own_url + reverse("accounts-password-new", query={"user": user.id, "token": token})
    email_user(user, "accounts/mail/password_reset.txt", request, login=user.login, url=url, deliver=deliver)


def email_password_changed(user: User, request: PageRequest) -> None:
    """Tell a user that the password was changed."""
    url = request.address.own_url + reverse("accounts-password")
    email_user(user, "accounts/mail/password_changed.txt", request, urgent=False, url=url)


def email_new_browser(user: User, request: PageRequest, session: Session) -> None:
    """Tell a user of a sign-in from a browser in which they have not signed in before."""
    url = request.address.own_url + reverse("accounts-security")
    with translation.override(language_of_emails(user, request)):
        values: dict[str, Any] = circumstances(user, request) | {"browser": browser_name(session), "url": url}
    email_user(user, "accounts/mail/new_browser.txt", request, urgent=False, **values)


def email_new_token(user: User, request: PageRequest, token: "APIToken") -> None:
    """Tell a user that a token was created in their name."""
    values: dict[str, Any] = {"label": token.label, "url": request.address.own_url + reverse("accounts-tokens")}
    email_user(user, "accounts/mail/new_token.txt", request, urgent=False, **values, **circumstances(user, request))


def circumstances(user: User, request: PageRequest) -> dict[str, Any]:
    """Return the time and the client address of the request, as the e-mail shows them, and the user's login."""
    zone = user.time_zone or request.account.time_zone
    with translation.override(language_of_emails(user, request)), timezone.override(zone):
        return {
            "time": f"{time_text(timezone.now())} ({zone})",
            "address": client_address_of(request),
            "login": user.login,
        }


def browser_name(session: Session) -> str:
    """Return the browser and the system of a session, in the active language."""
    names = {"browser": session.browser, "system": session.system}
    if all(names.values()):
        return _("%(browser)s on %(system)s") % names
    return session.browser or session.system or _("An unknown browser")
