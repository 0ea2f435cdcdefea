"""The middleware of the forum's pages."""

from collections.abc import Callable
from typing import cast

from django.http import HttpRequest, HttpResponse

from forum.requests import ForumRequest


def forum_middleware(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """Set `request.forum`, which is the site of the request's host, or None."""

    def middleware(request: HttpRequest) -> HttpResponse:
        cast(ForumRequest, request).forum = cast(ForumRequest, request).site
        return get_response(request)

    return middleware
