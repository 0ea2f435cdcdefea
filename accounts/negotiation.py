from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.utils.mediatypes import _MediaType


class SuffixDecides(BaseContentNegotiation):
    """A path's suffix decides what is answered, never `Accept`: existing clients send none, `*/*`, or the wrong one."""

    def select_parser(self, request, parsers):
        given = _MediaType(request.content_type or "")
        for parser in parsers:
            if given.full_type in parser.media_types:
                return parser
        return None

    def select_renderer(self, request, renderers, format_suffix=None):
        return renderers[0], renderers[0].media_type
