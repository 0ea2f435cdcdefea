"""An owner adds a webhook, sees a delivery fail, repairs the receiver, and sends the event again."""

from datetime import timedelta

from django.db import models
from django.utils.translation import gettext, override
from playwright.sync_api import expect

from core.changes.followers import Follower
from tests.support.axe import expect_no_faults
from tests.support.factories import make_client
from tests.support.jobs import run_jobs
from tests.support.people import messages_on
from tests.support.receiver import LOOPBACK, deliver, run_receiver
from tests.support.threads import at_once


def test_a_delivery_fails_and_is_sent_again(acme, browse, settings):
    settings.WEBHOOK_ALLOW, language = LOOPBACK, "pl"
    with run_receiver() as receiver, override(language):
        alice = browse(acme.alice, width=390, language=language)
        address, create = alice.get_by_label(gettext("Address")), gettext("Create webhook")
        alice.goto("/app/account/webhooks")
        expect(alice.locator("html")).to_have_attribute("lang", language)
        expect(alice.locator(".empty")).to_be_visible()
        address.fill("https://example.test/hook")
        alice.get_by_role("button", name=create).click()
        own = gettext("is an address of this service, which a webhook cannot call")
        expect(alice.locator(".field-error", has_text=own)).to_be_visible()
        address.fill(receiver.url)
        alice.get_by_role("button", name=create).click()
        secret = alice.get_by_label(gettext("Secret"), exact=True)
        expect(secret).to_have_value(acme.account.webhooks.get().secrets[0])

        receiver.answer(500, body=b"The disk is full")
        make_client(acme.alice, "Ann")
        deliver()
        alice.get_by_role("link", name="127.0.0.1").click()
        failing = alice.locator(".notice.error")
        expect(failing).to_be_visible()
        entry = alice.locator("#log li").first
        entry.locator("summary").click()
        expect(entry.get_by_text("The disk is full")).to_be_visible()
        expect_no_faults(alice)

        receiver.answer(200)
        Follower.objects.filter(name="webhook").update(due_at=models.F("due_at") - timedelta(seconds=5))
        deliver()
        alice.reload()
        expect(failing).to_have_count(0)
        entry = alice.locator("#log li").last
        entry.locator("summary").click()
        entry.get_by_role("button", name=gettext("Send again")).click()
        sent = gettext("It is being sent again. The result is in the log in a moment.")
        expect(messages_on(alice)).to_have_text(sent)
        # Playwright runs an event loop in this thread, and a job runs another.
        at_once(run_jobs)
        alice.reload()
        expect(alice.locator("#log li").first).to_contain_text("200")
        assert len({request.id for request in receiver.requests}) == 1
        assert len(receiver.requests) == 3


def test_events_are_listed_once_they_can_be_chosen(acme, browse):
    """Styles show the events, so this works without JavaScript."""
    alice = browse(acme.alice, javascript=False)
    alice.goto("/app/account/webhooks")
    event = alice.get_by_label("client.created")
    expect(event).to_be_hidden()
    alice.get_by_label("Only those chosen below").check()
    event.check()
    alice.get_by_label("Address").fill("https://hooks.example.com/")
    alice.get_by_role("button", name="Create webhook").click()
    expect(alice.get_by_text("1 event", exact=True)).to_be_visible()
    assert acme.account.webhooks.get().events == ["client.created"]
