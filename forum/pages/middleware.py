"""What only the forum's pages need of a request."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse


def forum_middleware(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """Set `request.forum`: the site of the request's host is a forum."""

    def middleware(request: HttpRequest) -> HttpResponse:
        request.forum = request.site
        return get_response(request)

    return middleware
