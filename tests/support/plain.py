"""`make test PLAIN=on`: the tests with Django's own database backend, without prepared statements, and with gunicorn.

What the tests still prove then does not depend on the machinery of this project. Tests of the machinery itself have the marker `machinery`.
"""

import os
from random import Random

import pytest

PLAIN = os.environ.get("PLAIN") == "on"
SEED = 2026


def select(items: list[pytest.Item], config: pytest.Config) -> None:
    """Remove the tests of the machinery if it is off, and all but a sample of the others with `--sample`."""
    kept = [item for item in items if not PLAIN or item.get_closest_marker("machinery") is None]
    number = config.getoption("sample")
    if number is not None and number < len(kept):
        # Each worker of pytest-xdist has to select the same tests, and parametrized names are unique.
        names = set(Random(SEED).sample(sorted(item.nodeid for item in kept), number))
        kept = [item for item in kept if item.nodeid in names]
    removed = set(items) - set(kept)
    items[:] = kept
    config.hook.pytest_deselected(items=list(removed))
