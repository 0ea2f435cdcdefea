"""Numbers as people read them, in English and Polish."""

from decimal import Decimal

from django.utils.translation import override

from core.pages.formatting import amount_text, number_text
from tests.support.tables import table

NBSP = "\N{NO-BREAK SPACE}"
NUMBERS = [
    (0, None, "0", "0"),
    (999, None, "999", "999"),
    (1234, None, "1,234", "1234"),
    (-1234, None, "-1,234", "-1234"),
    (12345, None, "12,345", f"12{NBSP}345"),
    (Decimal("1E+6"), None, "1,000,000", f"1{NBSP}000{NBSP}000"),
    (Decimal("12000.500000"), None, "12,000.5", f"12{NBSP}000,5"),
    (0.1, None, "0.1", "0,1"),
    (Decimal("0.005"), 2, "0.01", "0,01"),
    (Decimal("2345.678"), 2, "2,345.68", "2345,68"),
    (Decimal("999.5"), 0, "1,000", "1000"),
    (Decimal("-9999.5"), 0, "-10,000", f"-10{NBSP}000"),
]


@table(("value", "places", "english", "polish"), NUMBERS)
def test_it_works(value, places, english, polish):
    with override("en"):
        assert number_text(value, places) == english
    with override("pl"):
        assert number_text(value, places) == polish


def test_a_number_for_an_input_is_not_grouped():
    with override("en"):
        assert number_text(Decimal("12000.5"), is_grouped=False) == "12000.5"
    with override("pl"):
        assert number_text(Decimal("12000.5"), is_grouped=False) == "12000,5"


AMOUNTS = [
    ("1200", "EUR", "1,200.00", "1200,00"),
    ("12345", "JPY", "12,345", f"12{NBSP}345"),
    ("1000", "HUF", "1,000.00", "1000,00"),
    ("1", "KWD", "1.000", "1,000"),
    ("1.234", "KWD", "1.234", "1,234"),
    ("0", "EUR", "0.00", "0,00"),
    # An amount with more decimal places is not rounded.
    ("12.5", "JPY", "12.50", "12,50"),
    ("0.005", "EUR", "0.005", "0,005"),
    ("1.005", "EUR", "1.0050", "1,0050"),
    ("-1.2345", "KWD", "-1.2345", "-1,2345"),
]


@table(("value", "currency", "english", "polish"), AMOUNTS)
def test_amounts_have_the_decimal_places_of_their_currency(value, currency, english, polish):
    with override("en"):
        assert amount_text(Decimal(value), currency) == english
    with override("pl"):
        assert amount_text(Decimal(value), currency) == polish


def test_estimates_are_rounded():
    with override("en"):
        found = [amount_text(Decimal("12345.6789"), each, is_rounded=True) for each in ("EUR", "JPY", "KWD")]
    assert found == ["12,345.68", "12,346", "12,345.679"]
