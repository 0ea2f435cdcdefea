"""The loops of a worker that advance the followers of the change feed.

Each loop runs in a thread with a connection of its own, in every worker process. `number_changes` assigns numbers to new changes.
`run_followers` lets the registered followers handle them. Both poll: a NOTIFY would make all commits wait for each other.
"""

import logging
import threading
from collections.abc import Callable

from django.db import DatabaseError, connection

from core.changes.followers import HANDLING_LEASE_DURATION, Follower, LeaseLostError, change_followers, handle_leased
from core.changes.models import NUMBERED_ACCOUNTS, Change

logger = logging.getLogger("rostrum.followers")

# Seconds between two polls that found nothing.
POLL_INTERVAL = 0.2
# Seconds before the next poll after an error.
ERROR_DELAY = 2
# The maximum number of followers that one statement leases. All of them must be handled before the lease ends.
LEASED_FOLLOWERS = 4


def number_changes(stop: threading.Event) -> None:
    """Assign numbers to new changes, until `stop` is set."""
    repeat(assign_numbers, stop)


def run_followers(stop: threading.Event) -> None:
    """Let the registered followers handle new changes, until `stop` is set."""
    repeat(lambda: handle_due(stop), stop)


def assign_numbers() -> bool:
    """Assign numbers to the first changes of each account that has changes without a number. Return whether there were any."""
    after, found = -1, False
    while account_ids := Change.objects.unnumbered_accounts(after=after, limit=NUMBERED_ACCOUNTS):
        # If two workers skip each other's accounts, neither assigns numbers, and the next poll does.
        found = Change.objects.assign_numbers_of(account_ids) > 0 or found
        after = account_ids[-1]
    return found


def handle_due(stop: threading.Event | None = None) -> bool:
    """Lease up to `LEASED_FOLLOWERS` due followers, and let each handle its next changes. Return whether any was due."""
    if not change_followers:
        return False
    leases = Follower.objects.lease(change_followers, limit=LEASED_FOLLOWERS, duration=HANDLING_LEASE_DURATION)
    for lease in leases:
        try:
            if stop is not None and stop.is_set():
                lease.release()
            else:
                handle_leased(lease)
        except LeaseLostError:
            logger.warning("the lease of %s of account %d is lost", lease.name, lease.account_id)
            Follower.objects.record_loss(lease)
    return bool(leases)


def repeat(poll: Callable[[], bool], stop: threading.Event) -> None:
    """Call `poll` until `stop` is set, at once while it returns True, otherwise after `POLL_INTERVAL`.

    Log an error, and use a new connection for the next call.
    """
    try:
        while not stop.is_set():
            try:
                if not poll():
                    stop.wait(POLL_INTERVAL)
            except DatabaseError as error:
                logger.error("the database is not available: %s", type(error).__name__)
                connection.close()
                stop.wait(ERROR_DELAY)
            except Exception:
                logger.exception("an error in a loop of the worker")
                connection.close()
                stop.wait(ERROR_DELAY)
    finally:
        connection.close()
