"""The conditions of the posts that wait for the team, one for each tab of the inbox (`forum.inbox.tabs`), and their indexes."""

from django.db.models import Q

# Posts of a forum that were not deleted or merged.
LISTED = Q(trashed_at=None, category_id__isnull=False, duplicate_from_id=None)
NEW = Q(handled_at=None) & LISTED
UNANSWERED = Q(answered_at=None, response_user_id=None, closed=False, approved=True) & LISTED
MINE = Q(closed=False, responsible_id__isnull=False) & LISTED


# The indexes of `Post` for the tabs: the name of the tab, the columns before the time, and the condition.
INDEXES = (
    ("new", ("forum_id",), NEW),
    ("unanswered", ("forum_id",), UNANSWERED),
    ("mine", ("forum_id", "responsible_id"), MINE),
)
