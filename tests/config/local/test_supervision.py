import pytest

from config.local import supervision
from config.local.supervision import Backoff, outcome


@pytest.fixture
def clock(monkeypatch):
    now = [1000.0]
    monkeypatch.setattr(supervision.time, "monotonic", lambda: now[0])
    return now


def test_it_works(clock):
    backoff = Backoff(stable=1)
    delays = []
    for _ in range(8):
        backoff.start()
        delays.append(backoff.end())
    assert delays == [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5, 5]


def test_a_stable_process_is_restarted_soon(clock):
    backoff = Backoff(stable=1)
    backoff.end()
    backoff.start()
    clock[0] += 0.9
    assert backoff.end() == 0.2
    backoff.start()
    clock[0] += 1
    assert backoff.end() == 0.1


@pytest.mark.parametrize(("status", "description"), [(-9, "killed by signal 9"), (1, "status 1"), (0, "status 0")])
def test_descriptions_of_exit_statuses(status, description):
    assert outcome(status) == description
