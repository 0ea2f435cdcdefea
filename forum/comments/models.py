"""Comments on posts and tasks.

A comment is public or *internal*. Only the team reads internal comments, and nothing that other users see depends on them: neither the
counts nor the order of lists, nor whether an author may still change a post. The Forum API (XML) has no internal comments for anyone.

A comment of a member may have to wait for the team's approval (`Post.waits_for_approval`). Until then it is like an internal comment that
its author sees, too.

Code that shows comments to others than the team starts from `CommentQuerySet.public` or `CommentQuerySet.visible_to`.
"""

from typing import Any, Self, cast

from django.apps import apps
from django.db import models
from django.db.models import Exists, F, OuterRef, Q
from django.utils import timezone

from accounts.users.models import User
from core.db.prepared import prepared
from core.db.tenancy import TenantModel, foreign_object
from core.rows.access import ALL_ROWS, Access
from forum.texts.markdown import html_field

# The comments on a page of a post.
COMMENTS_PER_PAGE = 100


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
    """The manager that leaves out withdrawn comments."""

    def get_queryset(self) -> CommentQuerySet:
        return cast(CommentQuerySet, super().get_queryset().filter(withdrawn_at=None))


class Comment(TenantModel):
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
    # When the comments of a blocked member were withdrawn (`forum.blocking.actions`). A withdrawn comment is seen and counted nowhere.
    withdrawn_at = models.DateTimeField(null=True, editable=False)
    # The time of the last change of the text, and whether anyone except the author changed it.
    edited_at = models.DateTimeField(null=True, editable=False)
    edited_by_other = models.BooleanField(default=False, db_default=False, editable=False)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    updated_at = models.DateTimeField(default=timezone.now, editable=False)

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
            # The comments that moved with the merged post. Undoing the merge and erasing that post use it.
            models.Index(
                fields=["account", "from_post_id"], name="comment_from_post", condition=Q(from_post_id__isnull=False)
            ),
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
