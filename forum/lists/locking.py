"""The lock of a post, which votes, comments, merges and edits of the post take."""

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from django.db import models
from django.utils.translation import gettext_lazy as _
from psycopg.types.numeric import Int2, Int8

from accounts.users.models import User
from core.db.prepared import execute_on_hot_row
from core.db.tenancy import TenantModel
from core.errors import ConcurrentUpdate, FieldError
from core.rows.trash import Trashable


class LockablePost(TenantModel, Trashable):
    """The base of the parts of `Post`, which lock the post and reload its fields."""

    # The fields that `lock` reads again, because they may have changed since the row was read.
    RELOADED_FIELDS = (
        "forum_id",
        "category_id",
        "private",
        "kind",
        "approved",
        "status_id",
        "closed",
        "votes_cache",
        "comments_cache",
        "internal_comments_cache",
        "handled_at",
        "answered_at",
        "duplicate_from_id",
        "status_before_merge_id",
        "closed_before_merge",
        "trashed_at",
    )

    # The original that this post was merged into.
    duplicate_from_id = models.BigIntegerField(null=True)

    if TYPE_CHECKING:
        # The attributes of `Post` that its parts use.
        objects: Any
        forum_id: int | None
        visibility: int
        category_id: int | None
        status_id: int
        closed: bool
        votes_cache: int
        comments_cache: int
        internal_comments_cache: int
        handled_at: datetime | None
        answered_at: datetime | None

        @property
        def is_private(self) -> bool: ...

        def waits_for_approval(self, by: User, *, html: str, title: str | None = None, comment_id: int = 0) -> bool: ...

        def write(self, values: dict[str, object], *, by: User) -> None: ...

    class Meta:
        abstract = True

    def lock(self) -> None:
        """Lock the row until the transaction ends, and reload the fields that may have changed.

        Raise DoesNotExist if the row was erased.
        """
        values = type(self).objects.locked().filter(pk=self.pk).values_list(*self.RELOADED_FIELDS).get()
        self._reload(values)

    def _reload(self, values: Sequence[object]) -> None:
        for name, value in zip(self.RELOADED_FIELDS, values, strict=True):
            setattr(self, name, value)

    def lock_and_insert(self, text: str, values: Sequence[object]) -> tuple[object, ...] | None:
        """Lock the row, reload the fields that may have changed, and execute an INSERT, all in one statement.

        Many users vote and comment on one post at the same time, and each of them waits for the lock. So it must not be held for longer
        than this statement and its commit. `text` is the text of CTEs with the parameters `values`. They insert rows from the CTE `post`,
        which has the locked row, and the last of them is `inserted`. Return its row, or None if it is empty.

        Raise FieldError if the post is merged into another, and ConcurrentUpdate if it was deleted, or if its visibility changed since it
        was read. Outside of a transaction, the statement commits itself.
        """
        columns = ", ".join(f'locked."{name}"' for name in self.RELOADED_FIELDS)
        rows = execute_on_hot_row(
            f"""
            WITH locked AS (
                SELECT account_id, id, visibility, {columns} FROM forum_post AS locked WHERE account_id = %s AND id = %s FOR NO KEY UPDATE
            ),
            post AS (SELECT * FROM locked WHERE duplicate_from_id IS NULL AND visibility = %s),
            {text}
            SELECT {columns}, locked.visibility, {{setting}}, inserted.* FROM locked LEFT JOIN inserted ON true
            """,  # noqa: S608
            [Int8(self.account_id), Int8(self.id), Int2(self.visibility), *values],
        )
        if not rows:
            raise ConcurrentUpdate("The post was erased by another request")
        number, visibility_before = len(self.RELOADED_FIELDS), self.visibility
        self._reload(rows[0][:number])
        self.visibility, _setting, *inserted = rows[0][number:]
        self.check_not_merged()
        if self.visibility != visibility_before:
            raise ConcurrentUpdate("Another request changed the visibility of the post")
        return None if inserted[0] is None else tuple(inserted)

    def check_not_merged(self) -> None:
        """Raise FieldError if the post is merged into another."""
        if self.duplicate_from_id is not None:
            raise FieldError("post", _("was merged into post {id}"), "merged", {"id": self.duplicate_from_id})
