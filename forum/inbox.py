"""The team's inbox: the suggestions of a forum that somebody of the team should deal with.

Each tab is a part of the posts with an index of its own, oldest first, so that a page is one scan of the index:

- *new*: nobody of the team has dealt with the post yet (`handled_at` is null). The team deals with a post by changing one of the
  `TRIAGE_FIELDS`, by commenting, or by marking it as handled.
- *unapproved*: the post waits for approval.
- *unanswered*: the post is open and approved, and has neither an official response nor a public comment of the team (`answered_at`).
  Marking it as handled says that no answer is needed.
- *mine*: the post is open, and the user is responsible for it.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from django.db import models
from django.db.models import Q

if TYPE_CHECKING:
    from accounts.models import Account, User

# Posts of a forum that were not deleted or merged.
LISTED = Q(trashed_at=None, category_id__isnull=False, duplicate_from_id=None)
NEW = Q(handled_at=None) & LISTED
UNANSWERED = Q(answered_at=None, response_user_id=None, closed=False, approved=True) & LISTED
MINE = Q(closed=False, responsible_id__isnull=False) & LISTED
UNAPPROVED = Q(approved=False, trashed_at=None, category_id__isnull=False)

# The name of each index of `Post`, the columns before the time, and the condition.
INDEXES = (
    ("new", ("forum_id",), NEW),
    ("unanswered", ("forum_id",), UNANSWERED),
    ("mine", ("forum_id", "responsible_id"), MINE),
)

TABS: dict[str, Callable[["User"], Q]] = {
    "new": lambda user: NEW,
    "unapproved": lambda user: UNAPPROVED,
    "unanswered": lambda user: UNANSWERED,
    "mine": lambda user: MINE & Q(responsible_id=user.id),
}
# Counts are shown up to this number: the next number is shown as "99+".
MAX_COUNT = 99


def posts_in(tab: str, account: "Account", forum_id: int, user: "User") -> models.QuerySet[Any]:
    """Return the posts of a tab, oldest first."""
    return account.posts.filter(TABS[tab](user), forum_id=forum_id).order_by("created_at", "id")
