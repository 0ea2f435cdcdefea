"""The keys by which clients and contacts are compared: e-mail, telephone numbers, tax number, and name without its legal form."""

import hashlib
import re
import unicodedata
from collections.abc import Iterator
from typing import Any

import phonenumbers
from django.db import models
from django.utils.translation import gettext_lazy as _

from accounts.account.models import Account
from core.db.tenancy import fold
from crm.clients.mistypings import country_code, country_of_account

MIN_TAX_NO_LENGTH, MIN_NAME_LENGTH = 6, 3
# The legal forms of companies, in lower case, without dots and other signs.
FORMS_TEXT = """
spolka z ograniczona odpowiedzialnoscia, spolka z o o, sp z o o, sp z oo, spolka akcyjna, spolka jawna, sp j, sp k, sp p, s c, s k a, s a, sa,
p s a, ltd, limited, llc, l l c, llp, lp, plc, inc, incorporated, corp, corporation, co, company, pty, pvt, gmbh, g m b h, mbh, ag, kg, kgaa, ohg,
ug, e k, gbr, se, s a r l, sarl, s a s, sas, eurl, s r l, srl, s p a, spa, s l, sl, b v, bv, n v, nv, ab, as, a s, aps, oy, oyj, s r o, sro,
spol s r o, kft, zrt, d o o, doo, d d, eood, ood, ad, ou, uab, sia, lda, ltda
"""
LEGAL_FORMS = tuple(tuple(form.split()) for form in FORMS_TEXT.split(","))


class KeyKind(models.TextChoices):
    """What two records have in common. The strongest reason comes first."""

    EMAIL = "email", _("same e-mail")
    PHONE = "phone", _("same telephone number")
    TAX_NO = "tax_no", _("same tax number")
    NAME = "name", _("same name")


def phone_key(text: str, region: str) -> str:
    """Return the number in the format E.164, or "" if it is not a valid number. `region` has the numbers without a country code."""
    try:
        number = phonenumbers.parse(text, region.upper() or None)
    except phonenumbers.NumberParseException:
        return ""
    if not phonenumbers.is_valid_number(number):
        return ""
    return str(phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.E164))


def tax_no_key(text: str) -> str:
    """Return the letters and digits without the code of a country, or "" if they are too few."""
    key = re.sub(r"^[a-z]{2}(?=[0-9])", "", re.sub(r"[^0-9a-z]", "", text.lower()))
    return key if len(key) >= MIN_TAX_NO_LENGTH else ""


def name_key(text: str) -> str:
    """Return the words of a name without accents and legal forms, or "" if too little is left."""
    plain = "".join(
        character for character in unicodedata.normalize("NFKD", fold(text)) if not unicodedata.combining(character)
    )
    words = re.findall(r"\w+", plain.replace("ł", "l"))
    is_shortened = True
    while is_shortened:
        is_shortened = False
        for form in LEGAL_FORMS:
            if len(words) > len(form) and tuple(words[-len(form) :]) == form:
                words, is_shortened = words[: -len(form)], True
                break
    key = " ".join(words)
    return key if len(key) >= MIN_NAME_LENGTH else ""


def keys_of(row: Any, account: Account) -> set[tuple[str, int]]:
    """Return the kinds and the digests of the keys of a client or a contact."""

    def keys() -> Iterator[tuple[KeyKind, str]]:
        region = country_code(getattr(row, "country", None)) or country_of_account(account)
        yield KeyKind.EMAIL, row.email_key or ""
        for number in (row.phone, row.mobile_phone):
            yield KeyKind.PHONE, phone_key(number or "", region)
        yield KeyKind.TAX_NO, tax_no_key(getattr(row, "tax_no", None) or "")
        yield KeyKind.NAME, name_key(row.name)

    return {(str(kind), digest_of(kind, key)) for kind, key in keys() if key}


def digest_of(kind: str, key: str) -> int:
    """Return 64 bits of the SHA-256 of a key, as PostgreSQL stores them."""
    return int.from_bytes(hashlib.sha256(f"{kind}:{key}".encode()).digest()[:8], signed=True)
