"""Starting messages to customers, their e-mails, and the link to unsubscribe.

An e-mail is sent at most once. The mail server may refuse it before it is accepted: then it is tried again. If the connection breaks while it is
being sent, or the worker is killed, its recipient is recorded as failed.
"""

import logging
import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from smtplib import SMTPException, SMTPRecipientsRefused, SMTPResponseException, SMTPServerDisconnected
from typing import Any

from django.core.mail import EmailMultiAlternatives, get_connection
from django.core.mail.backends.base import BaseEmailBackend
from django.db import transaction
from django.urls import reverse
from django.utils import timezone, translation
from django.utils.text import format_lazy
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.account.models import Account
from accounts.audit.models import record
from accounts.brand.models import Look
from accounts.hosts.names import full_name, public_url
from accounts.mail import sending as mail
from accounts.mail.sending import (
    Block,
    read_link,
    render_blocks,
    sign_link,
)
from accounts.statuses.models import status_name
from accounts.users.models import User
from core.db import locks
from core.db.transactions import in_transaction
from core.errors import Conflict, FieldError, Throttled
from core.jobs.registry import has_time_left, job, periodic_job
from crm.clients.models import Client
from crm.contacts.models import Contact
from crm.resources.models import blocked_addresses, stop_contact
from forum.notifications.emails import Sender, message_id, senders_of
from forum.posts.models import Post
from forum.texts.markdown import render
from forum.texts.slugs import post_path
from team.mailings.audience import Among, audience_of
from team.mailings.models import MAX_SUBJECT_LENGTH, MAX_TEXT_LENGTH, Message, MessageRecipient
from team.timeline.models import TimelineEntry

logger = logging.getLogger("rostrum.messages")

# The maximum number of messages that an account starts within a day.
MAX_MESSAGES_PER_DAY = 20
# The number of e-mails that a job sends, and the seconds after which it ends anyway. E-mails of other accounts are sent between two jobs.
BATCH_SIZE, TIME_SLICE = 20, 2
# The time after which the worker of an e-mail was killed, because its job has ended by then.
INTERRUPTED_AFTER = timedelta(seconds=2 * mail.TIME_LIMIT)
# A message without progress for this time is continued: its job may have failed too often.
STALLED_AFTER = timedelta(minutes=15)
# The maximum number of stalled messages that are continued at a time.
MAX_CONTINUED = 100
# The delay after the mail server could not be reached.
OUTAGE_DELAY = timedelta(minutes=1)
# The seconds that an e-mail may take, at most, so that its job ends before its time limit.
SECONDS_PER_EMAIL = 120
PLACEHOLDER = "{name}"
MARKUP = re.compile(r"([\\`*_{}\[\]()<>#+\-.!|~&:/])")
# The purpose of the links to unsubscribe.
UNSUBSCRIBE = "unsubscribe customer"


# Starting


class RecipientsChanged(Conflict):
    """The number of recipients is another one than the author saw."""

    def __init__(self, number: int) -> None:
        text = gettext_lazy("The number of recipients is now {number}. Nothing was sent.")
        super().__init__(format_lazy(text, number=number))


@transaction.atomic(savepoint=False)
def start_message(message: Message, *, by: User, expected: int | None = None) -> None:
    """Store the recipients of a new message or of a locked draft, and begin to send it in a job. The user becomes the author.

    Raise FieldErrors if it can't be sent, RecipientsChanged if the number of recipients is not `expected`, and Conflict if the message is not
    a draft.
    """
    account = message.account
    message.check_is_draft()
    # Two concurrent requests would otherwise exceed the limit.
    locks.acquire(("messages", account.id))
    now = timezone.now()
    if account.customer_messages.filter(started_at__gt=now - timedelta(days=1)).count() >= MAX_MESSAGES_PER_DAY:
        text = gettext_lazy("is one too many: the account may send {most} a day")
        raise FieldError("message", text, "too_many", {"most": MAX_MESSAGES_PER_DAY})
    find_post(message)
    audience = message.find_audience(by)
    audience.check_size()
    if expected is not None and expected != len(audience.people):
        raise RecipientsChanged(len(audience.people))
    message.set_counts(audience)
    message.author_id = by.id
    message.state = Message.State.SENDING
    message.started_at = message.updated_at = now
    message.save(force_insert=message._state.adding)
    MessageRecipient.objects.add(message, audience)
    record(account.id, "message.sent", by=by, target=message, recipients=message.total)
    defer(message.account_id, message.id)


def suggest_texts(post: Post) -> dict[str, str]:
    """Return the subject and the text of news about a suggestion, in the language of the account."""
    with translation.override(mail.supported_language(post.account.language)):
        values = {"title": mail.single_line(post.title), "status": status_name(post.status)}
        paragraphs = [
            _("Hello %(name)s,") % {"name": PLACEHOLDER},
            _("there is news about “%(title)s”. Its status is now: %(status)s.") % values,
            post.response or "",
        ]
        subject = _("News about “%(title)s”") % values
    if len(subject) > MAX_SUBJECT_LENGTH:
        subject = f"{subject[: MAX_SUBJECT_LENGTH - 1]}…"
    return {"subject": subject, "text": "\n\n".join(filter(None, paragraphs))[:MAX_TEXT_LENGTH]}


def count_customers(post: Post, user: User) -> int:
    """Return the number of customers behind a suggestion who agreed to be contacted. Raise FieldError if there are too many customers."""
    return len(audience_of(post.account, user, post.id, among=Among.ALL, include_not_asked=False).people)


def tell_customers(post: Post, by: User) -> int:
    """Send the response and the status to the customers behind a suggestion who agreed to be contacted. Return their number.

    Raise FieldErrors if the account may send no further message now.
    """
    number = count_customers(post, by)
    if number:
        start_message(Message(account=post.account, post_id=post.id, **suggest_texts(post)), by=by)
    return number


def find_post(message: Message) -> Post:
    """Return the suggestion. Raise FieldError if it was deleted."""
    post: Post | None = message.account.posts.live().filter(id=message.post_id).first()
    if post is None:
        raise FieldError("post_id", gettext_lazy("was deleted"), "gone")
    return post


def request_test(user: User, post: Post, *, subject: str, text: str) -> None:
    """Send a message to the user as a test, in a job. Raise Throttled if the user receives too many e-mails."""
    if seconds := mail.seconds_over_limit(user):
        raise Throttled(seconds)
    ids: dict[str, Any] = {"account_id": user.account_id, "user_id": user.id, "post_id": post.id}
    in_transaction(lambda: send_test.defer(**ids, subject=subject, text=text))


# E-mails


@dataclass(frozen=True)
class MessageContent:
    """The parts that all e-mails of a message share."""

    account: Account
    sender: Sender
    look: Look
    subject: str
    text: str
    # The address of the suggestion, or "" if the public does not see it.
    post_url: str

    @classmethod
    def build(cls, account: Account, post: Post, subject: str, text: str) -> "MessageContent":
        senders = senders_of(account)
        sender = senders.get(post.forum_id, senders[None])
        is_public = account.posts.visible_to(None).filter(id=post.id).exists()
        url = public_url(sender.host) + post_path(post.id, post.title) if is_public else ""
        look = Look.read(account, name=sender.name, host=sender.host)
        return cls(account, sender, look, mail.single_line(subject), text, url)

    def html(self, name: str) -> str:
        return render(self.text.replace(PLACEHOLDER, MARKUP.sub(r"\\\1", mail.single_line(name))))

    def email(
        self, to: str, name: str, *, unsubscribe_url: str = "", message_id: str = "", is_test: bool = False
    ) -> EmailMultiAlternatives:
        """Return the e-mail to a recipient, in the language of the account."""
        language = mail.supported_language(self.account.language)
        subject = self.subject.replace(PLACEHOLDER, mail.single_line(name))
        with translation.override(language):
            text = self.text.replace(PLACEHOLDER, mail.single_line(name))
            blocks = [Block("title", subject), Block("html", text, html=self.html(name))]
            if self.post_url:
                blocks.append(Block("button", _("See the suggestion"), self.post_url))
            reason = _("%(sender)s sends you this e-mail as one of its customers.") % {"sender": self.sender.name}
            if is_test:
                subject = _("Test: %(subject)s") % {"subject": subject}
                reason = _("This is a test. Only you receive it. Customers also get a link to unsubscribe.")
            label = _("Unsubscribe from such messages")
            plain, html = render_blocks(subject, blocks, self.look, reason, unsubscribe_url, label)
        headers = {"List-Id": f"<messages.{full_name(self.account.prefix)}>"}
        if unsubscribe_url:
            headers["List-Unsubscribe"] = f"<{unsubscribe_url}>"
            headers["List-Unsubscribe-Post"] = "List-Unsubscribe=One-Click"
        return mail.make_message(
            to,
            subject,
            plain,
            html,
            sender=self.sender.name,
            language=language,
            message_id=message_id or mail.new_message_id(),
            headers=headers,
        )


# Unsubscribing


def unsubscribe_address(account: Account, sender: Sender, recipient: MessageRecipient) -> str:
    """Return the URL of the page to unsubscribe. The link does not expire, and needs no sign-in."""
    payload = {"resource": recipient.resource, "id": recipient.row_id, "email": recipient.email_key}
    token = sign_link(payload, UNSUBSCRIBE, account.id)
    return public_url(sender.host) + reverse("team-unsubscribe", query={"token": token})


def read_unsubscribe_token(account: Account, token: str) -> dict[str, Any] | None:
    """Return the resource, the id and the e-mail of the recipient of a link, or None if the link is invalid."""
    return read_link(token, UNSUBSCRIBE, account.id, expires=False)


def unsubscribe(account: Account, resource: str, id: int, email_key: str) -> None:
    """Record that the recipient asked not to be contacted, for all clients and contacts with the e-mail, and on their timelines.

    If the recipient was merged into another client or contact, this holds for that one too.
    """
    changed = stop_contact(account, email_key, {resource: {id, kept_id(account, resource, id)}})
    live = [row for row in changed if row.trashed_at is None]
    if live:
        TimelineEntry.objects.append("unsubscribed", live, by=None)


def kept_id(account: Account, resource: str, id: int) -> int:
    """Return the id of the client or contact into which the row was merged, or its own id."""
    seen = {id}
    merges = account.merges.active().values_list(f"{resource}_id", flat=True)
    while (kept := merges.filter(**{f"merged_{resource}_id": id}).first()) and kept not in seen:
        seen.add(kept)
        id = kept
    return id


# Sending


def current_row(account: Account, recipient: MessageRecipient) -> Client | Contact | None:
    """Return the client or contact of a recipient, or the one into which it was merged. Return None if it is not live."""
    rows = getattr(account, f"{recipient.resource}s").live()
    row = rows.filter(id=recipient.row_id).first()
    if row is not None:
        return row if row.email_key == recipient.email_key else None
    kept = kept_id(account, recipient.resource, recipient.row_id)
    return rows.filter(id=kept).first() if kept != recipient.row_id else None


def refusal_of(account: Account, row: Any, recipient: MessageRecipient, *, include_not_asked: bool) -> str:
    """Return why the recipient may not be contacted now, or ""."""
    reasons = MessageRecipient.Reason
    if row is None:
        return reasons.GONE
    owner_id = row.client_id if recipient.resource == "contact" else None
    is_blocked = row.do_not_contact or blocked_addresses(account, {recipient.email_key})
    if is_blocked or (owner_id and account.clients.filter(id=owner_id, do_not_contact=True).exists()):
        return reasons.DO_NOT_CONTACT
    if row.consent is False:
        return reasons.REFUSED
    return reasons.NOT_ASKED if row.consent is None and not include_not_asked else ""


def defer(account_id: int, message_id: int, _schedule_at: datetime | None = None) -> None:
    """Add a job for a message, unless one is waiting."""
    lock = f"message {account_id}/{message_id}"
    send_message.defer(account_id=account_id, message_id=message_id, _key=lock, _schedule_at=_schedule_at)


@job(time_limit=mail.TIME_LIMIT, retry=mail.RETRY_DELAYS, queue=mail.MAIL_QUEUE, time_slice=TIME_SLICE)
def send_message(*, account_id: int, message_id: int) -> None:
    """Send the next e-mails of a message, at most `BATCH_SIZE`, and add a job for the rest."""
    delay = timedelta()
    active = Message.objects.active().filter(account_id=account_id, id=message_id)
    message = active.select_related("account").first()
    if message is not None and (content := content_of(message)) is not None:
        with_connection = MailConnection()
        for _number in range(BATCH_SIZE):
            if not has_time_left(SECONDS_PER_EMAIL):
                break
            if not with_connection.open():
                delay = OUTAGE_DELAY
                break
            recipient = MessageRecipient.objects.claim(account_id, message_id)
            if recipient is None:
                break
            if seconds := mail.seconds_over_message_limit(message.account):
                delay = timedelta(seconds=seconds)
                recipient.postpone(timezone.now() + delay)
                break
            send_to(message, content, recipient, with_connection)
        with_connection.close()
        in_transaction(lambda: continue_or_end(account_id, message_id, delay))


def content_of(message: Message) -> MessageContent | None:
    """Return the content of the e-mails. If the author left the team or the suggestion was deleted, end the message and return None."""
    account = message.account
    post = account.posts.live().filter(id=message.post_id).first()
    author = account.users.filter(id=message.author_id, is_active=True, role__in=User.TEAM)
    failure = "" if post is not None else Message.Failure.POST
    failure = failure if author.exists() else Message.Failure.USER
    if failure or post is None:
        message.end(Message.State.FAILED, failure)
        return None
    return MessageContent.build(account, post, message.subject, message.text)


class MailConnection:
    """A connection to the mail server for several e-mails."""

    def __init__(self) -> None:
        self.backend: BaseEmailBackend | None = None

    def open(self) -> bool:
        """Connect unless there is a connection. Return whether the mail server was reached."""
        if self.backend is None:
            backend = get_connection()
            try:
                backend.open()
            except (OSError, SMTPException):
                logger.warning("the mail server could not be reached", exc_info=True)
                return False
            self.backend = backend
        return True

    def close(self) -> None:
        if self.backend is not None:
            self.backend.close()
            self.backend = None


def send_to(message: Message, content: MessageContent, recipient: MessageRecipient, connection: MailConnection) -> None:
    """Send the e-mail to a claimed recipient, and record the outcome."""
    states, reasons = MessageRecipient.State, MessageRecipient.Reason
    account = message.account
    row: Any = current_row(account, recipient)
    if refusal := refusal_of(account, row, recipient, include_not_asked=message.include_not_asked):
        recipient.finish(states.SKIPPED, refusal)
        return
    email = content.email(
        recipient.email,
        recipient.greeting,
        unsubscribe_url=unsubscribe_address(account, content.sender, recipient),
        message_id=message_id("message", account.id, message.id, recipient.resource, recipient.row_id),
    )
    email.connection = connection.backend
    try:
        email.send()
    except Exception as error:
        connection.close()
        delay = mail.RETRY_DELAYS.get_delay(recipient.attempts + 1)
        if not is_refusal(error):
            logger.warning("an e-mail was interrupted", exc_info=True)
            recipient.finish(states.FAILED, reasons.UNKNOWN)
        elif mail.is_temporary(error) and delay is not None:
            recipient.postpone(timezone.now() + timedelta(seconds=delay), failed_attempts=1)
        else:
            recipient.finish(states.FAILED, reasons.REJECTED if mail.rejects_address(error) else reasons.SERVER)
        return

    def record() -> None:
        recipient.finish(states.SENT, sent_at=timezone.now())
        data = {"message_id": message.id, "subject": message.subject}
        TimelineEntry.objects.append("message", [row], by=User(id=message.author_id), data=data)

    in_transaction(record)


def is_refusal(error: Exception) -> bool:
    """Return whether the mail server certainly did not accept the e-mail. A broken connection leaves this open."""
    is_answer = isinstance(error, SMTPRecipientsRefused | SMTPResponseException)
    return is_answer and not isinstance(error, SMTPServerDisconnected)


def continue_or_end(account_id: int, message_id: int, delay: timedelta) -> None:
    """Add a job for the recipients that are left, or end the message."""
    message = Message.objects.locked().active().filter(account_id=account_id, id=message_id).first()
    if message is None:
        return
    now = timezone.now()
    recipients = MessageRecipient.objects.for_message(account_id, message_id)
    for recipient in recipients.filter(state=MessageRecipient.State.SENDING, claimed_at__lt=now - INTERRUPTED_AFTER):
        recipient.finish(MessageRecipient.State.FAILED, MessageRecipient.Reason.UNKNOWN)
    if (due_at := recipients.waiting().order_by("due_at").values_list("due_at", flat=True).first()) is not None:
        at = max(due_at, now + delay)
        defer(account_id, message_id, _schedule_at=at if at > now else None)
    elif recipients.filter(state=MessageRecipient.State.SENDING).exists():
        # Another worker is sending these e-mails, or was killed.
        defer(account_id, message_id, _schedule_at=now + INTERRUPTED_AFTER)
    else:
        message.end(Message.State.SENT)


@periodic_job(minutes=15, offset=7)
def continue_messages() -> None:
    """Continue messages without progress, such as those whose job failed during an outage of the database."""
    stalled = Message.objects.active().filter(updated_at__lt=timezone.now() - STALLED_AFTER).order_by("updated_at")
    for account_id, id in stalled.values_list("account_id", "id")[:MAX_CONTINUED]:
        defer(account_id, id)


@job(time_limit=mail.TIME_LIMIT, retry=mail.RETRY_DELAYS, queue=mail.MAIL_QUEUE)
def send_test(*, account_id: int, user_id: int, post_id: int, subject: str, text: str) -> None:
    user = User.objects.select_related("account").filter(account_id=account_id, id=user_id, is_active=True).first()
    post = None if user is None else user.account.posts.live().filter(id=post_id).first()
    if user is not None and post is not None:
        content = MessageContent.build(user.account, post, subject, text)
        mail.deliver(content.email(user.email, user.name or user.login, is_test=True))
