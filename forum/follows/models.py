"""Followers of suggestions.

The author, voters and commenters of a suggestion follow it, without a row of their own. A row stores the choice of a user who pressed
*Follow* or *Unfollow*, and takes precedence. Who follows a duplicate follows its original, unless they chose something else there.
"""

from typing import Any

from django.db import models, transaction
from django.db.models import Exists, OuterRef, Q, Subquery
from django.utils import timezone

from accounts.account.models import Account
from accounts.users.models import User
from core.db.tenancy import TenantModel


class FollowQuerySet(models.QuerySet["Follow"]):
    @transaction.atomic(savepoint=False)
    def choose(self, post: TenantModel, *, by: User, follows: bool) -> None:
        """Store that the user follows the post, or does not."""
        defaults = {"is_following": follows}
        self.update_or_create(account_id=post.account_id, post_id=post.id, user_id=by.id, defaults=defaults)


class Follow(TenantModel):
    """The choice of a user to follow a post, or not to follow it."""

    post_id = models.BigIntegerField()
    user_id = models.BigIntegerField()
    is_following = models.BooleanField()
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    objects = FollowQuerySet.as_manager()

    class Meta:
        default_related_name = "follows"
        constraints = [models.UniqueConstraint(fields=["account", "post_id", "user_id"], name="follow_unique")]

    def __str__(self) -> str:
        return f"user {self.user_id}, post {self.post_id}: {self.is_following}"


def follow_annotations(user: User) -> dict[str, object]:
    """Return annotations of posts: the choice of the user (True, False, or None), and whether the user took part, or follows a duplicate."""
    account = Account(id=user.account_id)
    own = account.follows.filter(post_id=OuterRef("id"), user_id=user.id)
    comments = account.comments.filter(post_id=OuterRef("id"), user_id=user.id).order_by()
    duplicates = account.posts.filter(duplicate_from_id=OuterRef(OuterRef("id"))).order_by()
    of_duplicates = account.follows.filter(user_id=user.id, is_following=True, post_id__in=duplicates.values("id"))
    return {
        "follow_choice": Subquery(own.values("is_following")),
        "takes_part": models.ExpressionWrapper(
            Q(user_id=user.id)
            | Q(Exists(account.votes.filter(post_id=OuterRef("id"), user_id=user.id)))
            | Q(Exists(comments))
            | Q(Exists(of_duplicates)),
            output_field=models.BooleanField(),
        ),
    }


def is_followed(post: Any) -> bool:
    """Return whether the user of `follow_annotations` follows the post."""
    return bool(post.takes_part if post.follow_choice is None else post.follow_choice)
