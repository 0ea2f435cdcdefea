"""Import the modules that register the functions and filters of the forum's templates."""

from forum.comments.pages import forms as comment_forms  # noqa: F401
from forum.content_reports import pages as content_reports  # noqa: F401
from forum.inbox.pages import moderation  # noqa: F401
from forum.lists.pages import base as lists  # noqa: F401
from forum.lists.pages import filters  # noqa: F401
from forum.votes.pages import vote as votes  # noqa: F401
