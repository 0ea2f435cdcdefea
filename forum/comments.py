"""Comments on posts and tasks.

A comment is public or *internal*. Only the team reads internal comments, and nothing that other users see depends on them: neither the
counts nor the order of lists, nor whether an author may still change a post. The Forum API (XML) has no internal comments for anyone.

Code that shows comments to others than the team starts from `CommentQuerySet.public` or `CommentQuerySet.visible_to`.
"""

from typing import Any, Self, cast

from django.apps import apps
from django.db import models, transaction
from django.db.models import Exists, F, OuterRef
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.models import User
from core.db.access import ALL_ROWS, Access
from core.db.prepared import insertion_of, prepared
from core.db.tenancy import TenantModel, foreign_object
from core.errors import FieldError
from forum.markdown import MAX_HTML_LENGTH, render
from forum.mentions import find_mentions, mentioned_ids
from forum.merging import Mergeable
from forum.votes import from_post_index


def html_field() -> "models.CharField[Any, Any]":
    """Return a field for the HTML of another field, which is rendered whenever that field is saved.

    The HTML is null if the other field is null, or was saved before the field of the HTML existed.
    """
    return models.CharField(max_length=MAX_HTML_LENGTH, null=True, editable=False)


class CommentQuerySet(models.QuerySet["Comment"]):
    def public(self) -> Self:
        return self.filter(internal=False)

    def visible_to(self, user: User | None) -> Self:
        """Return the comments that the user may see on a visible post: all for the team, public ones for others."""
        return self if user is not None and user.is_team else self.public()

    def by_team(self) -> Self:
        return self.filter(user__role__in=User.TEAM)

    def with_names(self) -> Self:
        """Annotate each comment with the name of its author."""
        return self.annotate(nick=F("user__name")).defer("comment_html")

    def of_live_posts(self, access: Access = ALL_ROWS) -> Self:
        """Return the comments of accessible posts and tasks that are not in the trash."""
        # The module of `Post` imports this one.
        posts: Any = apps.get_model("forum", "Post")._default_manager
        of_comment = posts.live().limited_to(access).filter(account_id=OuterRef("account_id"), id=OuterRef("post_id"))
        return self.filter(Exists(of_comment))

    def of_post(self, account_id: int, post_id: int, columns: tuple[str, ...]) -> list[tuple[Any, ...]]:
        """Return the columns of a post's public comments, oldest first."""
        return _comments_of_post(account_id=account_id, post_id=post_id, columns=columns)


@prepared(account_id=int, post_id=int)
def _comments_of_post(account_id: int, post_id: int, columns: tuple[str, ...]) -> models.QuerySet[Any]:
    comments = Comment.objects.public().filter(account_id=account_id, post_id=post_id)
    return comments.order_by("created_at", "id").values_list(*columns)


class Comment(TenantModel):
    """A comment on a post or task."""

    post_id = models.BigIntegerField()
    # The post where the comment was written, if that post was merged into this one.
    from_post_id = models.BigIntegerField(null=True, editable=False)
    user_id = models.BigIntegerField()
    user = foreign_object(User, "user_id")
    agent = models.CharField(max_length=255, blank=True, default="")
    comment = models.CharField(max_length=65536)
    comment_html = html_field()
    kind = models.CharField(max_length=255, null=True)
    # True for a comment that only the team sees. The value never changes: otherwise a text for the team could be published.
    internal = models.BooleanField(default=False, db_default=False)
    # The time of the last change of the text, and whether anyone except the author changed it.
    edited_at = models.DateTimeField(null=True, editable=False)
    edited_by_other = models.BooleanField(default=False, db_default=False, editable=False)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    updated_at = models.DateTimeField(default=timezone.now, editable=False)

    # The Account API reads and writes comments as posts of this kind.
    task_kind = "comment"
    # An annotation of `with_names`: the name of the author.
    nick: str

    objects = CommentQuerySet.as_manager()

    class Meta:
        default_related_name = "comments"
        indexes = [
            # The comments of a post, oldest first.
            models.Index(fields=["account", "post_id", "created_at", "id"], name="comment_of_post"),
            from_post_index("comment_from_post"),
        ]

    def __str__(self) -> str:
        return self.comment

    @property
    def count_column(self) -> str:
        """The column of the post that counts the comment."""
        return "internal_comments_cache" if self.internal else "comments_cache"

    def may_be_changed_by(self, user: User) -> bool:
        """Return whether the user may change or delete the comment. Members may change their own public comments, the team all."""
        return user.is_team or (self.user_id == user.id and not self.internal)

    def versions(self) -> "models.QuerySet[CommentVersion]":
        """Return the earlier texts, newest first, each annotated with the name of the user who replaced it."""
        rows = self.account.comment_versions.filter(comment_id=self.id)
        return rows.annotate(nick=F("user__name")).order_by("-created_at", "-id")


class CommentVersion(TenantModel):
    """An earlier text of an edited comment, which only the team sees."""

    comment_id = models.BigIntegerField()
    text = models.CharField(max_length=65536)
    # The user who replaced the text, and when.
    user_id = models.BigIntegerField()
    user = foreign_object(User, "user_id")
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        default_related_name = "comment_versions"
        indexes = [models.Index(fields=["account", "comment_id", "created_at", "id"], name="version_of_comment")]

    def __str__(self) -> str:
        return self.text


# The CTEs of `Mergeable.lock_and_insert` for a new comment, which is counted, and recorded for notifications unless the post is a task.
# `updated_at` must not go back if a comment waited for another that was begun later.
INSERT_COMMENT = """
comment AS (
    INSERT INTO {into} SELECT {values} FROM post RETURNING *
),
counted AS (
    UPDATE forum_post SET
        comments_cache = comments_cache + (NOT comment.internal)::int,
        internal_comments_cache = internal_comments_cache + comment.internal::int,
        updated_at = CASE WHEN comment.internal THEN forum_post.updated_at ELSE greatest(forum_post.updated_at, comment.created_at) END,
        handled_at = CASE WHEN author.is_team THEN coalesce(handled_at, comment.created_at) ELSE handled_at END,
        answered_at = CASE WHEN author.is_team AND NOT comment.internal THEN coalesce(answered_at, comment.created_at) ELSE answered_at END
    FROM comment, (SELECT %s::boolean AS is_team) AS author
    WHERE forum_post.account_id = comment.account_id AND forum_post.id = comment.post_id
),
activity AS (
    INSERT INTO forum_activity (account_id, kind, post_id, comment_id, user_id, internal, announced, created_at)
    SELECT comment.account_id, 'comment', comment.post_id, comment.id, comment.user_id, comment.internal, false, comment.created_at
    FROM comment, post WHERE post.category_id IS NOT NULL
),
inserted AS (SELECT {returning} FROM comment)
"""


class Commentable(Mergeable):
    """The methods of `Post` for its comments."""

    class Meta:
        abstract = True

    def comment_count_for(self, user: User | None) -> int:
        """Return the number of comments that the user may see."""
        is_team = user is not None and user.is_team
        return self.comments_cache + (self.internal_comments_cache if is_team else 0)

    @transaction.atomic(savepoint=False)
    def comment(self, *, by: User, text: str, agent: str = "", internal: bool = False) -> Comment:
        """Add a comment. Raise FieldError if the post is merged into another, or if the user may not write internal comments.

        An internal comment does not change `updated_at` of the post, because lists and feeds show that time to everyone. The row of
        the post is updated in any case, because the change feed must report the post.
        """
        html = render(text, mentions=self._mentions_in(text, author_id=by.id))
        if internal and not by.is_team:
            self.lock()
            self.check_not_merged()
            raise FieldError("internal", _("can only be set by the team"), "team")
        comment = Comment(
            account=self.account,
            post_id=self.id,
            user_id=by.id,
            comment=text,
            comment_html=html,
            agent=agent,
            internal=internal,
        )
        insertion = insertion_of(Comment)
        inserted = self.lock_and_insert(
            INSERT_COMMENT.format(into=insertion.into, values=insertion.values, returning=insertion.returning),
            [*insertion.values_of(comment), by.is_team],
        )
        insertion.complete(comment, cast("tuple[Any, ...]", inserted))
        values: dict[str, Any] = {comment.count_column: getattr(self, comment.count_column) + 1}
        if not internal:
            values["updated_at"] = comment.created_at
        if by.is_team:
            values["handled_at"] = self.handled_at or comment.created_at
            if not internal:
                values["answered_at"] = self.answered_at or comment.created_at
        for name, value in values.items():
            setattr(self, name, value)
        return comment

    @transaction.atomic(savepoint=False)
    def erase_comment(self, comment: Comment) -> bool:
        """Erase a comment with its versions, and return whether it existed. The post's `updated_at` stays the same.

        The post is unanswered again if this was the only public comment of the team, unless the team marked the post as handled.
        Raise FieldError if the post is merged into another.
        """
        self.lock()
        self.check_not_merged()
        comments = self.account.comments.filter(post_id=self.id)
        # Do not change `answered_at` if it is the time of another comment, or of `mark_handled`.
        is_answer = not comment.internal and comment.created_at == self.answered_at
        erased, _by_model = comments.filter(id=comment.id).delete()
        if erased:
            values: dict[str, Any] = {}
            if is_answer:
                answers = comments.public().by_team().order_by("created_at", "id")
                values["answered_at"] = answers.values_list("created_at", flat=True).first()
            self._add_to_count(comment.count_column, -1, **values)
        return bool(erased)

    @transaction.atomic(savepoint=False)
    def edit_comment(self, comment: Comment, text: str, *, by: User) -> None:
        """Change the text of a comment, and save the old text as a version.

        The row of the post is updated as well, because the change feed must report the post. The post's `updated_at` changes only for a
        public comment. Raise FieldError if the post is merged into another. The caller must have read the comment after locking the post.
        """
        self.lock()
        self.check_not_merged()
        if text == comment.comment:
            return
        now = timezone.now()
        self.account.comment_versions.create(comment_id=comment.id, text=comment.comment, user_id=by.id, created_at=now)
        mentions = self._mentions_in(text, author_id=comment.user_id, edited_comment=comment)
        comment.comment, comment.comment_html = text, render(text, mentions=mentions)
        comment.updated_at = comment.edited_at = now
        comment.edited_by_other = comment.edited_by_other or by.id != comment.user_id
        comment.save(update_fields=["comment", "comment_html", "updated_at", "edited_at", "edited_by_other"])
        values = {} if comment.internal else {"updated_at": now}
        self._add_to_count(comment.count_column, 0, **values)

    def _mentions_in(
        self, text: str, *, author_id: int, edited_comment: Comment | None = None
    ) -> dict[str, int | None]:
        """Return the result of `find_mentions` for the text of a comment, whose mentions are marked in the HTML.

        For an edited comment, the id of a user whom its first text did not mention is replaced by None: an edit notifies nobody.
        """
        ids = find_mentions(self.account, text, post=self, author_id=author_id)
        if not ids or edited_comment is None:
            return ids
        first_text = edited_comment.versions().reverse().values_list("text", flat=True)[0]
        notified = mentioned_ids(self.account, first_text, post=self, author_id=author_id)
        return {name: id if id in notified else None for name, id in ids.items()}

    def _add_to_count(self, column: str, difference: int, **values: Any) -> None:
        """Add to a count of the locked row, and update other columns with it."""
        values[column] = getattr(self, column) + difference
        type(self)._default_manager.filter(pk=self.pk).update(**values)
        for name, value in values.items():
            setattr(self, name, value)
