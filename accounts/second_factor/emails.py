"""The e-mail to a user about a change of their second factors."""

from typing import Any

from django.urls import reverse
from django.utils import translation
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from accounts.hosts.requests import PageRequest
from accounts.sign_in.emails import circumstances, email_user, language_of_emails
from accounts.users.models import User

CHANGES: dict[str, Promise] = {
    "app_added": _("An authenticator app was added. Signing in asks for its code from now on."),
    "passkey_added": _("A passkey was added. It signs you in without a password."),
    "factor_removed": _("An authenticator app or a passkey was removed."),
    "factors_reset": _("Your second factors were removed by an owner or an admin, or by the operator of the service."),
    "recovery_code_used": _("Somebody has signed in with one of your recovery codes. It does not work again."),
}


def email_factor_changed(user: User, request: PageRequest, act: str) -> None:
    with translation.override(language_of_emails(user, request)):
        values: dict[str, Any] = {"change": str(CHANGES[act]), **circumstances(user, request)}
    url = request.address.own_url + reverse("accounts-second-factors")
    email_user(user, "accounts/mail/factor_changed.txt", request, urgent=False, url=url, **values)
