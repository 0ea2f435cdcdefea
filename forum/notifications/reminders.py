"""Reminders of tasks: one notification for the responsible user when the time of a task has come.

The time is `remind_at` of the task or else `scheduled_at`. A reminder is an activity. A task has at most one reminder for each time. A reminder does not update the row of the task, so the
change feed does not report reminders.
"""

from django.db import connection, transaction

from accounts.account.models import Account
from core.jobs.registry import has_time_left, periodic_job
from forum.notifications.models import Notification
from forum.notifications.recipients import notifications_of
from forum.posts.models import Post

# The number of reminders that one transaction creates.
BATCH_SIZE = 200

# Record the reminders of the tasks whose time has come, in all accounts, by the clock of the database. Times up to 24 hours ago are
# included, because the workers may have been stopped. Older times are not: an import of old tasks sends nothing. The lock prevents other
# transactions from closing or assigning a task meanwhile. A task that is locked already gets its reminder a minute later.
CREATE_REMINDERS = """
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
)
INSERT INTO forum_activity (account_id, post_id, user_id, kind, scheduled_at, internal, announced, created_at)
SELECT account_id, id, responsible_id, 'reminder', due_at, false, true, statement_timestamp() FROM due
ON CONFLICT DO NOTHING
RETURNING account_id, id
"""


@periodic_job(minutes=1, time_limit=55)
def remind() -> None:
    """Notify the responsible users of the tasks whose time has come."""
    while has_time_left() and _remind_batch():
        pass


@transaction.atomic
def _remind_batch() -> bool:
    """Create at most `BATCH_SIZE` reminders with their notifications. Return whether there were any."""
    with connection.cursor() as cursor:
        cursor.execute(CREATE_REMINDERS, [BATCH_SIZE])
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
