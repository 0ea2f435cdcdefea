"""E-mails of notifications: one for the events on a suggestion within five minutes, or a digest of all."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.core.mail import EmailMultiAlternatives
from django.db import connection, transaction
from django.urls import reverse
from django.utils import timezone, translation
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from accounts import links
from accounts.branding import Look
from accounts.delivery import Delivery
from accounts.host_names import full_name, public_url
from accounts.mail import (
    MAIL_QUEUE,
    RETRY_DELAYS,
    TIME_LIMIT,
    deliver_to_user,
    from_address,
    make_message,
    seconds_over_limit,
    single_line,
    supported_language,
)
from accounts.mail_content import Block, as_html, as_text
from accounts.models import Account, User
from core.jobs.registration import has_time_left, job, periodic_job
from forum.models import Notification
from forum.notifications.texts import NotificationText, describe, is_of_task, path_of

# The purpose of the links to unsubscribe.
UNSUBSCRIBE = "unsubscribe"
# The number of due notifications that are read at a time, and the number that one e-mail shows.
BATCH_SIZE, MAX_SHOWN = 500, 30

# Claim the e-mails that are due, for all accounts: `mail_at` becomes null. An e-mail at once has all waiting notifications of its post,
# a digest has all waiting notifications of the user. Rows that another worker has locked are left to it.
CLAIM_DUE = """
WITH due AS (
    SELECT account_id, user_id, activity_id FROM forum_notification
    WHERE mail_at <= %s ORDER BY mail_at LIMIT %s FOR NO KEY UPDATE SKIP LOCKED
), email AS (
    SELECT DISTINCT due.account_id, due.user_id, recipient.delivery,
        CASE WHEN recipient.delivery = %s THEN activity.post_id END AS post_id
    FROM due
    JOIN forum_activity AS activity ON activity.account_id = due.account_id AND activity.id = due.activity_id
    JOIN accounts_user AS recipient ON recipient.account_id = due.account_id AND recipient.id = due.user_id
)
UPDATE forum_notification AS notification SET mail_at = NULL
FROM email, forum_activity AS activity
WHERE notification.account_id = email.account_id AND notification.user_id = email.user_id
    AND notification.mail_at IS NOT NULL
    AND activity.account_id = notification.account_id AND activity.id = notification.activity_id
    AND (email.delivery <> %s OR activity.post_id IS NOT DISTINCT FROM email.post_id)
RETURNING notification.account_id, notification.user_id, email.post_id, notification.id
"""


@periodic_job(cron="* * * * *", time_limit=55)
def send_due_notifications() -> None:
    """Add a job for each e-mail that is due."""
    while has_time_left() and _claim_due(timezone.now()):
        pass


def _claim_due(now: datetime) -> bool:
    """Add jobs for the first e-mails that are due, in one transaction. Return whether there were any."""
    at_once = Delivery.AT_ONCE
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute(CLAIM_DUE, [now, BATCH_SIZE, at_once, at_once])
            rows = cursor.fetchall()
        ids: dict[tuple[int, int, int | None], list[int]] = {}
        for account_id, user_id, post_id, id in rows:
            ids.setdefault((account_id, user_id, post_id), []).append(id)
        send_notifications.defer_many(
            {"account_id": account_id, "user_id": user_id, "ids": sorted(group)}
            for (account_id, user_id, _post_id), group in ids.items()
        )
    return bool(rows)


@job(time_limit=TIME_LIMIT, retry=RETRY_DELAYS, queue=MAIL_QUEUE)
def send_notifications(*, account_id: int, user_id: int, ids: list[int]) -> None:
    """Send notifications to a user, as far as the user still wants them and may see them."""
    users = User.objects.select_related("account").filter(account_id=account_id, id=user_id, is_active=True)
    user = users.exclude(notification=User.Notification.NONE).exclude(delivery=Delivery.NEVER).first()
    if user is None or user.bounced_at is not None:
        return
    waiting = Notification.objects.filter(account_id=account_id).shown_to(user).unread().without_outdated_reminders()
    rows = list(waiting.filter(id__in=ids, mailed_at=None).with_details().order_by("id"))
    if not rows:
        return
    if seconds := seconds_over_limit(user):
        later = timezone.now() + timedelta(seconds=seconds)
        send_notifications.defer(account_id=account_id, user_id=user_id, ids=ids, _schedule_at=later)
        return
    deliver_to_user(make_email(user, rows), user)
    Notification.objects.filter(account_id=account_id, id__in=[row.id for row in rows]).update(mailed_at=timezone.now())


@dataclass(frozen=True)
class Sender:
    """The forum that sends an e-mail, with the stored name of its host."""

    name: str
    host: str


def senders_of(account: Account) -> dict[int | None, Sender]:
    """Return the forums of an account by id. None stands for the default forum."""
    hosts = dict(account.hosts.values_list("id", "name"))
    rows = account.forums.order_by("is_default").values_list("id", "name", "host_id", "is_default")
    senders: dict[int | None, Sender] = {}
    for id, name, host_id, is_default in rows:
        senders[id] = Sender(single_line(name), hosts[host_id])
        if is_default:
            senders[None] = senders[id]
    return senders


def make_email(user: User, rows: list[Notification]) -> EmailMultiAlternatives:
    """Return the e-mail with these notifications, in the language of the user."""
    account = user.account
    senders = senders_of(account)
    post_ids = {row.activity.post_id for row in rows}
    post = rows[0].activity.post if len(post_ids) == 1 else None
    sender = senders.get(post.forum_id if post is not None else None, senders[None])
    language = supported_language(user.language or account.language)
    with translation.override(language):
        subject, blocks = _thread(rows, sender) if post is not None else _digest(rows, senders)
        unsubscribe_url = unsubscribe_address(
            user, sender, None if post is None or post.category_id is None else post.id
        )
        reason = _("You receive this e-mail because %(reason)s.") % {"reason": reason_of(rows)}
        footer = f"{reason}\n{_('Fewer e-mails, or none')}: {unsubscribe_url}"
        look = Look.of(account, name=sender.name, host=sender.host)
        html = as_html(subject, blocks, look, reason=reason, unsubscribe_url=unsubscribe_url)
    headers = {
        "List-Id": f"<notifications.{full_name(account.prefix)}>",
        "List-Unsubscribe": f"<{unsubscribe_url}>",
        "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
    }
    if post is not None:
        # Mail programs show the e-mails about a suggestion as one conversation, although the first message does not exist.
        first = message_id("suggestion", account.id, post.id)
        headers |= {"In-Reply-To": first, "References": first}
    # The id is the same for all attempts, so a mail program shows a duplicate once.
    own_id = message_id("notification", account.id, rows[0].id, len(rows))
    return make_message(
        user.email, subject, as_text(blocks, footer), html, sender=sender.name, message_id=own_id, headers=headers
    )


def message_id(*parts: Any) -> str:
    return f"<{'.'.join(map(str, parts))}@{from_address().rpartition('@')[2]}>"


def reason_of(rows: list[Notification]) -> str:
    """Return the reason of the e-mail: that of the first notification by precedence."""
    return str(Notification.Reason(min(row.reason for row in rows)).label)


def _thread(rows: list[Notification], sender: Sender) -> tuple[str, list[Block]]:
    """Return the subject and the blocks of an e-mail about one suggestion."""
    base = public_url(sender.host)
    texts = [describe(row) for row in rows[:MAX_SHOWN]]
    blocks = [Block("heading", texts[0].title)]
    for text in texts:
        blocks += _event(text)
    blocks += _rest(rows)
    activity = rows[-1].activity
    label = _("See all notifications") if is_of_task(activity) else _("See the suggestion")
    blocks.append(Block("button", label, base + path_of(activity)))
    return single_line(texts[0].title), blocks


def _digest(rows: list[Notification], senders: dict[int | None, Sender]) -> tuple[str, list[Block]]:
    """Return the subject and the blocks of an e-mail about several suggestions, in the order of their first events."""
    sender, number = senders[None], len(rows)
    subject = ngettext("%(n)d notification from %(forum)s", "%(n)d notifications from %(forum)s", number)
    groups: dict[int | None, list[Notification]] = {}
    for row in rows[:MAX_SHOWN]:
        groups.setdefault(row.activity.post_id, []).append(row)
    blocks: list[Block] = []
    for group in groups.values():
        activity = group[0].activity
        if activity.post is not None:
            host = senders.get(activity.post.forum_id, sender).host
            blocks.append(Block("heading", activity.post.title, public_url(host) + path_of(activity)))
        for row in group:
            blocks += _event(describe(row))
    blocks += _rest(rows)
    blocks.append(Block("button", _("See all notifications"), public_url(sender.host) + reverse("forum-notifications")))
    return single_line(subject % {"n": number, "forum": sender.name}), blocks


def _event(text: NotificationText) -> list[Block]:
    return [Block("text", f"{text.sentence}."), *([Block("quote", text.excerpt)] if text.excerpt else [])]


def _rest(rows: list[Notification]) -> list[Block]:
    number = len(rows) - MAX_SHOWN
    if number <= 0:
        return []
    return [Block("text", ngettext("And %(n)d more.", "And %(n)d more.", number) % {"n": number})]


def unsubscribe_address(user: User, sender: Sender, post_id: int | None) -> str:
    """Return the URL of the page to unsubscribe. It does not expire, and needs no sign-in."""
    token = links.sign({"post": post_id}, UNSUBSCRIBE, user.account_id, user.id)
    path = reverse("forum-unsubscribe", query={"user": user.id, "token": token})
    return public_url(sender.host) + path
