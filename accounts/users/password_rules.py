"""The rules for new passwords (`AUTH_PASSWORD_VALIDATORS`), with messages that follow the name of the field.

Django's own messages are sentences, and it translates them in the admin app, which is not installed.
"""

from typing import TYPE_CHECKING

from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from core.errors import FieldError

if TYPE_CHECKING:
    from accounts.users.models import User

# By the code of Django's validators.
PASSWORD_ERRORS = {
    "password_too_short": _("is too short (minimum is 8 characters)"),
    "password_too_common": _("is too common"),
    "password_entirely_numeric": _("can't be entirely numeric"),
    "password_too_similar": _("is too similar to the login, the e-mail or the name"),
}


def find_password_errors(password: str, user: "User") -> list[FieldError]:
    """Return an error for each rule that a new password of the user breaks."""
    try:
        validate_password(password, user)
    except ValidationError as caught:
        codes = [str(error.code) for error in caught.error_list]
        return [FieldError("", PASSWORD_ERRORS[code], code) for code in codes]
    return []
