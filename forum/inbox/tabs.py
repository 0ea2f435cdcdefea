"""The team's inbox: the suggestions of the account's forums that somebody of the team should deal with.

Each tab is a part of the posts with an index of its own, oldest first, so that a page is one scan of the index:

- *new*: nobody of the team has dealt with the post yet (`handled_at` is null). The team deals with a post by changing one of the
  `TRIAGE_FIELDS`, by commenting, or by marking it as handled.
- *unapproved*: the post waits for approval. The tab also shows the comments that wait (`waiting_comments`).
- *reported*: the posts and comments that members have reported (`reported_posts`, `reported_comments`). The tab is a page of its own.
- *unanswered*: the post is open and approved, and has neither an official response nor a public comment of the team (`answered_at`).
  Marking it as handled says that no answer is needed.
- *mine*: the post is open, and the user is responsible for it.
"""

from collections import Counter
from collections.abc import Callable
from typing import Any

from django.db import models
from django.db.models import Exists, OuterRef, Q, Subquery, Value

from accounts.account.models import Account
from accounts.users.models import User
from core.db.prepared import prepared
from forum.comments.models import Comment
from forum.lists.queries import LISTED, MINE, NEW, UNANSWERED, UNAPPROVED
from forum.posts.models import Post
from forum.texts.markdown import render

TABS: dict[str, Callable[[int], Q]] = {
    "new": lambda user_id: NEW,
    "unapproved": lambda user_id: UNAPPROVED,
    "unanswered": lambda user_id: UNANSWERED,
    "mine": lambda user_id: MINE & Q(responsible_id=user_id),
}
# The tabs in the order of the page.
ALL_TABS = ("new", "unapproved", "reported", "unanswered", "mine")
# Counts are exact up to this number. Higher ones are shown as "99+".
MAX_COUNT = 99
# The oldest waiting comments, which the tab shows at once.
MAX_WAITING_COMMENTS = 50
# The oldest reported posts, and comments, which the tab shows at once.
MAX_REPORTED = 50


def posts_in(
    tab: str, account: Account, forum_ids: list[int], user: User, *, stop: int | None = None
) -> models.QuerySet[models.Model]:
    """Return the posts of a tab, oldest first. Those after the first `stop` may be missing."""
    posts = account.posts.filter(TABS[tab](user.id)).order_by("created_at", "id")
    if len(forum_ids) == 1:
        return posts.filter(forum_id=forum_ids[0])
    if stop is None:
        return posts.filter(forum_id__any=forum_ids)
    # The index has the oldest posts of one forum.
    first, *others = (posts.filter(forum_id=id).values("id")[:stop] for id in forum_ids)
    return account.posts.filter(id__in=first.union(*others, all=True)).order_by("created_at", "id")


def waiting_comments(account: Account, forum_ids: list[int]) -> list[Comment]:
    """Return the oldest comments of the forums that wait for approval, with their authors and HTML, annotated with the title of the post."""
    posts = account.posts.filter(LISTED, id=OuterRef("post_id"), forum_id__any=forum_ids)
    rows = (
        account.comments.waiting()
        .annotate(title=Subquery(posts.values("title")), forum_id=Subquery(posts.values("forum_id")))
        .filter(title__isnull=False)
    )
    comments = list(rows.select_related("user")[:MAX_WAITING_COMMENTS])
    for comment in comments:
        comment.comment_html = comment.comment_html or render(comment.comment)
    return comments


def reported_posts(account: Account, forum_ids: list[int]) -> list[Post]:
    """Return the oldest posts of the forum with open reports, with their authors."""
    return list(_reported_posts(account, forum_ids).select_related("user").order_by("created_at", "id")[:MAX_REPORTED])


def reported_comments(account: Account, forum_ids: list[int]) -> list[Any]:
    """Return the oldest comments of the forum with open reports, with their authors, annotated with the title of the post."""
    posts = account.posts.filter(id=OuterRef("post_id"))
    rows = (
        _reported_comments(account, forum_ids)
        .annotate(title=Subquery(posts.values("title")), forum_id=Subquery(posts.values("forum_id")))
        .select_related("user")
    )
    return list(rows.order_by("created_at", "id")[:MAX_REPORTED])


def _reported_posts(account: Account, forum_ids: list[int]) -> models.QuerySet[Post]:
    reports = account.content_reports.open().filter(post_id__isnull=False)
    return account.posts.filter(LISTED, forum_id__any=forum_ids, id__in=reports.values("post_id"))


def _reported_comments(account: Account, forum_ids: list[int]) -> models.QuerySet[Comment]:
    posts = account.posts.filter(LISTED, id=OuterRef("post_id"), forum_id__any=forum_ids)
    reports = account.content_reports.open().filter(comment_id__isnull=False)
    return account.comments.filter(Exists(posts), id__in=reports.values("comment_id"))


def counts(account: Account, forum_ids: list[int], user: User) -> dict[str, int]:
    """Return the number of rows in each tab. Of posts, and of comments, at most `MAX_COUNT` + 1 are counted in each."""
    tabs = _tabs_of_posts(account_id=account.id, forum_ids=forum_ids, user_id=user.id)
    return {**dict.fromkeys(ALL_TABS, 0), **Counter(tab for (tab,) in tabs)}


def new_posts(account: Account) -> models.QuerySet[models.Model, Any]:
    """Return the ids of the new posts of all forums, at most `MAX_COUNT` + 1."""
    return account.posts.filter(NEW).order_by().values_list("id")[: MAX_COUNT + 1]


def as_text(count: int) -> str:
    return f"{MAX_COUNT}+" if count > MAX_COUNT else str(count)


@prepared(account_id=int, forum_ids=list, user_id=int)
def _tabs_of_posts(account_id: int, forum_ids: list[int], user_id: int) -> models.QuerySet[models.Model]:
    """Build the query that returns one row with the name of the tab for each counted post or comment."""
    account = Account(id=account_id)
    posts = account.posts.filter(forum_id__any=forum_ids)
    comments = account.comments.filter(Exists(posts.filter(LISTED, id=OuterRef("post_id"))), approved=False)
    tabs = [
        posts.filter(condition(user_id)).annotate(tab=Value(tab)).values_list("tab")[: MAX_COUNT + 1]
        for tab, condition in TABS.items()
    ]
    reported = [_reported_posts(account, forum_ids), _reported_comments(account, forum_ids)]
    for tab, rows in (("unapproved", comments), *(("reported", rows) for rows in reported)):
        tabs.append(rows.annotate(tab=Value(tab)).values_list("tab")[: MAX_COUNT + 1])
    found: models.QuerySet[models.Model] = tabs[0].union(*tabs[1:], all=True)
    return found
