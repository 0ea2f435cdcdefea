"""The requests of a forum: their types, the middleware that sets the forum, and the name of the program that sent one.

Like those of `accounts.hosts.requests`, the types are used only in annotations.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, cast

from django.http import HttpRequest, HttpResponse

from accounts.hosts.requests import PageRequest, UserRequest
from core.db.text import replace_non_xml

if TYPE_CHECKING:
    from accounts.hosts.api import APIRequest
    from forum.forums.models import Forum


class ForumRequest(PageRequest):
    """A request for a page of a forum, after `forum_middleware`."""

    forum: "Forum"
    site: "Forum"


class ForumUserRequest(ForumRequest, UserRequest):
    """A request for a page of a forum that only signed-in users see."""


def forum_middleware(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """Set `request.forum`, which is the site of the request's host, or None."""

    def middleware(request: HttpRequest) -> HttpResponse:
        cast(ForumRequest, request).forum = cast(ForumRequest, request).site
        return get_response(request)

    return middleware


def has_forum(request: PageRequest) -> bool:
    return request.site is not None


def agent_of(request: "HttpRequest | APIRequest") -> str:
    """Return the User-Agent header, shortened to the length of the column of posts and comments."""
    return replace_non_xml(request.META.get("HTTP_USER_AGENT", ""))[:255]
