"""The formats of numbers, dates and yes or no, and the formats that fit all values of a column."""

from datetime import date, timedelta
from decimal import Decimal
from zoneinfo import ZoneInfo

from team.spreadsheets.sheets import write_sheet
from team.spreadsheets.values import (
    DATE_FORMATS,
    NUMBER_FORMATS,
    guess_date_format,
    guess_number_format,
    parse_boolean,
    parse_date,
    parse_datetime,
    parse_number,
)
from tests.support.tables import table

WARSAW = ZoneInfo("Europe/Warsaw")


def statistics_of(tmp_path, *values):
    return write_sheet(tmp_path / "x.jsonl", [[value] for value in ["Header", *values]], has_header=True).columns[0]


def fails(parse, *args):
    try:
        parse(*args)
    except ValueError:
        return True
    return False


@table(
    ("text", "format", "expected"),
    [
        ("1 234,50", "1 234,50", "1234.50"),
        ("1\u00a0234\u202f567,5", "1 234,50", "1234567.5"),
        ("1234,50 zł", "1 234,50", "1234.50"),
        ("1.234,50 €", "1.234,50", "1234.50"),
        ("$1,234.50", "1,234.50", "1234.50"),
        ("PLN 7", "1,234.50", "7"),
        ("1'234.50", "1'234.50", "1234.50"),
        ("1’234’567", "1'234.50", "1234567"),
        ("1 234.5", "1 234.50", "1234.5"),
        ("1.234", "1.234,50", "1234"),
        ("1.234", "1,234.50", "1.234"),
        ("(1 234,50)", "1 234,50", "-1234.50"),
        ("12-", "1,234.50", "-12"),
        ("\u22125", "1,234.50", "-5"),
        ("-$5", "1,234.50", "-5"),
        ("$ -5", "1,234.50", "-5"),
        ("23%", "1,234.50", "23"),
        (",5", "1 234,50", "0.5"),
        (" 007 ", "1,234.50", "7"),
        ("-0", "1,234.50", "0"),
    ],
)
def test_it_works(text, format, expected):
    assert str(parse_number(text, NUMBER_FORMATS[format])) == expected


@table("text", ["", "abc", "1,2,3", "12,34", "(5", "5)", "5 szt", "1e5", "1 234", "1..5", "0x10", "NaN", "1" * 101])
def test_it_rejects_other_numbers(text):
    assert fails(parse_number, text, NUMBER_FORMATS["1,234.50"])


@table(
    ("text", "format", "expected"),
    [
        ("2025-09-28", "YYYY-MM-DD", "2025-09-28T00:00:00+02:00"),
        ("2025-09-28T12:00:00Z", "YYYY-MM-DD", "2025-09-28T12:00:00+00:00"),
        ("2025-09-28 12:00:00.123456+05:30", "YYYY-MM-DD", "2025-09-28T12:00:00.123456+05:30"),
        ("2025-09-28 12:00:00 UTC", "YYYY-MM-DD", "2025-09-28T12:00:00+00:00"),
        ("2025/09/28 7:05", "YYYY/MM/DD", "2025-09-28T07:05:00+02:00"),
        ("28.09.2025", "DD.MM.YYYY", "2025-09-28T00:00:00+02:00"),
        ("1.2.25", "DD.MM.YYYY", "2025-02-01T00:00:00+01:00"),
        ("28-09-2025 23:59:59", "DD-MM-YYYY", "2025-09-28T23:59:59+02:00"),
        ("28/09/2025", "DD/MM/YYYY", "2025-09-28T00:00:00+02:00"),
        ("9/28/25 3:05 PM", "MM/DD/YYYY", "2025-09-28T15:05:00+02:00"),
        ("28 wrz 2025", "DD MMM YYYY", "2025-09-28T00:00:00+02:00"),
        ("3 października 2025", "DD MMM YYYY", "2025-10-03T00:00:00+02:00"),
        ("Sep 28, 2025, 12:15 a.m.", "MMM DD, YYYY", "2025-09-28T00:15:00+02:00"),
        ("1700000000", "unix", "2023-11-14T22:13:20+00:00"),
        ("1700000000123", "unix_ms", "2023-11-14T22:13:20.123000+00:00"),
        ("45928", "excel", "2025-09-28T00:00:00+02:00"),
        ("45928,5", "excel", "2025-09-28T12:00:00+02:00"),
    ],
)
def test_dates(text, format, expected):
    moment = parse_datetime(text, DATE_FORMATS[format], WARSAW)
    assert moment.isoformat() == expected
    assert parse_date(text, DATE_FORMATS[format]) == date.fromisoformat(expected[:10])


@table(
    ("text", "format"),
    [
        ("", "YYYY-MM-DD"),
        ("30.02.2025", "DD.MM.YYYY"),
        ("28.09.2025", "MM/DD/YYYY"),
        ("28/09/2025", "MM/DD/YYYY"),
        ("0000-01-01", "YYYY-MM-DD"),
        ("2025-09-28 24:00", "YYYY-MM-DD"),
        ("28 foo 2025", "DD MMM YYYY"),
        ("9/28/2025 13:00 PM", "MM/DD/YYYY"),
        ("2025-09-28 12:00+99:00", "YYYY-MM-DD"),
        ("123", "unix"),
        ("45928", "unix"),
    ],
)
def test_it_rejects_other_dates(text, format):
    assert fails(parse_datetime, text, DATE_FORMATS[format], WARSAW)


def test_booleans():
    yes = ["yes", "TAK", " true ", "Prawda", "1", "x", "X"]
    no = ["no", "Nie", "false", "FAŁSZ", "0"]
    assert [parse_boolean(text) for text in yes + no] == [True] * 7 + [False] * 5
    assert fails(parse_boolean, "maybe")


@table(
    ("values", "language", "format", "is_certain"),
    [
        (["1", "2500"], "pl", "1 234,50", True),
        (["1,5", "20"], "en", "1 234,50", True),
        (["1.234,5", "2"], "en", "1.234,50", True),
        (["1,234", "2,500"], "pl", "1 234,50", False),
        (["1,234", "2,500"], "en", "1,234.50", False),
        (["1,234", "2,500", "2,500.5"], "pl", "1,234.50", True),
        (["1'234.5"], "pl", "1'234.50", True),
        (["1", "a"], "pl", None, None),
        ([], "pl", None, None),
    ],
)
def test_it_guesses_the_format_of_numbers(values, language, format, is_certain, tmp_path):
    guess = guess_number_format(statistics_of(tmp_path, *values), language)
    assert (guess and guess.format.code, guess and guess.is_certain) == (format, is_certain)


@table(
    ("values", "language", "format", "is_certain"),
    [
        (["01/02/2025", "12/11/2025"], "en", "MM/DD/YYYY", False),
        (["01/02/2025", "12/11/2025"], "pl", "DD/MM/YYYY", False),
        (["01/02/2025", "13/11/2025"], "en", "DD/MM/YYYY", True),
        # February decides, too.
        (["01/02/2025", "02/12/2025", "02/29/2024"], "pl", "MM/DD/YYYY", True),
        (["2025-01-01", "2025-01-02 12:00"], "pl", "YYYY-MM-DD", True),
        (["1 sty 2025", "31 maja 2025"], "en", "DD MMM YYYY", True),
        (["1700000000"], "en", "unix", True),
        (["45928", "45929.5"], "en", "excel", True),
        (["2025-01-01", "soon"], "en", None, None),
    ],
)
def test_it_guesses_the_format_of_dates(values, language, format, is_certain, tmp_path):
    guess = guess_date_format(statistics_of(tmp_path, *values), language)
    assert (guess and guess.format.code, guess and guess.is_certain) == (format, is_certain)


def test_statistics_of_a_whole_column(tmp_path):
    """The first row that does not fit is found in any part of a long column."""
    days = [(date(2000, 1, 1) + timedelta(days=n % 9000)).strftime("%d/%m/%Y") for n in range(50_000)]
    statistics = statistics_of(tmp_path, *days)
    assert statistics.misfits["date:MM/DD/YYYY"] == ("13/01/2000", 14)
    assert (statistics.filled, len(statistics.distinct), statistics.more) == (50_000, 50, True)
    statistics = statistics_of(tmp_path, *map(str, range(45_000)), "1,5", *["7"] * 10_000, "x")
    assert statistics.misfits["integer"] == ("1,5", 45_002)
    assert statistics.misfits["number:1,234.50"] == ("1,5", 45_002)
    assert statistics.misfits["number:1 234,50"] == ("x", 55_003)
    assert statistics.misfits["boolean"] == ("2", 4)
    assert parse_number("1,5", NUMBER_FORMATS["1 234,50"]) == Decimal("1.5")
