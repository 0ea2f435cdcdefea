"""Parsers and the renderer of the Account API (JSON with exact decimals, and forms in bracket notation), and the selection of a format."""

import hashlib
import json
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal, InvalidOperation
from io import BytesIO
from typing import IO, Any, NoReturn, TypeVar, cast
from urllib.parse import parse_qsl

import orjson
from django.conf import settings
from django.core.exceptions import RequestDataTooBig, TooManyFieldsSent
from django.core.files.uploadhandler import FileUploadHandler, TemporaryFileUploadHandler
from django.http import HttpRequest
from django.http.multipartparser import MultiPartParser, MultiPartParserError
from rest_framework.exceptions import ParseError, UnsupportedMediaType
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.parsers import BaseParser
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request
from rest_framework.utils.mediatypes import _MediaType

from core.db.fields import encode_decimal
from core.db.text import text_encoding
from core.errors import FieldError

Container = TypeVar("Container")

JSON_TYPES = ("application/json", "text/json", "text/plain", "")
URL_ENCODED, MULTIPART = "application/x-www-form-urlencoded", "multipart/form-data"
FORM_TYPES = (URL_ENCODED, MULTIPART)

_BEGINS_AS_JSON = re.compile(rb"(?:\xef\xbb\xbf)?\s*\{")

# The maximum number of keys in a name of a form. `deal[client][external_ids][shop]` has 4.
MAX_DEPTH = 8
# An object with a longer name is not split into parameters, because the name of each parameter would repeat the long name.
MAX_NAME_LENGTH = 64
_NAME = re.compile(r"([^\[\]]+)((?:\[[^\[\]]*\])*)", re.DOTALL)
_PART = re.compile(r"\[([^\[\]]*)\]", re.DOTALL)


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


class UploadParser(BodyParser):
    """A parser that also accepts files in forms. They are on the disk, and have an attribute `sha256`."""

    def parse(
        self, stream: IO[bytes], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> Any:
        request: Request = (parser_context or {})["request"]
        if media_type_of(request) != MULTIPART:
            return super().parse(stream, media_type, parser_context)
        try:
            fields, files = MultiPartParser(request.META, cast(BytesIO, stream), [_DigestingHandler()]).parse()
        except MultiPartParserError as error:
            raise ParseError(f"The form can't be read: {error}") from None
        return nest([*fields.items(), *files.items()])  # type: ignore[list-item]  # a file is a value too


class _DigestingHandler(TemporaryFileUploadHandler):
    def new_file(self, *args: Any, **kwargs: Any) -> None:
        super().new_file(*args, **kwargs)
        self.digest = hashlib.sha256()

    def receive_data_chunk(self, raw_data: bytes, start: int) -> None:
        self.digest.update(raw_data)
        super().receive_data_chunk(raw_data, start)

    def file_complete(self, file_size: int) -> Any:
        file = super().file_complete(file_size)
        file.sha256 = self.digest.hexdigest()  # type: ignore[union-attr]  # `new_file` has created it
        return file


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


def nest(pairs: Iterable[tuple[str, str]]) -> dict[str, object]:
    """Return the object that the names of a form describe in the notation of Rails and PHP.

    `client[name]=Ann&client[tags][]=vip` is `{"client": {"name": "Ann", "tags": ["vip"]}}`. Of several values with the same name the
    last one is used, as for a checkbox after a hidden field. In `deals[][name]`, a repeated name begins the next object of the list.
    Raise ParseError for contradicting names.
    """
    root: dict[str, object] = {}
    for name, value in pairs:
        match = _NAME.fullmatch(name)
        keys = [match[1], *_PART.findall(match[2])] if match else [name]
        if len(keys) > MAX_DEPTH:
            raise ParseError(f"The form has a name that is nested too deeply (maximum is {MAX_DEPTH})")
        try:
            _put(root, keys, value)
        except _ConflictError:
            raise ParseError(f"The form gives {name[:MAX_NAME_LENGTH]} two kinds of values") from None
    return root


class _ConflictError(Exception):
    """A form uses a name in contradicting ways: as a value, as a list or as an object."""


def _put(target: dict[str, object], keys: list[str], value: str) -> None:
    name, *inner = keys
    if not inner:
        if not isinstance(target.get(name), dict | list):
            target[name] = value
        elif value.strip():
            raise _ConflictError
    elif inner[0]:
        _put(_inner(target, name, dict), inner, value)
    else:
        items = _inner(target, name, list)
        if len(inner) == 1:
            items.append(value)
        elif not inner[1]:
            raise _ConflictError
        else:
            if not items or (isinstance(items[-1], dict) and _has_value(items[-1], inner[1:])):
                items.append({})
            if not isinstance(items[-1], dict):
                raise _ConflictError
            _put(items[-1], inner[1:], value)


def _inner(target: dict[str, object], name: str, kind: type[Container]) -> Container:
    container = target.get(name, "")
    if isinstance(container, str) and not container.strip():
        # A form may have a hidden field with a blank value, for a list without items.
        container = target[name] = kind()
    if not isinstance(container, kind):
        raise _ConflictError
    return container


def _has_value(target: object, keys: list[str]) -> bool:
    """Return whether the object already has a value under these keys, so that another value begins the next object of the list.

    A list in an object accepts any number of values.
    """
    for key in keys:
        if not key or not isinstance(target, dict) or key not in target:
            return False
        target = target[key]
    return True


def as_parameters(body: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """Yield the members of a JSON object as parameters: `{"external_ids": {"shop": 5}}` becomes `external_ids[shop]=5`.

    Each item of a list is a value of the same parameter. An object in an object, which a query cannot express, becomes blank.
    """
    for name, value in body.items():
        if isinstance(value, dict) and len(name) <= MAX_NAME_LENGTH:
            for key, inner in value.items():
                yield f"{name}[{key}]", _as_text(inner)
        elif isinstance(value, list):
            for item in value:
                yield name, _as_text(item)
        else:
            yield name, _as_text(value)


def _as_text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None or isinstance(value, dict | list) else str(value)


class SingleFormatNegotiation(BaseContentNegotiation):
    """A negotiation that ignores the `Accept` header, which clients often omit or set wrongly.

    The route of a path, with its suffix `.json` or `.xml`, selects the view. Each view has a single renderer.
    """

    def select_parser(self, request: Request, parsers: Iterable[Any]) -> Any:
        media_type = _MediaType(request.content_type or "")
        for parser in parsers:
            if media_type.full_type in parser.media_types or "*/*" in parser.media_types:
                return parser
        return None

    def select_renderer(
        self, request: Request, renderers: Iterable[BaseRenderer], format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        [renderer] = renderers
        return renderer, renderer.media_type


# Parts of the User-Agent of search engines, and of robots that create previews of links. The `Accept` header does not identify them,
# because some of them accept any format.
PAGE_ROBOTS = re.compile(
    "facebookexternalhit|Facebot|meta-externalagent|Twitterbot|Slackbot|SkypeUriPreview|WhatsApp|LinkedInBot|Discordbot|TelegramBot"
    "|Mastodon|Googlebot|Google-InspectionTool|bingbot|BingPreview|DuckDuckBot|Applebot|YandexBot|Baiduspider|Qwantbot|SeznamBot",
    re.IGNORECASE,
)


def expects_html(request: HttpRequest) -> bool:
    """Return whether the client expects an HTML page and not a response of an API.

    The path must not have the suffix of an API. In addition, the `Accept` header must contain text/html, or htmx or a robot must have
    sent the request.
    """
    if request.path_info.endswith((".xml", ".json")):
        return False
    return (
        "text/html" in request.META.get("HTTP_ACCEPT", "")
        or "HTTP_HX_REQUEST" in request.META
        or is_page_robot(request)
    )


def is_page_robot(request: HttpRequest) -> bool:
    """Return whether a robot of `PAGE_ROBOTS` sent the request. Requests with credentials are those of API clients."""
    if request.method not in ("GET", "HEAD") or "HTTP_AUTHORIZATION" in request.META:
        return False
    return PAGE_ROBOTS.search(request.META.get("HTTP_USER_AGENT", "")) is not None
