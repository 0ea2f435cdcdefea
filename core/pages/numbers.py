"""Numbers as people read them, in the format of the active language."""

from decimal import ROUND_HALF_UP, Decimal
from functools import lru_cache

from django.utils import formats
from django.utils.translation import get_language

# Languages that separate thousands only in numbers of five digits or more (`minimumGroupingDigits` of CLDR is 2).
LANGUAGES_GROUPING_FROM_FIVE_DIGITS = frozenset({"pl"})


def number_text(value: int | float | Decimal, places: int | None = None, *, is_grouped: bool = True) -> str:
    """Return a number, rounded to `places` decimal places. Without `places`, it is exact and has no zeros at its end.

    With `is_grouped`, thousands are separated as the language does it.
    """
    return _number_text(str(value), places, is_grouped, get_language() or "")


@lru_cache(maxsize=5_000)
def _number_text(value: str, places: int | None, is_grouped: bool, language: str) -> str:
    number = Decimal(value)
    number = number.normalize() if places is None else number.quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP)
    text = format(number, "f")
    whole, _point, decimals = text.removeprefix("-").partition(".")
    is_long = len(whole) > 4 or language.partition("-")[0] not in LANGUAGES_GROUPING_FROM_FIVE_DIGITS
    return formats.number_format(text, len(decimals), use_l10n=True, force_grouping=is_grouped and is_long)


def amount_text(value: int | float | Decimal) -> str:
    """Return an amount of money: with two decimal places, or with none if it is whole."""
    return number_text(value, 0 if value == int(value) else 2)
