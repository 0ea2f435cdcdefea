"""JSON, read and written exactly."""

import json
from decimal import Decimal, InvalidOperation

import orjson
from django.conf import settings
from rest_framework.exceptions import ParseError
from rest_framework.parsers import BaseParser
from rest_framework.renderers import BaseRenderer


def _refuse(constant: str):
    raise ValueError(f"{constant} is not JSON")


class JSONParser(BaseParser):
    """Numbers keep their digits (Decimal, and integers of any size); at most 1 MiB, which is refused before this."""

    media_type = "application/json"
    media_types = ("application/json", "text/json", "text/plain", "")

    def parse(self, stream, media_type=None, parser_context=None):
        body = stream.read(settings.MAX_BODY_BYTES + 1)
        if not body.strip():
            return {}
        try:
            # Decoded here: the module itself would take UTF-16 too, and lone surrogates.
            return json.loads(body.decode("utf-8-sig"), parse_float=Decimal, parse_constant=_refuse)
        except RecursionError:
            raise ParseError("The JSON is nested too deeply") from None
        except UnicodeDecodeError:
            raise ParseError("The JSON is not in UTF-8") from None
        except json.JSONDecodeError as error:
            raise ParseError(
                f"The JSON can't be read: {error.msg} (line {error.lineno}, column {error.colno})"
            ) from None
        except (ValueError, InvalidOperation):
            # NaN, Infinity, integers of more digits than Python converts, and exponents of more than Decimal takes.
            raise ParseError("The JSON can't be read: it has a number that is none") from None


def exact(value):
    """For orjson: a decimal with all of its digits, but for zeros at the end."""
    if isinstance(value, Decimal):
        plain = f"{value:f}"
        return orjson.Fragment((plain.rstrip("0").rstrip(".") if "." in plain else plain).encode())
    raise TypeError(type(value).__name__)


class JSONRenderer(BaseRenderer):
    media_type = "application/json"
    format = "json"
    charset = None

    def render(self, data, accepted_media_type=None, renderer_context=None) -> bytes:
        return orjson.dumps(data, default=exact)
