"""Followers of the change feed in tests."""

import threading
import time
from collections.abc import Callable, Sequence

from django.db import connection

from core.changes import followers, models
from core.changes.models import Change
from tests.support.threads import at_once

# In seconds.
TIMEOUT = 60


def run_followers() -> None:
    """Let all registered followers handle all changes, including those of a transaction that the test rolls back."""
    # The deferred triggers record the changes.
    connection.check_constraints()
    while followers.assign_numbers() or followers.handle_due():
        pass


def work_until(condition: Callable[[], bool], loop: Callable[[threading.Event], None], *, workers: int = 2) -> None:
    """Run the loop that numbers changes and another loop, in several workers at once, until the condition is true."""
    stop = threading.Event()

    def wait() -> None:
        deadline = time.monotonic() + TIMEOUT
        while not condition() and time.monotonic() < deadline:
            stop.wait(0.02)
        stop.set()
        assert condition()

    at_once(wait, *[lambda: followers.number_changes(stop), lambda: loop(stop)] * workers)


class Recorder(followers.ChangeFollower):
    """A follower that records the changes that it handles, by account."""

    name = "recorder"

    def __init__(self) -> None:
        self.handled: list[tuple[int, str, int, str]] = []
        self.batches: list[int] = []

    def handle(self, account_id: int, changes: Sequence[Change]) -> None:
        self.batches.append(len(changes))
        self.handled += [(account_id, change.resource, change.id, change.change) for change in changes]

    def changes_of(self, account_id: int) -> list[tuple[str, int, str]]:
        return [handled[1:] for handled in self.handled if handled[0] == account_id]


def register_only(monkeypatch, follower: followers.ChangeFollower) -> None:
    """Replace the registered followers by this one, until the end of the test."""
    names: set[str] = set()
    registered: dict[str, followers.ChangeFollower] = {}
    monkeypatch.setattr(models, "account_followers", names)
    monkeypatch.setattr(followers, "account_followers", names)
    monkeypatch.setattr(followers, "change_followers", registered)
    followers.register_follower(follower)
