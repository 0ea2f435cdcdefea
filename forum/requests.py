"""Types of requests of a forum's pages. They serve annotations only, like `core.requests`."""

from typing import TYPE_CHECKING

from core.requests import PageRequest, UserRequest

if TYPE_CHECKING:
    from forum.forums import Forum


class ForumRequest(PageRequest):
    """A request of a page of a forum, after `forum_middleware`."""

    forum: "Forum"
    site: "Forum"


class ForumUserRequest(ForumRequest, UserRequest):
    """A request of a page of a forum that a user has signed in to see."""
