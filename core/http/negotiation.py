"""The selection of the renderer of a response and of the parser of a body."""

import re
from collections.abc import Iterable
from typing import Any

from django.http import HttpRequest
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.renderers import BaseRenderer
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
