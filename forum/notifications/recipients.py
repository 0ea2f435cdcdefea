"""The recipients of notifications, the creation of notifications for them, and the reminders of tasks.

A reminder is an activity, with one notification for the responsible user. A task has at most one reminder for each time, which is
`remind_at` or else `scheduled_at`. A reminder does not update the row of the task, so the change feed reports only the event `task.due`.
"""

from collections.abc import Collection, Iterator
from datetime import datetime
from itertools import islice
from typing import NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from django.db import connection, transaction
from django.utils import timezone

from accounts.account.models import Account
from accounts.users.delivery import delivery_time
from accounts.users.models import User
from core.changes.events import insert_events
from core.jobs.registry import has_time_left, periodic_job
from forum.activities.models import Activity
from forum.comments.commenting import mentioned_ids
from forum.notifications.models import Notification, NotificationReason
from forum.posts.models import Post

# The number of notifications that one statement inserts.
BATCH_SIZE = 1000
# Recipients are counted up to this number before an answer is sent.
MAX_COUNTED = 1000

# The recipients of an activity, each with their strongest reason. If the post is private or not approved, these are only the team and the
# author. If the activity is internal, these are only the team.
RECIPIENTS = """
WITH candidate (user_id, reason) AS (
    SELECT unnest(%(mentioned)s::bigint[]), %(MENTIONED)s
    UNION ALL
    SELECT user_id, %(REPLY)s FROM forum_comment WHERE account_id = %(account)s AND id = %(parent)s AND deleted_at IS NULL
    UNION ALL
    SELECT responsible_id, %(RESPONSIBLE)s FROM forum_post
    WHERE account_id = %(account)s AND id = %(post)s AND responsible_id IS NOT NULL
    UNION ALL
    SELECT author.user_id, %(AUTHOR)s FROM forum_post AS author
    WHERE %(to_followers)s AND account_id = %(account)s AND (id = %(post)s OR duplicate_from_id = %(post)s)
    UNION ALL
    SELECT user_id, %(COMMENTER)s FROM forum_comment
    WHERE %(to_followers)s AND account_id = %(account)s AND post_id = %(post)s AND deleted_at IS NULL
    UNION ALL
    SELECT user_id, %(VOTER)s FROM forum_vote
    WHERE %(to_followers)s AND account_id = %(account)s AND post_id = %(post)s
    UNION ALL
    SELECT user_id, %(FOLLOWER)s FROM forum_follow
    WHERE %(to_followers)s AND account_id = %(account)s AND is_following AND (post_id = %(post)s OR post_id IN (
        SELECT id FROM forum_post WHERE account_id = %(account)s AND duplicate_from_id = %(post)s
    ))
    UNION ALL
    SELECT id, %(TEAM)s FROM accounts_user
    WHERE account_id = %(account)s AND role = ANY(%(team)s)
        AND (%(is_new_post)s AND notify_new_posts OR %(is_sign_up)s AND notify_sign_ups)
    UNION ALL
    SELECT id, %(EVERYTHING)s FROM accounts_user
    WHERE %(to_all)s AND account_id = %(account)s AND notification = 'all'
)
SELECT recipient.id, min(candidate.reason), recipient.delivery, recipient.digest_hour, recipient.digest_weekday,
    coalesce(nullif(recipient.time_zone, ''), %(time_zone)s), recipient.bounced_at IS NOT NULL
FROM candidate JOIN accounts_user AS recipient ON recipient.account_id = %(account)s AND recipient.id = candidate.user_id
WHERE recipient.is_active AND recipient.notification <> 'none' AND recipient.id <> %(by)s
    AND (recipient.role = ANY(%(team)s) OR NOT %(is_closed)s OR recipient.id = %(author)s AND NOT %(is_internal)s)
    AND (candidate.reason = %(MENTIONED)s OR %(is_assignment)s OR NOT EXISTS (
        SELECT FROM forum_follow AS choice
        WHERE choice.account_id = %(account)s AND choice.post_id = %(post)s AND choice.user_id = recipient.id
            AND NOT choice.is_following
    ))
GROUP BY recipient.id, recipient.account_id
ORDER BY recipient.id
"""


class Recipient(NamedTuple):
    """A row of RECIPIENTS."""

    user_id: int
    reason: int
    delivery: str
    digest_hour: int
    digest_weekday: int
    time_zone: str
    has_bounced: bool

    def mail_at(self, now: datetime) -> datetime | None:
        """Return when an event at the time `now` is sent by e-mail, or None if it is not sent."""
        if self.has_bounced:
            return None
        try:
            zone = ZoneInfo(self.time_zone)
        except (ValueError, ZoneInfoNotFoundError):
            # The time zone may no longer exist. An error would prevent the notifications of all recipients.
            zone = ZoneInfo("UTC")
        return delivery_time(now, self.delivery, hour=self.digest_hour, weekday=self.digest_weekday, zone=zone)


def notifications_of(
    activity: Activity, post: Post | None, account: Account, *, mentioned: Collection[int] = ()
) -> Iterator[Notification]:
    """Return the notifications of an activity, unsaved. Their recipients may all see it now.

    `post` is None for a sign-up and a note. `mentioned` are the ids of the users whom a note mentions and who may see it; the mentions of
    other activities are read from their texts.
    """
    now = timezone.now()
    for recipient in _recipients(activity, post, account, mentioned=mentioned):
        yield Notification(
            account_id=account.id,
            user_id=recipient.user_id,
            activity_id=activity.id,
            reason=recipient.reason,
            created_at=now,
            mail_at=recipient.mail_at(now),
        )


def count_recipients_of_answer(post: Post, by: User) -> int:
    """Return how many users an answer of the user to the post would notify, at most `MAX_COUNTED` + 1."""
    activity = Activity(account_id=post.account_id, post_id=post.id, kind=Activity.Kind.RESPONSE, user_id=by.id)
    if not post.is_private and post.approved:
        # The statement for all recipients would read each vote of a popular post.
        voters = post.account.votes.filter(post_id=post.id, user__is_active=True).exclude(user__notification="none")
        if (number := voters.order_by()[: MAX_COUNTED + 1].count()) > MAX_COUNTED:
            return number
    return min(len(_recipients(activity, post, post.account)), MAX_COUNTED + 1)


def _recipients(
    activity: Activity, post: Post | None, account: Account, *, mentioned: Collection[int] = ()
) -> list[Recipient]:
    kind = activity.kind
    is_assignment = kind in (Activity.Kind.ASSIGNMENT, Activity.Kind.REMINDER)
    is_sign_up = kind == Activity.Kind.SIGN_UP
    # The recipients of other activities depend on the kind and on the mentions.
    is_news = not is_assignment and not is_sign_up and kind != Activity.Kind.NOTE
    # Only the team sees tasks.
    is_internal = activity.internal or (post is not None and post.category_id is None)
    parameters = {
        "account": account.id,
        "time_zone": account.time_zone,
        "post": None if post is None else post.id,
        "author": None if post is None else post.user_id,
        "by": 0 if kind == Activity.Kind.REMINDER else activity.user_id,
        "mentioned": list(mentioned) if post is None else _ids_mentioned_by(activity, post, account),
        "parent": activity.comment.parent_id if kind == Activity.Kind.COMMENT and activity.comment else None,
        "team": list(User.TEAM),
        "to_followers": is_news and kind != Activity.Kind.NEW_POST,
        "to_all": is_news,
        "is_new_post": kind == Activity.Kind.NEW_POST,
        "is_sign_up": is_sign_up,
        "is_assignment": is_assignment,
        "is_internal": is_internal,
        "is_closed": is_internal or (post is not None and (post.is_private or not post.approved)),
        **{reason.name: reason.value for reason in NotificationReason},
        "RESPONSIBLE": NotificationReason.TASK if kind == Activity.Kind.REMINDER else NotificationReason.RESPONSIBLE,
    }
    with connection.cursor() as cursor:
        cursor.execute(RECIPIENTS, parameters)
        recipients = list(map(Recipient._make, cursor.fetchall()))
    if recipients and post is not None and post.forum_id is not None:
        forum = account.forums.get(id=post.forum_id)
        readers = forum.members_among([recipient.user_id for recipient in recipients])
        recipients = [recipient for recipient in recipients if recipient.user_id in readers]
    return recipients


def _ids_mentioned_by(activity: Activity, post: Post, account: Account) -> list[int]:
    text = post.content if activity.kind == Activity.Kind.NEW_POST else ""
    if activity.kind == Activity.Kind.COMMENT and activity.comment is not None:
        text = activity.comment.comment
    return mentioned_ids(account, text, post=post, author_id=activity.user_id)


def notify(activity: Activity, post: Post | None, account: Account, *, mentioned: Collection[int] = ()) -> None:
    """Create the notifications of an activity, except for users who have one already. The arguments are those of `notifications_of`."""
    rows = notifications_of(activity, post, account, mentioned=mentioned)
    while batch := list(islice(rows, BATCH_SIZE)):
        Notification.objects.bulk_create(batch, ignore_conflicts=True)


# Reminders of tasks

# The number of reminders that one transaction creates.
REMINDER_BATCH_SIZE = 200

# Record the reminders of the tasks whose time has come, in all accounts, by the clock of the database. Times up to 24 hours ago are
# included, because the workers may have been stopped. Older times are not: an import of old tasks sends nothing. The lock prevents other
# transactions from closing or assigning a task meanwhile. A task that is locked already gets its reminder a minute later.
EVENTS = insert_events("""
    SELECT account_id, 'task', post_id, 'due', NULL::bigint,
        jsonb_build_object('before', NULL, 'after', jsonb_build_object('responsible_id', user_id))
    FROM reminder
""")
CREATE_REMINDERS = f"""
WITH due AS (
    SELECT account_id, id, responsible_id, coalesce(remind_at, scheduled_at) AS due_at FROM forum_post AS task
    WHERE category_id IS NULL AND trashed_at IS NULL AND NOT closed AND responsible_id IS NOT NULL
        AND (remind_at IS NOT NULL OR scheduled_at IS NOT NULL)
        AND coalesce(remind_at, scheduled_at) <= statement_timestamp()
        AND coalesce(remind_at, scheduled_at) > statement_timestamp() - interval '24 hours'
        AND NOT EXISTS (
            SELECT FROM forum_activity AS reminder
            WHERE reminder.account_id = task.account_id AND reminder.post_id = task.id
                AND reminder.kind = 'reminder' AND reminder.scheduled_at = coalesce(task.remind_at, task.scheduled_at)
        )
    ORDER BY due_at LIMIT %s FOR SHARE SKIP LOCKED
), reminder AS (
    INSERT INTO forum_activity (account_id, post_id, user_id, kind, scheduled_at, internal, announced, created_at)
    SELECT account_id, id, responsible_id, 'reminder', due_at, false, true, statement_timestamp() FROM due
    ON CONFLICT DO NOTHING RETURNING account_id, id, post_id, user_id
), event AS ({EVENTS})
SELECT account_id, id FROM reminder
"""  # noqa: S608


@periodic_job(minutes=1, time_limit=55)
def remind() -> None:
    """Notify the responsible users of the tasks whose time has come."""
    while has_time_left() and _remind_batch():
        pass


@transaction.atomic
def _remind_batch() -> bool:
    """Create at most `REMINDER_BATCH_SIZE` reminders with their notifications. Return whether there were any."""
    with connection.cursor() as cursor:
        cursor.execute(CREATE_REMINDERS, [REMINDER_BATCH_SIZE])
        ids: dict[int, list[int]] = {}
        for account_id, id in cursor.fetchall():
            ids.setdefault(account_id, []).append(id)
    rows: list[Notification] = []
    for account in Account.objects.filter(id__in=ids):
        activities = list(account.activities.filter(id__in=ids[account.id]).order_by("id"))
        tasks: dict[int | None, Post] = {
            task.id: task for task in account.posts.filter(id__in=[activity.post_id for activity in activities])
        }
        for activity in activities:
            rows += notifications_of(activity, tasks[activity.post_id], account)
    # One statement, because its trigger locks the users in the order of their ids.
    Notification.objects.bulk_create(rows, ignore_conflicts=True)
    return bool(ids)
