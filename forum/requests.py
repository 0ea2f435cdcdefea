"""Types of the requests of a forum's pages. Like `core.requests`, they are used only in annotations."""

from typing import TYPE_CHECKING

from core.requests import PageRequest, UserRequest

if TYPE_CHECKING:
    from forum.forums import Forum


class ForumRequest(PageRequest):
    """A request for a page of a forum, after `forum_middleware`."""

    forum: "Forum"
    site: "Forum"


class ForumUserRequest(ForumRequest, UserRequest):
    """A request for a page of a forum that only signed-in users see."""
