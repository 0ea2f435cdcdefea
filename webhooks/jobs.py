"""Jobs for single deliveries."""

import asyncio

from core.errors import FieldError
from core.jobs.registration import RetryDelays, job, register_queue
from webhooks.delivery import Attempt, send
from webhooks.messages import Event, Message, make_message, test_event
from webhooks.models import BUSY, Delivery, Endpoint

QUEUE = "webhooks"

# A receiver that does not respond keeps a thread busy for 15 seconds.
register_queue(QUEUE, threads=2)


@job(time_limit=60, retry=RetryDelays(), queue=QUEUE)
def send_test(*, account_id: int, endpoint_id: int) -> None:
    """Send a test message to an endpoint, and log the attempt. It is not repeated."""
    endpoint = Endpoint.objects.select_related("account").filter(account_id=account_id, id=endpoint_id).first()
    if endpoint is not None:
        deliver(endpoint, make_message(endpoint, test_event()), Delivery.Cause.TEST)


@job(time_limit=60, retry=RetryDelays(), queue=QUEUE)
def resend(*, account_id: int, delivery_id: int) -> None:
    """Send a message of the log again, with its id and body, and log the attempt. It is not repeated."""
    entry = Delivery.objects.filter(account_id=account_id, id=delivery_id).first()
    if entry is None:
        return
    endpoints = Endpoint.objects.select_related("account").filter(account_id=account_id, id=entry.endpoint_id)
    endpoint = endpoints.filter(enabled=True).first()
    if endpoint is None:
        return
    message = Message(entry.message, Event(entry.event, entry.at, entry.number), entry.request.encode())
    deliver(endpoint, message, Delivery.Cause.RESEND)


def defer_test(endpoint: Endpoint) -> None:
    """Have a worker send a test message. Do nothing if one is waiting already: a slow endpoint must not fill the queue."""
    lock = f"test of webhook {endpoint.account_id} {endpoint.id}"
    send_test.defer(account_id=endpoint.account_id, endpoint_id=endpoint.id, _queueing_lock=lock)


def defer_resend(endpoint: Endpoint, entry: Delivery) -> None:
    """Have a worker send a message of the log again. Raise FieldError if another one for the endpoint is waiting."""
    lock = f"resend of webhook {endpoint.account_id} {endpoint.id}"
    if not resend.defer(account_id=entry.account_id, delivery_id=entry.id, _queueing_lock=lock):
        raise FieldError("webhook", BUSY, "busy")


def deliver(endpoint: Endpoint, message: Message, cause: str) -> None:
    result = asyncio.run(send(Attempt(endpoint, message, None)))
    result.entry(cause=cause).save(force_insert=True)
