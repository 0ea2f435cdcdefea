"""Duplicates: a post is merged into another, the original, and its votes and comments with it; and all of it can be undone.

The duplicate keeps its votes. They are copied to the original, for voters that have none there; its comments move, and know
where they were written. What was merged into the duplicate before comes with it, and stays merged into that: so a merge into a
post that is itself merged can only be undone after that one's.
"""

from django.db import models, transaction
from django.db.models import F
from django.db.models.functions import Coalesce, NullIf
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.models import Status, User
from core.errors import FieldError

# The status that a duplicate gets, if the account has one of this code.
CODE = "duplicate"


class Mergeable(models.Model):
    """What `Post` has for it."""

    # What may have changed since the row was read, and is known anew when it is held.
    HELD = (
        "forum_id",
        "category_id",
        "private",
        "kind",
        "approved",
        "status_id",
        "closed",
        "votes_cache",
        "comments_cache",
        "duplicate_from_id",
        "status_before_merge_id",
        "closed_before_merge",
        "trashed_at",
    )

    # The post that it was merged into.
    duplicate_from_id = models.BigIntegerField(null=True)
    # What undoing gives it back; null where the status was left alone, or changed since.
    status_before_merge_id = models.BigIntegerField(null=True, editable=False)
    closed_before_merge = models.BooleanField(null=True, editable=False)

    class Meta:
        abstract = True

    def hold(self) -> None:
        """Hold the row until the transaction ends, and know what may have changed in it. Raises DoesNotExist if it was erased."""
        held = type(self).objects.locked().filter(pk=self.pk).values_list(*self.HELD).get()
        for name, value in zip(self.HELD, held, strict=True):
            setattr(self, name, value)

    def refuse_if_merged(self) -> None:
        if self.duplicate_from_id is not None:
            raise FieldError("post", _("was merged into post {id}"), "merged", {"id": self.duplicate_from_id})

    @transaction.atomic(savepoint=False)
    def merge_into(self, original: "Mergeable", *, by: User) -> None:
        """Make it a duplicate of another post of its forum. The caller holds neither: they are held in the order of their ids.

        Raises FieldError where that can't be.
        """
        if original.id == self.id:
            raise FieldError("duplicate_from_id", _("is the post itself"), "itself")
        for post in sorted((self, original), key=lambda post: post.id):
            post.hold()
        self.refuse_if_merged()
        self._refuse_if_unmergeable("post")
        original._refuse_if_unmergeable("duplicate_from_id")
        if original.duplicate_from_id is not None:
            message = _("was itself merged into post {id}")
            raise FieldError("duplicate_from_id", message, "merged", {"id": original.duplicate_from_id})
        if original.forum_id != self.forum_id:
            raise FieldError("duplicate_from_id", _("is in another forum"), "elsewhere")
        if self.is_private and not original.is_private:
            # Its comments would be there for everyone to read.
            raise FieldError("duplicate_from_id", _("is not private, as the post is"), "open")

        votes = self.account.votes.copy(self.account_id, of=self.id, to=original.id)
        # The database counts these.
        self.account.proxy_votes.copy(self.account_id, of=self.id, to=original.id)
        comments = self.account.comments.filter(post_id=self.id).update(
            post_id=original.id, from_post_id=Coalesce(F("from_post_id"), F("post_id"))
        )
        original._count_merged(votes, comments)
        values = {"duplicate_from_id": original.id, "comments_cache": self.comments_cache - comments}
        status = self.account.statuses.filter(kind=Status.Kind.POST, code=CODE).first()
        if status is not None and status.id != self.status_id:
            values |= {
                "status": status,
                "status_before_merge_id": self.status_id,
                "closed_before_merge": self.closed,
            }
        self.write(values, by=by)

    @transaction.atomic(savepoint=False)
    def undo_merge(self, *, by: User) -> None:
        """Take it out of the post that it was merged into, as it was. The caller holds neither.

        Raises FieldError where that can't be.
        """
        original = self.account.posts.filter(id=self.duplicate_from_id).first()
        posts = [self] if original is None else [self, original]
        for post in sorted(posts, key=lambda post: post.id):
            post.hold()
        if original is None or self.duplicate_from_id != original.id:
            raise FieldError("post", _("is not merged into another"), "not_merged")
        if original.duplicate_from_id is not None:
            message = _("was merged into post {id}, which was merged into post {other}: undo that first")
            raise FieldError(
                "post", message, "merged_further", {"id": original.id, "other": original.duplicate_from_id}
            )

        others = list(original.duplicates().exclude(id=self.id).values_list("id", flat=True))
        votes = self.account.votes.reattach(self.account_id, of=self.id, to=original.id, others=others)
        self.account.proxy_votes.reattach(self.account_id, of=self.id, to=original.id, others=others)
        came_along = self.account.comments.filter(post_id=original.id, from_post_id__in=[self.id, *self._all_merged()])
        comments = came_along.update(post_id=self.id, from_post_id=NullIf(F("from_post_id"), self.id))
        original._count_merged(-votes, -comments)
        values = {
            "duplicate_from_id": None,
            "comments_cache": self.comments_cache + comments,
            "status_before_merge_id": None,
            "closed_before_merge": None,
        }
        before = self.account.statuses.filter(id=self.status_before_merge_id).first()
        if before is not None:
            values |= {"status": before, "closed": self.closed_before_merge}
        self.write(values, by=by)

    def duplicates(self) -> models.QuerySet:
        """Those that were merged into it."""
        return self.account.posts.filter(duplicate_from_id=self.id)

    def let_duplicates_go(self) -> None:
        """Before it is erased: what was merged into it goes on as it was, or belongs to what it was itself merged into."""
        if self.duplicate_from_id is not None:
            self.duplicates().update(duplicate_from_id=self.duplicate_from_id)
            return
        for duplicate in self.duplicates().order_by("id"):
            duplicate.undo_merge(by=User(account_id=self.account_id, id=self.trashed_by_id))

    @property
    def is_private(self) -> bool:
        return self.private or self.kind == self.Kind.PRIVATE

    def _refuse_if_unmergeable(self, field: str) -> None:
        if self.category_id is None:
            raise FieldError(field, _("is a task"), "gone")
        if self.trashed_at is not None:
            raise FieldError(field, _("is in the trash"), "gone")

    def _all_merged(self) -> list[int]:
        """The ids of those that were merged into it, or into one of those."""
        found, new = [], [self.id]
        while new:
            new = list(self.account.posts.filter(duplicate_from_id__in=new).values_list("id", flat=True))
            found += new
        return found

    def _count_merged(self, votes: int, comments: int) -> None:
        self.updated_at = timezone.now()
        rows = type(self).objects.filter(pk=self.pk)
        rows.update(
            votes_cache=F("votes_cache") + votes,
            comments_cache=F("comments_cache") + comments,
            updated_at=self.updated_at,
        )
        self.votes_cache, self.comments_cache = rows.values_list("votes_cache", "comments_cache").get()
