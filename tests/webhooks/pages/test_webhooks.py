"""The settings pages of webhooks."""

import pytest
from django.utils import timezone

from core.changes.followers import Follower
from tests.support.factories import make_client, make_delivery
from tests.support.jobs import run_jobs
from tests.support.receiver import add_endpoint, deliver
from webhooks.models import Endpoint

PATH = "/app/account/webhooks"
URL = "https://hooks.example.com/rostrum"


@pytest.fixture
def visitor(acme):
    return acme.page(acme.alice)


def page_of(row: Endpoint) -> str:
    return f"{PATH}/{row.id}"


def act(visitor, row: Endpoint, do: str, status: int | None = None, **values):
    """Send a form of the page of a webhook."""
    token = visitor.get(page_of(row)).forms["webhook"]["csrfmiddlewaretoken"].value
    return visitor.post(page_of(row), {"do": do, "csrfmiddlewaretoken": token, **values}, status=status)


def test_it_works(acme, visitor, receiver):
    """Add a webhook, see a delivery fail, send it again, and see it succeed."""
    page = visitor.get(PATH)
    form = page.forms["add"]
    form["url"] = receiver.url
    made = form.submit("do", value="add")
    row = acme.account.webhooks.get()
    assert made.html.find(id="new-secret")["value"] == row.secrets[0]
    assert row.secrets[0] not in visitor.get(PATH).text
    assert made.click("Next: send a test").request.path == page_of(row)
    assert made.click("What is sent").html.find("h1").text == "Webhooks, for receivers"
    assert made.click("Next: send a test").click("How to verify").html.find(id="verify-the-signature")
    assert row.events is None
    receiver.answer(500, body=b"Out of order")
    make_client(acme.alice, "Ann")
    deliver()
    page = visitor.get(page_of(row))
    assert "all attempts have failed" in page.text
    assert "Out of order" in page.text
    receiver.answer(200)
    Follower.objects.filter(key=row.id).update(due_at=timezone.now())
    deliver()
    page = visitor.get(page_of(row))
    assert "all attempts have failed" not in page.text
    entry = row.deliveries.order_by("id").last()
    act(visitor, row, "resend", id=entry.id)
    run_jobs()
    assert row.deliveries.filter(cause="resend", status=200).count() == 1


def test_it_rejects_an_address_of_the_service(acme, visitor):
    form = visitor.get(PATH).forms["add"]
    form["url"] = "https://acme.example.test/"
    page = form.submit("do", value="add", status=422)
    assert "Is an address of this service" in page.html.find(class_="field-error").text
    assert not acme.account.webhooks.exists()


def test_it_rejects_a_choice_of_no_events(acme, visitor):
    form = visitor.get(PATH).forms["add"]
    form["url"], form["scope"] = URL, "selected"
    assert "Choose at least one event" in form.submit("do", value="add", status=422).text


def test_settings_are_saved(acme, visitor):
    row, _secret = add_endpoint(acme.account, URL)
    form = visitor.get(page_of(row)).forms["webhook"]
    form["scope"], form["events"], form["format"] = "selected", ["client.created"], "slack"
    form.submit("do", value="save").follow()
    row.refresh_from_db()
    assert (row.events, row.format) == (["client.created"], "slack")


def test_it_is_turned_off_and_on(acme, visitor):
    row, _secret = add_endpoint(acme.account, URL)
    act(visitor, row, "disable")
    row.refresh_from_db()
    assert not row.enabled
    assert "This webhook is off" in visitor.get(page_of(row)).text
    act(visitor, row, "enable")
    row.refresh_from_db()
    assert row.enabled


def test_the_secret_is_replaced_and_shown_once(acme, visitor):
    row, old = add_endpoint(acme.account, URL)
    page = act(visitor, row, "rotate")
    row.refresh_from_db()
    assert page.html.find(id="new-secret")["value"] == row.secrets[0] != old
    assert "The previous secret is valid until" in page.text
    assert row.secrets[0] not in visitor.get(page_of(row)).text


def test_all_is_sent_again_since_a_time(acme, visitor, receiver):
    row, _secret = add_endpoint(acme.account, receiver.url)
    make_client(acme.alice)
    deliver()
    page = act(visitor, row, "resend_since", hours="24").follow()
    assert "Changes that are sent again: 14." in page.text
    deliver()
    assert len(receiver.requests) == 1 + 14
    assert "since_hours" in act(visitor, row, "resend_since", hours="soon", status=422).text


def test_a_test_is_sent(acme, visitor, receiver):
    row, _secret = add_endpoint(acme.account, receiver.url)
    act(visitor, row, "test")
    run_jobs()
    assert receiver.types == ["webhook.test"]


def test_it_rejects_a_second_message_while_one_is_waiting(acme, visitor, receiver):
    row, _secret = add_endpoint(acme.account, receiver.url)
    entry = make_delivery(row)
    act(visitor, row, "test")
    for do in ("test", "resend"):
        page = act(visitor, row, do, id=entry.id).follow()
        assert "Another message of this account is still waiting to be sent: try again in a moment" in page
    run_jobs()
    assert receiver.types == ["webhook.test"]


def test_it_rejects_sending_again_while_it_is_off(acme, visitor, receiver):
    row, _secret = add_endpoint(acme.account, receiver.url)
    entry = make_delivery(row)
    row.write({"enabled": False})
    assert "Webhook needs to be enabled" in act(visitor, row, "resend", id=entry.id).follow()
    assert run_jobs() == 0


def test_the_log_explains_a_message_that_could_not_be_made(acme, visitor):
    row, _secret = add_endpoint(acme.account, URL)
    make_delivery(row, status=None, error="message", request="", set_aside=True)
    log = visitor.get(page_of(row)).html.find(id="log").get_text()
    assert "The message could not be made, because of a fault of this service." in log
    assert "set aside" in log
    assert "Request" not in log.replace("Requests", "")


def test_it_shows_the_public_key(acme, visitor):
    row, _secret = add_endpoint(acme.account, URL)
    assert visitor.get(page_of(row)).html.find(id="public-key")["value"] == row.public_key


def test_it_is_deleted(acme, visitor):
    row, _secret = add_endpoint(acme.account, URL)
    act(visitor, row, "delete")
    assert not acme.account.webhooks.exists()


def test_long_requests_are_cut(acme, visitor):
    row, _secret = add_endpoint(acme.account, URL)
    for _ in range(12):
        make_delivery(row, request='{"a": "' + '"' * 60_000, response='"' * 1024)
    assert len(visitor.get(page_of(row)).body) < 70_000


def test_it_rejects_agents(acme):
    row, _secret = add_endpoint(acme.account, URL)
    for path in (PATH, page_of(row)):
        acme.page(acme.bob).get(path, status=403)
