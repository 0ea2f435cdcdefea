"""The statements that compute derived values for a write. Other tests compare the computed values with recounts."""

from django.db import connection

from core.db.derived import writing
from core.db.transactions import in_transaction
from crm.clients.models import Client
from crm.contacts.models import Contact
from crm.deals.models import Deal
from team.backers.models import RevenueChange
from tests.support.factories import make_client, make_contact, make_deal, make_note
from tests.support.queries import capture_queries
from tests.support.summaries import recounted, stored


def updates(function) -> list[str]:
    """Return the statements that update summaries."""
    _result, queries = capture_queries(function)
    return [query for query in queries if "team_update_summaries" in query]


def test_it_works(acme):
    client = make_client(acme.alice)
    [update] = updates(lambda: make_note(acme.alice, client_id=client.id))
    assert f"{{{client.id}}}" in update
    assert stored(acme.account) == recounted(acme.account)


def test_the_writes_of_a_transaction_are_followed_by_one_update(acme):
    client, other = make_client(acme.alice), make_client(acme.alice)

    def write() -> None:
        for row in (other, client):
            make_note(acme.alice, client_id=row.id)
            make_deal(acme.alice, client_id=row.id)

    assert len(updates(lambda: in_transaction(write))) == 1
    assert stored(acme.account) == recounted(acme.account)


def test_an_update_of_other_columns_computes_nothing(acme):
    client = make_client(acme.alice)
    deal = make_deal(acme.alice, client_id=client.id)
    assert updates(lambda: client.write({"city": "Gdynia"}, by=acme.alice)) == []
    assert updates(lambda: deal.write({"description": "Large"}, by=acme.alice)) == []


def test_a_queryset_computes_what_depended_on_the_former_rows(acme):
    client, other = make_client(acme.alice), make_client(acme.alice)
    make_deal(acme.alice, client_id=client.id, price=5)
    RevenueChange.objects.all().delete()
    acme.account.deals.update(client_id=other.id)
    assert stored(acme.account) == recounted(acme.account)
    assert {row.row_id for row in RevenueChange.objects.filter(kind="client")} == {client.id, other.id}
    acme.account.deals.all().delete()
    assert stored(acme.account) == recounted(acme.account)


def test_rows_that_are_created_together(acme):
    client = make_client(acme.alice)
    columns = {"account": acme.account, "creator_id": acme.alice.id, "updater_id": acme.alice.id}
    Client.objects.bulk_create(Client(name=f"Client {n}", **columns) for n in range(2))
    Deal.objects.bulk_create(Deal(name="Deal", currency="EUR", client_id=client.id, price=n, **columns) for n in (1, 2))
    assert acme.account.client_summaries.count() == 3
    assert stored(acme.account) == recounted(acme.account)


def test_sql_within_writing(acme):
    client, contact = make_client(acme.alice), make_contact(acme.alice)
    make_deal(acme.alice, contact_id=contact.id)
    make_note(acme.alice, contact_id=contact.id)
    with writing(Contact, acme.account.id, [contact.id], {"client_id"}), connection.cursor() as cursor:
        sql = "UPDATE crm_contact SET client_id = %s WHERE account_id = %s AND id = %s"
        cursor.execute(sql, [client.id, acme.account.id, contact.id])
    logged = acme.account.timeline_entries.get(kind="change")
    assert logged.data["changes"] == [{"field": "client_id", "before": None, "after": client.id}]
    # The entry of the note moves with its contact.
    kinds = acme.account.timeline_entries.filter(client_id=client.id, contact_id=contact.id).values_list(
        "kind", flat=True
    )
    assert sorted(kinds) == ["change", "note"]
    assert acme.account.contact_summaries.get().client_id == client.id
    assert stored(acme.account) == recounted(acme.account)
