"""Import the modules that register the functions and filters of the forum's templates."""

from forum.pages import comment_forms, content_reports, filters, lists, moderation, votes  # noqa: F401
