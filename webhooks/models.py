"""Webhooks: the endpoints of an account, to which workers send its changes, and the log of these requests."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from functools import lru_cache
from itertools import product
from typing import Any, Self
from urllib.parse import urlsplit

import orjson
from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import connection, models, transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.account.models import Account
from accounts.audit.models import Audited
from accounts.erasure.personal_data import personal_data_of
from accounts.hosts.models import Host
from accounts.hosts.names import normalize
from accounts.users.models import User
from core import outbound
from core.changes import events
from core.changes.followers import Follower
from core.changes.models import Change
from core.db.locks import LockableQuerySet
from core.db.tenancy import TenantModel, foreign_object
from core.errors import FieldError
from core.registry import registry
from core.sealing import SealError, seal, unseal
from webhooks import signing
from webhooks.chat import AT as CHAT_AT
from webhooks.chat import escape_markdown, escape_slack

# The name of the followers of the change feed. Each endpoint has one, whose key is the id of the endpoint.
FOLLOWER = "webhook"
SEAL_PURPOSE = "webhook"
# After a rotation, requests are also signed with the previous secret for this time.
PREVIOUS_SECRET_VALID_FOR = timedelta(hours=24)
LOG_KEPT_FOR = timedelta(days=30)
# Longer than the creation of messages, their requests, and the transaction of an erasure take.
LATE_REQUESTS_DELAY = timedelta(minutes=2)
# The key of the entries of the log in the receipt of an erasure.
DELIVERIES = "webhook_deliveries"


def event_types() -> list[str]:
    """Return the types of all events, such as `client.created`: those of raw changes, then the named ones."""
    raw = [
        f"{resource.key}.{kind}"
        for resource in registry
        for kind in Change.Kind.values
        if kind != Change.Kind.RESTORED or resource.is_trashable
    ]
    return raw + list(events.kinds)


class EndpointQuerySet(LockableQuerySet["Endpoint"]):
    @transaction.atomic(savepoint=False)
    def add(self, account: Account, **values: Any) -> "tuple[Endpoint, str]":
        """Create an endpoint that receives the changes from now on. Return it and its secret, which is not shown again.

        Raise FieldError if the URL is not allowed, or if the account has `MAX_PER_ACCOUNT` endpoints already.
        """
        # Lock the account, so that concurrent requests count its endpoints one after another.
        account.lock()
        most = Endpoint.MAX_PER_ACCOUNT
        if account.webhooks.count() >= most:
            raise FieldError("request", _("would make more than {most} webhooks"), "too_many", {"most": most})
        secret = signing.new_secret()
        row = self.model(account=account, secret=seal(secret, SEAL_PURPOSE))
        row.assign(values)
        row.save(force_insert=True)
        Follower.objects.start(account.id, FOLLOWER, row.id)
        if not row.enabled:
            Follower.objects.pause(account.id, FOLLOWER, row.id)
        return row, secret


class Endpoint(Audited, TenantModel):
    """An address to which workers send the changes of an account.

    The follower of the endpoint stores its position in the change feed, and the number of failed attempts.
    """

    audit_group = "webhook"
    audited = ("name", "url", "events", "format", "enabled", "disabled_reason")
    # The path of a URL may be a secret.
    audit_hidden = ("url",)

    MAX_PER_ACCOUNT = 50

    class Format(models.TextChoices):
        STANDARD = "standard", _("Standard Webhooks (JSON)")
        SLACK = "slack", _("A message for Slack, Mattermost or Discord")
        TEAMS = "teams", _("A message for Microsoft Teams")

    class DisabledReason(models.TextChoices):
        USER = "user", _("Somebody turned it off.")
        GONE = "gone", _("It answered “410 Gone”.")
        FAILING = "failing", _("All attempts failed for five days.")

    name = models.CharField(max_length=255, blank=True, default="", db_default="")
    url = models.CharField(max_length=outbound.MAX_URL_LENGTH)
    # The types of the events to send. Null means all.
    events = ArrayField(models.TextField(), null=True, blank=True)
    format = models.CharField(max_length=255, choices=Format.choices, default=Format.STANDARD)
    # Whether it gets the changes of imports of which nobody is to be notified.
    includes_imports = models.BooleanField(default=False)
    enabled = models.BooleanField(default=True)
    disabled_reason = models.CharField(max_length=255, choices=DisabledReason.choices, null=True, blank=True)
    # Encrypted, because the signatures need the secret itself.
    secret = models.TextField()
    previous_secret = models.TextField(null=True)
    previous_secret_expires_at = models.DateTimeField(null=True)
    # The start of the time in which all attempts have failed.
    failing_since = models.DateTimeField(null=True, editable=False)
    # The start of the time in which the current event was rejected with 4xx, or its message could not be created.
    rejected_since = models.DateTimeField(null=True, editable=False)
    delivered_at = models.DateTimeField(null=True, editable=False)
    # While a range of events is sent again: the numbers of the events that were sent before and are not in the range. After the first,
    # up to the second.
    skips_after = models.BigIntegerField(null=True, editable=False)
    skips_to = models.BigIntegerField(null=True, editable=False)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    updated_at = models.DateTimeField(auto_now=True)

    objects = EndpointQuerySet.as_manager()

    class Meta:
        db_table = "webhooks_endpoint"
        default_related_name = "webhooks"

    def __str__(self) -> str:
        return self.name or self.host

    @property
    def host(self) -> str:
        """The host of the URL. Unlike the URL, it contains no secrets."""
        return urlsplit(self.url).hostname or ""

    @property
    def state(self) -> str:
        """`disabled`, `failing` or `healthy`."""
        return "disabled" if not self.enabled else "failing" if self.failing_since else "healthy"

    @property
    def secrets(self) -> list[str]:
        """The secrets with which requests are signed at present, the newest first."""
        found = [_unsealed(self.secret)]
        expires_at = self.previous_secret_expires_at
        if self.previous_secret and expires_at is not None and expires_at > timezone.now():
            found.append(_unsealed(self.previous_secret))
        return found

    @property
    def public_key(self) -> str | None:
        """The key with which receivers verify requests without the secret, or None if the secret can't be decrypted any more."""
        try:
            return signing.public_key(_unsealed(self.secret))
        except SealError:
            return None

    def assign(self, values: dict[str, Any]) -> None:
        """Set the values of fields that users may set. Raise FieldError for a URL that is not allowed."""
        if "url" in values and values["url"] != self.url:
            check_url(values["url"])
            self.failing_since = self.rejected_since = None
        for name, value in values.items():
            setattr(self, name, value)
        self.disabled_reason = None if self.enabled else (self.disabled_reason or self.DisabledReason.USER)

    @transaction.atomic(savepoint=False)
    def write(self, values: dict[str, Any]) -> None:
        """Update fields. An endpoint that is enabled again receives the changes from then on. The caller holds the lock of the row."""
        was_enabled, had_url = self.enabled, self.url
        self.assign(values)
        if self.enabled and not was_enabled:
            self.failing_since = self.rejected_since = None
        self.save()
        if self.enabled and not was_enabled:
            Follower.objects.resume(self.account_id, FOLLOWER, self.id)
        elif was_enabled and not self.enabled:
            Follower.objects.pause(self.account_id, FOLLOWER, self.id)
        elif self.enabled and self.url != had_url:
            Follower.objects.retry(self.account_id, FOLLOWER, self.id)

    @transaction.atomic(savepoint=False)
    def disable(self, reason: str) -> bool:
        """Disable the endpoint because of its responses. Return False if it is disabled already."""
        rows = Endpoint.objects.filter(pk=self.pk, enabled=True)
        if not rows.update(enabled=False, disabled_reason=reason, updated_at=timezone.now()):
            return False
        Follower.objects.pause(self.account_id, FOLLOWER, self.id)
        self.record("disabled", reason=reason)
        return True

    @transaction.atomic(savepoint=False)
    def rotate_secret(self) -> str:
        """Replace the secret and return the new one. Requests are also signed with the previous one for `PREVIOUS_SECRET_VALID_FOR`."""
        secret = signing.new_secret()
        self.previous_secret, self.secret = self.secret, seal(secret, SEAL_PURPOSE)
        self.previous_secret_expires_at = timezone.now() + PREVIOUS_SECRET_VALID_FOR
        self.save(update_fields=["secret", "previous_secret", "previous_secret_expires_at", "updated_at"])
        self.record("secret_rotated")
        return secret

    @transaction.atomic(savepoint=False)
    def erase(self) -> None:
        """Delete the endpoint with its log."""
        Follower.objects.filter(account_id=self.account_id, name=FOLLOWER, key=self.id).delete()
        self.delete()

    @transaction.atomic(savepoint=False)
    def resend_since(self, since: datetime, until: datetime | None = None) -> int:
        """Send the events from a time on again, in their order. Those from `until` on follow only if they were not sent before.

        Return the number of changes that are sent again. Raise FieldError if the endpoint is disabled, if the times are not in order, or if
        an earlier range is still being sent. The caller holds the lock of the row.
        """
        if not self.enabled:
            raise FieldError("webhook", DISABLED, "disabled")
        if until is not None and until <= since:
            raise FieldError("until", _("must be after since"), "order")
        follower = Follower.objects.select_for_update().get(account_id=self.account_id, name=FOLLOWER, key=self.id)
        if self.skips_to is not None and follower.cursor < self.skips_to:
            raise FieldError("since", _("has to wait until the events of an earlier request are sent"), "busy")
        first = first_number_since(self.account_id, since)
        if first is None or first > follower.cursor:
            return 0
        end = first_number_since(self.account_id, until) if until is not None else None
        last = follower.cursor if end is None else min(end - 1, follower.cursor)
        if last < first:
            return 0
        is_range = last < follower.cursor
        self.skips_after, self.skips_to = (last, follower.cursor) if is_range else (None, None)
        Endpoint.objects.filter(pk=self.pk).update(skips_after=self.skips_after, skips_to=self.skips_to)
        Follower.objects.replay(self.account_id, FOLLOWER, self.id, after=first - 1)
        return last - first + 1


@lru_cache(maxsize=2000)
def _unsealed(sealed: str) -> str:
    """Return a secret. It is cached, because a worker needs it for each request."""
    return str(unseal(sealed, SEAL_PURPOSE))


DISABLED = _("needs to be enabled")
BUSY = _("Another message of this account is still waiting to be sent: try again in a moment")


def check_url(text: str) -> None:
    """Raise FieldError if requests to a URL are not allowed, or if it is an address of this service."""
    url = outbound.check_url(text)
    name = normalize(url.host)
    base = settings.BASE_DOMAIN
    if f".{url.host}".endswith(f".{base}") or (name is not None and Host.objects.filter(name=name).exists()):
        raise FieldError("url", _("is an address of this service, which a webhook cannot call"), "own")


def first_number_since(account_id: int, since: datetime) -> int | None:
    """Return the number of the first change at or after a time, or None if there is none.

    Numbers have no gaps and follow the order of the commits, so a binary search reads only a few rows of any feed.
    """
    rows = Change.objects.filter(account_id=account_id, number__isnull=False)
    ends = rows.aggregate(first=models.Min("number"), last=models.Max("number"))
    if ends["last"] is None:
        return None
    low, high = ends["first"], ends["last"] + 1
    while low < high:
        middle = (low + high) // 2
        at = rows.filter(number=middle).values_list("at", flat=True).first()
        # An erased change is older than those that are kept.
        if at is None or at < since:
            low = middle + 1
        else:
            high = middle
    return low if low <= ends["last"] else None


class DeliveryQuerySet(models.QuerySet["Delivery"]):
    def insert(self, entries: "Iterable[Delivery]") -> None:
        """Insert entries with one statement and one parameter.

        `bulk_create` would send an array for each column, and escaping the many quotes of the requests takes longer than all the rest.
        """
        # A trigger sets the ids.
        columns = [field.attname for field in Delivery._meta.concrete_fields if field.attname != "id"]
        rows = [{name: getattr(entry, name) for name in columns} for entry in entries]
        names = ", ".join(columns)
        with connection.cursor() as cursor:
            cursor.execute(
                f"INSERT INTO webhooks_delivery ({names})"  # noqa: S608
                f" SELECT {names} FROM json_populate_recordset(NULL::webhooks_delivery, %s::json)",
                [orjson.dumps(rows).decode()],
            )

    def about(self, person: Any) -> Self:
        """Return the entries whose requests may show a user, a client or a contact: those about their row and about rows of theirs.

        For a user, those with a mention are among them, also in a text that has changed since.
        """
        about, kinds = Q(resource=person._meta.model_name, id=person.id), Q()
        for data in personal_data_of(person):
            rows = None if data.key == DELIVERIES else data.rows(person)
            if rows is not None and (resource := getattr(rows.model, "api_resource", None)) is not None:
                about |= Q(resource=resource.key, id__in=rows.order_by().values("id"))
                kinds |= Q(event__startswith=f"{resource.key}.")
            elif (
                rows is not None
                and (name := rows.model._meta.model_name) in events.subjects
                and issubclass(rows.model, TenantModel)
            ):
                about |= Q(resource=name, id__in=rows.order_by().values("id"))
                kinds |= Q(event__startswith=f"{name}.")
        if isinstance(person, User):
            about |= Q(actor_id=person.id) | Q(data__user_id=person.id)
        changes = Change.objects.filter(about, account_id=person.account_id)
        found = Q(number__in=changes.values("number"))
        if isinstance(person, User):
            # Mentions are in the kinds of rows that users write. A comparison without regard to case is slow: few requests have an @.
            mentions = Q()
            names = {person.login, person.name} - {""}
            names |= {escape(name) for name in names for escape in (escape_slack, escape_markdown)}
            for name, at in product(names, ("@", CHAT_AT)):
                mentions |= Q(request__icontains=f"{at}{orjson.dumps(name).decode()[1:-1]}")
            found |= kinds & Q(request__contains="@") & mentions
        return self.filter(found, account_id=person.account_id).exclude(request="", response="")

    def erase_bodies(self) -> int:
        """Erase the requests and the responses. The entries stay. Return their number."""
        return self.update(request="", response="")

    def during_erasure(self, account_id: int, erased_at: datetime) -> Self:
        """Return the entries whose messages may have been created before an erasure, but were logged only after it."""
        sent = {"at__gte": erased_at - LATE_REQUESTS_DELAY, "at__lte": erased_at + LATE_REQUESTS_DELAY}
        return self.filter(account_id=account_id, **sent).exclude(request="", response="")

    def outdated(self) -> Self:
        """Return the entries that are older than `LOG_KEPT_FOR`."""
        return self.filter(at__lt=timezone.now() - LOG_KEPT_FOR)


class Delivery(TenantModel):
    """An attempt to deliver an event, with the request and the beginning of the response."""

    class Cause(models.TextChoices):
        EVENT = "event", _("event")
        RESEND = "resend", _("sent again")
        TEST = "test", _("test")

    endpoint_id = models.BigIntegerField()
    endpoint = foreign_object(Endpoint, "endpoint_id", on_delete=models.CASCADE, related_name="deliveries")
    cause = models.CharField(max_length=255, choices=Cause.choices)
    message = models.CharField(max_length=255)
    event = models.CharField(max_length=255)
    # The number of the change. Null for a test.
    number = models.BigIntegerField(null=True)
    # The attempts of an event are counted from 1.
    attempt = models.IntegerField()
    at = models.DateTimeField()
    duration_ms = models.IntegerField()
    # The status of the response, or a key of `DELIVERY_ERRORS` if there was none.
    status = models.IntegerField(null=True)
    error = models.CharField(max_length=255, null=True)
    request = models.TextField()
    response = models.TextField()
    # True if the event is not tried again, although it was not delivered.
    set_aside = models.BooleanField(default=False)

    objects = DeliveryQuerySet.as_manager()

    class Meta:
        db_table = "webhooks_delivery"
        default_related_name = "webhook_deliveries"
        indexes = [
            models.Index(fields=["account", "endpoint_id", "id"], name="delivery_of_endpoint"),
            models.Index(fields=["at"], name="delivery_at"),
        ]

    def __str__(self) -> str:
        return f"{self.event} {self.message}"

    @property
    def succeeded(self) -> bool:
        return self.status is not None and 200 <= self.status < 300

    @property
    def outcome(self) -> str:
        """The status, or the reason why there was no response."""
        return str(self.status) if self.status is not None else str(DELIVERY_ERRORS[self.error or "connect"])


MESSAGE_ERROR, SECRET_ERROR = "message", "secret"
DELIVERY_ERRORS = {
    **outbound.ERROR_MESSAGES,
    MESSAGE_ERROR: _("The message could not be made, because of a fault of this service."),
    SECRET_ERROR: _("The secret can't be decrypted any more: replace it."),
}
