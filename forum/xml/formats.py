"""The parser and the renderer of XML in the conventions of Rails."""

import codecs
import re
from collections.abc import Mapping
from io import BytesIO
from typing import IO, Any
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

MAX_DEPTH, MAX_NAMESPACE_LENGTH, MAX_INTEGER_LENGTH = 32, 255, 99

_DECLARED = re.compile(rb"""<\?xml[^>]{,100}\sencoding\s*=\s*["']([A-Za-z0-9._-]+)""")
# The first two bytes of a document in UTF-16, with a byte order mark or without.
_UTF_16 = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be", b"<\0": "utf-16-le", b"\0<": "utf-16-be"}
# Characters that XML 1.0 excludes, in UTF-8 and in encodings that extend ASCII.
_NON_XML = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f]|\xed[\xa0-\xbf]|\xef\xbf[\xbe\xbf]")
_BAD_REFERENCE = errors.codes[errors.XML_ERROR_BAD_CHAR_REF]


class XMLParser(BaseXMLParser):
    """A parser that returns `{root: value}`. A value is a text, None for `nil`, a dict of children, or a list for `type="array"`.

    Hyphens in names become underscores. Only elements with the type integer or boolean become numbers and booleans; serializers
    convert the other texts. If the root is `hash`, its children are returned instead of `{root: value}`.

    Raise ParseError if the document is malformed, has a DTD, is not in its declared encoding, is nested deeper than MAX_DEPTH, or has a
    namespace longer than MAX_NAMESPACE_LENGTH. Raise FieldError if a text has a character that XML excludes.
    """

    media_types = ("application/xml", "text/xml", "")

    def parse(
        self, stream: IO[bytes], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> dict[str, object]:
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
            offset = parser.parser.ErrorByteIndex
            if builder.innermost and (error.code == _BAD_REFERENCE or _NON_XML.match(body, offset)):
                message = TextField.default_error_messages["characters"]
                raise FieldError(builder.innermost, message, "characters") from None
            raise ParseError(f"The XML can't be read: {error}") from None
        except (ValueError, LookupError):
            raise ParseError("The XML is in an encoding that is not supported") from None
        if name == "hash":
            return value if isinstance(value, dict) else {}
        return {name: value}


def _encoding(body: bytes, charset: str | None) -> str:
    """Return the encoding from the byte order mark, the Content-Type or the XML declaration. Raise ParseError if it is unknown."""
    declared = _DECLARED.match(body)
    name = charset or (declared[1].decode() if declared else "utf-8")
    encoding = text_encoding(name)
    if encoding is None:
        raise ParseError(f"The encoding that the {'Content-Type' if charset else 'XML'} names is not known")
    # A byte order mark is more reliable than the header.
    if body.startswith(codecs.BOM_UTF8):
        return "utf-8"
    if utf_16 := _UTF_16.get(body[:2]):
        return utf_16
    # expat does not know the alias `utf8`, so a UTF encoding gets its usual name. Other names are passed on as they are.
    return encoding if encoding.startswith("utf-") else name


def _from_utf_16(body: bytes, encoding: str) -> bytes:
    """Return the document in UTF-8. Raise ParseError if the document is not in the encoding.

    expat would combine a lone surrogate with the next character. In UTF-8 the lone surrogate is kept, and expat reports it.
    """
    try:
        return body.decode(encoding, "surrogatepass").encode(errors="surrogatepass")
    except UnicodeDecodeError:
        raise ParseError("The XML is not in the encoding that it begins with") from None


def read_document(body: bytes) -> dict[str, object]:
    """Return the value of a document of another server, by the name of its root. Raise FieldError."""
    try:
        return XMLParser().parse(BytesIO(body))
    except ParseError as error:
        raise FieldError("", str(error.detail), "xml") from None


def _check_namespace(_prefix: str | None, address: str | None) -> None:
    """Raise ParseError if a namespace is too long.

    expat prefixes each name with its namespace, so parsing many names in a long namespace would take minutes.
    """
    if address and len(address) > MAX_NAMESPACE_LENGTH:
        raise ParseError(f"The XML has a namespace that is too long (maximum is {MAX_NAMESPACE_LENGTH} characters)")


class _Builder:
    """A target of the expat parser that builds the value without an element tree and without recursion."""

    def __init__(self) -> None:
        self._open: list[_Element] = []
        self._root: tuple[str, object] = ("", None)

    @property
    def innermost(self) -> str:
        """Return the name of the innermost open element, or an empty string."""
        return self._open[-1].name if self._open else ""

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        if len(self._open) >= MAX_DEPTH:
            raise ParseError(f"The XML is nested too deeply (maximum is {MAX_DEPTH})")
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

    def __init__(self, tag: str, attributes: dict[str, str]) -> None:
        self.name = tag.rpartition("}")[2].replace("-", "_")
        self.attributes = attributes
        self.children: list[tuple[str, object]] = []
        self.texts: list[str] = []

    def value(self) -> object:
        if self.attributes.get("nil") in ("true", "1"):
            return None
        kind = self.attributes.get("type", "").lower()
        if kind == "array":
            return [value for _, value in self.children]
        if self.children:
            return self._children_as_dict()
        text = "".join(self.texts)
        if kind == "integer" and text.strip().removeprefix("-").isdecimal() and len(text) <= MAX_INTEGER_LENGTH:
            return int(text)
        if kind == "boolean" and text.strip() in ("true", "1", "false", "0"):
            return text.strip() in ("true", "1")
        return text

    def _children_as_dict(self) -> dict[str, object]:
        """Return the children as a dict from names to values. If several children have one name, its value is a list."""
        values_by_name: dict[str, list[object]] = {}
        for name, value in self.children:
            values_by_name.setdefault(name, []).append(value)
        return {name: values[0] if len(values) == 1 else values for name, values in values_by_name.items()}


class XMLRenderer(BaseXMLRenderer):
    """A renderer for the documents that `forum.xml.documents` writes."""

    def render(
        self, data: bytes, accepted_media_type: str | None = None, renderer_context: Mapping[str, Any] | None = None
    ) -> bytes:
        return data
