"""The events of posts and tasks (`core.changes.events`), which the subject registers in its module `registration`."""

from typing import Any

from accounts.users.models import User
from core.changes.events import Values, record_event


class FormerPost:
    """The columns of a post before an update, to which its events refer."""

    def __init__(self, post: Any) -> None:
        self.approved, self.completed_at = post.approved, post.completed_at
        self.status_id, self.responsible_id, self.original_id = (
            post.status_id,
            post.responsible_id,
            post.duplicate_from_id,
        )


def record_update(post: Any, former: FormerPost, change: Any, *, by: User) -> None:
    """Record the events of an update, also of a silent one: events notify nobody. `change` is a new `StatusChange` or None."""

    def record(type: str, before: Values | None = None, after: Values | None = None) -> None:
        record_event(post, type, actor=by, before=before, after=after)

    if change is not None and change.from_name:
        before = {"status_id": former.status_id, "status": change.from_name}
        record("post.status_changed", before, {"status_id": post.status_id, "status": change.name})
    if change is not None and change.response:
        record("post.answered", after={"status_id": post.status_id, "status": change.name})
    if post.approved and not former.approved:
        record("post.approved")
    if post.responsible_id != former.responsible_id:
        record("post.assigned", {"responsible_id": former.responsible_id}, {"responsible_id": post.responsible_id})
    if post.duplicate_from_id != former.original_id:
        type = "post.unmerged" if post.duplicate_from_id is None else "post.merged"
        record(type, {"duplicate_from_id": former.original_id}, {"duplicate_from_id": post.duplicate_from_id})
    if post.completed_at is not None and former.completed_at is None:
        record("task.completed")
