"""Merges of the same rows at the same time: one succeeds, and the others say that the row is already merged."""

import pytest

from tests.support.assertions import read
from tests.support.factories import make_client, make_deal
from tests.support.threads import at_once

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize("is_opposite", [False, True], ids=["the same merge", "in opposite directions"])
def test_one_merge_wins(acme, is_opposite):
    rows = [make_client(acme.bob) for _ in range(2)]
    deals = [make_deal(acme.bob, client_id=row.id).id for row in rows]

    def merge(client, kept, merged):
        return client.post(f"/app/clients/{kept.id}/merge.json", json={"merge": {"merged_client_id": merged.id}})

    clients = [acme.json() for _ in range(8)]
    pairs = [tuple(reversed(rows)) if is_opposite and number % 2 else tuple(rows) for number in range(8)]
    responses = at_once(
        *(lambda client=client, pair=pair: merge(client, *pair) for client, pair in zip(clients, pairs, strict=True))
    )
    assert sorted(response.status_code for response in responses) == [201, *[422] * 7]
    merge_row = acme.account.merges.get()
    message = f"is already merged into client {merge_row.client_id}"
    for response in responses:
        if response.status_code == 422:
            assert [message] in read(response)["errors"].values()
    assert set(acme.account.deals.filter(id__in=deals).values_list("client_id", flat=True)) == {merge_row.client_id}


def test_one_undo_wins(acme):
    kept, other = make_client(acme.bob), make_client(acme.bob)
    row = acme.account.merges.merge(acme.account, "client", kept.id, other.id, {}, by=acme.bob)
    clients = [acme.json() for _ in range(6)]
    responses = at_once(*(lambda client=client: client.post(f"/app/merges/{row.id}/undo.json") for client in clients))
    assert sorted(response.status_code for response in responses) == [200, *[422] * 5]
    assert acme.account.clients.live().count() == 2
