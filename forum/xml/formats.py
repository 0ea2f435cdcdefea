"""XML as Rails conventions have it, read into plain values and written from finished documents."""

import codecs
import re
from xml.etree.ElementTree import ParseError as MalformedXML
from xml.parsers.expat import errors

from defusedxml.common import DefusedXmlException
from defusedxml.ElementTree import XMLParser as DefusedXMLParser
from django.conf import settings
from rest_framework.exceptions import ParseError
from rest_framework_xml.parsers import XMLParser as BaseXMLParser
from rest_framework_xml.renderers import XMLRenderer as BaseXMLRenderer

from core.api.fields import TextField
from core.db.text import text_encoding
from core.errors import FieldError

DEEPEST, LONGEST_NAMESPACE = 32, 255

_DECLARED = re.compile(rb"""<\?xml[^>]{,100}\sencoding\s*=\s*["']([A-Za-z0-9._-]+)""")
# How UTF-16 begins, with a byte order mark or without.
_UTF_16 = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be", b"<\0": "utf-16-le", b"\0<": "utf-16-be"}
# What XML 1.0 cannot carry, in UTF-8 and in the encodings that have ASCII in its place.
_UNCARRIABLE = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f]|\xed[\xa0-\xbf]|\xef\xbf[\xbe\xbf]")
_BAD_REFERENCE = errors.codes[errors.XML_ERROR_BAD_CHAR_REF]


class XMLParser(BaseXMLParser):
    """Reads `{root: value}`: a text, None for nil, a dict of children, a list for type="array".

    Names may have hyphens or underscores. Values stay texts but for integers and booleans that say so: the fields of the
    wire know what they want. Several parameters come in a `hash`, whose children are read as if each were the root.
    Raises ParseError for what is malformed, has a DTD, is in an encoding that it is not, is nested deeper than 32, or has a
    namespace of more than 255 characters, and FieldError for a text with a character that XML cannot carry.
    """

    media_types = ("application/xml", "text/xml", "")

    def parse(self, stream, media_type=None, parser_context=None):
        body = stream.read(settings.MAX_BODY_BYTES + 1)
        if not body.strip():
            return {}
        charset = parser_context["request"].META.get("rostrum.charset") if parser_context else None
        encoding = _encoding(body, charset)
        if encoding.startswith("utf-16"):
            body, encoding = _from_utf_16(body, encoding), "utf-8"
        builder = _Builder()
        parser = DefusedXMLParser(target=builder, encoding=encoding, forbid_dtd=True)
        parser.parser.StartNamespaceDeclHandler = _check_namespace
        try:
            parser.feed(body)
            name, value = parser.close()
        except DefusedXmlException:
            raise ParseError("The XML has a DTD or an entity declaration, which is not accepted") from None
        except MalformedXML as error:
            at = parser.parser.ErrorByteIndex
            if builder.innermost and (error.code == _BAD_REFERENCE or _UNCARRIABLE.match(body, at)):
                raise FieldError(
                    builder.innermost, TextField.default_error_messages["characters"], "characters"
                ) from None
            raise ParseError(f"The XML can't be read: {error}") from None
        except (ValueError, LookupError):
            raise ParseError("The XML is in an encoding that is not supported") from None
        if name == "hash":
            return value if isinstance(value, dict) else {}
        return {name: value}


def _encoding(body: bytes, charset: str | None) -> str:
    """The encoding of a document, which its beginning, the Content-Type or the declaration says. Raises ParseError."""
    declared = _DECLARED.match(body)
    name = charset or (declared[1].decode() if declared else "utf-8")
    found = text_encoding(name)
    if found is None:
        raise ParseError(f"The encoding that the {'Content-Type' if charset else 'XML'} names is not known")
    # A byte order mark says more than a header that was set by habit.
    if body.startswith(codecs.BOM_UTF8):
        return "utf-8"
    if utf_16 := _UTF_16.get(body[:2]):
        return utf_16
    # Python itself writes `utf8`, which expat does not know.
    return found if found.startswith("utf-") else name


def _from_utf_16(body: bytes, encoding: str) -> bytes:
    """In UTF-8. expat would take half of a surrogate pair and whatever comes next for a pair; here it stays what it is, to be
    refused in its place."""
    try:
        return body.decode(encoding, "surrogatepass").encode(errors="surrogatepass")
    except UnicodeDecodeError:
        raise ParseError("The XML is not in the encoding that it begins with") from None


def _check_namespace(_prefix: str | None, address: str | None) -> None:
    """expat writes the namespace before each name: a long one, and many names, would take it minutes."""
    if address and len(address) > LONGEST_NAMESPACE:
        raise ParseError(f"The XML has a namespace that is too long (maximum is {LONGEST_NAMESPACE} characters)")


class _Builder:
    """Builds the value while the document is read, so that neither a tree nor a deep recursion comes of it."""

    def __init__(self):
        self._open: list[_Element] = []
        self._root: tuple[str, object] = ("", None)

    @property
    def innermost(self) -> str:
        """The name of the element that is being read; empty outside of any."""
        return self._open[-1].name if self._open else ""

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        if len(self._open) >= DEEPEST:
            raise ParseError(f"The XML is nested too deeply (maximum is {DEEPEST})")
        self._open.append(_Element(tag, attributes))

    def data(self, text: str) -> None:
        if self._open:
            self._open[-1].texts.append(text)

    def end(self, tag: str) -> None:
        element = self._open.pop()
        if self._open:
            self._open[-1].children.append((element.name, element.value()))
        else:
            self._root = (element.name, element.value())

    def close(self) -> tuple[str, object]:
        return self._root


class _Element:
    __slots__ = ("attributes", "children", "name", "texts")

    def __init__(self, tag: str, attributes: dict[str, str]):
        self.name = tag.rpartition("}")[2].replace("-", "_")
        self.attributes = attributes
        self.children: list[tuple[str, object]] = []
        self.texts: list[str] = []

    def value(self):
        if self.attributes.get("nil") in ("true", "1"):
            return None
        kind = self.attributes.get("type", "").lower()
        if kind == "array":
            return [value for _, value in self.children]
        if self.children:
            return self._hash()
        text = "".join(self.texts)
        if kind == "integer" and text.strip().removeprefix("-").isdecimal() and len(text) < 100:
            return int(text)
        if kind == "boolean" and text.strip() in ("true", "1", "false", "0"):
            return text.strip() in ("true", "1")
        return text

    def _hash(self) -> dict[str, object]:
        """A dict; a name that occurs again holds a list of its values."""
        found: dict[str, list] = {}
        for name, value in self.children:
            found.setdefault(name, []).append(value)
        return {name: values[0] if len(values) == 1 else values for name, values in found.items()}


class XMLRenderer(BaseXMLRenderer):
    """Sends the documents that `forum.xml.documents` writes."""

    def render(self, data, accepted_media_type=None, renderer_context=None) -> bytes:
        return data
