"""The service responds as documented to valid and invalid requests that are generated from the OpenAPI document.

Only some of the requests are sent. `FUZZ=40 make soak ARGS=tests/openapi` sends forty times as many.
"""

import os

import hypothesis
import pytest
from django.db import transaction
from hypothesis.stateful import run_state_machine_as_test

from core.openapi.document import document
from forum.notifications.models import NotificationReason
from tests.support.client import wsgi_application
from tests.support.factories import make_post
from tests.support.fuzzing import PARTNER, Findings, Target, World, examine, load

pytestmark = pytest.mark.soak

FUZZ = int(os.environ.get("FUZZ") or 1)
HOST = "acme.example.test"
OPERATIONS = [f"{method.upper()} {path}" for path, methods in document()["paths"].items() for method in methods]


def at_host(environ, start_response):
    return wsgi_application({**environ, "HTTP_HOST": HOST}, start_response)


@pytest.fixture(scope="module")
def schema():
    return load(document(), f"http://{HOST}", app=at_host)


# No worker runs, so a second test has to wait for the first one (409).
MIN_SUCCEEDED = {
    "POST /app/webhooks/{id}/test.json": 1,
    # An account can be deleted once, and kept once.
    "POST /app/account/deletion.json": 1,
    "DELETE /app/account/deletion.json": 0,
    # The examples of an account can be added once.
    "POST /app/examples.json": 1,
    "DELETE /app/examples.json": 0,
}


@pytest.fixture
def world(acme, settings):
    # The account of the operators can't be deleted.
    settings.OPERATOR_ACCOUNT = ""
    acme.account.partner_key = PARTNER
    acme.account.save()
    post = make_post(acme.bob)
    activity = acme.account.activities.create(kind="comment", post_id=post.id, user_id=acme.bob.id)
    acme.account.notifications.create(user_id=acme.alice.id, activity_id=activity.id, reason=NotificationReason.TEAM)
    Target.world = World(acme)
    yield Target.world
    Target.world = None


@pytest.mark.parametrize("operation", OPERATIONS)
def test_the_service_behaves_as_documented(schema, world, operation):
    findings = Findings()
    examine(schema, operation, findings, systematic=8 * FUZZ, random=4 * FUZZ)
    assert not findings.failures, str(findings)
    succeeded = sum(number for (_, status), number in findings.answers.items() if status < 300)
    assert succeeded >= MIN_SUCCEEDED.get(operation, 2)


def test_sequences_of_requests_behave_as_documented(schema, world):
    """Send requests that use ids of earlier responses: created rows exist, deleted rows do not."""

    class WithSavepoint(schema.as_state_machine()):
        """Roll back after each run, so that every run begins with the same rows."""

        def setup(self):
            super().setup()
            world.ids.clear()
            self.savepoint = transaction.savepoint()

        def teardown(self):
            super().teardown()
            transaction.savepoint_rollback(self.savepoint)

    run_state_machine_as_test(
        WithSavepoint,
        settings=hypothesis.settings(
            max_examples=6 * FUZZ,
            stateful_step_count=8,
            derandomize=True,
            database=None,
            deadline=None,
            suppress_health_check=list(hypothesis.HealthCheck),
            phases=[hypothesis.Phase.generate],
        ),
    )
