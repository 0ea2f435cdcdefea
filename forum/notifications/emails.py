"""E-mails of notifications: one for the events on a suggestion within five minutes, one for a note, or a digest of all."""

import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.core.mail import EmailMultiAlternatives
from django.db import connection, transaction
from django.urls import reverse
from django.utils import timezone, translation
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from accounts.account.models import Account
from accounts.brand.models import Look
from accounts.hosts.names import full_name, public_url
from accounts.mail.sending import (
    MAIL_QUEUE,
    RETRY_DELAYS,
    TIME_LIMIT,
    Block,
    deliver_to_user,
    from_address,
    make_message,
    render_blocks,
    seconds_over_limit,
    sign_link,
    single_line,
    supported_language,
)
from accounts.users.delivery import NotificationDelivery
from accounts.users.models import User
from core.jobs.registry import has_time_left, job, periodic_job
from forum.activities.models import Activity
from forum.notifications.models import Notification
from forum.notifications.texts import UNSUBSCRIBE, is_of_task, path_of, quote_of, sentence_of, title_of

# The maximum random delay of an e-mail over the limit, in seconds.
MAX_EXTRA_DELAY = 600
# The number of due notifications that are read at a time, and the number that one e-mail shows.
BATCH_SIZE, MAX_SHOWN = 500, 30
# The lengths of quoted texts, in characters. Mail programs cut off e-mails of more than about 100 kB.
MAX_QUOTE_LENGTH, MAX_QUOTE_LENGTH_OF_DIGEST = 1000, 300

# Claim the e-mails that are due, for all accounts: `mail_at` becomes null. An e-mail for delivery at once contains all waiting
# notifications of a user and a post or a note. A digest contains all waiting notifications of a user. Rows locked by another worker are skipped.
CLAIM_DUE = """
WITH due AS (
    SELECT account_id, user_id, activity_id FROM forum_notification
    WHERE mail_at <= %s ORDER BY mail_at LIMIT %s FOR NO KEY UPDATE SKIP LOCKED
), email AS (
    SELECT DISTINCT due.account_id, due.user_id, recipient.delivery,
        CASE WHEN recipient.delivery = %s THEN activity.post_id END AS post_id,
        CASE WHEN recipient.delivery = %s THEN activity.note_id END AS note_id
    FROM due
    JOIN forum_activity AS activity ON activity.account_id = due.account_id AND activity.id = due.activity_id
    JOIN accounts_user AS recipient ON recipient.account_id = due.account_id AND recipient.id = due.user_id
)
UPDATE forum_notification AS notification SET mail_at = NULL
FROM email, forum_activity AS activity
WHERE notification.account_id = email.account_id AND notification.user_id = email.user_id
    AND notification.mail_at IS NOT NULL
    AND activity.account_id = notification.account_id AND activity.id = notification.activity_id
    AND (email.delivery <> %s
        OR (activity.post_id, activity.note_id) IS NOT DISTINCT FROM (email.post_id, email.note_id))
RETURNING notification.account_id, notification.user_id, email.post_id, email.note_id, notification.id
"""


@periodic_job(minutes=1, time_limit=55)
def send_due_notifications() -> None:
    """Add a job for each e-mail that is due."""
    while has_time_left() and _claim_due(timezone.now()):
        pass


def _claim_due(now: datetime) -> bool:
    """Add jobs for the first e-mails that are due, in one transaction. Return whether there were any."""
    at_once = NotificationDelivery.AT_ONCE
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute(CLAIM_DUE, [now, BATCH_SIZE, at_once, at_once, at_once])
            rows = cursor.fetchall()
        ids: dict[tuple[int, int, int | None, int | None], list[int]] = {}
        for account_id, user_id, post_id, note_id, id in rows:
            ids.setdefault((account_id, user_id, post_id, note_id), []).append(id)
        send_notifications.defer_many(
            {"account_id": account_id, "user_id": user_id, "ids": sorted(group)}
            for (account_id, user_id, _post_id, _note_id), group in ids.items()
        )
    return bool(rows)


@job(time_limit=TIME_LIMIT, retry=RETRY_DELAYS, queue=MAIL_QUEUE)
def send_notifications(*, account_id: int, user_id: int, ids: list[int]) -> None:
    """Send notifications to a user by e-mail, except those that the user no longer wants or may no longer see."""
    users = User.objects.select_related("account").filter(account_id=account_id, id=user_id, is_active=True)
    user = users.exclude(notification=User.Notification.NONE).exclude(delivery=NotificationDelivery.NEVER).first()
    if user is None or user.bounced_at is not None:
        return
    waiting = Notification.objects.filter(account_id=account_id).shown_to(user).unread().without_outdated_reminders()
    rows = list(waiting.filter(id__in=ids, mailed_at=None).with_details().order_by("id"))
    if not rows:
        return
    if seconds := seconds_over_limit(user):
        # The random delay spreads these e-mails. If all were due at the same second, other e-mails would wait for them.
        later = timezone.now() + timedelta(seconds=seconds + secrets.randbelow(MAX_EXTRA_DELAY))
        send_notifications.defer(account_id=account_id, user_id=user_id, ids=ids, _schedule_at=later)
        return
    deliver_to_user(make_email(user, rows), user)
    Notification.objects.filter(account_id=account_id, id__in=[row.id for row in rows]).update(mailed_at=timezone.now())


@dataclass(frozen=True)
class Sender:
    """The forum that sends an e-mail, with the stored name of its host."""

    name: str
    host: str


def senders_of(account: Account, *, to_team: bool = False) -> dict[int | None, Sender]:
    """Return the forums of an account by id. None stands for the default forum. Links for the team lead to the account's own address."""
    hosts = {host.id: host for host in account.hosts.all()}
    senders: dict[int | None, Sender] = {}
    for forum in account.forums.order_by("is_default"):
        host = forum.host_for(hosts[forum.host_id], account, by_team=to_team)
        senders[forum.id] = Sender(single_line(forum.name), host)
        if forum.is_default:
            senders[None] = senders[forum.id]
    return senders


def make_email(user: User, rows: list[Notification]) -> EmailMultiAlternatives:
    """Return the e-mail with these notifications, in the language of the user."""
    account = user.account
    senders = senders_of(account, to_team=user.is_team)
    is_about_one = len(set(map(_subject, rows))) == 1 and _subject(rows[0]) != NO_SUBJECT
    post = rows[0].activity.post if is_about_one else None
    sender = senders.get(post.forum_id if post is not None else None, senders[None])
    if post is None and not user.is_team and not account.forums.visible_to(user).filter(is_default=True).exists():
        # The digest must not name a forum that the user may not read.
        sender = next((senders[row.activity.post.forum_id] for row in rows if row.activity.post is not None), sender)
    language = supported_language(user.language or account.language)
    with translation.override(language):
        subject, blocks = _thread(rows, sender) if is_about_one else _digest(rows, senders, sender)
        post_id = None if post is None or post.category_id is None else post.id
        unsubscribe_url = unsubscribe_address(user, sender, post_id)
        reason = _("You receive this e-mail because %(reason)s.") % {"reason": reason_of(rows, user)}
        look = Look.read(account, name=sender.name, host=sender.host)
        text, html = render_blocks(subject, blocks, look, reason, unsubscribe_url)
    headers = {
        "List-Id": f"<notifications.{full_name(account.prefix)}>",
        "List-Unsubscribe": f"<{unsubscribe_url}>",
        "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
    }
    if post is not None:
        # All e-mails about a suggestion refer to the same message, which was never sent. Mail programs then show one conversation.
        first = message_id("suggestion", account.id, post.id)
        headers |= {"In-Reply-To": first, "References": first}
    # The id is the same for all attempts, so a mail program shows a duplicate once.
    own_id = message_id("notification", account.id, rows[0].id, len(rows))
    return make_message(
        user.email, subject, text, html, sender=sender.name, language=language, message_id=own_id, headers=headers
    )


# The subject of a sign-up.
NO_SUBJECT = (None, None)


def _subject(row: Notification) -> tuple[int | None, int | None]:
    """Return the ids of the post and of the note that a notification is about."""
    return row.activity.post_id, row.activity.note_id


def message_id(*parts: object) -> str:
    return f"<{'.'.join(map(str, parts))}@{from_address().rpartition('@')[2]}>"


def reason_of(rows: list[Notification], user: User) -> str:
    """Return the reason of the e-mail: for several suggestions or notes the user's choice of a digest, otherwise the strongest reason."""
    if len(set(map(_subject, rows))) > 1:
        if user.delivery == NotificationDelivery.DAILY:
            return _("you chose one e-mail a day with all notifications")
        if user.delivery == NotificationDelivery.WEEKLY:
            return _("you chose one e-mail a week with all notifications")
    return str(Notification.Reason(min(row.reason for row in rows)).label)


def _thread(rows: list[Notification], sender: Sender) -> tuple[str, list[Block]]:
    """Return the subject and the blocks of an e-mail about one suggestion, task or note."""
    activity = rows[0].activity
    title = single_line(title_of(rows[0]))
    blocks = [Block("title", title)]
    for row in rows[:MAX_SHOWN]:
        blocks += _event(row, MAX_QUOTE_LENGTH, sender.host)
    blocks += _rest(rows)
    # The button leads to the first event.
    blocks.append(Block("button", _label(rows), public_url(sender.host) + path_of(rows[0])))
    subject = title
    if is_of_task(activity):
        subject = _("Reminder: %(title)s") % {"title": title}
    elif activity.kind == Activity.Kind.NOTE:
        subject = _("Note: %(title)s") % {"title": title}
    return subject, blocks


def _label(rows: list[Notification]) -> str:
    """Return the label of the button of an e-mail about one suggestion, task or note."""
    activity = rows[0].activity
    if activity.kind == Activity.Kind.NOTE:
        return _("See the note")
    if is_of_task(activity):
        return _("See the task")
    if len(rows) == 1 and activity.kind == Activity.Kind.COMMENT:
        return _("See the comment")
    if len(rows) == 1 and activity.kind == Activity.Kind.RESPONSE:
        return _("See the official response")
    return _("See the suggestion")


def _digest(rows: list[Notification], senders: dict[int | None, Sender], sender: Sender) -> tuple[str, list[Block]]:
    """Return the subject and the blocks of an e-mail about several suggestions and notes, in the order of their first events."""
    subject = _digest_subject(rows, sender)
    groups: dict[tuple[int | None, int | None], list[Notification]] = {}
    for row in rows[:MAX_SHOWN]:
        groups.setdefault(_subject(row), []).append(row)
    blocks = [Block("title", subject)]
    for group in groups.values():
        activity = group[0].activity
        host = sender.host if activity.post is None else senders.get(activity.post.forum_id, sender).host
        if activity.post is not None or activity.kind == Activity.Kind.NOTE:
            blocks.append(Block("heading", single_line(title_of(group[0])), public_url(host) + path_of(group[0])))
        elif len(groups) > 1:
            blocks.append(Block("heading", _("New users")))
        for row in group:
            blocks += _event(row, MAX_QUOTE_LENGTH_OF_DIGEST, host)
    blocks += _rest(rows)
    blocks.append(Block("button", _("See all notifications"), public_url(sender.host) + reverse("forum-notifications")))
    return subject, blocks


def _digest_subject(rows: list[Notification], sender: Sender) -> str:
    number = len(rows)
    if any(row.activity.kind != Activity.Kind.SIGN_UP for row in rows):
        subject = ngettext("%(n)d notification from %(forum)s", "%(n)d notifications from %(forum)s", number)
    elif number > 1:
        subject = ngettext("%(n)d new user at %(forum)s", "%(n)d new users at %(forum)s", number)
    else:
        subject = _("New user at %(forum)s: %(name)s")
    return single_line(subject % {"n": number, "forum": sender.name, "name": rows[0].activity.user.public_name})


def _event(row: Notification, max_length: int, host: str) -> list[Block]:
    quote = quote_of(row, max_length=max_length, base=public_url(host))
    blocks = [Block("text", f"{single_line(sentence_of(row.activity, row.reason))}.")]
    return [*blocks, Block("quote", quote)] if quote else blocks


def _rest(rows: list[Notification]) -> list[Block]:
    number = len(rows) - MAX_SHOWN
    if number <= 0:
        return []
    text = ngettext("And %(n)d more notification.", "And %(n)d more notifications.", number)
    return [Block("text", text % {"n": number})]


def unsubscribe_address(user: User, sender: Sender, post_id: int | None) -> str:
    """Return the URL of the page to unsubscribe. The link does not expire, and needs no sign-in."""
    token = sign_link({"post": post_id}, UNSUBSCRIBE, user.account_id, user.id)
    path = reverse("forum-unsubscribe", query={"user": user.id, "token": token})
    return public_url(sender.host) + path
