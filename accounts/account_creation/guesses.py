"""Guesses about a new account from what a browser sends: its address, time zone, country and currency. The owner can change all but the address."""

import secrets

from babel.core import get_global
from babel.numbers import get_territory_currencies
from django.utils.text import slugify
from django.utils.translation.trans_real import parse_accept_lang_header

from accounts.account_creation.creation import find_taken_prefixes
from accounts.hosts.names import is_reserved
from accounts.layout.forms import time_zone_choices
from core.http.regions import is_country
from core.numbers import CURRENCIES

# The length of a proposed prefix, without the number behind it.
MAX_PROPOSED_PREFIX = 30
# Letters that Unicode does not decompose.
LETTERS = str.maketrans({"ł": "l", "Ł": "L", "ø": "o", "Ø": "O", "ß": "ss", "æ": "ae", "Æ": "AE", "đ": "d", "Đ": "D"})


def propose_prefix(company: str) -> str:
    """Return a free prefix for the name of a company, or "" if there is none."""
    base = slugify(company.translate(LETTERS)).replace("_", "-")[:MAX_PROPOSED_PREFIX].strip("-")
    if len(base) < 2:
        return ""
    candidates = [base, *(f"{base}-{number}" for number in range(2, 6)), f"{base}-{secrets.randbelow(10**4):04}"]
    candidates = [prefix for prefix in candidates if not is_reserved(prefix)]
    taken = find_taken_prefixes(candidates)
    return next((prefix for prefix in candidates if prefix not in taken), "")


def guess_time_zone(sent: str, accepted_languages: str) -> str:
    """Return the time zone that the browser sent, or else that of the country of its language, if the country has only one."""
    if sent in dict(time_zone_choices()):
        return sent
    zones = get_global("territory_zones").get(_territory_of_language(accepted_languages), [])
    return zones[0] if len(zones) == 1 else "UTC"


def guess_country(time_zone: str, accepted_languages: str) -> str:
    """Return the country of the time zone, or else of the browser's language, or "" if both are unknown."""
    country = get_global("zone_territories").get(time_zone) or _territory_of_language(accepted_languages)
    return country if is_country(country) else ""


def guess_currency(country: str) -> str:
    """Return the currency of a country, or else the euro."""
    currency = next(iter(get_territory_currencies(country)), "") if country else ""
    return currency if currency in CURRENCIES else "EUR"


def _territory_of_language(accepted_languages: str) -> str:
    """Return the country of the first language of a header `Accept-Language`, or "" if it is unknown."""
    for code, _quality in parse_accept_lang_header(accepted_languages[:500].lower()):
        language, _hyphen, territory = code.partition("-")
        if len(territory) == 2:
            return territory.upper()
        return str(get_global("likely_subtags").get(language, "")).rpartition("_")[2]
    return ""
