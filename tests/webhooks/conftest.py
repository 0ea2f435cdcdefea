import pytest

from tests.support.receiver import LOOPBACK, Receiver, run_receiver


@pytest.fixture
def receiver(settings) -> Receiver:
    """A receiver on the loopback interface, which the settings allow."""
    settings.WEBHOOK_ALLOW = LOOPBACK
    with run_receiver() as running:
        yield running
