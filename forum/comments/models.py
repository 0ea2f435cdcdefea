"""Comments on posts and tasks.

A comment is public or *internal*. Only the team reads internal comments, and nothing that other users see depends on them: neither the
counts nor the order of lists, nor whether an author may still change a post. The Forum API (XML) has no internal comments for anyone.

A comment of a member may have to wait for the team's approval (`Post.waits_for_approval`). Until then it is like an internal comment that
its author sees, too.

Code that shows comments to others than the team starts from `CommentQuerySet.public` or `CommentQuerySet.visible_to`.

A reply belongs to a comment without a parent, its thread (`forum.comments.threads`). A deleted comment that has replies keeps a row without a
text, which only the threads of the page of the post read.
"""

from collections.abc import Sequence
from typing import Any, Self, cast

from django.apps import apps
from django.contrib.postgres.expressions import ArraySubquery
from django.db import models
from django.db.models import Count, Exists, F, OuterRef, Q
from django.db.models.functions import JSONObject
from django.utils import timezone

from accounts.account.models import Account
from accounts.users.models import User
from core.db.prepared import prepared
from core.db.tenancy import TenantModel, foreign_object
from core.rows.access import ALL_ROWS, Access
from forum.texts.markdown import html_field

# The comments on a page of a post.
COMMENTS_PER_PAGE = 100


# The conditions of public comments, and of those that are neither withdrawn nor deleted.
PUBLIC = Q(internal=False, approved=True)
LIVE = Q(withdrawn_at=None, deleted_at=None)


def visible(user: User | None) -> Q:
    """Return the condition of the live comments that the user may see on a visible post: all for the team, for others public ones and their own."""
    if user is None:
        return PUBLIC
    return Q() if user.is_team else Q(Q(approved=True) | Q(user_id=user.id), internal=False)


class CommentQuerySet(models.QuerySet["Comment"]):
    def public(self) -> Self:
        return self.filter(PUBLIC)

    def visible_to(self, user: User | None) -> Self:
        return self.filter(visible(user))

    def waiting(self) -> Self:
        """Return the comments that the team has not approved yet, oldest first."""
        return self.filter(approved=False).order_by("created_at", "id")

    def by_team(self) -> Self:
        return self.filter(user__role__in=User.TEAM)

    def with_names(self) -> Self:
        """Annotate each comment with the name of its author, and with its reactions."""
        return self.annotate(nick=F("user__name"), counted=reactions(0)).defer("comment_html")

    def of_live_posts(self, access: Access = ALL_ROWS) -> Self:
        """Return the comments of accessible posts and tasks that are not in the trash."""
        # The module of `Post` imports this one.
        posts = apps.get_model("forum", "Post")._default_manager
        of_comment = posts.live().limited_to(access).filter(account_id=OuterRef("account_id"), id=OuterRef("post_id"))
        return self.filter(Exists(of_comment))


@prepared(account_id=int, post_id=int, user_id=int)
def comments_of_post(account_id: int, post_id: int, columns: tuple[str, ...], user_id: int) -> models.QuerySet[Any]:
    """Return the columns of a post's public comments, and of the user's own ones that wait for approval, oldest first."""
    # Also for the team: clients of the Forum API show comments to the public.
    reader = User(id=user_id, role=User.Role.MEMBER)
    comments = Comment.objects.visible_to(reader).filter(account_id=account_id, post_id=post_id)
    return comments.order_by("created_at", "id").values_list(*columns)


AllCommentsManager = models.Manager.from_queryset(CommentQuerySet)


class CommentManager(AllCommentsManager["Comment"]):
    """The manager that leaves out withdrawn and deleted comments."""

    def get_queryset(self) -> CommentQuerySet:
        return cast(CommentQuerySet, super().get_queryset().filter(LIVE))


class Comment(TenantModel):
    post_id = models.BigIntegerField()
    # The post where the comment was written, if that post was merged into this one.
    from_post_id = models.BigIntegerField(null=True, editable=False)
    # The comment that this one replies to, which has no parent itself.
    parent_id = models.BigIntegerField(null=True, editable=False)
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
    # When the comments of a blocked member were withdrawn (`forum.blocking.actions`). A withdrawn comment is seen and counted nowhere.
    withdrawn_at = models.DateTimeField(null=True, editable=False)
    # When a comment with replies was deleted.
    deleted_at = models.DateTimeField(null=True, editable=False)
    # When the team pinned the comment, and whether the team marked it as helpful.
    pinned_at = models.DateTimeField(null=True, editable=False)
    helpful = models.BooleanField(default=False, db_default=False, editable=False)
    # The time of the last change of the text, and whether anyone except the author changed it.
    edited_at = models.DateTimeField(null=True, editable=False)
    edited_by_other = models.BooleanField(default=False, db_default=False, editable=False)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    updated_at = models.DateTimeField(default=timezone.now, editable=False)

    # The Account API reads and writes comments as posts of this kind.
    task_kind = "comment"
    # Annotations of `with_names`: the name of the author, and the result of `reactions`.
    nick: str
    counted: Sequence[dict[str, Any]] = ()
    # What `forum.comments.threads` reads: whether the reader sees the comment, its reactions, its first replies and the number of others.
    is_shown = True
    reactions: Sequence[tuple[str, str, int, bool]] = ()
    replies: "Sequence[Comment]" = ()
    more_replies = 0

    objects = CommentManager()
    with_withdrawn = CommentQuerySet.as_manager()

    class Meta:
        default_related_name = "comments"
        indexes = [
            # The comments of a post, oldest first.
            models.Index(fields=["account", "post_id", "created_at", "id"], name="comment_of_post"),
            # The comments that moved with the merged post. Undoing the merge and erasing that post use it.
            models.Index(
                fields=["account", "from_post_id"], name="comment_from_post", condition=Q(from_post_id__isnull=False)
            ),
            # The comments of a user, by age.
            models.Index(fields=["account", "user_id", "created_at", "id"], name="comment_by_author"),
            # The replies to a comment, and the comments that the page of a post shows first or links.
            models.Index(
                fields=["account", "parent_id", "created_at", "id"],
                name="comment_of_parent",
                condition=Q(parent_id__isnull=False),
            ),
            models.Index(
                fields=["account", "post_id", "id"],
                name="comment_marked",
                condition=Q(pinned_at__isnull=False) | Q(helpful=True),
            ),
            # The comments that wait for approval.
            models.Index(fields=["account", "created_at", "id"], name="comment_waiting", condition=Q(approved=False)),
        ]

    def __str__(self) -> str:
        return self.comment

    @property
    def is_public(self) -> bool:
        return self.approved and not self.internal

    @property
    def pinned(self) -> bool:
        return self.pinned_at is not None

    @property
    def reaction_counts(self) -> dict[str, int]:
        return {row["kind"]: row["count"] for row in self.counted}

    @property
    def thread_id(self) -> int:
        """The id of the comment that a reply to this one belongs to."""
        return self.parent_id or self.id

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


class CommentReaction(models.Model):
    """A reaction of a user to a comment. A user has at most one of each kind."""

    class Kind(models.TextChoices):
        THUMBS_UP = "thumbs_up", "👍"
        HEART = "heart", "❤️"
        PARTY = "party", "🎉"
        SMILE = "smile", "😄"
        CONFUSED = "confused", "😕"
        EYES = "eyes", "👀"

    pk = models.CompositePrimaryKey("account_id", "comment_id", "user_id", "kind")
    account = models.ForeignKey(Account, models.CASCADE, related_name="comment_reactions", db_index=False)
    comment_id = models.BigIntegerField()
    user_id = models.BigIntegerField()
    kind = models.CharField(max_length=16, choices=Kind.choices)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        default_related_name = "comment_reactions"
        # The reactions of a user, for the erasure of the user.
        indexes = [models.Index(fields=["account", "user_id"], name="reaction_of_user")]

    def __str__(self) -> str:
        return f"{self.kind} of user {self.user_id} for {self.comment_id}"


def reactions(user_id: int) -> ArraySubquery:
    """Return an annotation of comments: for each kind of reactions its number, and the number of those of the user."""
    rows = CommentReaction.objects.filter(account_id=OuterRef("account_id"), comment_id=OuterRef("id"))
    own = Count("user_id", filter=Q(user_id=user_id))
    counted = rows.order_by().values("kind").annotate(value=JSONObject(kind="kind", count=Count("user_id"), own=own))
    return ArraySubquery(counted.order_by("kind").values("value"))


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
