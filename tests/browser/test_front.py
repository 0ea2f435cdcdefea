"""Creating an account in a real browser, with its own rules for cookies and for redirects after a form."""

from playwright.sync_api import expect

from accounts.account.models import Account
from accounts.account_creation import pages
from tests.support.chromium import FRONT_ORIGIN, TIMEOUT_MS
from tests.support.codes import code_in_letter


def test_it_works(acme, chromium, monkeypatch):
    monkeypatch.setattr(pages, "MIN_FORM_SECONDS", 0)
    # The usual fixture reports requests to other hosts as faults.
    context = chromium.new_context(viewport={"width": 390, "height": 800}, locale="en", timezone_id="Asia/Tokyo")
    context.set_default_timeout(TIMEOUT_MS)
    page = context.new_page()
    page.goto(f"{FRONT_ORIGIN}/")
    page.get_by_role("link", name="Create an account").click()
    # The form reacts to what is typed once its scripts have run.
    page.wait_for_url("**/app/start")
    page.wait_for_load_state()
    page.get_by_label("Company or project").press_sequentially("Acme")
    expect(page.get_by_label("Address")).to_have_value("acme-2")
    page.get_by_label("Address").fill("desks")
    expect(page.get_by_text("desks.example.test is free")).to_be_visible()
    page.get_by_label("Your name").fill("Eve")
    page.get_by_label("E-mail").fill("eve@desks.example")
    page.get_by_label("E-mail").press("Enter")
    expect(page.get_by_label("Code from the e-mail")).to_be_focused()
    page.get_by_label("Code from the e-mail").fill(code_in_letter())
    page.get_by_label("Code from the e-mail").press("Enter")
    expect(page).to_have_url("http://desks.example.test/app/account/welcome")
    expect(page.get_by_label("Your menu")).to_be_visible()
    account = Account.objects.get(prefix="desks")
    assert (account.time_zone, account.currency) == ("Asia/Tokyo", "JPY")
    context.close()
