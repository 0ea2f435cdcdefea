"""Comments on posts and tasks.

A comment is public or *internal*. Only the team reads internal comments, and nothing that other users see depends on them: neither the
counts nor the order of lists, nor whether an author may still change a post. The Forum API (XML) has no internal comments for anyone.

A comment of a member may have to wait for the team's approval (`Post.waits_for_approval`). Until then it is like an internal comment that
its author sees, too.

Code that shows comments to others than the team starts from `CommentQuerySet.public` or `CommentQuerySet.visible_to`.
"""

from typing import Any, Self, cast

from django.apps import apps
from django.db import models, transaction
from django.db.models import Exists, F, OuterRef, Q
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
        return self.filter(internal=False, approved=True)

    def visible_to(self, user: User | None) -> Self:
        """Return the comments that the user may see on a visible post: all for the team, for others public ones and their own."""
        if user is None:
            return self.public()
        return self if user.is_team else self.filter(Q(approved=True) | Q(user_id=user.id), internal=False)

    def waiting(self) -> Self:
        """Return the comments that the team has not approved yet, oldest first."""
        return self.filter(approved=False).order_by("created_at", "id")

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

    def of_post(
        self, account_id: int, post_id: int, columns: tuple[str, ...], *, reader: User
    ) -> list[tuple[Any, ...]]:
        """Return the columns of a post's public comments, and of the reader's own ones that wait for approval, oldest first."""
        return _comments_of_post(account_id=account_id, post_id=post_id, columns=columns, user_id=reader.id)


@prepared(account_id=int, post_id=int, user_id=int)
def _comments_of_post(account_id: int, post_id: int, columns: tuple[str, ...], user_id: int) -> models.QuerySet[Any]:
    # Also for the team: clients of the Forum API show comments to the public.
    reader = User(id=user_id, role=User.Role.MEMBER)
    comments = Comment.objects.visible_to(reader).filter(account_id=account_id, post_id=post_id)
    return comments.order_by("created_at", "id").values_list(*columns)


AllCommentsManager = models.Manager.from_queryset(CommentQuerySet)


class CommentManager(AllCommentsManager["Comment"]):
    """The manager that leaves out withdrawn comments."""

    def get_queryset(self) -> CommentQuerySet:
        return cast(CommentQuerySet, super().get_queryset().filter(withdrawn_at=None))


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
    # False while a comment of a member waits for the team's approval.
    approved = models.BooleanField(default=True, db_default=True)
    # When the comments of a blocked member were withdrawn (`forum.blocking`). A withdrawn comment is seen and counted nowhere.
    withdrawn_at = models.DateTimeField(null=True, editable=False)
    # The time of the last change of the text, and whether anyone except the author changed it.
    edited_at = models.DateTimeField(null=True, editable=False)
    edited_by_other = models.BooleanField(default=False, db_default=False, editable=False)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    updated_at = models.DateTimeField(default=timezone.now, editable=False)

    # The comments that a new member may write in 24 hours (`forum.limits`).
    MAX_PER_DAY_OF_NEW_MEMBER = 20
    # The Account API reads and writes comments as posts of this kind.
    task_kind = "comment"
    # An annotation of `with_names`: the name of the author.
    nick: str

    objects = CommentManager()
    with_withdrawn = CommentQuerySet.as_manager()

    class Meta:
        default_related_name = "comments"
        indexes = [
            # The comments of a post, oldest first.
            models.Index(fields=["account", "post_id", "created_at", "id"], name="comment_of_post"),
            from_post_index("comment_from_post"),
            # The comments of a user, by age.
            models.Index(fields=["account", "user_id", "created_at", "id"], name="comment_by_author"),
            # The comments that wait for approval.
            models.Index(fields=["account", "created_at", "id"], name="comment_waiting", condition=Q(approved=False)),
        ]

    def __str__(self) -> str:
        return self.comment

    @property
    def is_public(self) -> bool:
        return self.approved and not self.internal

    @property
    def count_column(self) -> str:
        """The column of the post that counts the comment."""
        return "comments_cache" if self.is_public else "internal_comments_cache"

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
    INSERT INTO {into} SELECT {values} FROM post RETURNING *, approved AND NOT internal AS is_public
),
counted AS (
    UPDATE forum_post SET
        comments_cache = comments_cache + comment.is_public::int,
        internal_comments_cache = internal_comments_cache + (NOT comment.is_public)::int,
        updated_at = CASE WHEN comment.is_public THEN greatest(forum_post.updated_at, comment.created_at) ELSE forum_post.updated_at END,
        handled_at = CASE WHEN author.is_team THEN coalesce(handled_at, comment.created_at) ELSE handled_at END,
        answered_at = CASE WHEN author.is_team AND comment.is_public THEN coalesce(answered_at, comment.created_at) ELSE answered_at END
    FROM comment, (SELECT %s::boolean AS is_team) AS author
    WHERE forum_post.account_id = comment.account_id AND forum_post.id = comment.post_id
),
activity AS (
    INSERT INTO forum_activity (account_id, kind, post_id, comment_id, user_id, internal, announced, created_at)
    SELECT comment.account_id, 'comment', comment.post_id, comment.id, comment.user_id, NOT comment.is_public, false, comment.created_at
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
        if user is None or not self.internal_comments_cache:
            return self.comments_cache
        if user.is_team:
            return self.comments_cache + self.internal_comments_cache
        own = self.account.comments.waiting().filter(post_id=self.id, user_id=user.id)
        return self.comments_cache + own.count()

    def comment(self, *, by: User, text: str, agent: str = "", internal: bool = False) -> Comment:
        """Add a comment, which may have to wait for approval. Raise FieldError if the post is merged into another, or if the user may not write internal comments.

        A comment that is not public does not change `updated_at` of the post, because lists and feeds show that time to everyone. The row of
        the post is updated in any case, because the change feed must report the post.
        """
        html = render(text, mentions=self._mentions_in(text, author_id=by.id))
        if internal and not by.is_team:
            with transaction.atomic():
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
            approved=internal or not self.waits_for_approval(by, html=html),
        )
        insertion = insertion_of(Comment)
        inserted = self.lock_and_insert(
            INSERT_COMMENT.format(into=insertion.into, values=insertion.values, returning=insertion.returning),
            [*insertion.values_of(comment), by.is_team],
        )
        insertion.complete(comment, cast("tuple[Any, ...]", inserted))
        values: dict[str, Any] = {comment.count_column: getattr(self, comment.count_column) + 1}
        if comment.is_public:
            values["updated_at"] = comment.created_at
        if by.is_team:
            values["handled_at"] = self.handled_at or comment.created_at
            if comment.is_public:
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
        is_answer = comment.is_public and comment.created_at == self.answered_at
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
        public comment. A changed comment may have to wait for approval. Raise FieldError if the post is merged into another. The caller must
        have read the comment after locking the post.
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
        if comment.is_public and self.waits_for_approval(by, html=comment.comment_html, comment_id=comment.id):
            # Otherwise a member could publish a harmless comment and then replace its text.
            self._set_approved(comment, False)
            return
        values = {"updated_at": now} if comment.is_public else {}
        self._add_to_count(comment.count_column, 0, **values)

    @transaction.atomic(savepoint=False)
    def approve_comment(self, comment: Comment) -> None:
        """Approve a comment, and announce it to those who may see it now. The caller must have read it after locking the post.

        Raise FieldError if the post is merged into another.
        """
        self.check_not_merged()
        if comment.approved:
            return
        now = timezone.now()
        # The follower of the change feed announces the activity again. Recipients who have a notification of it get no other one.
        self._set_approved(comment, True, announced=False, created_at=now)
        self._add_to_count("comments_cache", 0, updated_at=now)

    @transaction.atomic(savepoint=False)
    def reject_comment(self, comment: Comment) -> None:
        """Erase a comment that waits for approval. Raise FieldError if it is approved. The caller must have locked the post."""
        if comment.approved:
            raise FieldError("comment", _("is approved"), "approved")
        self.erase_comment(comment)

    def _set_approved(self, comment: Comment, approved: bool, **values: Any) -> None:
        """Change whether the comment is public, with the counts of the post, and the activity with its notifications."""
        self._add_to_count(comment.count_column, -1)
        comment.approved = approved
        comment.save(update_fields=["approved"])
        self._add_to_count(comment.count_column, 1)
        self.account.activities.filter(comment_id=comment.id).update(internal=not approved, **values)

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
