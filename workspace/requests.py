"""Types of the requests of the team's pages. Like `core.requests`, they are used only in annotations."""

from core.requests import UserRequest


class TeamRequest(UserRequest):
    """A request of a page that only the team sees."""
