"""The loop of a worker that delivers events to endpoints.

One thread reads and writes the database, where possible with one statement for many endpoints. Another thread runs an asyncio loop with
the requests. Hundreds of them can wait for responses at the same time, so a slow endpoint does not delay the others. Endpoints whose
last attempt failed share a small part of the requests.
"""

import asyncio
import logging
import queue
import threading
from collections.abc import Sequence
from datetime import timedelta
from time import monotonic
from typing import Any

import orjson
from django.db import DatabaseError, connection
from django.utils import timezone

from core.changes.followers import Follower, FollowerLease, LeaseLostError
from webhooks.delivery import Attempt, AttemptResult, record, result_of_defect, send
from webhooks.messages import Event, make_message
from webhooks.models import FOLLOWER, Endpoint

logger = logging.getLogger("rostrum.webhooks")

# The maximum number of requests of one worker at a time, and of those to endpoints whose last attempt failed.
MAX_REQUESTS = 400
MAX_FAILING_REQUESTS = 100
# With more requests than this in progress, an endpoint with further events goes to the end of the queue.
MAX_CONTINUED = MAX_REQUESTS // 2
# The maximum number of endpoints that are leased at once: their requests must all begin within a fraction of the lease.
MAX_LEASED = 100
# The number of changes that one statement scans for an endpoint that receives only certain events.
SCANNED_CHANGES = 50
# Seconds between two polls for endpoints that are due.
POLL_INTERVAL = 0.2
# Seconds after `stop` in which requests may end. Their results are stored.
STOP_TIMEOUT = 16
# The time after which an endpoint of a closed account is looked at again.
CLOSED_DELAY = timedelta(minutes=10)
# Seconds before the next poll after an error of the database.
ERROR_DELAY = 2

NEXT_CHANGES = """
SELECT lease.account_id, lease.key, change.number, change.resource, change.change, change.id, change.at, change.actor_id, change.data
FROM unnest(%s::bigint[], %s::bigint[], %s::bigint[], %s::int[], %s::bool[], %s::bigint[], %s::bigint[])
    AS lease (account_id, key, cursor, size, includes_imports, skips_after, skips_to)
CROSS JOIN LATERAL (
    SELECT number, resource, change, id, at, actor_id, data FROM core_change
    WHERE core_change.account_id = lease.account_id AND number > lease.cursor
        AND (number <= lease.skips_after OR number > lease.skips_to OR lease.skips_to IS NULL)
        AND (import_id IS NULL OR lease.includes_imports)
    ORDER BY number LIMIT lease.size
) AS change
ORDER BY lease.account_id, lease.key, change.number
"""


def deliver_webhooks(stop: threading.Event) -> None:
    """Deliver events until `stop` is set."""
    Dispatcher().run(stop)


class Dispatcher:
    """The state of the loop: the requests that wait for a response, and the results that are not stored yet."""

    def __init__(self) -> None:
        self.results: queue.SimpleQueue[AttemptResult] = queue.SimpleQueue()
        self.in_flight: set[tuple[int, int]] = set()
        self.failing_in_flight: set[tuple[int, int]] = set()
        self.loop = asyncio.new_event_loop()
        # References to running tasks, which asyncio itself does not keep.
        self.tasks: set[asyncio.Task[None]] = set()
        self.next_poll = 0.0

    def run(self, stop: threading.Event) -> None:
        thread = threading.Thread(target=self.loop.run_forever, name="webhook requests", daemon=True)
        thread.start()
        try:
            while not stop.is_set():
                try:
                    self.step(stop)
                except DatabaseError as error:
                    # Unstored results are lost: the leases end, and the events are sent again.
                    logger.error("the database is not available: %s", type(error).__name__)
                    connection.close()
                    stop.wait(ERROR_DELAY)
                except Exception:
                    # The loop has requests of many accounts in progress, so it must not end because of one of them.
                    logger.exception("an error in the delivery of webhooks")
                    stop.wait(ERROR_DELAY)
            self.finish()
        finally:
            self.loop.call_soon_threadsafe(self.loop.stop)
            thread.join()
            self.loop.close()
            connection.close()

    def step(self, stop: threading.Event) -> None:
        """Store the results that have arrived, and send the next requests."""
        leases = self.continued(self.store(self.wait_for_results()))
        if monotonic() >= self.next_poll:
            polled = self.lease_due()
            leases += polled
            # Poll again at once while endpoints are due.
            self.next_poll = monotonic() + (0 if polled else POLL_INTERVAL)
        if leases and not stop.is_set():
            self.start(leases)

    def continued(self, leases: list[FollowerLease]) -> list[FollowerLease]:
        """Return the leases whose endpoints may continue at once. Release the others, which queue behind the endpoints that are due.

        Otherwise slow endpoints with many events would occupy all requests.
        """
        room = max(MAX_CONTINUED - len(self.in_flight), 0)
        for lease in leases[room:]:
            release(lease)
        return leases[:room]

    def wait_for_results(self) -> list[AttemptResult]:
        """Return the results that have arrived. Wait for the first one until the next poll."""
        results: list[AttemptResult] = []
        seconds = self.next_poll - monotonic()
        try:
            results.append(self.results.get(timeout=seconds) if seconds > 0 else self.results.get_nowait())
            while True:
                results.append(self.results.get_nowait())
        except queue.Empty:
            return results

    def store(self, results: Sequence[AttemptResult]) -> list[FollowerLease]:
        """Store results. Return the leases of the endpoints that have further events."""
        for result in results:
            key = result.attempt.endpoint.pk
            self.in_flight.discard(key)
            self.failing_in_flight.discard(key)
        return record(results) if results else []

    def lease_due(self) -> list[FollowerLease]:
        """Lease endpoints that are due, as far as there is room for their requests."""
        room = min(MAX_REQUESTS - len(self.in_flight), MAX_LEASED)
        if room <= 0:
            return []
        leases = Follower.objects.lease([FOLLOWER], limit=room, failing=False)
        failing_room = min(MAX_FAILING_REQUESTS - len(self.failing_in_flight), room - len(leases))
        if failing_room > 0:
            leases += Follower.objects.lease([FOLLOWER], limit=failing_room, failing=True)
        return leases

    def start(self, leases: list[FollowerLease]) -> None:
        """Send the next event of each endpoint."""
        while leases:
            attempts, leases = prepare(leases)
            for attempt in attempts:
                self.in_flight.add(attempt.endpoint.pk)
                if attempt.lease is not None and attempt.lease.failures:
                    self.failing_in_flight.add(attempt.endpoint.pk)
                self.loop.call_soon_threadsafe(self.start_request, attempt)

    def start_request(self, attempt: Attempt) -> None:
        task = self.loop.create_task(self.request(attempt))
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def request(self, attempt: Attempt) -> None:
        try:
            result = await send(attempt)
        except Exception:
            logger.exception("an error in the request to webhook %d", attempt.endpoint.id)
            result = AttemptResult(attempt, timezone.now(), timedelta(0), error="protocol")
        self.results.put(result)

    def finish(self) -> None:
        """Store the results of the requests that are still in progress."""
        deadline = monotonic() + STOP_TIMEOUT
        while self.in_flight and monotonic() < deadline:
            self.next_poll = monotonic() + POLL_INTERVAL
            for lease in self.store(self.wait_for_results()):
                release(lease)


def prepare(leases: list[FollowerLease]) -> tuple[list[Attempt], list[FollowerLease]]:
    """Return the attempts to send the next event of each endpoint.

    Also return the leases of endpoints that receive none of the scanned changes, and that have newer ones.
    """
    pairs = [(lease.account_id, lease.key) for lease in leases]
    endpoints = {row.pk: row for row in Endpoint.objects.filter(pk__in=pairs).select_related("account")}
    changes = next_changes(leases, endpoints)
    attempts: list[Attempt] = []
    defects: list[AttemptResult] = []
    skipped: list[tuple[FollowerLease, int]] = []
    for lease in leases:
        key = (lease.account_id, lease.key)
        endpoint = endpoints.get(key)
        if endpoint is None or not endpoint.enabled:
            Follower.objects.pause(lease.account_id, FOLLOWER, lease.key)
            continue
        if endpoint.account.is_closed:
            release(lease, delay=CLOSED_DELAY)
            continue
        events = changes.get(key, [])
        event = next((event for event in events if receives(endpoint, event)), None)
        if event is None:
            skipped.append((lease, (events[-1].number or 0) if events else lease.newest))
            continue
        try:
            attempts.append(Attempt(endpoint, make_message(endpoint, event), lease))
        except Exception as error:
            # Without a connection, no message can be created. Any other error concerns only this message.
            if not connection.is_usable():
                raise
            defects.append(result_of_defect(endpoint, event, error, lease=lease))
    record(defects)
    passed, numbers = [lease for lease, _ in skipped], [number for _, number in skipped]
    return attempts, Follower.objects.advance_leased(passed, numbers) if skipped else []


def receives(endpoint: Endpoint, event: Event) -> bool:
    return event.is_known and (endpoint.events is None or event.type in endpoint.events)


def next_changes(
    leases: list[FollowerLease], endpoints: dict[tuple[int, int], Endpoint]
) -> dict[tuple[int, int], list[Event]]:
    """Return the first events after the cursor of each lease, by account and endpoint."""

    def size(lease: FollowerLease) -> int:
        endpoint = endpoints.get((lease.account_id, lease.key))
        return 1 if endpoint is not None and endpoint.events is None else SCANNED_CHANGES

    found_endpoints = [endpoints.get((lease.account_id, lease.key)) for lease in leases]
    columns: list[Any] = [
        [lease.account_id for lease in leases],
        [lease.key for lease in leases],
        [lease.cursor for lease in leases],
        [size(lease) for lease in leases],
        [endpoint is not None and endpoint.includes_imports for endpoint in found_endpoints],
        *([getattr(endpoint, name, None) for endpoint in found_endpoints] for name in ("skips_after", "skips_to")),
    ]
    found: dict[tuple[int, int], list[Event]] = {}
    with connection.cursor() as cursor:
        cursor.execute(NEXT_CHANGES, columns)
        for account_id, key, number, resource, change, id, at, actor_id, data in cursor.fetchall():
            event = Event(f"{resource}.{change}", at, number, id, actor_id, data and orjson.loads(data))
            found.setdefault((account_id, key), []).append(event)
    return found


def release(lease: FollowerLease, *, delay: timedelta = timedelta()) -> None:
    try:
        lease.release(delay=delay)
    except LeaseLostError:
        logger.info("the lease of webhook %d was lost", lease.key)
