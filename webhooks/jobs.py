"""Jobs for single deliveries."""

import asyncio
from typing import Any

from core.changes.models import Change
from core.errors import Conflict
from core.jobs.registration import JobFunction, RetryDelays, job, register_queue
from webhooks.delivery import Attempt, result_of_defect, send
from webhooks.messages import Event, Message, make_message, test_event
from webhooks.models import BUSY, Delivery, Endpoint

QUEUE = "webhooks"

# A receiver that does not respond keeps a thread busy for 15 seconds, so one account has one thread at most.
register_queue(QUEUE, threads=2, max_running=1)


@job(time_limit=60, retry=RetryDelays(), queue=QUEUE)
def send_test(*, account_id: int, endpoint_id: int) -> None:
    """Send a test message to an endpoint, and log the attempt. A failed attempt is not repeated."""
    endpoint = Endpoint.objects.select_related("account").filter(account_id=account_id, id=endpoint_id).first()
    if endpoint is not None:
        deliver(endpoint, make_message(endpoint, test_event()), Delivery.Cause.TEST)


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
        deliver(endpoint, Message(entry.message, event, entry.request.encode()), Delivery.Cause.RESEND)
    else:
        retry_defect(endpoint, event)


def retry_defect(endpoint: Endpoint, event: Event) -> None:
    """Create and send a message that could not be created before. Do nothing if the change does not exist any more."""
    resource, _dot, kind = event.type.rpartition(".")
    changes = Change.objects.filter(account_id=endpoint.account_id, number=event.number)
    # After the database was restored from a backup, another change may have the number.
    change = changes.filter(resource=resource, change=kind).first()
    if change is None:
        return
    event = Event(event.type, change.at, change.number, change.id)
    try:
        message = make_message(endpoint, event)
    except Exception as error:  # noqa: BLE001, the log of the webhook shows the error
        result_of_defect(endpoint, event, error).entry(cause=Delivery.Cause.RESEND).save(force_insert=True)
        return
    deliver(endpoint, message, Delivery.Cause.RESEND)


def deliver(endpoint: Endpoint, message: Message, cause: str) -> None:
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
