"""The notifications of users about activities, and the notes that mention users. The room above, which has the notes, registers a `NoteSource`."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Self

from django.db import models
from django.db.models import Exists, F, OuterRef, Q, Subquery
from django.db.models.functions import Coalesce
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.access.models import AccessQuerySet
from accounts.account.models import Account
from accounts.users.models import User
from core.db.tenancy import TenantModel, foreign_object
from core.registry import registry
from forum.activities.models import Activity


@dataclass(frozen=True)
class NoteSource:
    """How notifications read notes, which have the columns `creator_id` and `mentioned_user_ids`."""

    # The key of notes in the registry and in the change feed.
    resource: str
    # An expression for the note whose id is in a column: a JSON object with its `title`, the beginning of its `text`, and what `path_of`
    # needs. Null if there is no such note.
    details_of: Callable[[str], Subquery]
    # The path of the page that shows a note, which is given as the JSON object.
    path_of: Callable[[Mapping[str, object]], str]

    def visible_to(self, user: User) -> AccessQuerySet[Any]:
        """Return the notes that the user, who is on the team, may see now."""
        rows: AccessQuerySet[Any] = registry[self.resource].rows_of(Account(id=user.account_id))  # type: ignore[assignment]
        return rows.live().accessible_to(user)


_sources: list[NoteSource] = []


def register_note_source(source: NoteSource) -> None:
    """Register the source of notes. Call this in a module `registration`."""
    _sources[:] = [source]


def note_source() -> NoteSource:
    [source] = _sources
    return source


class NotificationReason(models.IntegerChoices):
    """Why a user receives a notification. If several reasons apply, the lowest number counts."""

    REPLY = 0, _("somebody replied to you")
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
        account = Account(id=user.account_id)
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

    Reason = NotificationReason

    # The details of the note, if `with_details` has read one (`forum.notifications.models`).
    note: dict[str, Any] | None = None

    user_id = models.BigIntegerField()
    activity_id = models.BigIntegerField()
    activity = foreign_object(Activity, "activity_id")
    reason = models.SmallIntegerField(choices=NotificationReason.choices)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    read_at = models.DateTimeField(null=True)
    # When the e-mail is due. Null if no e-mail will be sent, or if a job for it exists already.
    mail_at = models.DateTimeField(null=True)
    mailed_at = models.DateTimeField(null=True)

    objects = NotificationQuerySet.as_manager()

    class Meta:
        default_related_name = "notifications"
        constraints = [
            models.UniqueConstraint(fields=["account", "activity_id", "user_id"], name="notification_unique")
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
