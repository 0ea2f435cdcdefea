"""Undoing the last act in the inbox. The former values are a preference of the user who acted (`accounts.users.preferences`)."""

import secrets
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db import transaction
from django.utils.dateparse import parse_datetime
from django.utils.translation import gettext_lazy as _

from accounts.users.models import User
from accounts.users.preferences import set_preference
from core.errors import Conflict, FieldErrors
from forum.posts.models import Post

KEY = "inbox_undo"
# The columns that acts in the inbox change. Times are stored as texts.
COLUMNS = (
    "status_id",
    "closed",
    "category_id",
    "responsible_id",
    "approved",
    "tags",
    "duplicate_from_id",
    "handled_at",
    "answered_at",
    "trashed_at",
)
TIMES = ("handled_at", "answered_at")

Values = dict[str, Any]


def snapshot(post: Post) -> Values:
    values = {name: getattr(post, name) for name in COLUMNS}
    return {name: value.isoformat() if isinstance(value, datetime) else value for name, value in values.items()}


def changes_between(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Return the former and the new value of each column that differs."""
    return {name: [before[name], after[name]] for name in COLUMNS if before[name] != after[name]}


def remember(user: User, changes: Mapping[int, dict[str, list[Any]]]) -> str | None:
    """Store what undoes an act on several posts, and return its token. Return None if nothing changed or there is too much to store."""
    changed = [[id, values] for id, values in changes.items() if values]
    token = secrets.token_urlsafe(9)
    if not changed:
        return None
    try:
        set_preference(user, KEY, {"token": token, "changes": changed})
    except FieldErrors:
        return None
    return token


def last_token(user: User) -> str | None:
    stored = user.preferences.get(KEY)
    return stored["token"] if stored else None


def undo_last(user: User, token: str) -> int:
    """Undo the act with the token, if it is the last one, and return the number of posts. Raise Conflict if a post has changed since."""
    stored = User.objects.get(pk=user.pk).preferences.get(KEY)
    if not stored or stored["token"] != token:
        raise Conflict(_("Only the last act can be undone."))
    with transaction.atomic():
        for id, changes in stored["changes"]:
            undo(user, id, changes)
        user.preferences = {**user.preferences, KEY: stored}
        set_preference(user, KEY, {})
    return len(stored["changes"])


def undo(user: User, id: int, changes: Mapping[str, list[Any]]) -> None:
    """Restore the former values of one post, and announce nothing."""
    rows = user.account.posts.without_tasks().filter(id=id)
    is_merge = "duplicate_from_id" in changes
    # `undo_merge` locks the posts itself.
    post = (rows if is_merge else rows.locked()).first()
    if post is None:
        raise Conflict(_("This suggestion was deleted in the meantime."))
    post.account = user.account
    current = snapshot(post)
    if any(current[name] != after for name, (_before, after) in changes.items()):
        raise Conflict(_("“%(title)s” was changed in the meantime, so this can't be undone.") % {"title": post.title})
    if "trashed_at" in changes:
        post.restore()
    if is_merge:
        post.undo_merge(by=user)
    former = {name: before for name, (before, _after) in changes.items()}
    values: Values = {
        name: former[name] for name in ("category_id", "responsible_id", "approved", "tags") if name in former
    }
    if "status_id" in former and not is_merge:
        values["status"] = user.account.statuses.get(id=former["status_id"])
    if "closed" in former and not is_merge:
        values["closed"] = former["closed"]
    if values:
        post.write(values, by=user, is_silent=True)
    times = {name: former[name] and parse_datetime(former[name]) for name in TIMES if name in former}
    if times:
        user.account.posts.filter(id=id).update(**times)
