"""The settings pages of webhooks."""

from datetime import timedelta

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


def test_it_rejects_invalid_values(acme, visitor):
    for values, error in (
        ({"url": "https://acme.example.test/"}, "Is an address of this service"),
        ({"url": URL, "scope": "selected"}, "Choose at least one event"),
    ):
        form = visitor.get(PATH).forms["add"]
        for name, value in values.items():
            form[name] = value
        assert error in form.submit("do", value="add", status=422).html.find(class_="field-error").text
    assert not acme.account.webhooks.exists()


def test_a_webhook_is_changed_turned_off_and_on_and_deleted(acme, visitor):
    row, old = add_endpoint(acme.account, URL)
    form = visitor.get(page_of(row)).forms["webhook"]
    form["scope"], form["events"], form["format"] = "selected", ["client.created"], "slack"
    form["name"] = "Sales channel"
    page = form.submit("do", value="save").follow()
    row.refresh_from_db()
    assert (row.events, row.format) == (["client.created"], "slack")
    assert "Sales channel" in visitor.get(PATH).text
    assert page.html.find(id="public-key")["value"] == row.public_key
    act(visitor, row, "disable")
    row.refresh_from_db()
    assert not row.enabled
    assert "This webhook is off" in visitor.get(page_of(row)).text
    act(visitor, row, "enable")
    row.refresh_from_db()
    assert row.enabled
    # A new secret is shown once.
    page = act(visitor, row, "rotate")
    row.refresh_from_db()
    assert page.html.find(id="new-secret")["value"] == row.secrets[0] != old
    assert "The previous secret is valid until" in page.text
    assert row.secrets[0] not in visitor.get(page_of(row)).text
    act(visitor, row, "delete")
    assert not acme.account.webhooks.exists()


def test_all_is_sent_again_since_a_time(acme, visitor, receiver):
    row, _secret = add_endpoint(acme.account, receiver.url)
    make_client(acme.alice)
    deliver()
    today = timezone.localdate()
    page = act(visitor, row, "resend_since", since=today - timedelta(days=1), until=today).follow()
    assert "Changes that are sent again: 14." in page.text
    deliver()
    assert len(receiver.requests) == 1 + 14
    for since, until in (("soon", ""), ("", ""), (today, today - timedelta(days=1))):
        assert "field-error" in act(visitor, row, "resend_since", since=since, until=until, status=422).text


def test_it_rejects_a_second_message_while_one_is_waiting(acme, visitor, receiver):
    row, _secret = add_endpoint(acme.account, receiver.url)
    entry = make_delivery(row)
    act(visitor, row, "test")
    for do in ("test", "resend"):
        page = act(visitor, row, do, id=entry.id).follow()
        assert "Another message of this account is still waiting to be sent: try again in a moment" in page
    run_jobs()
    assert receiver.types == ["webhook.test"]
    row.write({"enabled": False})
    assert "Webhook needs to be enabled" in act(visitor, row, "resend", id=entry.id).follow()
    assert run_jobs() == 0


def test_the_log(acme, visitor):
    """It explains a message that could not be made, and cuts long requests."""
    row, _secret = add_endpoint(acme.account, URL)
    make_delivery(row, status=None, error="message", request="", set_aside=True)
    log = visitor.get(page_of(row)).html.find(id="log").get_text()
    assert "The message could not be made, because of a fault of this service." in log
    assert "set aside" in log
    assert "Request" not in log.replace("Requests", "")
    for _ in range(12):
        make_delivery(row, request='{"a": "' + '"' * 60_000, response='"' * 1024)
    assert len(visitor.get(page_of(row)).body) < 75_000
