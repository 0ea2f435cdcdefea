"""Duplicates: a post can be merged into another post, the original, and the merge can be undone.

The duplicate keeps its votes, and its votes are copied to the original, except those of voters who have a vote there. The comments of
the duplicate move to the original; `from_post_id` of a comment is the id of the post where the comment was written. The followers of the duplicate
are notified of the original as well (`forum.notifications.recipients`). Posts that were
merged into the duplicate before stay merged into it, and their votes and comments move to the original, too. Therefore the merge of such
a post can only be undone after the merge of the duplicate has been undone.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import models, transaction
from django.db.models import F, Q
from django.db.models.functions import Coalesce, NullIf
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.audit.models import record
from accounts.statuses.models import Status
from accounts.users.models import User
from core.errors import FieldError
from forum.comments.models import LIVE
from forum.lists.locking import LockablePost

# The code of the status that a duplicate gets, if the account has such a status.
DUPLICATE_STATUS = "duplicate"
# The votes of a post that a preview compares with those of another post, and the followers that it counts.
MAX_COMPARED_VOTES, MAX_COUNTED_FOLLOWERS = 10_000, 1000


@dataclass(frozen=True)
class MergePreview:
    """The rows that a merge would move to the original. The numbers of common voters and of followers may be higher if they are at their limits."""

    votes: int
    original_votes: int
    common_votes: int
    is_exact: bool
    comments: int
    followers: int

    @property
    def votes_afterwards(self) -> int:
        return self.votes + self.original_votes - self.common_votes


class Mergeable(LockablePost):
    """The fields and methods of `Post` for duplicates."""

    # The values to restore when the merge is undone. Null if the merge did not change the status, or if the status was changed later.
    status_before_merge_id = models.BigIntegerField(null=True, editable=False)
    closed_before_merge = models.BooleanField(null=True, editable=False)

    class Meta:
        abstract = True

    @transaction.atomic(savepoint=False)
    def merge_into(self, original: "Mergeable", *, by: User) -> None:
        """Make this post a duplicate of another post of its forum. Raise FieldError if that is not possible.

        The caller must not have locked either post, because this method locks the posts in the order of their ids.
        """
        if original.id == self.id:
            raise FieldError("duplicate_from_id", _("is the post itself"), "itself")
        for post in sorted((self, original), key=lambda post: post.id):
            post.lock()
        self.check_not_merged()
        self._check_mergeable("post")
        original._check_mergeable("duplicate_from_id")
        if original.duplicate_from_id is not None:
            message = _("was itself merged into post {id}")
            raise FieldError("duplicate_from_id", message, "merged", {"id": original.duplicate_from_id})
        if original.forum_id != self.forum_id:
            raise FieldError("duplicate_from_id", _("is in another forum"), "elsewhere")
        if self.is_private and not original.is_private:
            # Otherwise everyone could read the comments of the private post.
            raise FieldError("duplicate_from_id", _("is not private, as the post is"), "open")

        # Triggers count the copies.
        self.account.votes.copy(self.account_id, from_id=self.id, to_id=original.id)
        self.account.proxy_votes.copy(self.account_id, from_id=self.id, to_id=original.id)
        comments, internal_comments = self._move_comments(
            {"post_id": self.id},
            has_internal=self.internal_comments_cache > 0,
            post_id=original.id,
            from_post_id=Coalesce(F("from_post_id"), F("post_id")),
        )
        # The team's answer to the duplicate is a comment on the original now.
        answered_at = original.answered_at or self.answered_at
        original._add_comments(comments, internal_comments, answered_at=answered_at)
        values: dict[str, object] = {
            "duplicate_from_id": original.id,
            "comments_cache": self.comments_cache - comments,
            "internal_comments_cache": self.internal_comments_cache - internal_comments,
        }
        status = self.account.statuses.filter(kind=Status.Kind.POST, code=DUPLICATE_STATUS).first()
        if status is not None and status.id != self.status_id:
            values |= {"status": status, "status_before_merge_id": self.status_id, "closed_before_merge": self.closed}
        self.write(values, by=by)
        record(self.account_id, "post.merged", by=by, target=self, into=original.id)

    def preview_merge(self, original: "Mergeable") -> MergePreview:
        """Return what `merge_into` would move."""
        fewer, more = sorted((self, original), key=lambda post: post.votes_cache)
        common = 0
        for votes in (self.account.votes, self.account.proxy_votes):
            is_common = Q()
            for column in votes.all().VOTER_COLUMNS:
                voters = votes.filter(post_id=fewer.id, **{f"{column}__isnull": False}).order_by(column)
                is_common |= Q(**{f"{column}__in": voters.values(column)[:MAX_COMPARED_VOTES]})
            common += votes.filter(is_common, post_id=more.id).count()
        followers = self.account.follows.filter(post_id=self.id, is_following=True)
        return MergePreview(
            votes=self.votes_cache,
            original_votes=original.votes_cache,
            common_votes=common,
            is_exact=fewer.votes_cache <= MAX_COMPARED_VOTES,
            comments=self.comments_cache + self.internal_comments_cache,
            followers=followers[: MAX_COUNTED_FOLLOWERS + 1].count(),
        )

    @transaction.atomic(savepoint=False)
    def undo_merge(self, *, by: User) -> None:
        """Undo the merge of this post. Raise FieldError if that is not possible.

        The caller must not have locked this post or the original, because this method locks the posts in the order of their ids.
        """
        original = None
        if self.duplicate_from_id is not None:
            original = self.account.posts.filter(id=self.duplicate_from_id).first()
        posts = [self] if original is None else [self, original]
        for post in sorted(posts, key=lambda post: post.id):
            post.lock()
        if original is None or self.duplicate_from_id != original.id:
            raise FieldError("post", _("is not merged into another"), "not_merged")
        if original.duplicate_from_id is not None:
            message = _("was merged into post {id}, which was merged into post {other}: undo that first")
            ids = {"id": original.id, "other": original.duplicate_from_id}
            raise FieldError("post", message, "merged_further", ids)

        other_ids = list(original.duplicates().exclude(id=self.id).values_list("id", flat=True))
        self.account.votes.undo_copy(self.account_id, from_id=self.id, to_id=original.id, other_ids=other_ids)
        self.account.proxy_votes.undo_copy(self.account_id, from_id=self.id, to_id=original.id, other_ids=other_ids)
        moved = {"post_id": original.id, "from_post_id__in": [self.id, *self._all_duplicate_ids()]}
        comments, internal_comments = self._move_comments(
            moved,
            has_internal=original.internal_comments_cache > 0,
            post_id=self.id,
            from_post_id=NullIf(F("from_post_id"), self.id),
        )
        answered_at = None if original.answered_at == self.answered_at else original.answered_at
        original._add_comments(-comments, -internal_comments, answered_at=answered_at)
        values: dict[str, object] = {
            "duplicate_from_id": None,
            "comments_cache": self.comments_cache + comments,
            "internal_comments_cache": self.internal_comments_cache + internal_comments,
            "status_before_merge_id": None,
            "closed_before_merge": None,
        }
        if self.status_before_merge_id is not None:
            status = self.account.statuses.filter(id=self.status_before_merge_id).first()
            if status is not None:
                values |= {"status": status, "closed": self.closed_before_merge}
        self.write(values, by=by)
        record(self.account_id, "post.undone", by=by, target=self, merged_into=original.id)

    def duplicates(self) -> models.QuerySet[Any]:
        """Return the posts that were merged into this one."""
        return self.account.posts.filter(duplicate_from_id=self.id)

    def detach_duplicates(self) -> None:
        """Undo the merges into this post. If this post is itself a duplicate, merge its duplicates into its original instead.

        The post is erased afterwards.
        """
        if self.duplicate_from_id is not None:
            self.duplicates().update(duplicate_from_id=self.duplicate_from_id)
            return
        user = User(account_id=self.account_id, id=self.trashed_by_id)  # type: ignore[misc]  # set for a post in the trash
        for duplicate in self.duplicates().order_by("id"):
            duplicate.undo_merge(by=user)

    def _check_mergeable(self, field: str) -> None:
        """Raise FieldError if the post is a task or in the trash."""
        if self.category_id is None:
            raise FieldError(field, _("is a task"), "gone")
        if self.trashed_at is not None:
            raise FieldError(field, _("is in the trash"), "gone")

    def _all_duplicate_ids(self) -> list[int]:
        """Return the ids of the posts that were merged into this one, directly or through other duplicates."""
        duplicate_ids: list[int] = []
        new_ids = [self.id]
        while new_ids:
            new_ids = list(self.account.posts.filter(duplicate_from_id__in=new_ids).values_list("id", flat=True))
            duplicate_ids += new_ids
        return duplicate_ids

    def _move_comments(self, filters: dict[str, object], *, has_internal: bool, **values: object) -> tuple[int, int]:
        """Update the comments, and return the numbers of public ones and of others. Withdrawn and deleted ones move uncounted."""
        comments = self.account.comments.filter(**filters)
        others = comments.filter(Q(internal=True) | Q(approved=False)).update(**values) if has_internal else 0
        public = comments.public().update(**values)
        self.account.comments(manager="with_withdrawn").exclude(LIVE).filter(**filters).update(**values)
        return public, others

    def _add_comments(self, comments: int, internal_comments: int, *, answered_at: "datetime | None") -> None:
        """Add to the counts of comments of this post, and reload its counts."""
        self.updated_at, self.answered_at = timezone.now(), answered_at
        self.internal_comments_cache += internal_comments
        rows = type(self).objects.filter(pk=self.pk)
        rows.update(
            comments_cache=F("comments_cache") + comments,
            internal_comments_cache=F("internal_comments_cache") + internal_comments,
            updated_at=self.updated_at,
            answered_at=answered_at,
        )
        self.votes_cache, self.comments_cache = rows.values_list("votes_cache", "comments_cache").get()
