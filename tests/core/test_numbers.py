"""Numbers as people read them, in English and Polish."""

from decimal import Decimal

import pytest
from django.utils.translation import override

from core.pages.numbers import amount_text, number_text

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


@pytest.mark.parametrize(("value", "places", "english", "polish"), NUMBERS)
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


def test_amounts_have_cents_unless_they_are_whole():
    with override("en"):
        assert [amount_text(Decimal(text)) for text in ("1200", "1200.5", "0.126")] == ["1,200", "1,200.50", "0.13"]
