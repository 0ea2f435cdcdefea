"""Numbers and amounts as people type them, in each language of the pages.

    parse_number("1 234,50 zł", "pl")     # TypedNumber(Decimal("1234.50"), "PLN")
    parse_number("7,000", "en")           # TypedNumber(Decimal("7000"), "")
    parse_number("7,000", "pl")           # AmbiguousNumber: 7000 or 7

Thousands may be grouped by a comma, a point, a space or an apostrophe. A currency may stand before or after the number. Of two different
separators, the last one is the decimal sign. A single comma or point is the decimal sign unless exactly three digits follow: then it groups
thousands if it is not the decimal sign of the language. Otherwise both readings are possible, and the caller must ask.

The APIs do not use this module: their numbers have one format.
"""

import re
import unicodedata
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from functools import cache, lru_cache
from typing import Any

from babel import Locale
from babel.numbers import get_currency_precision, get_decimal_symbol
from django.utils.translation import to_locale

# The codes of ISO 4217, including codes of funds and metals, and codes withdrawn since the euro was introduced, which old deals have.
CURRENCIES = frozenset(
    """
    AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BHD BIF BMD BND BOB BOV BRL BSD BTN BWP BYN BZD CAD CDF CHE CHF CHW CLF CLP
    CNY COP COU CRC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GNF GTQ GYD HKD HNL HTG HUF IDR ILS
    INR IQD IRR ISK JMD JOD JPY KES KGS KHR KMF KPW KRW KWD KYD KZT LAK LBP LKR LRD LSL LYD MAD MDL MGA MKD MMK MNT MOP MRU MUR
    MVR MWK MXN MXV MYR MZN NAD NGN NIO NOK NPR NZD OMR PAB PEN PGK PHP PKR PLN PYG QAR RON RSD RUB RWF SAR SBD SCR SDG SEK SGD
    SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TND TOP TRY TTD TWD TZS UAH UGX USD USN UYI UYU UYW UZS VED VES VND VUV WST
    XAD XAF XAG XAU XBA XBB XBC XBD XCD XCG XDR XOF XPD XPF XPT XSU XTS XUA XXX YER ZAR ZMW ZWG

    ADP AFA ANG ATS AZM BEF BGN BYB BYR CSD CUC CYP DEM ECS EEK ESP FIM FRF GHC GRD GWP HRK IEP ITL LTL LUF LVL MGF MRO MTL MZM
    NLG PTE ROL RUR SDD SIT SKK SLL SRG STD TMM TPE TRL USS VEB VEF ZMK ZWD ZWL ZWN ZWR
    """.split()  # noqa: SIM905
)
MAX_NUMBER_LENGTH = 60

# Symbols that people write in every language. The first currency of a symbol is meant if the amount has no other currency of the list.
SYMBOLS = {
    "$": "USD AUD CAD NZD SGD HKD MXN ARS CLP COP BRL TWD",
    "£": "GBP EGP",
    "¥": "JPY CNY",
    "€": "EUR",
    "fr.": "CHF",
    "ft": "HUF",
    "kr": "SEK NOK DKK ISK",
    "kč": "CZK",
    "lei": "RON MDL",
    "r$": "BRL",
    "us$": "USD",
    "zł": "PLN",
    "₣": "CHF",
    "₩": "KRW",
    "₪": "ILS",
    "₫": "VND",
    "₴": "UAH",
    "₹": "INR",
    "₺": "TRY",
    "₽": "RUB",
}
# The text before the number, the number, and the text after it. The sign may stand before or after a leading currency.
_TYPED = re.compile(
    r"(?P<sign>[-+]?) ?(?P<before>(?:[^-+0-9.,' ]+\.?)?) ?(?P<inner_sign>[-+]?) ?"
    r"(?P<number>(?:[0-9][0-9 .,']*)?[0-9]|[.,][0-9]+) ?(?P<after>[^-+0-9,' ]*)"
)
_GROUPED = re.compile(r"[1-9][0-9]{0,2}(?P<group>[ .,'])[0-9]{3}(?:(?P=group)[0-9]{3})*")
_OTHER_CHARACTERS = str.maketrans({"\N{MINUS SIGN}": "-", "\N{RIGHT SINGLE QUOTATION MARK}": "'"})


@dataclass(frozen=True)
class TypedNumber:
    value: Decimal
    # The code of the currency in the text; empty if the text has none.
    currency: str = ""

    @property
    def text(self) -> str:
        """The number in the format of the APIs."""
        return f"{self.value:f}"


class InvalidNumber(ValueError):
    """A text that is not a number."""


class AmbiguousNumber(InvalidNumber):
    """A text with two readings."""

    def __init__(self, grouped: Decimal, decimal: Decimal) -> None:
        super().__init__()
        # The number if the separator groups thousands, and if it is the decimal sign.
        self.readings = (grouped, decimal)


def parse_number(text: str, language: str, *, currency: str = "") -> TypedNumber:
    """Return the number that a text means in a language. `currency` is the currency of the amount if the text names none.

    Raise AmbiguousNumber for a text with two readings, and InvalidNumber for a text that is not a number.
    """
    if len(text) > MAX_NUMBER_LENGTH:
        raise InvalidNumber
    match = _TYPED.fullmatch(_normalize(text))
    if match is None or (match["sign"] and match["inner_sign"]) or (match["before"] and match["after"]):
        raise InvalidNumber
    symbol = match["before"] or match["after"]
    typed_currency = _find_currency(symbol, language, currency) if symbol else ""
    sign = match["sign"] or match["inner_sign"]
    try:
        value = _read_digits(match["number"], _decimal_sign(language), typed_currency or currency)
    except AmbiguousNumber as caught:
        raise AmbiguousNumber(*(-reading if sign == "-" else reading for reading in caught.readings)) from None
    return TypedNumber(-value if sign == "-" and value else value, typed_currency)


def plain_text(number: Decimal) -> str:
    """Return a number as a text that has the same meaning in every language: with a point, and without grouping.

    A number with exactly three decimal places gets a fourth one, because `1.234` has two readings.
    """
    text = f"{number.normalize():f}"
    return f"{text}0" if len(text.partition(".")[2]) == 3 else text


def has_two_readings(text: str) -> bool:
    """Return whether the decimal sign of a number could separate thousands. The number is in the format of the APIs."""
    return re.fullmatch(r"-?[1-9][0-9]{0,2}\.[0-9]{3}", text) is not None


@lru_cache(maxsize=1000)
def decimal_places(currency: str) -> int:
    """Return the usual number of decimal places of an amount in a currency."""
    return get_currency_precision(currency)


def _normalize(text: str) -> str:
    """Return the text with ASCII signs instead of their typographic forms, and without format characters."""
    categories = ((sign, unicodedata.category(sign)) for sign in text.translate(_OTHER_CHARACTERS))
    return "".join(" " if category == "Zs" else sign for sign, category in categories if category != "Cf").strip()


def _read_digits(text: str, decimal_sign: str, currency: str) -> Decimal:
    separators = re.sub("[0-9]", "", text)
    if not separators:
        return Decimal(text)
    last = separators[-1]
    whole, _separator, decimals = text.rpartition(last)
    is_grouped = _GROUPED.fullmatch(text) is not None
    if len(separators) == 1 and last in ".,":
        as_decimal = Decimal(f"{whole or 0}.{decimals}")
        if len(decimals) != 3:
            return as_decimal
        if is_grouped != (last == decimal_sign):
            return Decimal(whole + decimals) if is_grouped else as_decimal
        if is_grouped and currency and decimal_places(currency) == len(decimals):
            # Amounts in this currency always look like this.
            return as_decimal
        # `7,000` where the comma is the decimal sign, or `12345,678` where it is not.
        raise AmbiguousNumber(Decimal(whole + decimals), as_decimal)
    if is_grouped:
        return Decimal(re.sub("[^0-9]", "", text))
    if last in ".," and last not in whole and _GROUPED.fullmatch(whole):
        return Decimal(f"{re.sub('[^0-9]', '', whole)}.{decimals}")
    raise InvalidNumber


@cache
def _decimal_sign(language: str) -> str:
    return get_decimal_symbol(Locale.parse(to_locale(language)))


def _find_currency(symbol: str, language: str, expected: str) -> str:
    """Return the code of a currency, which the text has as a code or a symbol. Raise InvalidNumber for another text."""
    codes = _currencies(language).get(symbol.casefold(), ())
    if not codes:
        raise InvalidNumber
    return expected if expected in codes else codes[0]


@cache
def _currencies(language: str) -> dict[str, tuple[str, ...]]:
    """Return the codes of currencies by their symbols and codes."""
    locale = Locale.parse(to_locale(language))
    names = [*((code, code) for code in locale.currencies), *locale.currency_symbols.items()]
    codes = {str(name).casefold(): (str(code),) for code, name in names}
    return codes | {symbol: tuple(names.split()) for symbol, names in SYMBOLS.items()}


def to_decimal(data: Any) -> Decimal | None:
    """Return a finite number, or a text with a finite number, as an exact decimal. Return None for any other data."""
    try:
        text = data.strip() if isinstance(data, str) else data
        if isinstance(text, str) and ("_" in text or not text.isascii()):
            return None
        number = Decimal(text)
    except (InvalidOperation, TypeError, ValueError):
        return None
    return number if number.is_finite() else None
