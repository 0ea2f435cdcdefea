"""The selection of the renderer of a response and of the parser of a body."""

from collections.abc import Iterable
from typing import Any

from django.http import HttpRequest
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.request import Request
from rest_framework.utils.mediatypes import _MediaType


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

    def select_renderer(self, request: Request, renderers: Any, format_suffix: str | None = None) -> tuple[Any, str]:
        return renderers[0], renderers[0].media_type


def expects_html(request: HttpRequest) -> bool:
    """Return whether the client expects an HTML page and not a response of an API.

    It does if the path has no suffix of an API, and the `Accept` header contains text/html or htmx sent the request.
    """
    if request.path_info.endswith((".xml", ".json")):
        return False
    return "text/html" in request.META.get("HTTP_ACCEPT", "") or "HTTP_HX_REQUEST" in request.META
