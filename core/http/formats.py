"""Parsers and the renderer of the Account API: JSON with exact decimals, and forms."""

import json
import re
import zlib
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from io import BytesIO
from typing import IO, Any, NoReturn
from urllib.parse import parse_qsl

import orjson
from django.conf import settings
from django.core.exceptions import RequestDataTooBig, TooManyFieldsSent
from django.core.files.uploadhandler import FileUploadHandler
from django.http.multipartparser import MultiPartParser, MultiPartParserError
from rest_framework.exceptions import ParseError, UnsupportedMediaType
from rest_framework.parsers import BaseParser
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request

from core.db.fields import encode_decimal
from core.db.text import text_encoding
from core.errors import FieldError
from core.http.parameters import nest

JSON_TYPES = ("application/json", "text/json", "text/plain", "")
URL_ENCODED, MULTIPART = "application/x-www-form-urlencoded", "multipart/form-data"
FORM_TYPES = (URL_ENCODED, MULTIPART)

_BEGINS_AS_JSON = re.compile(rb"(?:\xef\xbb\xbf)?\s*\{")


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


class BodyParser(BaseParser):
    """A parser of JSON, and of forms in bracket notation. An empty body is an empty object.

    A body is read as JSON if its Content-Type is JSON, `text/plain` or missing, and also if it begins with `{`, because `curl -d` sends
    JSON with the Content-Type of a form. `Content-Encoding: gzip` is supported. The size limit also applies to the inflated body.

    `parse` raises ParseError for an invalid body, UnsupportedMediaType for another type or encoding, and RequestDataTooBig.
    """

    media_type = "application/json"
    media_types = ("*/*",)

    def parse(
        self, stream: IO[bytes], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> Any:
        request: Request = (parser_context or {})["request"]
        body = _inflated(stream.read(settings.MAX_BODY_BYTES + 1), request)
        if not body.strip():
            return {}
        media_type = media_type_of(request)
        charset = request.META.get("rostrum.charset", "")
        if media_type in JSON_TYPES or _BEGINS_AS_JSON.match(body):
            return _read_json(body, charset)
        if media_type == URL_ENCODED:
            return nest(_read_url_encoded(body, text_encoding(charset) or "utf-8"))
        if media_type == MULTIPART:
            return nest(_read_multipart(body, request, text_encoding(charset) or "utf-8"))
        raise UnsupportedMediaType(media_type)


def media_type_of(request: Request) -> str:
    """Return the media type of the Content-Type header, in lower case and without parameters."""
    return (request.content_type or "").partition(";")[0].strip().lower()


def _inflated(body: bytes, request: Request) -> bytes:
    encoding = request.META.get("HTTP_CONTENT_ENCODING", "").strip().lower()
    if encoding in ("", "identity"):
        return body
    if encoding not in ("gzip", "x-gzip"):
        raise UnsupportedMediaType(encoding)
    inflater = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
    try:
        inflated = inflater.decompress(body, settings.MAX_BODY_BYTES + 1)
    except zlib.error:
        raise ParseError("The body is not in gzip, as its Content-Encoding says") from None
    if len(inflated) > settings.MAX_BODY_BYTES:
        raise RequestDataTooBig
    if body and (not inflater.eof or inflater.unused_data):
        raise ParseError("The body in gzip is not complete, or goes on after its end")
    return inflated


def _read_json(body: bytes, charset: str) -> object:
    """Return the value of JSON in the encoding that the Content-Type names, or in UTF-8 if the encoding is missing or unknown."""
    encoding = text_encoding(charset) or "utf-8"
    if encoding.startswith(("utf-16", "utf-32")):
        # Some clients name UTF-16 but send UTF-8. `detect_encoding` recognizes UTF-8 because it has no zero bytes.
        encoding = json.detect_encoding(body).removesuffix("-sig")
    try:
        # json.loads can decode bytes too, but it would accept undeclared UTF-16 and lone surrogates.
        text = body.decode(encoding).removeprefix("\ufeff")
        return json.loads(text, parse_float=Decimal, parse_constant=_refuse)
    except RecursionError:
        raise ParseError("The JSON is nested too deeply") from None
    except UnicodeDecodeError:
        raise ParseError(f"The JSON is not in {encoding.upper()}") from None
    except json.JSONDecodeError as error:
        raise ParseError(f"The JSON can't be read: {error.msg} (line {error.lineno}, column {error.colno})") from None
    except (ValueError, InvalidOperation):
        # NaN, Infinity, integers with more digits than Python converts, and exponents that Decimal does not support.
        raise ParseError("The JSON can't be read: it has a number that is none") from None


def _read_url_encoded(body: bytes, encoding: str) -> list[tuple[str, str]]:
    try:
        return parse_qsl(
            body.decode(encoding),
            keep_blank_values=True,
            encoding=encoding,
            errors="strict",
            max_num_fields=settings.DATA_UPLOAD_MAX_NUMBER_FIELDS,
        )
    except UnicodeDecodeError:
        raise ParseError(f"The form is not in {encoding.upper()}") from None
    except ValueError:
        raise TooManyFieldsSent from None


def _read_multipart(body: bytes, request: Request, encoding: str) -> list[tuple[str, str]]:
    meta = {**request.META, "CONTENT_LENGTH": str(len(body))}
    try:
        fields, _ = MultiPartParser(meta, BytesIO(body), [_NoFiles()], encoding).parse()
    except MultiPartParserError as error:
        raise ParseError(f"The form can't be read: {error}") from None
    pairs = [(name, value) for name, values in fields.lists() for value in values]
    # Django replaces bytes that it cannot decode by U+FFFD.
    if any("\ufffd" in name + value for name, value in pairs) and "\ufffd".encode(encoding, "ignore") not in body:
        raise ParseError(f"The form is not in {encoding.upper()}")
    return pairs


class _NoFiles(FileUploadHandler):
    def new_file(self, field_name: str, *args: object, **kwargs: object) -> NoReturn:
        raise FieldError(field_name, "can't be a file")


class JSONRenderer(BaseRenderer):
    media_type = "application/json"
    format = "json"
    charset = None

    def render(
        self, data: object, accepted_media_type: str | None = None, renderer_context: Mapping[str, object] | None = None
    ) -> bytes:
        return orjson.dumps(data, default=encode_decimal)
