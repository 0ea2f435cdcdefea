"""The choice between formats of responses, and between parsers of bodies."""

from collections.abc import Iterable
from typing import Any

from django.http import HttpRequest
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.request import Request
from rest_framework.utils.mediatypes import _MediaType


class SuffixNegotiation(BaseContentNegotiation):
    """A negotiation that ignores `Accept`, which clients often omit or set wrongly. The suffix of the path determines the format."""

    def select_parser(self, request: Request, parsers: Iterable[Any]) -> Any:
        media_type = _MediaType(request.content_type or "")
        for parser in parsers:
            if media_type.full_type in parser.media_types or "*/*" in parser.media_types:
                return parser
        return None

    def select_renderer(self, request: Request, renderers: Any, format_suffix: str | None = None) -> tuple[Any, str]:
        return renderers[0], renderers[0].media_type


def wants_page(request: HttpRequest) -> bool:
    """Return whether the response to a request should be a page.

    If the path has no suffix of an API, that is so if `Accept` names text/html, or if htmx sends the request.
    """
    if request.path_info.endswith((".xml", ".json")):
        return False
    return "text/html" in request.META.get("HTTP_ACCEPT", "") or "HTTP_HX_REQUEST" in request.META
