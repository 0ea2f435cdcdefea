from django.http import HttpRequest
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.utils.mediatypes import _MediaType


class SuffixNegotiation(BaseContentNegotiation):
    """A path's suffix decides what is answered, never `Accept`: existing clients send none, `*/*`, or the wrong one."""

    def select_parser(self, request, parsers):
        given = _MediaType(request.content_type or "")
        for parser in parsers:
            if given.full_type in parser.media_types or "*/*" in parser.media_types:
                return parser
        return None

    def select_renderer(self, request, renderers, format_suffix=None):
        return renderers[0], renderers[0].media_type


def wants_page(request: HttpRequest) -> bool:
    """Whether a page is asked for, and not the interface: where the path says nothing, `Accept` names text/html, or htmx asks."""
    if request.path_info.endswith((".xml", ".json")):
        return False
    return "text/html" in request.META.get("HTTP_ACCEPT", "") or "HTTP_HX_REQUEST" in request.META
