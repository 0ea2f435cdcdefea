"""Jobs whose account was deleted before they run."""

from django.core import mail

from core.jobs.registry import jobs
from tests.support.jobs import rows_of_jobs, run_jobs
from tests.support.tables import table

# A value for each parameter of the jobs of an account.
ARGUMENTS = {
    "user_id": 1,
    "by_id": 1,
    "blocked_at": "2026-01-01T00:00:00+00:00",
    "erased_at": "2026-01-01T00:00:00+00:00",
    "ids": [1],
    "deletion_at": "2026-01-01T00:00:00+00:00",
    "host_id": 1,
    "kind": "Import",
    "batch_id": 1,
    "import_id": 1,
    "move_in_id": 1,
    "check_id": "x",
    "export_id": 1,
    "message_id": 1,
    "post_id": 1,
    "subject": "x",
    "text": "x",
    "after": 0,
    "endpoint_id": 1,
    "resource": "client",
    "delivery_id": 1,
    "sealed": "x",
    "status_id": 1,
    "attachment_id": 1,
}
# The id of no account.
DELETED_ID = 10**12
JOBS_OF_ACCOUNTS = {name: job for name, job in jobs.items() if "account_id" in job.signature.parameters}


@table("name", JOBS_OF_ACCOUNTS)
def test_it_works(db, name):
    """The job does nothing and ends, without an error and without another attempt."""
    job = JOBS_OF_ACCOUNTS[name]
    arguments = {parameter: ARGUMENTS[parameter] for parameter in job.signature.parameters if parameter != "account_id"}
    job.defer(account_id=DELETED_ID, **arguments)
    assert run_jobs() == 1
    assert rows_of_jobs() == []
    assert mail.outbox == []


def test_the_jobs_are_found():
    assert {name.rpartition(".")[2] for name in JOBS_OF_ACCOUNTS} >= {
        "announce_rest",
        "resend",
        "send_email",
        "send_notifications",
        "send_test",
        "tell_owners",
    }
