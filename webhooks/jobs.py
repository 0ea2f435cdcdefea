"""Jobs for single deliveries, and for the log."""

import asyncio

from core.jobs.registration import RetryDelays, has_time_left, job, periodic_job, register_queue
from webhooks.delivery import Attempt, send
from webhooks.messages import Event, Message, make_message, test_event
from webhooks.models import Delivery, Endpoint

BATCH_SIZE = 1000
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
    endpoint = Endpoint.objects.select_related("account").get(account_id=account_id, id=entry.endpoint_id)
    message = Message(entry.message, Event(entry.event, entry.at, entry.number), entry.request.encode())
    deliver(endpoint, message, Delivery.Cause.RESEND)


def deliver(endpoint: Endpoint, message: Message, cause: str) -> None:
    result = asyncio.run(send(Attempt(endpoint, message, None)))
    result.entry(cause=cause).save(force_insert=True)


@periodic_job(cron="17 * * * *", time_limit=600)
def erase_old_deliveries() -> None:
    """Erase the entries of the log that are older than 30 days."""
    while has_time_left() and Delivery.objects.erase_old(limit=BATCH_SIZE) == BATCH_SIZE:
        pass
