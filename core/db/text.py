"""Text that XML 1.0 allows. The service accepts no other characters, because the responses of the Forum API are XML."""

import codecs
import re

# Every character that XML 1.0, section 2.2, does not list as a Char, including lone surrogates.
NON_XML_CHARACTER = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

# Codecs of Python that are not character sets of the web.
_PYTHON_ONLY_CODECS = {"idna", "punycode", "raw-unicode-escape", "undefined", "unicode-escape"}


def text_encoding(name: str) -> str | None:
    """Return Python's name for a text encoding, or None if the encoding is unknown."""
    try:
        codec = codecs.lookup(name)
    except (LookupError, ValueError):
        return None
    # The attribute tells text encodings from codecs such as `base64`; Python has no public name for it.
    return None if not codec._is_text_encoding or codec.name in _PYTHON_ONLY_CODECS else codec.name


def is_xml_text(text: str) -> bool:
    """Return whether XML allows all characters of `text`."""
    return NON_XML_CHARACTER.search(text) is None


def replace_non_xml(text: str) -> str:
    """Return `text` with U+FFFD in the place of characters that XML does not allow.

    Use it for messages, logs and search texts, never for data that is stored as the user's own.
    """
    return NON_XML_CHARACTER.sub("\ufffd", text)


def escape(text: str) -> str:
    """Return `text` as XML character data. A carriage return becomes a reference, because a parser would read it as a line feed."""
    if "&" in text:
        text = text.replace("&", "&amp;")
    if "<" in text:
        text = text.replace("<", "&lt;")
    if ">" in text:
        text = text.replace(">", "&gt;")
    if "\r" in text:
        text = text.replace("\r", "&#13;")
    return text
