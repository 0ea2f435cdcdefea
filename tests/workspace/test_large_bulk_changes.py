"""A bulk change of 5,000 clients by a worker's job, and its undo."""

from crm.models import Client
from tests.support.factories import make_client
from tests.support.jobs import run_jobs
from workspace.bulk import BulkChange

NUMBER = 5000


def test_five_thousand_rows_are_changed_and_get_their_own_values_back(acme, capsys):
    import time
    template = make_client(acme.alice, "Client 0", tags=["a"])
    Client.objects.bulk_create(
        Client(
            account=acme.account,
            name=f"Client {number}",
            creator_id=acme.alice.id,
            updater_id=acme.alice.id,
            responsible_id=(acme.alice.id, acme.bob.id, None)[number % 3],
        )
        for number in range(1, NUMBER)
    )
    rows = Client.objects.order_by("id").values_list("id", "responsible_id")
    before = list(rows)
    template.refresh_from_db()
    for action, data in (("set_responsible", {"responsible_id": acme.alice.id}), ("add_tags", {"tags": ["x"]}), ("trash", {})):
        t0 = time.monotonic()
        change = BulkChange.start(
            acme.account, by=acme.alice, resource="client", action=action,
            data=data, ids=[id for id, _ in before], query="",
        )
        t1 = time.monotonic()
        run_jobs()
        t2 = time.monotonic()
        change.refresh_from_db()
        assert change.state == "done"
        assert change.changed + change.unchanged == NUMBER
        change.account = acme.account
        change.undo(by=acme.alice)
        run_jobs()
        t3 = time.monotonic()
        change.refresh_from_db()
        assert (change.state, change.restored, change.kept) == ("undone", change.changed, 0)
        assert list(rows) == before
        with capsys.disabled():
            print(action, "start", t1 - t0, "change", t2 - t1, "undo", t3 - t2)
