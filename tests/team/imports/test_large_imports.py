"""An import that changes many rows, of which others change some, and its undo: each row has its own values again, or those of the others."""

import os

import pytest

from team.batches.models import process_part
from team.imports.models import Import

pytestmark = [pytest.mark.soak]

ROWS = int(os.environ.get("ROWS") or 20_000)
VALUES = ("name", "email", "city", "phone", "note", "tags", "additional_fields", "external_ids")


def run(acme, text: str) -> Import:
    row = Import.upload(
        acme.account, by=acme.alice, name="a.csv", chunks=[text.encode()], kinds=["client"], in_job=False
    )
    row.start(by=acme.alice, in_job=False)
    while process_part("Import", row.account_id, row.id):
        pass
    row.refresh_from_db()
    assert (row.state, row.faults, row.changed) == ("done", 0, ROWS)
    return row


def values_by_id(acme) -> dict[int, tuple]:
    return {id: tuple(values) for id, *values in acme.account.clients.live().values_list("id", *VALUES)}


def test_it_works(acme):
    lines = (f"Client {n},client{n}@example.com,City {n % 50},{n},Note {n},tag{n % 7},shop-{n}\n" for n in range(ROWS))
    run(acme, "Name,E-mail,City,Telephone,Note,Tags,external_ids[shop]\n" + "".join(lines))
    before = values_by_id(acme)
    lines = (f"New {n},CLIENT{n}@example.com,Other {n % 30},{n + 1},,more\n" for n in range(ROWS))
    row = run(acme, "Name,E-mail,City,Telephone,Note,Tags\n" + "".join(lines))
    others = list(acme.account.clients.order_by("id")[: ROWS // 100 * 10 : 10])
    for client in others:
        client.account = acme.account
        client.write({"city": "Elsewhere"}, by=acme.bob)
    row.undo(by=acme.alice)
    while process_part("Import", row.account_id, row.id):
        pass
    row.refresh_from_db()
    assert (row.state, row.restored, row.kept) == ("undone", ROWS - len(others), len(others))
    city = VALUES.index("city")
    for client in others:
        before[client.id] = (*before[client.id][:city], "Elsewhere", *before[client.id][city + 1 :])
    assert values_by_id(acme) == before
    kept = row.batch_rows.filter(kept_fields__len__gt=0).values_list("target", "undo_result", "kept_fields")
    assert sorted(kept) == [(client.id, "changed_since", ["city"]) for client in others]
