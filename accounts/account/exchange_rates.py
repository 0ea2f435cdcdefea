"""Exchange rates of an account: the value of one unit of a currency in the currency of the account.

`Account.exchange_rates` has them by the code of the currency, as texts of decimals. Sums in several currencies are converted with them, for
estimates. The currency of the account itself has no rate there. An admin enters the rates, or the account takes those that the European
Central Bank publishes on working days (`euro_rates`).
"""

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from defusedxml import ElementTree
from defusedxml.common import DefusedXmlException
from django.utils.translation import gettext_lazy as _

from core import outbound
from core.errors import FieldError
from core.numbers import CURRENCIES, to_decimal

MAX_WHOLE_DIGITS, MAX_DECIMAL_PLACES = 9, 10
EURO_RATES_URL = "https://www.ecb.europa.eu/stats/eurofxref/eurofxref-daily.xml"
MAX_BODY_BYTES = 100_000


class RatesUnavailable(Exception):
    """The rates of the European Central Bank could not be read."""


@dataclass(frozen=True)
class ConvertedSum:
    """The sum of amounts in the currency of the account, and the currencies without a rate, whose amounts it leaves out."""

    sum: Decimal
    missing: tuple[str, ...] = ()
    # The other currencies with a rate.
    found: tuple[str, ...] = ()


def convert(currency: str, rates_of_account: Mapping[str, str], amounts: Iterable[tuple[str, Decimal]]) -> ConvertedSum:
    """Return the sum of pairs of a currency and an amount, in the currency of the account."""
    rates = {currency: Decimal(1)} | {code: Decimal(rate) for code, rate in rates_of_account.items()}
    total, missing, found = Decimal(0), dict[str, None](), dict[str, None]()
    for code, amount in amounts:
        if code in rates:
            total += amount * rates[code]
        if code != currency and amount:
            (found if code in rates else missing)[code] = None
    return ConvertedSum(total, tuple(missing), tuple(found))


def check_rates(rates: Mapping[str, object], currency: str, *, field: str = "exchange_rates") -> dict[str, str]:
    """Return rates as they are stored, without that of the account's own currency. Raise FieldError."""
    found = {}
    for code, value in rates.items():
        if code not in CURRENCIES:
            text = _("has {currency}, which is not a code of ISO 4217, such as EUR")
            raise FieldError(field, text, "currency", {"currency": code[:20]})
        rate = None if isinstance(value, bool) else to_decimal(value)
        if rate is None or rate <= 0 or rate.adjusted() >= MAX_WHOLE_DIGITS or rate != round(rate, MAX_DECIMAL_PLACES):
            text = _("has a rate of {currency} that is not a number above 0, of at most 9 digits and 10 decimal places")
            raise FieldError(field, text, "rate", {"currency": code})
        if code != currency:
            found[code] = format(rate.normalize(), "f")
    return dict(sorted(found.items()))


def are_rates(value: object) -> bool:
    """Return whether a value is one that `check_rates` returns for some currency."""
    try:
        return isinstance(value, dict) and check_rates(value, "") == value
    except FieldError:
        return False


def change_base(rates: Mapping[str, str], former: str, currency: str) -> dict[str, str]:
    """Return the rates for another currency of the account; none if the former ones do not have that currency."""
    if currency not in rates:
        return {}
    values = {former: Decimal(1)} | {code: Decimal(rate) for code, rate in rates.items()}
    return divide(values, values[currency], currency)


def divide(values: Mapping[str, Decimal], unit: Decimal, currency: str) -> dict[str, str]:
    """Return rates for `currency`, of which one unit has the value `unit`."""
    quotients = {code: value / unit for code, value in values.items() if code in CURRENCIES}
    # Ten significant digits, which also keep the rates of currencies with small units.
    rounded = {code: round(value, min(9 - value.adjusted(), MAX_DECIMAL_PLACES)) for code, value in quotients.items()}
    return check_rates({code: value for code, value in rounded.items() if value}, currency)


def fetch_euro_rates(account_id: int) -> tuple[date, dict[str, Decimal]]:
    """Return the day of the latest rates of the European Central Bank, and the values of currencies in euros. Raise RatesUnavailable."""
    fetched = outbound.fetch("GET", EURO_RATES_URL, account_id=account_id, max_bytes=MAX_BODY_BYTES)
    try:
        response = asyncio.run(fetched)
        return read_euro_rates(response.body)
    except (outbound.OutboundError, ElementTree.ParseError, DefusedXmlException, ValueError, ArithmeticError) as error:
        raise RatesUnavailable from error


def read_euro_rates(document: bytes) -> tuple[date, dict[str, Decimal]]:
    """Return the day and the values in euros of the daily file. Raise ValueError, ArithmeticError or an error of the parser."""
    cubes = list(ElementTree.fromstring(document, forbid_dtd=True).findall(".//{*}Cube"))
    days = [date.fromisoformat(cube.attrib["time"]) for cube in cubes if "time" in cube.attrib]
    # The file has the units of each currency for one euro.
    units = {cube.attrib["currency"]: Decimal(cube.attrib["rate"]) for cube in cubes if "currency" in cube.attrib}
    if len(days) != 1 or not units or not all(rate.is_finite() and rate > 0 for rate in units.values()):
        raise ValueError("not the daily file of the European Central Bank")
    return days[0], {"EUR": Decimal(1)} | {code: 1 / rate for code, rate in units.items()}
