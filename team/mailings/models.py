"""Messages to the clients and contacts behind a suggestion.

A message may begin as a draft, which has no recipients yet, only their number. A message stores its recipients when it is started, so that
it goes to the people whom its author saw. Jobs send the e-mails (`team.mailings.sending`). Each recipient is marked as being sent to in a
transaction of its own before the e-mail is handed to the mail server. If the worker is killed meanwhile, nobody knows whether the e-mail
was sent, and it is not sent again.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Self

from django.db import models, transaction
from django.db.models import F, Q
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from accounts.access.models import AccessQuerySet
from accounts.account.models import Account
from accounts.audit.models import record
from accounts.users.models import User
from core.db import locks
from core.db.tenancy import TenantModel, foreign_object
from core.errors import Conflict, FieldError, FieldErrors
from core.registry import Resource
from core.rows.access import Access
from forum.posts.models import Post
from team.mailings.audience import Among, Audience, LeftOut, audience_of

MAX_SUBJECT_LENGTH, MAX_TEXT_LENGTH = 150, 10_000
# The maximum number of recipients that the page of a message names among those whose e-mail was not sent.
MAX_SHOWN = 100
# The maximum number of drafts of an account.
MAX_DRAFTS = 100


class MessageQuerySet(AccessQuerySet[Any]):
    def active(self) -> Self:
        return self.filter(state=Message.State.SENDING)

    def limited_to(self, access: Access) -> Self:
        """Return the messages that are accessible. Agents with limited access see their own, and those of their group."""
        return self.filter(access.condition("author_id")) if access.is_limited else self


class Message(TenantModel):
    """An e-mail to many clients and contacts about a suggestion."""

    api_resource = Resource("message", _("Message"), _("Messages"), icon="megaphone")

    class State(models.TextChoices):
        DRAFT = "draft", _("Draft")
        SENDING = "sending", _("Being sent")
        SENT = "sent", _("Sent")
        CANCELLED = "cancelled", _("Cancelled")
        # The rest of the e-mails can't be sent. `failure` says why.
        FAILED = "failed", _("Failed")

    class Failure(models.TextChoices):
        NONE = "", ""
        USER = "user", _("The author has left the team.")
        POST = "post", _("The suggestion was deleted.")

    post_id = models.BigIntegerField(editable=False)
    post = foreign_object(Post, "post_id")
    author_id = models.BigIntegerField(editable=False)
    author = foreign_object(User, "author_id")
    subject = models.CharField(max_length=MAX_SUBJECT_LENGTH)
    # Markdown, with the placeholder `{name}`.
    text = models.TextField()
    among = models.CharField(max_length=255, choices=Among.choices, default=Among.ALL)
    include_not_asked = models.BooleanField(default=False)
    state = models.CharField(max_length=255, choices=State.choices, default=State.DRAFT)
    failure = models.CharField(max_length=255, choices=Failure.choices, default=Failure.NONE)
    # The number of recipients, and the numbers of clients and contacts that are left out, by `LeftOut`. Those of a draft are counted when it is
    # written. Null if there are too many customers to count.
    total = models.IntegerField(null=True)
    left_out = models.JSONField(null=True)
    # Numbers of recipients. `skipped` ones could no longer be contacted when their e-mail was due.
    sent = models.IntegerField(default=0)
    skipped = models.IntegerField(default=0)
    failed = models.IntegerField(default=0)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    updated_at = models.DateTimeField(default=timezone.now, editable=False)
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)

    objects = MessageQuerySet.as_manager()

    class Meta:
        default_related_name = "customer_messages"
        indexes = [
            models.Index(fields=["account", "post_id", "id"], name="message_of_post"),
            models.Index(fields=["account", "started_at"], name="message_by_start"),
            models.Index(fields=["account"], name="message_draft", condition=Q(state="draft")),
            # The condition of the job that continues the messages of all accounts.
            models.Index(fields=["updated_at"], name="message_active", condition=Q(state="sending")),
        ]

    def __str__(self) -> str:
        return self.subject

    @transaction.atomic(savepoint=False)
    def write(self, values: Mapping[str, object], *, by: User) -> None:
        """Insert a draft, or update the fields of a locked draft that `values` names, and count its recipients.

        Raise Conflict if the message is not a draft, and FieldError if the account has too many drafts.
        """
        self.check_is_draft()
        for name, value in values.items():
            setattr(self, name, value)
        self.count(by)
        self.updated_at = timezone.now()
        if self._state.adding:
            self.author_id = by.id
            # Two concurrent requests would otherwise exceed the limit.
            locks.acquire(("drafts of messages", self.account_id))
            if self.account.customer_messages.filter(state=self.State.DRAFT).count() >= MAX_DRAFTS:
                text = _("is one too many: the account may have {most} drafts")
                raise FieldError("message", text, "too_many", {"most": MAX_DRAFTS})
            self.save(force_insert=True)
        else:
            self.save(update_fields=[*values, "total", "left_out", "updated_at"])

    def count(self, user: User) -> None:
        """Count the recipients that the message would have if the user sent it now."""
        try:
            self.set_counts(self.find_audience(user))
        except FieldErrors:
            self.total = self.left_out = None

    def find_audience(self, user: User) -> Audience:
        """Return the recipients if the user sends the message. Raise FieldError if there are too many customers."""
        return audience_of(self.account, user, self.post_id, among=self.among, include_not_asked=self.include_not_asked)

    def set_counts(self, audience: Audience) -> None:
        self.total, self.left_out = len(audience.people), audience.numbers

    def check_is_draft(self) -> None:
        if self.state != self.State.DRAFT:
            raise Conflict(_("It is no longer a draft."))

    def erase(self) -> None:
        """Delete a draft. The caller has locked it. Raise Conflict if the message is not a draft."""
        self.check_is_draft()
        # `Model.delete` would empty the primary key, and with it the account.
        self.account.customer_messages.filter(id=self.id).delete()

    def cancel(self) -> None:
        """Send no further e-mails. The caller has locked the message. Raise Conflict if it is a draft or finished."""
        if self.state == self.State.DRAFT:
            raise Conflict(_("It is a draft, which can be deleted."))
        if self.state != self.State.SENDING:
            raise Conflict(_("The message is finished already."))
        self.end(self.State.CANCELLED)
        record(self.account_id, "message.cancelled", target=self, sent=self.sent)

    def end(self, state: str, failure: str = "") -> None:
        self.state, self.failure = state, failure
        self.finished_at = self.updated_at = timezone.now()
        self.save(update_fields=["state", "failure", "finished_at", "updated_at"])

    @property
    def is_active(self) -> bool:
        return self.state == self.State.SENDING

    @property
    def processed(self) -> int:
        return self.sent + self.skipped + self.failed

    @property
    def not_sent(self) -> int:
        """The number of recipients whose e-mails a cancelled or failed message left unsent."""
        is_unfinished = self.state in (self.State.DRAFT, self.State.SENDING)
        return 0 if is_unfinished or self.total is None else self.total - self.processed

    def problems(self, user: User) -> list[dict[str, object]]:
        """Return the first `MAX_SHOWN` recipients who did not get the message, with the reasons.

        The names of those that the user may not access are None. This takes up to three statements.
        """
        states = MessageRecipient.State
        recipients = self.message_recipients.filter(state__in=(states.SKIPPED, states.FAILED))
        found = list(recipients.order_by("email_key")[:MAX_SHOWN])
        names = names_of(self.account, found, user)
        keys = [(recipient.resource, recipient.row_id, recipient.get_reason_display()) for recipient in found]
        return [
            {"name": names.get((resource, id)), "route": f"team-{resource}", "id": id, "reason": reason}
            for resource, id, reason in keys
        ]

    @property
    def reasons(self) -> list[tuple[str | Promise, int]]:
        """The reasons for which clients and contacts were left out, as pages show them, with their numbers."""
        return [(reason.label, number) for reason in LeftOut if (number := (self.left_out or {}).get(reason))]


class MessageRecipientQuerySet(models.QuerySet["MessageRecipient"]):
    def add(self, message: Message, audience: Audience) -> None:
        recipients: list[Any] = [
            MessageRecipient(
                account_id=message.account_id,
                message_id=message.id,
                **{f"{person.resource}_id": person.id},
                **{name: getattr(person, name) for name in ("email_key", "email", "name", "greeting")},
            )
            for person in audience.people
        ]
        self.bulk_create(recipients, batch_size=1000)

    def for_message(self, account_id: int, message_id: int) -> Self:
        return self.filter(account_id=account_id, message_id=message_id)

    def waiting(self) -> Self:
        return self.filter(state=MessageRecipient.State.PENDING)

    def claim(self, account_id: int, message_id: int) -> "MessageRecipient | None":
        """Mark the next recipient as being sent to, in a transaction that is committed before the e-mail is sent. Return it.

        Return None if none is due, or if the message was cancelled.
        """
        now = timezone.now()
        if not Message.objects.active().filter(account_id=account_id, id=message_id).exists():
            return None
        with transaction.atomic():
            due = self.for_message(account_id, message_id).waiting().filter(due_at__lte=now)
            recipient = due.order_by("due_at", "email_key").select_for_update(skip_locked=True).first()
            if recipient is not None:
                recipient.write(state=MessageRecipient.State.SENDING, claimed_at=now)
        return recipient


class MessageRecipient(models.Model):
    """A client or contact that gets a message. The primary key makes the e-mail address unique in a message."""

    class State(models.TextChoices):
        PENDING = "pending"
        # A worker is sending the e-mail, or was killed meanwhile.
        SENDING = "sending"
        SENT = "sent"
        SKIPPED = "skipped"
        FAILED = "failed"

    class Reason(models.TextChoices):
        NONE = "", ""
        GONE = "gone", _("Was deleted, or has another e-mail address now")
        DO_NOT_CONTACT = LeftOut.DO_NOT_CONTACT.value, LeftOut.DO_NOT_CONTACT.label
        REFUSED = LeftOut.REFUSED.value, LeftOut.REFUSED.label
        NOT_ASKED = LeftOut.NOT_ASKED.value, LeftOut.NOT_ASKED.label
        REJECTED = "rejected", _("The mail server rejected the e-mail address")
        SERVER = "server", _("The mail server did not accept the e-mail")
        UNKNOWN = "unknown", _("Sending was interrupted. The e-mail may have been sent, and is not sent again.")

    pk = models.CompositePrimaryKey("account_id", "message_id", "email_key")
    account = models.ForeignKey(Account, models.CASCADE, related_name="+", db_index=False)
    message_id = models.BigIntegerField()
    message = foreign_object(Message, "message_id", related_name="message_recipients")
    email_key = models.TextField()
    # The values when the message was started.
    email = models.CharField(max_length=255)
    name = models.CharField(max_length=255)
    greeting = models.CharField(max_length=255)
    # Exactly one of them is set. A merge of clients or contacts leaves them as they are: `current_row` finds the kept row.
    client_id = models.BigIntegerField(null=True)
    contact_id = models.BigIntegerField(null=True)
    state = models.CharField(max_length=255, choices=State.choices, default=State.PENDING)
    reason = models.CharField(max_length=255, choices=Reason.choices, default=Reason.NONE)
    attempts = models.IntegerField(default=0)
    due_at = models.DateTimeField(default=timezone.now)
    claimed_at = models.DateTimeField(null=True)
    sent_at = models.DateTimeField(null=True)

    objects = MessageRecipientQuerySet.as_manager()

    class Meta:
        indexes = [
            models.Index(
                fields=["account", "message_id", "due_at"],
                name="message_recipient_waiting",
                condition=Q(state__in=("pending", "sending")),
            ),
            *(
                models.Index(
                    fields=["account", f"{resource}_id"],
                    name=f"message_recipient_{resource}",
                    condition=Q(**{f"{resource}_id__isnull": False}),
                )
                for resource in ("client", "contact")
            ),
        ]
        constraints = [
            models.CheckConstraint(
                condition=Q(client_id__isnull=False, contact_id=None) | Q(client_id=None, contact_id__isnull=False),
                name="message_to_client_or_contact",
            )
        ]

    def __str__(self) -> str:
        return self.email

    @property
    def resource(self) -> str:
        return "client" if self.contact_id is None else "contact"

    @property
    def row_id(self) -> int:
        return (self.client_id if self.contact_id is None else self.contact_id) or 0

    def write(self, **values: object) -> int:
        for name, value in values.items():
            setattr(self, name, value)
        return MessageRecipient.objects.filter(pk=self.pk).update(**values)

    def postpone(self, at: datetime, *, failed_attempts: int = 0) -> None:
        """Put the recipient back. The e-mail was certainly not sent."""
        self.write(state=self.State.PENDING, attempts=self.attempts + failed_attempts, due_at=at)

    @transaction.atomic(savepoint=False)
    def finish(self, state: str, reason: str = "", **values: object) -> None:
        """Store the outcome, and count it in the message. A recipient is finished once."""
        claimed = MessageRecipient.objects.filter(pk=self.pk, state=self.State.SENDING)
        if claimed.update(state=state, reason=reason, **values):
            message = Message.objects.filter(account_id=self.account_id, id=self.message_id)
            message.update(**{state: F(state) + 1}, updated_at=timezone.now())


def names_of(account: Account, recipients: Sequence[MessageRecipient], user: User) -> dict[tuple[str, int], str]:
    """Return the names of the recipients that the user may access, by resource and id."""
    names: dict[tuple[str, int], str] = {}
    for resource, rows in (("client", account.clients), ("contact", account.contacts)):
        ids = [recipient.row_id for recipient in recipients if recipient.resource == resource]
        accessible = rows.live().accessible_to(user).filter(id__in=ids) if ids else rows.none()
        names |= {(resource, id): name for id, name in accessible.values_list("id", "name")}
    return names
