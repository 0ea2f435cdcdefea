"""A bulk change of many batches of clients in a job, and its undo."""

from crm.models import Client
from tests.support.factories import make_client
from tests.support.jobs import run_jobs
from tests.support.tables import table
from workspace import bulk
from workspace.bulk import BulkChange

NUMBER = 26


@table(("action", "field"), [("set_responsible", "responsible_id"), ("add_tags", "tags"), ("trash", "")])
def test_each_row_gets_its_own_values_back(acme, monkeypatch, action, field):
    # The last batch is incomplete.
    monkeypatch.setattr(bulk, "BATCH_SIZE", 10)
    monkeypatch.setattr(bulk, "TRASH_BATCH_SIZE", 5)
    make_client(acme.alice, "Client 0", tags=["old"])
    many = (
        Client(
            account=acme.account,
            name=f"Client {number}",
            creator_id=acme.alice.id,
            updater_id=acme.alice.id,
            responsible_id=(acme.alice.id, acme.bob.id, None)[number % 3],
        )
        for number in range(1, NUMBER)
    )
    Client.objects.bulk_create(many, batch_size=500)
    rows = Client.objects.order_by("id").values_list("id", "responsible_id", "tags", "trashed_at")
    before = list(rows.all())
    data = {"responsible_id": acme.alice.id, "tags": ["new"]}
    change = BulkChange.start(
        acme.account,
        by=acme.alice,
        resource="client",
        action=action,
        data={field: data[field]} if field else {},
        ids=[row[0] for row in before],
        query="",
    )
    run_jobs()
    change.refresh_from_db()
    assert (change.state, change.changed + change.unchanged, change.skipped) == ("done", NUMBER, 0)
    assert sum(row != earlier for row, earlier in zip(rows.all(), before, strict=True)) == change.changed > NUMBER / 2
    change.account = acme.account
    change.undo(by=acme.alice)
    run_jobs()
    change.refresh_from_db()
    assert (change.state, change.restored, change.kept) == ("undone", change.changed, 0)
    assert list(rows.all()) == before
