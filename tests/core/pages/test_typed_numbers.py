"""Numbers as people type them, in English and Polish."""

from decimal import Decimal

from django import forms
from django.utils.translation import override

from core.numbers import CURRENCIES, AmbiguousNumber, InvalidNumber, decimal_places, parse_number, plain_text
from core.pages.formatting import amount_text, number_text
from core.pages.number_fields import TypedNumberField, WholeNumberField
from tests.support.tables import table

SPACES = " \N{NO-BREAK SPACE}\N{NARROW NO-BREAK SPACE}\N{THIN SPACE}\N{FIGURE SPACE}"

# A text, and the number that it means in both languages.
ALIKE = [
    ("0", "0"),
    ("7", "7"),
    ("-7.5", "-7.5"),
    ("\N{MINUS SIGN}7,5", "-7.5"),
    ("12,5", "12.5"),
    ("12.5", "12.5"),
    (".5", "0.5"),
    (",25", "0.25"),
    ("1234,5678", "1234.5678"),
    ("1,234.50", "1234.50"),
    ("1.234,50", "1234.50"),
    ("1.234,567", "1234.567"),
    ("1,234,567", "1234567"),
    ("1.234.567", "1234567"),
    ("1,234,567.8", "1234567.8"),
    ("1 234", "1234"),
    ("1 234,567", "1234.567"),
    ("1'234'567.80", "1234567.80"),
    ("1\N{RIGHT SINGLE QUOTATION MARK}234,8", "1234.8"),
    *((f"1{space}234{space}567,50", "1234567.50") for space in SPACES),
    ("\N{LEFT-TO-RIGHT MARK}12,5", "12.5"),
]
# A text, and what it means in English and in Polish; "7000 or 7.000" for a question.
DIFFERENT = [
    ("7,000", "7000", "7000 or 7.000"),
    ("-12,500", "-12500", "-12500 or -12.500"),
    ("1.500", "1500 or 1.500", "1500"),
    ("999,999", "999999", "999999 or 999.999"),
    # The first group of a number has one to three digits, and no zero at its beginning.
    ("0.500", "0.500", "500 or 0.500"),
    ("0,500", "500 or 0.500", "0.500"),
    ("12345.678", "12345.678", "12345678 or 12345.678"),
]
AMOUNTS = [
    ("1 234,50 zł", "1234.50", "PLN"),
    ("€ 15", "15", "EUR"),
    ("€15", "15", "EUR"),
    ("-€15", "-15", "EUR"),
    ("€-15", "-15", "EUR"),
    ("15 EUR", "15", "EUR"),
    ("pln 15", "15", "PLN"),
    ("$1,234.50", "1234.50", "USD"),
    ("1 234 Kč", "1234", "CZK"),
    ("1'234.50 CHF", "1234.50", "CHF"),
    ("Fr. 20", "20", "CHF"),
    ("500 kr", "500", "SEK"),
    ("¥12,345.0", "12345.0", "JPY"),
]
INVALID = [
    "",
    "x",
    "1e5",
    "NaN",
    "Infinity",
    "--5",
    "5-",
    "5.",
    "12 34",
    "1 2345",
    "1,23,456",
    "1,2,3",
    "1.2.3",
    "1,234.567.8",
    "1.234'567,8.9",
    "1,234 567",
    "5,-",
    "12,5%",
    "15 zł EUR",
    "EUR 15 EUR",
    "15 abc",
    "0x10",
    "1_000",
    "2026-01-01",
    "1/2",
    "١٢",
    "１２",
    "1²",
    "½",
    "1" * 61,
]


def meaning(text: str, language: str, currency: str = "") -> str:
    try:
        return str(parse_number(text, language, currency=currency).value)
    except AmbiguousNumber as caught:
        return " or ".join(map(str, caught.readings))
    except InvalidNumber:
        return "invalid"


@table(("text", "number"), ALIKE)
def test_it_works(text, number):
    assert [meaning(text, "en"), meaning(text, "pl")] == [number, number]


@table(("text", "english", "polish"), DIFFERENT)
def test_a_separator_before_three_digits(text, english, polish):
    assert [meaning(text, "en"), meaning(text, "pl")] == [english, polish]


@table(("text", "number", "currency"), AMOUNTS)
def test_amounts_with_a_currency(text, number, currency):
    for language in ("en", "pl"):
        found = parse_number(text, language)
        assert (str(found.value), found.currency) == (number, currency)


@table(
    ("text", "expected", "found"),
    [("$ 5", "CAD", "CAD"), ("5 kr", "NOK", "NOK"), ("5 kr", "EUR", "SEK"), ("5", "PLN", ""), ("5 €", "PLN", "EUR")],
)
def test_a_symbol_of_several_currencies_means_the_expected_one(text, expected, found):
    assert parse_number(text, "en", currency=expected).currency == found


def test_three_digits_are_decimals_in_a_currency_that_has_three():
    assert meaning("1.500", "en", "KWD") == meaning("1.500 KWD", "en") == meaning("1,500", "pl", "KWD") == "1.500"
    assert meaning("1.500", "en", "EUR") == meaning("1.500 EUR", "en") == "1500 or 1.500"


@table("text", INVALID)
def test_it_rejects_other_texts(text):
    assert [meaning(text, "en"), meaning(text, "pl")] == ["invalid", "invalid"]


VALUES = ["0", "0.005", "-0.5", "1.005", "999.999", "1234", "-1234.5", "12345", "12345.678", "1234567.8", "1.234567"]


@table("language", ["en", "pl"])
@table("value", VALUES)
def test_what_a_page_shows_is_read_back(language, value):
    number = Decimal(value)
    with override(language):
        texts = [number_text(number), number_text(number, is_grouped=False), plain_text(number)]
        assert {parse_number(text, language).value for text in texts} == {number}
        for currency in ("EUR", "JPY", "KWD", "PLN"):
            shown = f"{amount_text(number, currency)} {currency}"
            assert parse_number(shown, language).value == number


@table("value", VALUES)
def test_a_plain_number_means_the_same_in_every_language(value):
    assert {parse_number(plain_text(Decimal(value)), language).value for language in ("en", "pl")} == {Decimal(value)}


def test_every_currency_has_decimal_places():
    assert {decimal_places(code) for code in CURRENCIES} == {0, 2, 3, 4}
    assert [decimal_places(code) for code in ("JPY", "EUR", "KWD", "CLF")] == [0, 2, 3, 4]


# Fields of forms


class NumbersForm(forms.Form):
    price = TypedNumberField(currency="EUR", has_own_currency=True)
    budget = TypedNumberField(currency="EUR", required=False)
    size = TypedNumberField(required=False)
    days = WholeNumberField(min_value=1, max_value=5000, required=False)


def errors_of(**data) -> dict[str, list[str]]:
    return dict(NumbersForm({"price": "1", **data}).errors)


def test_the_fields_of_a_form():
    form = NumbersForm({"price": "15 zł", "budget": "€ 1,500.50", "size": "12,5", "days": "1,200"})
    assert form.is_valid()
    price, budget, size = (form.cleaned_data[name] for name in ("price", "budget", "size"))
    assert (price.text, price.currency, budget.text, size.text, form.cleaned_data["days"]) == (
        "15",
        "PLN",
        "1500.50",
        "12.5",
        1200,
    )


def test_a_question_is_answered_by_a_choice():
    with override("pl"):
        form = NumbersForm({"price": "7,000"})
        html = str(form["price"])
        assert 'value="7,000=7000"' in html
        assert 'value="7,000=7"' in html
        assert "checked" not in html
        assert list(form.errors) == ["price"]
        for reading in ("7000", "7"):
            answered = NumbersForm({"price": "7,000", "price-meant": f"7,000={reading}"})
            assert answered.is_valid()
            assert answered.cleaned_data["price"].value == Decimal(reading)
            assert "radio" not in str(answered["price"])
        # The answer belongs to another text.
        assert list(NumbersForm({"price": "8,000", "price-meant": "7,000=7000"}).errors) == ["price"]


@table(
    ("data", "errors"),
    [
        ({"price": "x"}, {"price": ["Is not a number"]}),
        ({"price": "1.500"}, {"price": ["Can be read in two ways: choose what you mean"]}),
        ({"budget": "15 zł"}, {"budget": ["Is an amount in EUR"]}),
        ({"size": "15 EUR"}, {"size": ["Is not a number"]}),
        ({"days": "1.5"}, {"days": ["Enter a whole number."]}),
        ({"days": "7.000"}, {"days": ["Can be read in two ways: choose what you mean"]}),
        ({"days": "7,000"}, {"days": ["Ensure this value is less than or equal to 5000."]}),
        ({"days": "1e3"}, {"days": ["Enter a whole number."]}),
    ],
)
def test_it_rejects_other_values_in_forms(data, errors):
    assert errors_of(**data) == errors
