"""Switching between the forums of an account, in a real browser with its own rules for cookies."""

from playwright.sync_api import expect

from forum.forums.models import Forum
from tests.support.chromium import ORIGIN, TIMEOUT_MS
from tests.support.factories import make_forum
from tests.support.membership import add
from tests.support.people import sign_in


def test_it_works(acme, chromium):
    host = acme.account.hosts.create(name="second")
    add(make_forum(acme.account, "Second", host_id=host.id, access=Forum.Access.PRIVATE), acme.carol)
    # The usual fixture reports requests to other hosts as faults.
    context = chromium.new_context(viewport={"width": 390, "height": 800}, locale="en")
    context.set_default_timeout(TIMEOUT_MS)
    page = context.new_page()
    page.goto(f"{ORIGIN}/app/sign-in")
    sign_in(page, acme.carol)
    page.get_by_label("Other forums").press("Enter")
    page.get_by_role("link", name="Second").press("Enter")
    expect(page).to_have_url("http://second.example.test/")
    expect(page.get_by_label("Your menu")).to_be_visible()
    # Signing out of this forum also signs out of the other one.
    page.get_by_label("Your menu").click()
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("link", name="Use a password instead")).to_be_visible()
    page.goto(f"{ORIGIN}/")
    expect(page.get_by_role("link", name="Sign in")).to_be_visible()
    context.close()
