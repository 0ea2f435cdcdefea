"""The activities on posts, and the notifications of them.

An activity records what a user did to a post. The methods of posts and comments record most activities, and the follower of the change
feed (`forum.notifications.follower`) creates their notifications: one row for each activity and recipient. A sign-up and the job for
reminders create their activities and notifications themselves. A note that mentions users has one activity, which the follower records.
"""

from datetime import timedelta
from typing import Any, Self

from django.db import models
from django.db.models import Exists, F, OuterRef, Q
from django.db.models.functions import Coalesce
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.models import User
from core.db.prepared import insert
from core.db.tenancy import TenantModel, account_of, foreign_object
from forum.notes import note_source

# Housekeeping erases older activities, together with their notifications.
ACTIVITY_RETENTION = timedelta(days=90)


class ActivityQuerySet(models.QuerySet["Activity"]):
    def record(self, post: TenantModel, kind: str, *, by: User, **values: Any) -> "Activity":
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
    # The note that mentions users (`forum.notes`).
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
                fields=["account", "note_id"],
                name="activity_note_unique",
                condition=models.Q(note_id__isnull=False),
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


class Reason(models.IntegerChoices):
    """Why a user receives a notification. If several reasons apply, the lowest number counts."""

    MENTIONED = 1, _("you were mentioned")
    RESPONSIBLE = 2, _("you are responsible for this suggestion")
    AUTHOR = 3, _("you wrote this suggestion")
    COMMENTER = 4, _("you commented on this suggestion")
    VOTER = 5, _("you voted for this suggestion")
    FOLLOWER = 6, _("you follow this suggestion")
    TEAM = 7, _("you are on the team")
    EVERYTHING = 8, _("you chose news of everything")
    TASK = 9, _("you are responsible for this task")


class NotificationQuerySet(models.QuerySet["Notification"]):
    def of_user(self, user: User) -> Self:
        """Return the notifications of a user, newest first."""
        return self.filter(account_id=user.account_id, user_id=user.id).order_by("-id")

    def of_post(self, post_id: int, user: User) -> Self:
        """Return the user's notifications of a post."""
        activities = Activity.objects.filter(account_id=user.account_id, post_id=post_id)
        return self.of_user(user).filter(activity_id__in=activities.values("id"))

    def unread(self) -> Self:
        return self.filter(read_at=None)

    def shown_to(self, user: User) -> Self:
        """Return the notifications of a user, except those of posts, comments, notes and events that the user may not see now."""
        account = account_of(user.account_id)
        posts = account.posts.visible_to(user).filter(id=OuterRef("activity__post_id"))
        is_sign_up = Q(activity__post_id=None, activity__kind=Activity.Kind.SIGN_UP)
        rows = self.of_user(user).filter(activity__comment__withdrawn_at=None)
        if user.is_team:
            notes = note_source().visible_to(user).filter(id=OuterRef("activity__note_id"))
            return rows.filter(is_sign_up | Exists(posts) | Exists(notes))
        rows = rows.filter(is_sign_up | Exists(posts))
        return rows.filter(activity__internal=False).exclude(activity__kind=Activity.Kind.SIGN_UP)

    def without_outdated_reminders(self) -> Self:
        """Leave out the reminders of tasks that have been closed, rescheduled, or assigned to another user since."""
        is_due = Q(
            activity__post__closed=False,
            activity__post__responsible_id=F("user_id"),
            activity__scheduled_at=Coalesce("activity__post__remind_at", "activity__post__scheduled_at"),
        )
        return self.filter(is_due | ~Q(activity__kind=Activity.Kind.REMINDER))

    def with_details(self) -> Self:
        """Add what a list shows: the activity with its user, post and comment, and the note."""
        rows = self.select_related("activity__user", "activity__post", "activity__comment")
        return rows.annotate(note=note_source().details_of("activity__note_id"))

    def mark_read(self) -> int:
        """Mark the unread rows of this queryset as read, cancel their e-mails, and return the number of rows."""
        return self.unread().order_by().update(read_at=timezone.now(), mail_at=None)


class Notification(TenantModel):
    """A notification for one user about one activity."""

    Reason = Reason

    # The details of the note, if `with_details` has read one (`forum.notes`).
    note: dict[str, Any] | None = None

    user_id = models.BigIntegerField()
    activity_id = models.BigIntegerField()
    activity = foreign_object(Activity, "activity_id")
    reason = models.SmallIntegerField(choices=Reason.choices)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    read_at = models.DateTimeField(null=True)
    # When the e-mail is due. Null if no e-mail will be sent, or if a job for it exists already.
    mail_at = models.DateTimeField(null=True)
    mailed_at = models.DateTimeField(null=True)

    objects = NotificationQuerySet.as_manager()

    class Meta:
        default_related_name = "notifications"
        constraints = [
            models.UniqueConstraint(fields=["account", "activity_id", "user_id"], name="notification_unique"),
        ]
        indexes = [
            models.Index(fields=["account", "user_id", "-id"], name="notification_of_user"),
            models.Index(fields=["account", "user_id", "-id"], name="notification_unread", condition=Q(read_at=None)),
            # The notifications of a user that wait for an e-mail.
            models.Index(
                fields=["account", "user_id"], name="notification_waiting", condition=Q(mail_at__isnull=False)
            ),
            # The index begins with the time, because the job that sends e-mails reads all accounts.
            models.Index(fields=["mail_at"], name="notification_due", condition=Q(mail_at__isnull=False)),
        ]

    def __str__(self) -> str:
        return f"notification {self.id} of user {self.user_id}"
