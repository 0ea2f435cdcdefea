"""Attempts to deliver an event, and their outcome: the next event, another attempt, or a disabled endpoint.

An endpoint receives events in order. The next event is sent after the previous one was delivered or set aside.
"""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from time import monotonic
from traceback import walk_tb
from typing import Any

from django.db import OperationalError, connection, transaction
from django.dispatch import receiver
from django.utils import timezone

from accounts.erasure.erasing import person_erased
from core import outbound
from core.changes.followers import Follower, FollowerLease, LeaseLostError
from core.changes.models import Change
from core.db.text import replace_non_xml
from core.errors import Conflict
from core.jobs.registry import JobFunction, RetryDelays, job, register_queue
from core.outbound import OutboundError
from core.sealing import SealError
from webhooks.messages import TEST_EVENT, Event, WebhookMessage, make_message, message_id
from webhooks.models import BUSY, LATE_REQUESTS_DELAY, MESSAGE_ERROR, SECRET_ERROR, Delivery, Endpoint
from webhooks.owners import tell_owners
from webhooks.signing import signed_headers

logger = logging.getLogger("rostrum.webhooks")

# The delays before the next attempts, after the first, the second, … failure in a row. The last one is repeated.
RETRY_DELAYS = (
    timedelta(seconds=5),
    timedelta(minutes=5),
    timedelta(minutes=30),
    *(timedelta(hours=hours) for hours in (2, 5, 10, 14, 20, 24)),
)
# The longest delay that an endpoint can ask for with Retry-After.
MAX_RETRY_AFTER = timedelta(hours=24)
# An event is set aside if it was rejected, or if its message could not be created, for this time.
REJECTED_FOR = timedelta(hours=24)
# An endpoint at which all attempts failed for this time is disabled.
FAILING_FOR = timedelta(days=5)
GONE = 410
# These responses do not reject the event, but ask for a later attempt.
TRY_LATER = (408, 429)


@dataclass(frozen=True, slots=True)
class Attempt:
    """A request to an endpoint. It has a lease if it delivers the next event of the endpoint, otherwise it is sent on its own."""

    endpoint: Endpoint
    message: WebhookMessage
    lease: FollowerLease | None


@dataclass(frozen=True, slots=True)
class AttemptResult:
    """The result of an attempt: a response, or the code of the error."""

    attempt: Attempt
    at: datetime
    duration: timedelta
    response: outbound.Response | None = None
    error: str | None = None

    @property
    def status(self) -> int | None:
        return self.response.status if self.response else None

    @property
    def succeeded(self) -> bool:
        return self.status is not None and 200 <= self.status < 300

    @property
    def is_rejection(self) -> bool:
        """True if the endpoint works, but rejects this event."""
        return self.status is not None and 400 <= self.status < 500 and self.status not in TRY_LATER

    @property
    def is_defect(self) -> bool:
        """True if there was no request, because the service could not create the message."""
        return self.error == MESSAGE_ERROR

    def entry(self, *, cause: str = Delivery.Cause.EVENT, set_aside: bool = False) -> Delivery:
        """Return the unsaved entry of the log."""
        message, lease = self.attempt.message, self.attempt.lease
        return Delivery(
            account_id=self.attempt.endpoint.account_id,
            endpoint_id=self.attempt.endpoint.id,
            cause=cause,
            message=message.id,
            event=message.event.type,
            number=message.event.number,
            attempt=lease.failures + 1 if lease else 1,
            at=self.at,
            duration_ms=self.duration // timedelta(milliseconds=1),
            status=self.status,
            error=self.error,
            request=message.body.decode(),
            response=replace_non_xml(self.response.body.decode(errors="replace")) if self.response else "",
            set_aside=set_aside,
        )


async def send(attempt: Attempt) -> AttemptResult:
    """Send the request of an attempt, signed with the time of the attempt."""
    at, start = timezone.now(), monotonic()
    body = attempt.message.body
    headers = [("Content-Type", "application/json")]
    response, error = None, None
    try:
        headers += signed_headers(attempt.endpoint.secrets, attempt.message.id, int(at.timestamp()), body)
        endpoint = attempt.endpoint
        response = await outbound.fetch(
            "POST", endpoint.url, account_id=endpoint.account_id, headers=headers, body=body
        )
    except OutboundError as caught:
        error = caught.code
    except SealError:
        error = SECRET_ERROR
    return AttemptResult(attempt, at, timedelta(seconds=monotonic() - start), response, error)


def result_of_defect(
    endpoint: Endpoint, event: Event, error: Exception, *, lease: FollowerLease | None = None
) -> AttemptResult:
    """Log that the message about an event could not be created. Return the result of an attempt without a request."""
    # Log the type and the place only: the message of the error may contain personal data.
    logger.error(
        "the message to webhook %d of account %d about change %s could not be made: %s",
        endpoint.id,
        endpoint.account_id,
        event.number,
        describe_error(error),
    )
    message = WebhookMessage(message_id(endpoint, event), event, b"")
    return AttemptResult(Attempt(endpoint, message, lease), timezone.now(), timedelta(0), error=MESSAGE_ERROR)


def describe_error(error: Exception) -> str:
    """Return the type of an error and the line that raised it."""
    *_, (frame, line) = walk_tb(error.__traceback__)
    return f"{type(error).__name__} in {frame.f_code.co_filename}:{line}"


def retry_delay(failures: int, response: outbound.Response | None) -> timedelta:
    """Return the time until the next attempt. Retry-After can lengthen it."""
    delay = RETRY_DELAYS[min(failures, len(RETRY_DELAYS) - 1)]
    asked = parse_retry_after(response.headers.get("retry-after", "")) if response else None
    return max(delay, min(asked, MAX_RETRY_AFTER)) if asked else delay


def parse_retry_after(text: str) -> timedelta | None:
    """Return the delay of a Retry-After header: a number of seconds or a date (RFC 9110, section 10.2.3)."""
    text = text.strip()
    if text.isascii() and text.isdigit():
        return timedelta(seconds=min(int(text[:9]), MAX_RETRY_AFTER.total_seconds()))
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, TypeError, OverflowError):
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - timezone.now()


def record(results: Sequence[AttemptResult]) -> list[FollowerLease]:
    """Store the results of attempts with leases. Return the leases of endpoints that have further events.

    All successes are stored in one transaction, each failure in one of its own.
    """
    succeeded = [result for result in results if result.succeeded]
    continued = record_successes(succeeded) if succeeded else []
    for result in results:
        if not result.succeeded:
            try:
                record_failure(result)
            except LeaseLostError:
                logger.info("the lease of webhook %d was lost", result.attempt.endpoint.id)
            except OperationalError as error:
                # For example, a deadlock. The event is sent again after the lease has ended.
                if not connection.is_usable():
                    raise
                logger.error("a result of webhook %d is lost: %s", result.attempt.endpoint.id, type(error).__name__)
    return continued


@transaction.atomic
def record_successes(results: Sequence[AttemptResult]) -> list[FollowerLease]:
    Delivery.objects.all().insert(result.entry() for result in results)
    # Update an endpoint on its first success after failures, and otherwise at most once per minute.
    now = timezone.now()
    changed = [result.attempt.endpoint.pk for result in results if needs_update(result.attempt.endpoint, now)]
    if changed:
        Endpoint.objects.filter(pk__in=changed).update(failing_since=None, rejected_since=None, delivered_at=now)
    leases = [result.attempt.lease for result in results if result.attempt.lease is not None]
    numbers = [result.attempt.message.event.number or 0 for result in results if result.attempt.lease is not None]
    return Follower.objects.advance_leased(leases, numbers)


def needs_update(endpoint: Endpoint, now: datetime) -> bool:
    is_old = endpoint.delivered_at is None or now - endpoint.delivered_at > timedelta(minutes=1)
    return bool(is_old or endpoint.failing_since or endpoint.rejected_since)


@transaction.atomic
def record_failure(result: AttemptResult) -> None:
    """Store a failed attempt, and postpone the next one, set the event aside, or disable the endpoint. Raise LeaseLostError."""
    endpoint, lease, now = result.attempt.endpoint, result.attempt.lease, timezone.now()
    if lease is None:
        raise ValueError("the attempt has no lease")
    # Lock the endpoint before its follower, as `Endpoint.write` does.
    if Endpoint.objects.locked().filter(pk=endpoint.pk).first() is None:
        raise LeaseLostError
    # A defect of the service does not count as a failure of the endpoint.
    failing_since = endpoint.failing_since if result.is_defect else endpoint.failing_since or result.at
    rejected_since = (endpoint.rejected_since or result.at) if result.is_rejection or result.is_defect else None
    set_aside = rejected_since is not None and now - rejected_since >= REJECTED_FOR
    result.entry(set_aside=set_aside).save(force_insert=True)
    if set_aside:
        number = result.attempt.message.event.number or 0
        logger.warning("change %d of account %d is set aside for webhook %d", number, endpoint.account_id, endpoint.id)
        lease.advance(number)
    else:
        lease.postpone(retry_delay(lease.failures, result.response))
    Endpoint.objects.filter(pk=endpoint.pk).update(
        failing_since=failing_since, rejected_since=None if set_aside else rejected_since
    )
    if result.status == GONE:
        disable(endpoint, Endpoint.DisabledReason.GONE)
    elif not result.is_defect and failing_since is not None and now - failing_since >= FAILING_FOR:
        disable(endpoint, Endpoint.DisabledReason.FAILING)


def disable(endpoint: Endpoint, reason: str) -> None:
    """Disable an endpoint and tell the owners of the account."""
    if endpoint.disable(reason):
        logger.warning("webhook %d of account %d was disabled: %s", endpoint.id, endpoint.account_id, reason)
        tell_owners.defer(account_id=endpoint.account_id, endpoint_id=endpoint.id)


# Messages that a user asks for: a test message, and a message of the log that is sent again

QUEUE = "webhooks"

# A receiver that does not respond keeps a thread busy for 15 seconds, so one account has one thread at most.
register_queue(QUEUE, threads=2, max_running=1)


@job(time_limit=60, retry=RetryDelays(), queue=QUEUE)
def send_test(*, account_id: int, endpoint_id: int) -> None:
    """Send a test message to an endpoint, and log the attempt. A failed attempt is not repeated."""
    endpoint = Endpoint.objects.select_related("account").filter(account_id=account_id, id=endpoint_id).first()
    if endpoint is not None:
        deliver(endpoint, make_message(endpoint, Event(TEST_EVENT, timezone.now())), Delivery.Cause.TEST)


@job(time_limit=60, retry=RetryDelays(), queue=QUEUE)
def resend(*, account_id: int, delivery_id: int) -> None:
    """Send a message of the log again, with its id and body, and log the attempt. A failed attempt is not repeated."""
    entry = Delivery.objects.filter(account_id=account_id, id=delivery_id).first()
    if entry is None:
        return
    endpoints = Endpoint.objects.select_related("account").filter(account_id=account_id, id=entry.endpoint_id)
    endpoint = endpoints.filter(enabled=True).first()
    if endpoint is None:
        return
    event = Event(entry.event, entry.at, entry.number)
    if entry.request:
        deliver(endpoint, WebhookMessage(entry.message, event, entry.request.encode()), Delivery.Cause.RESEND)
    else:
        retry_defect(endpoint, event)


@job()
def erase_late_requests(*, account_id: int, erased_at: str) -> None:
    """Erase the messages that an erasure of a person did not find, because they were still being sent.

    Messages about others, from the same minutes, are erased with them. They are created anew when they are sent again.
    """
    Delivery.objects.during_erasure(account_id, datetime.fromisoformat(erased_at)).erase_bodies()


@receiver(person_erased)
def schedule_late_requests(*, account_id: int, **_options: object) -> None:
    now = timezone.now()
    if Endpoint.objects.filter(account_id=account_id).exists():
        erase_late_requests.defer(
            account_id=account_id, erased_at=now.isoformat(), _schedule_at=now + LATE_REQUESTS_DELAY
        )


def retry_defect(endpoint: Endpoint, event: Event) -> None:
    """Create and send a message that could not be created before. Do nothing if the change does not exist any more."""
    resource, _dot, kind = event.type.rpartition(".")
    changes = Change.objects.filter(account_id=endpoint.account_id, number=event.number)
    # After the database was restored from a backup, another change may have the number.
    change = changes.filter(resource=resource, change=kind).first()
    if change is None:
        return
    event = Event(event.type, change.at, change.number, change.id, change.actor_id, change.data)
    try:
        message = make_message(endpoint, event)
    except Exception as error:  # noqa: BLE001, the log of the webhook shows the error
        result_of_defect(endpoint, event, error).entry(cause=Delivery.Cause.RESEND).save(force_insert=True)
        return
    deliver(endpoint, message, Delivery.Cause.RESEND)


def deliver(endpoint: Endpoint, message: WebhookMessage, cause: str) -> None:
    result = asyncio.run(send(Attempt(endpoint, message, None)))
    result.entry(cause=cause).save(force_insert=True)


def defer_test(endpoint: Endpoint) -> None:
    """Have a worker send a test message. Raise Conflict if another message of the account is waiting."""
    _defer(send_test, endpoint.account_id, endpoint_id=endpoint.id)


def defer_resend(entry: Delivery) -> None:
    """Have a worker send a message of the log again. Raise Conflict if another message of the account is waiting."""
    _defer(resend, entry.account_id, delivery_id=entry.id)


def _defer(job: JobFunction, account_id: int, **arguments: Any) -> None:
    # Each account may have one waiting job, because its slow endpoints must not fill the queue of all accounts.
    lock = f"message to a webhook of account {account_id}"
    if not job.defer(account_id=account_id, **arguments, _key=lock):
        raise Conflict(BUSY)
