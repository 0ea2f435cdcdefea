"""The stored values of clients, contacts and deals equal a recount, whatever changes the rows."""

from datetime import timedelta
from decimal import Decimal

import pytest
from django.db import transaction
from django.utils import timezone

from core.db.derived import compute_at_end
from crm.clients.models import Client
from crm.contacts.models import Contact
from crm.deals.models import Deal
from team.summaries.models import ClientSummary, revenue_of, with_revenue
from team.summaries.recount import recount_summaries
from team.timeline.models import TimelineEntry
from tests.support.assertions import on_the_wire, read
from tests.support.factories import make_client, make_contact, make_deal, make_note, make_post, make_task
from tests.support.fixtures import make_cast
from tests.support.jobs import run_jobs
from tests.support.summaries import recounted, stored
from tests.support.tables import table
from tests.support.threads import at_once, while_held


def summary_of(client) -> ClientSummary:
    return client.account.client_summaries.get(client_id=client.id)


def assert_counted(account) -> None:
    assert stored(account) == recounted(account)


def test_it_works(acme):
    client = make_client(acme.alice)
    summary = summary_of(client)
    assert (summary.last_activity_at, summary.next_task_at) == (client.created_at, None)
    contact = make_contact(acme.alice, client_id=client.id)
    won = acme.account.statuses.get(kind="deal", code="won")
    deal = make_deal(acme.alice, client_id=client.id, price=Decimal("12.5"))
    make_deal(acme.alice, client_id=client.id, price=4, status_id=won.id)
    make_deal(acme.alice, client_id=client.id, price=7, currency="PLN")
    day = timezone.now() + timedelta(days=1)
    make_task(acme.alice, deal_id=deal.id, scheduled_at=day)
    task = make_task(acme.alice, contact_id=contact.id, scheduled_at=day - timedelta(hours=1))
    post = make_post(acme.alice, client_id=client.id)
    summary = summary_of(client)
    assert (summary.last_activity_at, summary.next_task_at) == (post.created_at, task.scheduled_at)
    assert (summary.open_sum, summary.won_sum) == (Decimal("12.5"), Decimal(4))
    assert_counted(acme.account)


def test_rows_in_the_trash_are_left_out(acme):
    client = make_client(acme.alice)
    deal = make_deal(acme.alice, client_id=client.id, price=5)
    make_task(acme.alice, deal_id=deal.id, scheduled_at=timezone.now())
    deal.trash(by=acme.alice)
    summary = summary_of(client)
    assert (summary.last_activity_at, summary.next_task_at, summary.open_sum) == (client.created_at, None, 0)
    assert not acme.account.client_revenues.exists()
    deal.restore()
    assert summary_of(client).open_sum == 5
    client.trash(by=acme.alice)
    assert summary_of(client).last_activity_at is None
    assert_counted(acme.account)


CONTACT = {
    "a note": lambda acme, client: make_note(acme.bob, client_id=client.id).noted_at,
    "a call of a contact": lambda acme, client: (
        make_note(acme.bob, contact_id=contact_of(client), kind="call").noted_at
    ),
    "an e-mail about a deal": lambda acme, client: make_note(acme.bob, deal_id=deal_of(client), kind="email").noted_at,
    "a task that is done": lambda acme, client: make_done_task(acme.bob, client_id=client.id).completed_at,
    "a suggestion": lambda acme, client: make_post(acme.bob, client_id=client.id).created_at,
    "a vote": lambda acme, client: make_proxy_vote(acme.bob, client).created_at,
    "a message": lambda acme, client: add_message(acme.bob, client),
}
NO_CONTACT = {
    "an edit": lambda acme, client: client.write({"city": "Gdansk"}, by=acme.bob),
    "an edit of a contact": lambda acme, client: Contact.objects.get(id=contact_of(client)).write(
        {"phone": "1"}, by=acme.bob
    ),
    "a deal that is won": lambda acme, client: Deal.objects.get(id=deal_of(client)).write(
        {"status_id": acme.account.statuses.get(kind="deal", code="won").id}, by=acme.bob
    ),
    "a new deal": lambda acme, client: make_deal(acme.bob, client_id=client.id),
    "a new contact": lambda acme, client: make_contact(acme.bob, client_id=client.id),
    "a planned task": lambda acme, client: make_task(acme.bob, client_id=client.id, scheduled_at=timezone.now()),
    "a comment of the team": lambda acme, client: make_task(acme.bob, client_id=client.id).comment(
        by=acme.bob, text="Soon"
    ),
    "the trash": lambda acme, client: client.trash(by=acme.bob) or client.restore(),
    "a note in the trash": lambda acme, client: make_note(acme.bob, client_id=client.id).trash(by=acme.bob),
}


def contact_of(client) -> int:
    return client.account.contacts.get(client_id=client.id).id


def deal_of(client) -> int:
    return client.account.deals.get(client_id=client.id).id


def make_done_task(user, **fields):
    task = make_task(user, **fields)
    task.write({"closed": True}, by=user)
    return task


def make_proxy_vote(user, client):
    post = make_post(user)
    post.cast_proxy_vote(by=user, client_id=client.id)
    return client.account.proxy_votes.get(post_id=post.id)


def add_message(user, client):
    TimelineEntry.objects.append("message", [client], by=user)
    return TimelineEntry.objects.get(account=client.account, kind="message").at


@pytest.fixture
def quiet_client(acme):
    """A client with a contact and a deal, without contact for 40 days."""
    client = make_client(acme.alice)
    make_contact(acme.alice, client_id=client.id)
    make_deal(acme.alice, client_id=client.id)
    before = timezone.now() - timedelta(days=40)
    for model in (Client, Contact, Deal):
        model.objects.filter(account=acme.account).update(created_at=before, updated_at=before)
    recount_summaries(acme.account.id, repair=True)
    client.refresh_from_db()
    return client


@table("name", CONTACT)
def test_contact_is_activity(acme, quiet_client, name):
    at = CONTACT[name](acme, quiet_client)
    assert summary_of(quiet_client).last_activity_at == at
    assert_counted(acme.account)


@table("name", NO_CONTACT)
def test_other_changes_are_no_activity(acme, quiet_client, name):
    NO_CONTACT[name](acme, quiet_client)
    assert summary_of(quiet_client).last_activity_at == quiet_client.created_at
    assert_counted(acme.account)


def test_a_bulk_change_and_its_undo_are_no_activity(acme, quiet_client):
    """The list of quiet clients keeps its rows, and the client shows the same time."""
    change = read(
        acme.json().post(
            "/app/bulk_changes.json",
            json={
                "bulk_change": {"resource": "client", "action": "add_tags", "ids": [quiet_client.id], "tags": ["vip"]}
            },
        )
    )
    read(acme.json().post(f"/app/bulk_changes/{change['id']}/undo.json"))
    acme.json().put(f"/app/clients/{quiet_client.id}.json", json={"client": {"note": "Edited"}})
    quiet_since = on_the_wire(quiet_client.created_at)
    assert read(acme.json().get(f"/app/clients/{quiet_client.id}.json"))["last_activity"] == quiet_since
    assert read(acme.json().get(f"/app/clients/{quiet_client.id}/summary.json"))["last_activity_at"] == quiet_since
    assert quiet_client.name in acme.page(acme.bob).get("/app/clients?inactive_days=30").text


def test_entries_that_move_or_disappear(acme, quiet_client):
    other = make_client(acme.alice)
    note = make_note(acme.bob, contact_id=contact_of(quiet_client))
    assert summary_of(quiet_client).last_activity_at == note.noted_at
    Contact.objects.get(id=note.contact_id).write({"client_id": other.id}, by=acme.bob)
    assert summary_of(quiet_client).last_activity_at == quiet_client.created_at
    assert summary_of(other).last_activity_at == note.noted_at
    note.trash(by=acme.bob)
    assert summary_of(other).last_activity_at == other.created_at
    assert_counted(acme.account)


def test_the_outcome_of_a_status_changes_the_sums(acme):
    client = make_client(acme.alice)
    lost = acme.account.statuses.get(kind="deal", code="lost")
    make_deal(acme.alice, client_id=client.id, price=5, status_id=lost.id)
    for outcome, sums in (("won", (0, 5)), ("open", (5, 0)), ("lost", (0, 0))):
        lost.write({"outcome": outcome})
        run_jobs(later=timedelta(minutes=3))
        summary = summary_of(client)
        assert (summary.open_sum, summary.won_sum) == sums
    assert_counted(acme.account)


def test_the_currency_of_the_account_changes_the_sums(acme):
    client = make_client(acme.alice)
    make_deal(acme.alice, client_id=client.id, price=5)
    make_deal(acme.alice, client_id=client.id, price=3, currency="PLN")
    make_deal(acme.alice, client_id=make_client(acme.alice).id, price=2, currency="PLN")
    acme.account.change(currency="PLN")
    run_jobs(later=timedelta(minutes=3))
    assert summary_of(client).open_sum == 3
    assert_counted(acme.account)


def test_a_new_row_with_links_to_different_rows(acme):
    """A new task, deal or suggestion that links to more than one client or contact."""
    clients = [make_client(acme.alice) for _ in range(3)]
    contacts = [make_contact(acme.alice, client_id=client.id) for client in clients]
    deal = make_deal(acme.alice, client_id=clients[0].id, contact_id=contacts[1].id)
    assert_counted(acme.account)
    make_deal(acme.alice, client_id=clients[1].id, contact_id=contacts[2].id, price=3)
    assert_counted(acme.account)
    make_task(acme.alice, deal_id=deal.id, contact_id=contacts[2].id, scheduled_at=timezone.now())
    assert_counted(acme.account)
    make_post(acme.alice, client_id=clients[0].id, contact_id=contacts[2].id)
    assert_counted(acme.account)
    make_deal(acme.alice, contact_id=contacts[0].id, price=2)
    assert_counted(acme.account)


def test_a_new_row_repairs_missing_summaries(acme):
    """The summaries of a database are empty between the migration that creates the triggers and the next one."""
    client = make_client(acme.alice)
    contact = make_contact(acme.alice, client_id=client.id)
    deal = make_deal(acme.alice, client_id=client.id, contact_id=contact.id)
    acme.account.client_summaries.all().delete()
    make_post(acme.alice, contact_id=contact.id)
    assert_counted(acme.account)
    acme.account.contact_summaries.filter(contact_id=contact.id).delete()
    make_task(acme.alice, deal_id=deal.id, scheduled_at=timezone.now())
    assert_counted(acme.account)


def test_a_revenue_is_of_the_deals_that_the_user_may_access(acme):
    client = make_client(acme.alice)
    make_deal(acme.alice, client_id=client.id, price=5)
    make_deal(acme.bob, client_id=client.id, price=3, currency="PLN", responsible_id=acme.bob.id)
    make_deal(acme.bob, client_id=client.id, responsible_id=acme.bob.id)

    def revenue(user) -> list[tuple]:
        rows = with_revenue(acme.account.clients.filter(id=client.id), acme.account, user.access)
        return [
            (each.currency, each.open_deals, each.open_sum) for each in revenue_of(rows.get().revenue, acme.account)
        ]

    assert revenue(acme.bob) == [("EUR", 2, 5), ("PLN", 1, 3)]
    acme.account.change(agents_see="own")
    assert revenue(acme.account.users.get(id=acme.bob.id)) == [("EUR", 1, 0), ("PLN", 1, 3)]
    assert revenue(acme.alice) == [("EUR", 2, 5), ("PLN", 1, 3)]


# Concurrent transactions


@pytest.mark.django_db(transaction=True)
def test_concurrent_transactions_lose_nothing():
    """Each transaction changes the same rows in another order. None of them fails."""
    acme = make_cast()
    clients = [make_client(acme.alice) for _ in range(3)]
    contacts = [make_contact(acme.alice, client_id=client.id) for client in clients]

    def write(number: int) -> None:
        order = clients if number % 2 else clients[::-1]
        for _ in range(5):
            with transaction.atomic(), compute_at_end():
                for client, contact in zip(order, contacts, strict=True):
                    deal = make_deal(acme.alice, client_id=client.id, contact_id=contact.id, price=number)
                    make_task(acme.alice, deal_id=deal.id, scheduled_at=timezone.now())
            deal.refresh_from_db()
            deal.trash(by=acme.alice)

    at_once(*(lambda number=number: write(number) for number in range(4)))
    assert stored(acme.account) == recounted(acme.account)
    assert sum(row.open_deals for row in acme.account.client_revenues.all()) == 4 * 5 * 2


@pytest.mark.django_db(transaction=True)
def test_concurrent_creates_lose_nothing():
    """Each transaction creates one row. Others change the linked rows meanwhile."""
    acme = make_cast()
    clients = [make_client(acme.alice) for _ in range(2)]
    contact = make_contact(acme.alice, client_id=clients[0].id)

    def create(number: int) -> None:
        client = clients[number % 2]
        for day in range(6):
            deal = make_deal(acme.alice, client_id=client.id, contact_id=contact.id, price=number)
            make_task(acme.alice, deal_id=deal.id, scheduled_at=timezone.now() + timedelta(days=day))
            make_contact(acme.alice, client_id=client.id)

    def relink() -> None:
        for number in range(6):
            contact.write({"client_id": clients[number % 2].id}, by=acme.alice)

    at_once(*(lambda number=number: create(number) for number in range(3)), relink)
    assert stored(acme.account) == recounted(acme.account)


@pytest.mark.django_db(transaction=True)
def test_a_transaction_sees_what_another_one_committed_before_it():
    acme = make_cast()
    client, contact = make_client(acme.alice), make_contact(acme.alice)

    def change(_contact) -> None:
        # The transaction locks the summaries, and ends when the other one waits for them.
        make_deal(acme.alice, client_id=client.id, price=5)

    while_held(contact, change, lambda: make_deal(acme.alice, client_id=client.id, price=3))
    assert acme.account.client_summaries.get(client_id=client.id).open_sum == 8
    assert stored(acme.account) == recounted(acme.account)
