"""Django imports this module to find the models of the room."""

from forum.activities import models as activities
from forum.categories import models as categories
from forum.comments import models as comments
from forum.content_reports import models as content_reports
from forum.follows import models as follows
from forum.forums import membership
from forum.forums import models as forums
from forum.lists import facets
from forum.notifications import models as notifications
from forum.posts import models as posts
from forum.posts import sort_keys
from forum.votes import models as votes

__all__ = [
    "activities",
    "categories",
    "comments",
    "content_reports",
    "facets",
    "follows",
    "forums",
    "membership",
    "notifications",
    "posts",
    "sort_keys",
    "votes",
]
