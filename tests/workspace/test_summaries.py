"""The stored values of clients, contacts and deals equal a recount, whatever changes the rows."""

from datetime import timedelta
from decimal import Decimal

from django.utils import timezone

from tests.support.factories import make_client, make_contact, make_deal, make_post, make_task
from tests.support.summaries import recounted, stored, update_summaries
from workspace.models import ClientSummary


def summary_of(client) -> ClientSummary:
    update_summaries()
    return client.account.client_summaries.get(client_id=client.id)


def assert_counted(account) -> None:
    update_summaries()
    assert stored(account) == recounted(account)


def test_it_works(acme):
    client = make_client(acme.alice)
    summary = summary_of(client)
    assert (summary.last_activity_at, summary.next_task_at) == (client.updated_at, None)
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
    assert (summary.last_activity_at, summary.next_task_at) == (post.updated_at, task.scheduled_at)
    assert (summary.open_sum, summary.won_sum) == (Decimal("12.5"), Decimal(4))
    assert_counted(acme.account)
