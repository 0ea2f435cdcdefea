"""The texts of notifications, for pages and e-mails, in the active language."""

from dataclasses import dataclass

from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.statuses.models import status_name
from forum.activities.models import Activity
from forum.notifications.models import Notification, NotificationReason, note_source
from forum.posts.tasks import task_path
from forum.texts.markdown import as_plain_text, excerpt, truncate, with_base_url
from forum.texts.slugs import post_path

Kind = Activity.Kind
MAX_EXCERPT_LENGTH = 300
# The number of characters at the beginning of a text from which the excerpt is made.
EXCERPT_SOURCE_LENGTH = 2000
# The purpose of the signed links to unsubscribe.
UNSUBSCRIBE = "unsubscribe"

# The icon and the sentence of each kind of activities. The sentences have no full stop.
KINDS: dict[str, tuple[str, Promise]] = {
    Kind.NEW_POST: ("lightbulb", gettext_lazy("New suggestion by %(name)s")),
    Kind.COMMENT: ("message-square", gettext_lazy("%(name)s commented")),
    Kind.RESPONSE: ("megaphone", gettext_lazy("%(name)s answered officially")),
    Kind.STATUS: ("list-checks", gettext_lazy("The status is now “%(status)s”")),
    Kind.MERGE: ("merge", gettext_lazy("%(name)s merged it into another suggestion, with its votes and comments")),
    Kind.UNMERGE: ("split", gettext_lazy("%(name)s made it a suggestion of its own again")),
    Kind.APPROVAL: ("check", gettext_lazy("It is approved, and everyone can see it")),
    Kind.ASSIGNMENT: ("user-check", gettext_lazy("%(name)s made you responsible")),
    Kind.REMINDER: ("alarm-clock", gettext_lazy("A reminder of your task")),
    Kind.SIGN_UP: ("user-plus", gettext_lazy("%(name)s signed up")),
    Kind.NOTE: ("sticky-note", gettext_lazy("%(name)s mentioned you in a note")),
}


@dataclass(frozen=True)
class NotificationText:
    """The text of a notification: a sentence, the title, and an excerpt of the comment, the response, the post or the note."""

    sentence: str
    title: str
    excerpt: str


def describe(notification: Notification) -> NotificationText:
    """Return the text of a notification with its details (`NotificationQuerySet.with_details`)."""
    text = excerpt(_source_text(notification), max_length=MAX_EXCERPT_LENGTH)
    sentence = sentence_of(notification.activity, notification.reason)
    return NotificationText(sentence, title_of(notification), text)


def title_of(notification: Notification) -> str:
    """Return the title of the post, or the name of the record that the note is about; for a sign-up an empty text."""
    if notification.note is not None:
        return str(notification.note["title"])
    return notification.activity.post.title if notification.activity.post is not None else ""


def sentence_of(activity: Activity, reason: int) -> str:
    """Return a sentence that describes an activity, without a full stop."""
    names = {"name": activity.user.public_name, "status": status_name(activity.after) if activity.after else ""}
    if reason == NotificationReason.REPLY:
        return _("%(name)s replied to you") % names
    if reason == NotificationReason.MENTIONED and activity.kind in (Kind.COMMENT, Kind.NEW_POST):
        return _("%(name)s mentioned you") % names
    if activity.kind == Kind.COMMENT and activity.comment is not None and not activity.comment.approved:
        return _("%(name)s commented, waiting for approval") % names
    if activity.kind == Kind.COMMENT and activity.internal:
        return _("%(name)s commented, for the team only") % names
    if activity.kind == Kind.RESPONSE and activity.after:
        return _("%(name)s answered officially; the status is now “%(status)s”") % names
    if activity.kind == Kind.NEW_POST and activity.post is not None and not activity.post.approved:
        return _("New suggestion by %(name)s, waiting for approval") % names
    return str(KINDS[activity.kind][1] % names)


def quote_of(notification: Notification, *, max_length: int, base: str) -> str:
    """Return the beginning of the text of the activity with its lines and lists, or an empty text. `base` is the URL of the forum."""
    return truncate(with_base_url(as_plain_text(_source_text(notification)), base), max_length)


def _source_text(notification: Notification) -> str:
    """Return the beginning of the comment, the response or the note, or of a post that is new to the recipient."""
    activity, text = notification.activity, ""
    if notification.note is not None:
        text = notification.note["text"]
    elif activity.kind == Kind.COMMENT and activity.comment is not None:
        text = activity.comment.comment
    elif activity.post is not None and activity.kind == Kind.RESPONSE:
        text = activity.post.response or ""
    elif activity.post is not None and activity.kind in (Kind.NEW_POST, Kind.ASSIGNMENT, Kind.REMINDER):
        text = activity.post.content
    return text[:EXCERPT_SOURCE_LENGTH]


def path_of(notification: Notification) -> str:
    """Return the path of the page that shows the activity."""
    activity = notification.activity
    if notification.note is not None:
        return note_source().path_of(notification.note)
    if activity.post is None:
        return reverse("forum-notifications")
    if is_of_task(activity):
        return task_path(activity.post_id, activity.comment_id)
    if activity.comment_id is not None:
        # The link redirects to the right page of comments, which is looked up only when somebody opens the link.
        return reverse("forum-comment", args=[activity.post_id, activity.comment_id])
    fragment = "response" if activity.kind == Kind.RESPONSE else ""
    return post_path(activity.post.id, activity.post.title, fragment=fragment)


def is_of_task(activity: Activity) -> bool:
    return activity.post is not None and activity.post.category_id is None
