"""The activities on posts, of which users are notified.

An activity records what a user did to a post. The methods of posts and comments record most activities, and the follower of the change
feed (`forum.notifications.follower`) creates their notifications: one row for each activity and recipient. A sign-up and the job for
reminders create their activities and notifications themselves. A note that mentions users has one activity, which the follower records.
"""

from datetime import timedelta
from typing import Self

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.users.models import User
from core.db.prepared import insert
from core.db.tenancy import TenantModel, foreign_object

# Housekeeping erases older activities, together with their notifications.
ACTIVITY_RETENTION = timedelta(days=90)


class ActivityQuerySet(models.QuerySet["Activity"]):
    def record(self, post: TenantModel, kind: str, *, by: User, **values: object) -> "Activity":
        """Record what a user did.

        The same transaction must update the post: the follower reads new activities only after a change of a post.
        """
        activity = Activity(account_id=post.account_id, post_id=post.id, kind=kind, user_id=by.id, **values)
        insert(activity)
        return activity

    def pending(self) -> Self:
        """Return the activities that the follower has not announced, oldest first."""
        return self.filter(announced=False).order_by("id")

    def outdated(self) -> Self:
        return self.filter(created_at__lt=timezone.now() - ACTIVITY_RETENTION)


class Activity(TenantModel):
    """An act of a user on a post, a sign-up, a reminder of a task (`user_id` is the responsible user), or mentions in a note.

    A sign-up and a note have no post.
    """

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
        NOTE = "note", _("Note")

    kind = models.CharField(max_length=255, choices=Kind.choices)
    post_id = models.BigIntegerField(null=True)
    post = foreign_object("forum.Post", "post_id", null=True)
    comment_id = models.BigIntegerField(null=True)
    comment = foreign_object("forum.Comment", "comment_id", null=True)
    # The note that mentions users (`forum.notifications.models`).
    note_id = models.BigIntegerField(null=True)
    user_id = models.BigIntegerField()
    user = foreign_object(User, "user_id")
    # True for what only the team sees: a note, an internal comment, or a comment that waits for approval.
    internal = models.BooleanField(default=False)
    # The names of the statuses, for a change of status.
    before = models.CharField(max_length=255, null=True)
    after = models.CharField(max_length=255, null=True)
    # The time of a reminder: that of the task, unless the task has a time for its reminder.
    scheduled_at = models.DateTimeField(null=True)
    # False until the notifications of the activity have been created.
    announced = models.BooleanField(default=False)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    objects = ActivityQuerySet.as_manager()

    class Meta:
        default_related_name = "activities"
        verbose_name_plural = "activities"
        constraints = [
            # The follower may read a change of a post twice, but records one activity.
            models.UniqueConstraint(
                fields=["account", "post_id"], name="activity_new_post_unique", condition=models.Q(kind="new_post")
            ),
            # A rescheduled task gets another reminder.
            models.UniqueConstraint(
                fields=["account", "post_id", "scheduled_at"],
                name="activity_reminder_unique",
                condition=models.Q(kind="reminder"),
            ),
            # Later mentions in a note belong to the same activity. The foreign key uses this index when a note is erased.
            models.UniqueConstraint(
                fields=["account", "note_id"], name="activity_note_unique", condition=models.Q(note_id__isnull=False)
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
        return f"{self.kind} of note {self.note_id}" if self.note_id else f"{self.kind} of post {self.post_id}"
