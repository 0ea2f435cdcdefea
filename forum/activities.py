"""The activities on posts: what users did, in the order of the commits. The follower of the change feed turns them into notifications."""

from datetime import timedelta
from typing import Any, Self

from django.db import migrations, models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.models import User
from core.db.prepared import insert
from core.db.tenancy import TenantModel

# Housekeeping erases older activities, together with their notifications.
ACTIVITY_RETENTION = timedelta(days=90)


class ActivityQuerySet(models.QuerySet["Activity"]):
    def record(self, post: TenantModel, kind: str, *, by: User, **values: Any) -> "Activity":
        """Record what a user did, in the transaction that does it. The change of the post makes the follower read it."""
        activity = Activity(account_id=post.account_id, post_id=post.id, kind=kind, user_id=by.id, **values)
        insert(activity)
        return activity

    def pending(self) -> Self:
        """Return the activities that the follower has not read, oldest first."""
        return self.filter(announced=False).order_by("id")

    def clean_up(self) -> None:
        self.filter(created_at__lt=timezone.now() - ACTIVITY_RETENTION).delete()


class Activity(TenantModel):
    """Something that a user did to a post, or a sign-up, which has no post."""

    class Kind(models.TextChoices):
        NEW_POST = "new_post", _("New suggestion")
        COMMENT = "comment", _("Comment")
        RESPONSE = "response", _("Official response")
        STATUS = "status", _("Change of status")
        MERGE = "merge", _("Merge")
        UNMERGE = "unmerge", _("Undone merge")
        APPROVAL = "approval", _("Approval")
        ASSIGNMENT = "assignment", _("Assignment")
        REMINDER = "reminder", _("Reminder")
        SIGN_UP = "sign_up", _("Sign-up")

    kind = models.CharField(max_length=255, choices=Kind.choices)
    post_id = models.BigIntegerField(null=True)
    post = models.ForeignObject(
        "forum.Post",
        models.DO_NOTHING,
        from_fields=["account_id", "post_id"],
        to_fields=["account_id", "id"],
        related_name="+",
        null=True,
    )
    comment_id = models.BigIntegerField(null=True)
    comment = models.ForeignObject(
        "forum.Comment",
        models.DO_NOTHING,
        from_fields=["account_id", "comment_id"],
        to_fields=["account_id", "id"],
        related_name="+",
        null=True,
    )
    user_id = models.BigIntegerField()
    user = models.ForeignObject(
        User, models.DO_NOTHING, from_fields=["account_id", "user_id"], to_fields=["account_id", "id"], related_name="+"
    )
    # True for a comment that only the team sees.
    internal = models.BooleanField(default=False)
    # The names of the statuses, for a change of status.
    before = models.CharField(max_length=255, null=True)
    after = models.CharField(max_length=255, null=True)
    # Whether the follower of the change feed has read the activity.
    announced = models.BooleanField(default=False)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    objects = ActivityQuerySet.as_manager()

    class Meta:
        default_related_name = "activities"
        verbose_name_plural = "activities"
        constraints = [
            # Reading the changes of a post again creates no second activity.
            models.UniqueConstraint(
                fields=["account", "post_id"], name="activity_new_post_unique", condition=models.Q(kind="new_post")
            ),
        ]
        indexes = [
            models.Index(fields=["account", "id"], name="activity_pending", condition=models.Q(announced=False)),
            # The foreign keys use these indexes when a post or a comment is erased.
            models.Index(fields=["account", "post_id", "id"], name="activity_of_post"),
            models.Index(
                fields=["account", "comment_id"],
                name="activity_of_comment",
                condition=models.Q(comment_id__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} of post {self.post_id}"


# Migrations

# Activities have ids of their own, which are never shown. With ids of the account's sequence, every comment would skip one.
CREATE_ACTIVITY_IDS = """
CREATE SEQUENCE forum_activity_ids;
CREATE FUNCTION take_activity_id() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.id := nextval('forum_activity_ids');
    RETURN NEW;
END $$;
CREATE TRIGGER take_id BEFORE INSERT ON forum_activity FOR EACH ROW WHEN (NEW.id IS NULL)
    EXECUTE FUNCTION take_activity_id();
"""

DROP_ACTIVITY_IDS = """
DROP TRIGGER take_id ON forum_activity;
DROP FUNCTION take_activity_id();
DROP SEQUENCE forum_activity_ids;
"""


def activity_ids() -> migrations.RunSQL:
    """Return the operation that creates the ids of activities."""
    return migrations.RunSQL(CREATE_ACTIVITY_IDS, DROP_ACTIVITY_IDS)
