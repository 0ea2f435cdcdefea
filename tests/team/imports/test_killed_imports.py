"""Workers that are killed at random while they import: no row is lost or written twice, and the progress goes on."""

import os
import random
import time

import pytest

from team.imports.models import Import, ImportRow
from tests.support.jobs import run_worker, wait_for_workers

pytestmark = [pytest.mark.soak, pytest.mark.django_db(transaction=True)]

KILLS = int(os.environ.get("KILLS") or 20)
ROWS = 50_000


def test_it_works(acme):
    random.seed(7)
    lines = (f"Client {number},client{number}@example.com,shop-{number}\n" for number in range(ROWS))
    text = "Name,E-mail,external_ids[shop]\n" + "".join(lines)
    row = Import.upload(
        acme.account, by=acme.alice, name="a.csv", chunks=[text.encode()], kinds=["client"], in_job=False
    )
    row.start(by=acme.alice)
    positions = [0]

    def progress() -> int:
        row.refresh_from_db()
        return row.position

    for kill in range(KILLS):
        with run_worker("--heartbeat", "0.2", "--threads", "2") as victim:
            wait_for_workers(lambda kill=kill: progress() >= (kill + 1) * ROWS // (KILLS + 2) or row.state == "done")
            time.sleep(random.uniform(0, 0.05))
            victim.kill()
            victim.communicate()
        positions.append(progress())
    assert positions == sorted(positions)
    with run_worker("--heartbeat", "0.2"):
        wait_for_workers(lambda: progress() >= 0 and row.state == "done")
    assert (row.created, row.changed, row.faults, row.position) == (ROWS, ROWS, 0, ROWS)
    names = acme.account.clients.values_list("name", "email", "external_ids")
    assert sorted((email, ids["shop"]) for _name, email, ids in names) == sorted(
        (f"client{number}@example.com", f"shop-{number}") for number in range(ROWS)
    )
    assert ImportRow.objects.filter(batch_id=row.id, result="created").count() == ROWS
