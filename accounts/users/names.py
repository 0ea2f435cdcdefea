"""Rules for passwords, and for names that identify a user or a forum to people: allowed characters, and detection of names that look alike.

Two names look alike if they have the same skeleton (UTS #39, after NFKC and case folding) and differ in a character outside of
ASCII. Names that differ in ASCII characters only are accepted, even if they look alike, such as `user1` and `userl`: programs
generate such logins, and have to be able to create both.
"""

import json
import re
import unicodedata
from collections.abc import Iterable
from functools import cache, lru_cache
from importlib.resources import files

from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from core.db.tenancy import FoldedField, fold
from core.errors import FieldError, FieldErrors
from core.rows.trimmed import IGNORABLE, fold_email, trim

INVISIBLE_MESSAGE = _("has an invisible character, or one that changes the direction of the text")


def has_invisible(text: str) -> bool:
    """Return whether the text has format characters (category Cf), which include the bidirectional controls."""
    return not text.isascii() and any(unicodedata.category(char) == "Cf" for char in text)


def folds_to_another_mailbox(email: str) -> bool:
    """Return whether folding turns letters of the local part into ASCII, such as the KELVIN SIGN and the LONG S.

    Such an address equals that of another person wherever e-mails are compared: users, invitations, the lists of forums, customers.
    """
    local = email.rpartition("@")[0]
    return not local.isascii() and fold_email(email).rpartition("@")[0].isascii()


def check_visible(**names: str) -> None:
    """Raise FieldErrors for the names that have format characters, and for an e-mail that folds to another mailbox.

    At the ends, only the format characters of a login are not removed.
    """
    errors = [
        FieldError(field, INVISIBLE_MESSAGE, "invisible")
        for field, name in names.items()
        if has_invisible(name if field == "login" else trim(name))
    ]
    if not errors and folds_to_another_mailbox(names.get("email", "")):
        errors = [FieldError("email", _("has a letter that stands for an ASCII letter: use that letter"), "mailbox")]
    if errors:
        raise FieldErrors(errors)


def public_name(name: str) -> str:
    """Return the name of a user for readers who may not see the login, also for a blank name."""
    return name or gettext("Somebody")


# The address of a website: with a scheme, "www.", or one of the endings that spam uses most. An e-mail address is no such address.
WEBSITE = re.compile(
    r"://|\bwww\.\w|\b[\w-]+\.(?:com|net|org|info|biz|xyz|top|online|site|store|shop|club|click|link|live|ru|cn)\b",
    re.IGNORECASE,
)
EMAIL_ADDRESS = re.compile(r"\S+@\S+")


def check_without_website(**names: str) -> None:
    """Raise FieldErrors for the names that contain the address of a website, which pages and e-mails would spread."""
    message = _("can't contain the address of a website")
    if errors := [
        FieldError(field, message, "website")
        for field, name in names.items()
        if WEBSITE.search(EMAIL_ADDRESS.sub("", name))
    ]:
        raise FieldErrors(errors)


def look_alike(name: str, other: str) -> bool:
    """Return whether two names are equal without regard to case, or look the same."""
    name, other = fold(name), fold(other)
    if name == other:
        return True
    return _beyond_ascii(name) != _beyond_ascii(other) and skeleton(name) == skeleton(other)


def looks_like_any(name: str, others: Iterable[str]) -> bool:
    return any(look_alike(name, other) for other in others)


def skeleton(text: str) -> str:
    """Return a form of the text that is equal for all texts that look alike. Use it for comparison only.

    A letter also has the skeleton of an ASCII letter if only their capitals look alike, because a name may be displayed in
    capitals: the Cyrillic `в` looks like no Latin letter, but its capital looks like the Latin `B`.
    """
    text = unicodedata.normalize("NFD", fold(unicodedata.normalize("NFKC", text)))
    return unicodedata.normalize("NFD", "".join(map(_prototype, text)))


def _beyond_ascii(folded: str) -> list[str]:
    return [char for char in folded if not char.isascii()]


@lru_cache(maxsize=4096)
def _prototype(char: str) -> str:
    if ord(char) in IGNORABLE or unicodedata.category(char) == "Cf":
        return ""
    lower = _confusables().get(char, char)
    if lower.isascii():
        return lower.casefold()
    upper = _to_prototypes(unicodedata.normalize("NFD", char.upper()))
    return _to_prototypes(upper.casefold()).casefold() if upper.isascii() else lower


def _to_prototypes(text: str) -> str:
    return "".join(_confusables().get(char, char) for char in text)


@cache
def _confusables() -> dict[str, str]:
    """Return the prototype of each character that has one: the text that replaces the character in a skeleton.

    The library confusable_homoglyphs lists pairs of texts that look alike, each pair in both directions, and does not say which
    of the two is the prototype. A text with several partners is the prototype of each partner. If two characters are each other's
    only partner, the prototype is the character that occurs in a listed sequence of characters, or else the lower code point.
    """
    pairs = json.loads(files("confusable_homoglyphs").joinpath("confusables.json").read_text())
    partners = {char: [partner["c"] for partner in entries] for char, entries in pairs.items()}
    in_sequences = {char for sequence in partners if len(sequence) > 1 for char in sequence}

    def is_prototype(partner: str, char: str) -> bool:
        if len(partner) > 1 or len(partners[partner]) > 1:
            return True
        return (partner not in in_sequences, partner) < (char not in in_sequences, char)

    only_partners = {char: texts[0] for char, texts in partners.items() if len(char) == len(texts) == 1}
    return {char: partner for char, partner in only_partners.items() if is_prototype(partner, char)}


class SkeletonField(FoldedField):
    """The skeleton of another field."""

    derive = staticmethod(skeleton)


TOO_COMMON = "password_too_common"
# The rules for new passwords (`AUTH_PASSWORD_VALIDATORS`), by the code of Django's validators. Django's own messages are sentences, and it
# translates them in the admin app, which is not installed.
PASSWORD_ERRORS = {
    "password_too_short": _("is too short (minimum is 8 characters)"),
    TOO_COMMON: _("is too common"),
    "password_entirely_numeric": _("can't be entirely numeric"),
    "password_too_similar": _("is too similar to the login, the e-mail or the name"),
}


def find_password_errors(password: str, user: AbstractBaseUser) -> list[FieldError]:
    """Return an error for each rule that a new password of the user breaks."""
    try:
        validate_password(password, user)
    except ValidationError as caught:
        codes = [str(error.code) for error in caught.error_list]
        return [FieldError("", PASSWORD_ERRORS[code], code) for code in codes]
    return []


def is_common(password: str, user: AbstractBaseUser) -> bool:
    """Return whether a password is one of those that are widely used or known from breaches."""
    return any(error.code == TOO_COMMON for error in find_password_errors(password, user))
