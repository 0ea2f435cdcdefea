"""Text that XML 1.0 can carry, which is the text that the service accepts."""

import codecs
import re

# XML 1.0, section 2.2: everything but these is a Char. Lone surrogates are in the second range.
NON_XML_CHARACTER = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


# Encodings that Python has for itself alone.
_PYTHONS_OWN = {"idna", "punycode", "raw-unicode-escape", "undefined", "unicode-escape"}


def text_encoding(name: str) -> str | None:
    """Return Python's name of a text encoding that a client names; None if there is no such encoding."""
    try:
        codec = codecs.lookup(name)
    except (LookupError, ValueError):
        return None
    return None if not codec._is_text_encoding or codec.name in _PYTHONS_OWN else codec.name


def is_xml_text(text: str) -> bool:
    return NON_XML_CHARACTER.search(text) is None


def replace_non_xml(text: str) -> str:
    """`text` with what XML cannot carry replaced; for what is only repeated or noted, never for data."""
    return NON_XML_CHARACTER.sub("\ufffd", text)


def escape(text: str) -> str:
    """Text as XML character data. A carriage return is written as a reference: a parser would read it as a line feed."""
    if "&" in text:
        text = text.replace("&", "&amp;")
    if "<" in text:
        text = text.replace("<", "&lt;")
    if ">" in text:
        text = text.replace(">", "&gt;")
    if "\r" in text:
        text = text.replace("\r", "&#13;")
    return text
