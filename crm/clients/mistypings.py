"""Values that are probably mistyped: e-mail addresses without an address, and tax numbers with a wrong check digit.

Pages ask about them before they save them. The interfaces accept them, because a program can't answer.
"""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from babel import Locale
from babel.core import get_global
from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import EmailValidator
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from stdnum.util import get_cc_module

from accounts.account.models import Account

WRONG_EMAIL = _("This does not look like an e-mail address. Correct it, or save again to keep it.")
WRONG_TAX_NUMBER = _("This is not a valid tax number. Correct it, or save again to keep it.")
# The names in python-stdnum of the numbers by which tax offices identify companies and people.
TAX_NUMBERS = ("vat", "tin", "nif", "stnr", "idnr", "pesel")
# VAT numbers of Greece and Northern Ireland have a prefix that is not the code of the country.
PREFIXES = {"el": "gr", "xi": "gb"}

is_email = EmailValidator(allowlist=[])


def doubts_of(
    values: Mapping[str, object], account: Account, country: str | None = None
) -> Iterator[tuple[str, str | Promise]]:
    """Yield the names and messages of the values that are probably mistyped. `country` is that of the client, as it is stored."""
    email, tax_number = values.get("email"), values.get("tax_no")
    if email and not looks_like_email(str(email).strip()):
        yield "email", WRONG_EMAIL
    if tax_number and not looks_like_tax_number(str(tax_number), country_code(country) or country_of_account(account)):
        yield "tax_no", WRONG_TAX_NUMBER


def looks_like_email(text: str) -> bool:
    try:
        is_email(text)
    except ValidationError:
        return False
    return True


def looks_like_tax_number(text: str, country: str) -> bool:
    """Return whether a text is a tax number of the country, or of the country whose code it begins with.

    Without rules for the country, every text is accepted.
    """
    number = "".join(character for character in text if character.isalnum())
    prefix = PREFIXES.get(number[:2].lower(), number[:2].lower())
    if prefix.isalpha() and (modules := tax_numbers_of(prefix)):
        return any(module.is_valid(text) or module.is_valid(number[2:]) for module in modules)
    modules = tax_numbers_of(country)
    return not modules or any(module.is_valid(text) for module in modules)


@cache
def tax_numbers_of(country: str) -> list[Any]:
    """Return the modules of python-stdnum for the tax numbers of a country, by its code in lower case."""
    if len(country) != 2 or not country.isascii():
        return []
    return [module for name in TAX_NUMBERS if (module := get_cc_module(country, name)) is not None]


def country_code(name: str | None) -> str:
    """Return the code of a country in lower case, from its code or its name in a language of the pages, or "" if it is unknown."""
    folded = (name or "").strip().casefold()
    return folded if len(folded) == 2 else country_names().get(folded, "")


@cache
def country_names() -> dict[str, str]:
    """Return the codes of countries by their names in the languages of the pages."""
    languages = [language for language, _name in settings.LANGUAGES]
    return {
        name.casefold(): code.lower()
        for language in languages
        for code, name in Locale(language).territories.items()
        if len(code) == 2
    }


def country_of_account(account: Account) -> str:
    """Return the code of the country of the account's time zone in lower case, or "" if it has none."""
    return str(get_global("zone_territories").get(account.time_zone, "")).lower()
