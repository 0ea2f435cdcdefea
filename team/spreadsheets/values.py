"""Numbers, dates and yes or no, as programs write them. A column has one format, which `guess_number_format` and `guess_date_format` find.

    parse_number("1 234,50 zł", NUMBER_FORMATS["1 234,50"])     # Decimal("1234.50")
    parse_date("28.09.2025", DATE_FORMATS["DD.MM.YYYY"])        # date(2025, 9, 28)

This module and `sheets` import nothing of Django, because a process of its own uses them.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from decimal import Decimal
from functools import cached_property, lru_cache, partial
from typing import Generic, Protocol, TypeVar

MAX_VALUE_LENGTH = 100

# Numbers

# A sign or a code of a currency, or a percent sign.
UNIT = r"(?:[A-Z]{3}|%|[A-Z]{0,3}[$£€¥₣₩₪₫₴₹₺₽]|[Zz]ł|ZŁ|[Kk][Čč]|[Kk]r\.?|F[tr]|[Ll]ei)"
SPACES = " \N{NO-BREAK SPACE}\N{NARROW NO-BREAK SPACE}\N{THIN SPACE}\N{FIGURE SPACE}"
APOSTROPHES = "'\N{RIGHT SINGLE QUOTATION MARK}"
MINUS = "\N{MINUS SIGN}\N{EN DASH}-"
_GROUPING = str.maketrans("", "", SPACES + APOSTROPHES)


@dataclass(frozen=True)
class NumberFormat:
    """The signs of a number. Each format also reads numbers without grouping."""

    code: str
    decimal: str
    # The characters that may group thousands.
    group: str

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        point = re.escape(self.decimal)
        number = rf"(?:[0-9]{{1,3}}(?:[{self.group}][0-9]{{3}})+|[0-9]+)(?:{point}[0-9]*)?|{point}[0-9]+"
        space, sign = f"[{SPACES}]?", f"[+{MINUS}]?"
        # The sign may stand before or after a leading unit. Brackets or a minus at the end stand for a negative number.
        return re.compile(
            rf"(?P<open>\()?{sign}{space}(?:{UNIT}{space})?{sign}{space}(?P<number>{number}){space}(?:{UNIT})?{space}[{MINUS}]?(?(open)\))"
        )


NUMBER_FORMATS = {
    code: NumberFormat(code, decimal, group)
    for code, decimal, group in (
        ("1 234,50", ",", SPACES),
        ("1.234,50", ",", "."),
        ("1,234.50", ".", ","),
        ("1 234.50", ".", SPACES),
        ("1'234.50", ".", APOSTROPHES),
    )
}


def parse_number(text: str, format: NumberFormat) -> Decimal:
    """Return the number that a text means. Raise ValueError for another text. A currency and a percent sign are left out."""
    text = text.strip()
    match = format.pattern.fullmatch(text) if len(text) <= MAX_VALUE_LENGTH else None
    if match is None:
        raise ValueError(text)
    digits = match["number"].translate(_GROUPING)
    if format.group in ".,":
        digits = digits.replace(format.group, "")
    number = Decimal(digits.replace(format.decimal, "."))
    is_negative = bool(match["open"]) or any(sign in text for sign in MINUS)
    return -number if is_negative and number else number


# Dates

_MONTHS = (
    "jan january sty stycznia styczeń|feb february lut lutego luty|mar march marca marzec|apr april kwi kwietnia kwiecień|"
    "may maj maja|jun june cze czerwca czerwiec|jul july lip lipca lipiec|aug august sie sierpnia sierpień|"
    "sep sept september wrz września wrzesień|oct october paź października październik|nov november lis listopada listopad|"
    "dec december gru grudnia grudzień"
)
MONTHS = {name: number for number, names in enumerate(_MONTHS.split("|"), 1) for name in names.split()}
_YEAR, _SHORT_YEAR, _DAY = r"(?P<y>\d{4})", r"(?P<y>\d{4}|\d\d)", r"(?P<d>\d\d?)"
# A number or a name: the pattern of each format has both groups.
_MONTH = r"(?P<m>\d\d?)(?P<n>)"
_NAME = r"(?P<m>)(?P<n>[^\W\d_]{3,12})\.?"
_TIME = (
    r"(?:(?:T|,? )(?P<hour>[01]?\d|2[0-3]):(?P<minute>[0-5]\d)(?::(?P<second>[0-5]\d)(?:[.,](?P<fraction>\d{1,9}))?)?"
    r"(?: ?(?P<half>[AP])\.?M\.?)? ?(?P<zone>Z|UTC|GMT|[+-]\d\d(?::?\d\d)?)?)?"
)


@dataclass(frozen=True)
class DateFormat:
    code: str
    pattern: re.Pattern[str] = field(compare=False)
    # For a number: the time at 0, and the length of 1. Excel has no time zone.
    epoch: datetime | None = None
    unit: timedelta = timedelta()

    def match(self, text: str) -> re.Match[str]:
        text = text.strip()
        match = self.pattern.fullmatch(text) if len(text) <= MAX_VALUE_LENGTH else None
        if match is None:
            raise ValueError(text)
        return match


@lru_cache(maxsize=10_000)
def _make_date(year: str, month: str | None, name: str | None, day: str) -> date:
    # As POSIX reads years of two digits.
    century = 0 if len(year) == 4 else 1900 if year >= "69" else 2000
    return date(century + int(year), int(month or 0) or MONTHS.get((name or "").casefold(), 0), int(day))


def _date_formats() -> dict[str, DateFormat]:
    orders = {
        "YYYY-MM-DD": rf"{_YEAR}-{_MONTH}-{_DAY}",
        "YYYY/MM/DD": rf"{_YEAR}/{_MONTH}/{_DAY}",
        "DD.MM.YYYY": rf"{_DAY}\.{_MONTH}\.{_SHORT_YEAR}",
        "DD-MM-YYYY": rf"{_DAY}-{_MONTH}-{_YEAR}",
        "DD/MM/YYYY": rf"{_DAY}/{_MONTH}/{_SHORT_YEAR}",
        "MM/DD/YYYY": rf"{_MONTH}/{_DAY}/{_SHORT_YEAR}",
        "DD MMM YYYY": rf"{_DAY}\.?[ -]{_NAME}[ -]{_YEAR}",
        "MMM DD, YYYY": rf"{_NAME} {_DAY},? {_YEAR}",
    }
    formats = [DateFormat(code, re.compile(order + _TIME, re.IGNORECASE)) for code, order in orders.items()]
    unix, excel = datetime(1970, 1, 1, tzinfo=UTC), datetime(1899, 12, 30)  # noqa: DTZ001
    # Times from 1973 to 2128 for Unix, from 1954 to 2119 for Excel.
    formats.append(DateFormat("unix", re.compile(r"[1-4]?[0-9]{9}"), unix, timedelta(seconds=1)))
    formats.append(DateFormat("unix_ms", re.compile(r"[1-4]?[0-9]{12}"), unix, timedelta(milliseconds=1)))
    formats.append(DateFormat("excel", re.compile(r"[2-7][0-9]{4}(?:[.,][0-9]+)?"), excel, timedelta(days=1)))
    return {format.code: format for format in formats}


DATE_FORMATS = _date_formats()


def parse_date(text: str, format: DateFormat) -> date:
    """Return the day that a text means. Raise ValueError for another text. A time of day is left out."""
    if format.epoch:
        return parse_datetime(text, format, UTC).date()
    return _make_date(*format.match(text).group("y", "m", "n", "d"))


def parse_datetime(text: str, format: DateFormat, zone: tzinfo) -> datetime:
    """Return the time that a text means: midnight if it has none, and in `zone` if it names no time zone. Raise ValueError for another text."""
    match = format.match(text)
    if format.epoch:
        milliseconds = round(float(match[0].replace(",", ".")) * format.unit / timedelta(milliseconds=1))
        moment = format.epoch + timedelta(milliseconds=milliseconds)
        return moment if moment.tzinfo else moment.replace(tzinfo=zone)
    day = parse_date(text, format)
    hour, minute, second, fraction, half, offset = match.group("hour", "minute", "second", "fraction", "half", "zone")
    hours = int(hour or 0)
    if half:
        if not 1 <= hours <= 12:
            raise ValueError(text)
        hours = hours % 12 + 12 * (half in "Pp")
    if offset:
        digits = re.sub(r"\D", "", offset).ljust(4, "0")
        zone = timezone((-1 if offset[0] == "-" else 1) * timedelta(hours=int(digits[:2]), minutes=int(digits[2:])))
    micros = int((fraction or "")[:6].ljust(6, "0"))
    return datetime(day.year, day.month, day.day, hours, int(minute or 0), int(second or 0), micros, zone)


# Yes or no

BOOLEANS = dict.fromkeys(("yes", "true", "tak", "prawda", "y", "t", "1", "x", "✓"), True)
BOOLEANS |= dict.fromkeys(("no", "false", "nie", "fałsz", "falsz", "n", "f", "0"), False)


def parse_boolean(text: str) -> bool:
    """Return what a word for yes or no means, in English or Polish. Raise ValueError for another text."""
    try:
        return BOOLEANS[text.strip().casefold()]
    except KeyError:
        raise ValueError(text) from None


# What all values of a column may be

EMAIL = re.compile(r"[^@\s,;<>\"()]{1,64}@[^@\s,;<>\"()]+\.[^@\s.,;<>\"()]+")
PHONE = re.compile(r"\+?(?:[\s()./\-\u2011]{0,3}[0-9]){6,17}\)?(?: ?(?:ext|wew|x)\.? ?[0-9]{1,6})?", re.IGNORECASE)
URL = re.compile(r"(?:https?://|www\.)\S+|[\w-]+(?:\.[\w-]+)*\.[a-z]{2,}(?:/\S*)?", re.IGNORECASE)


def _has_date(text: str, *, format: DateFormat, with_time: bool) -> bool:
    match = format.pattern.fullmatch(text) if len(text) <= MAX_VALUE_LENGTH else None
    if match is None:
        return False
    if format.epoch:
        return with_time or (format.epoch.tzinfo is None and text.isdecimal())
    try:
        return (with_time or match["hour"] is None) and bool(_make_date(*match.group("y", "m", "n", "d")))
    except ValueError:
        return False


# What a column may be, by name. `ColumnStatistics.misfits` has those that do not fit all values.
VALUE_TYPES: dict[str, Callable[[str], object]] = {
    "integer": re.compile(r"-?(?:0|[1-9][0-9]{0,17})").fullmatch,
    **{f"number:{code}": format.pattern.fullmatch for code, format in NUMBER_FORMATS.items()},
    **{f"date:{code}": partial(_has_date, format=format, with_time=False) for code, format in DATE_FORMATS.items()},
    **{f"datetime:{code}": partial(_has_date, format=format, with_time=True) for code, format in DATE_FORMATS.items()},
    "boolean": lambda text: text.casefold() in BOOLEANS,
    "email": EMAIL.fullmatch,
    "phone": PHONE.fullmatch,
    "url": URL.fullmatch,
}
# A value of a narrower type is also one of the other type.
NARROWER_TYPES = {f"number:{code}": "integer" for code in NUMBER_FORMATS}
NARROWER_TYPES |= {f"datetime:{code}": f"date:{code}" for code in DATE_FORMATS}

# Guesses


class FittingTypes(Protocol):
    """The statistics of a column (`sheets.ColumnStatistics`)."""

    filled: int

    def fits(self, value_type: str) -> bool: ...


AnyFormat = TypeVar("AnyFormat", NumberFormat, DateFormat)


@dataclass(frozen=True)
class Guess(Generic[AnyFormat]):
    format: AnyFormat
    # Whether all formats that fit give the same values.
    is_certain: bool


def guess_number_format(statistics: FittingTypes, language: str = "en") -> Guess[NumberFormat] | None:
    """Return the format that fits all values of a column; None if there is none. The language decides between several formats."""
    decimal = "." if language.startswith("en") else ","
    formats = _fitting(NUMBER_FORMATS.values(), statistics, ["number"], lambda each: each.decimal != decimal)
    if not formats:
        return None
    # Formats with the same decimal sign that all fit differ in nothing that occurs.
    return Guess(formats[0], statistics.fits("integer") or len({format.decimal for format in formats}) == 1)


def guess_date_format(statistics: FittingTypes, language: str = "en") -> Guess[DateFormat] | None:
    """Return the format of dates, with or without times, that fits all values of a column; None if there is none."""
    first = "MM/DD/YYYY" if language in {"en", "en-us"} else "DD/MM/YYYY"
    formats = _fitting(DATE_FORMATS.values(), statistics, ["date", "datetime"], lambda each: each.code != first)
    return Guess(formats[0], len(formats) == 1) if formats else None


def _fitting(
    formats: Iterable[AnyFormat],
    statistics: FittingTypes,
    kinds: list[str],
    key: Callable[[AnyFormat], bool],
) -> list[AnyFormat]:
    if not statistics.filled:
        return []
    fitting = [format for format in formats if any(statistics.fits(f"{kind}:{format.code}") for kind in kinds)]
    return sorted(fitting, key=key)
