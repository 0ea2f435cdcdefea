"""Texts without blanks and invisible characters at their ends: names, e-mail addresses, telephone numbers, codes.

A model declares such a column as a `TrimmedCharField`. Serializers trim the input of these columns, and every write trims them again.
"""

import contextlib
import unicodedata

import idna
from django.db import models

from core.db.fields import PlainField
from core.db.tenancy import FoldedField, fold

# Invisible characters outside of the category Cf (Default_Ignorable_Code_Point of Unicode 15.1). Names may have them, because emojis
# contain some of them, and none of them changes the direction of a text.
IGNORABLE = {0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x3164, 0xFFA0}.union(
    range(0x180B, 0x1810), range(0xFE00, 0xFE10), range(0xE0100, 0xE01F0)
)
# Letters and symbols that fonts draw without any ink: the empty Braille pattern, and the empty head of a musical note.
EMPTY_GLYPHS = {0x2800, 0x1D159}
# The characters of the category Cf that are visible (Prepended_Concatenation_Mark).
VISIBLE_FORMATS = {0x06DD, 0x070F, 0x08E2, 0x110BD, 0x110CD}.union(range(0x0600, 0x0606), range(0x0890, 0x0892))
# Characters of the category Cf that end the emoji of a flag.
FLAG_TAGS = range(0xE0020, 0xE0080)


def is_format(char: str) -> bool:
    """Return whether the character is an invisible format character, such as U+200B."""
    return unicodedata.category(char) == "Cf" and ord(char) not in VISIBLE_FORMATS


def trim(text: str) -> str:
    """Return the text without white space and format characters at its ends."""
    if text.isascii():
        return text.strip()
    start, end = 0, len(text)
    while start < end and _is_trimmed(text[start]):
        start += 1
    while start < end and _is_trimmed(text[end - 1]):
        end -= 1
    return text[start:end]


def _is_trimmed(char: str) -> bool:
    return char.isspace() or (is_format(char) and ord(char) not in FLAG_TAGS)


def is_blank(text: str) -> bool:
    """Return whether the text has no visible character."""
    if text.isascii():
        return not text.strip()
    return all(
        char.isspace() or is_format(char) or ord(char) in IGNORABLE or ord(char) in EMPTY_GLYPHS for char in text
    )


def fold_email(text: str) -> str:
    """Return the form in which e-mail addresses are compared: trimmed, in NFC, without case, the domain in ASCII (IDNA)."""
    name, at, domain = unicodedata.normalize("NFC", trim(text)).rpartition("@")
    if not domain.isascii():
        # What is not a domain is compared as it is.
        with contextlib.suppress(idna.IDNAError):
            domain = idna.encode(domain, uts46=True).decode()
    return fold(name) + at + fold(domain)


def name_key(name: str) -> str:
    """Return the form in which names are compared: trimmed, without case, and with single blanks."""
    return fold(" ".join(trim(name).split()))


class TrimmedCharField(PlainField, models.CharField):
    """A text that is stored without white space and format characters at its ends."""

    @staticmethod
    def normalize(text: str) -> str:
        """Return the text as it is stored."""
        return trim(text)

    def pre_save(self, model_instance: models.Model, add: bool) -> object:
        value = getattr(model_instance, self.attname)
        if isinstance(value, str) and value != (normalized := self.normalize(value)):
            value = normalized
            setattr(model_instance, self.attname, value)
        return value


class CurrencyCodeField(TrimmedCharField):
    """The code of a currency, in capitals."""

    @staticmethod
    def normalize(text: str) -> str:
        return trim(text).upper()


class EmailKeyField(FoldedField):
    """The form in which the e-mail address in another field is compared."""

    derive = staticmethod(fold_email)


class NameKeyField(FoldedField):
    """The name of a row as it is compared with the other names of the account, which must differ from it."""

    @staticmethod
    def derive(text: str) -> str:
        return name_key(text)
