"""Form fields for numbers and amounts as people type them, and the question about a number with two readings.

The question is a radio button for each reading below the input. Its value is the text that was asked about and the chosen reading, so an
answer has no effect after the text was changed.
"""

from collections.abc import Mapping
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.forms.renderers import BaseRenderer
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import get_language
from django.utils.translation import gettext_lazy as _

from core.numbers import AmbiguousNumber, InvalidNumber, TypedNumber, parse_number, plain_text
from core.pages.formatting import number_text

NOT_A_NUMBER = _("Is not a number")
TWO_READINGS = _("Can be read in two ways: choose what you mean")
QUESTION = _("What do you mean by “%(text)s”?")


def read_typed(text: str, *, currency: str = "") -> TypedNumber:
    """Return the number that a text means in the active language. Raise InvalidNumber, or AmbiguousNumber."""
    return parse_number(text, get_language() or "en", currency=currency)


def answered_text(data: Mapping[str, Any], name: str) -> str | None:
    """Return the text of an input, or the reading of it that the user has chosen."""
    text: str | None = data.get(name)
    asked, _separator, reading = (data.get(f"{name}-meant") or "").rpartition("=")
    return reading if text and reading and asked == text else text


def number_question(name: str, text: str, id: str, *, currency: str = "") -> SafeString:
    """Return the radio buttons for a text with two readings, and nothing for any other text."""
    try:
        read_typed(text, currency=currency)
    except AmbiguousNumber as caught:
        readings = [
            (f"{id}-meant-{n}", f"{name}-meant", f"{text}={plain_text(reading)}", number_text(reading))
            for n, reading in enumerate(caught.readings)
        ]
        radio = '<div><label for="{0}"><input type="radio" id="{0}" name="{1}" value="{2}"> {3}</label></div>'
        legend, labels = QUESTION % {"text": text}, format_html_join("", radio, readings)
        return format_html("<fieldset><legend>{}</legend><div>{}</div></fieldset>", legend, labels)
    except InvalidNumber:
        pass
    return SafeString()


class TypedNumberInput(forms.TextInput):
    """An input for a number in the format of the active language, with the question if its number has two readings."""

    currency = ""

    def value_from_datadict(self, data: Mapping[str, object], files: object, name: str) -> object:
        return answered_text(data, name)

    def render(
        self, name: str, value: object, attrs: dict[str, Any] | None = None, renderer: BaseRenderer | None = None
    ) -> SafeString:
        html = super().render(name, value, attrs, renderer)
        question = number_question(name, str(value or ""), (attrs or {}).get("id", name), currency=self.currency)
        return format_html("{}{}", html, question)


def clean_number(field: forms.Field, value: object, *, invalid_code: str, currency: str = "") -> TypedNumber | None:
    """Return the number that was typed into a field, or None if it is blank. Raise ValidationError with a message of the field."""
    text = str(value or "").strip()
    try:
        return read_typed(text, currency=currency) if text else None
    except AmbiguousNumber:
        raise ValidationError(field.error_messages["ambiguous"], code="ambiguous") from None
    except InvalidNumber:
        raise ValidationError(field.error_messages[invalid_code], code=invalid_code) from None


class TypedNumberField(forms.Field):
    """A number. The value of the form is a `TypedNumber`, or None.

    `currency` is the currency that an amount has if the user types none. The user may type another one if the amount `has_own_currency`.
    A number that is no amount has no currency.
    """

    widget = TypedNumberInput
    default_error_messages = {
        "number": NOT_A_NUMBER,
        "ambiguous": TWO_READINGS,
        "currency": _("Is an amount in %(currency)s"),
    }

    def __init__(self, *, currency: str = "", has_own_currency: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.has_own_currency = has_own_currency
        self.set_currency(currency)
        self.widget.attrs.setdefault("inputmode", "decimal")
        self.widget.attrs.setdefault("autocomplete", "off")

    def set_currency(self, currency: str) -> None:
        self.currency = self.widget.currency = currency

    def to_python(self, value: object) -> TypedNumber | None:
        number = clean_number(self, value, invalid_code="number", currency=self.currency)
        if number is None:
            return None
        if number.currency and not self.currency:
            raise ValidationError(self.error_messages["number"], code="number")
        if number.currency not in ("", self.currency) and not self.has_own_currency:
            params = {"currency": self.currency}
            raise ValidationError(self.error_messages["currency"], code="currency", params=params)
        return number


class WholeNumberField(forms.IntegerField):
    """A whole number within limits, in the format of the active language."""

    widget = TypedNumberInput
    default_error_messages = {"ambiguous": TWO_READINGS}

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.widget.attrs.setdefault("inputmode", "numeric")

    def to_python(self, value: object) -> int | None:
        number = clean_number(self, value, invalid_code="invalid")
        if number is None:
            return None
        if number.currency or number.value != int(number.value):
            raise ValidationError(self.error_messages["invalid"], code="invalid")
        return int(number.value)
