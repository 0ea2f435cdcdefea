"""Passkeys, an authenticator app and recovery codes, with a virtual authenticator of the browser."""

import pyotp
from django.utils import timezone
from playwright.sync_api import Page, expect

from tests.support.axe import expect_no_faults
from tests.support.chromium import TIMEOUT_MS
from tests.support.people import sign_in

# Browsers have passkeys on https, and at localhost.
ORIGIN = "http://acme.localhost"


def add_authenticator(page: Page) -> None:
    """Connect a virtual device that confirms everything."""
    session = page.context.new_cdp_session(page)
    session.send("WebAuthn.enable")
    options = {"protocol": "ctap2", "transport": "internal", "hasResidentKey": True, "hasUserVerification": True}
    session.send("WebAuthn.addVirtualAuthenticator", {"options": {**options, "isUserVerified": True}})


def sign_out(page: Page) -> None:
    page.get_by_label("Your menu").click()
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_text("You are signed out.")).to_be_visible()
    page.goto(f"{ORIGIN}/app/sign-in")


def test_it_works(acme, chromium, settings):
    settings.BASE_DOMAIN = "localhost"
    context = chromium.new_context(viewport={"width": 390, "height": 800}, locale="en")
    context.set_default_timeout(TIMEOUT_MS)
    page = context.new_page()
    add_authenticator(page)
    page.goto(f"{ORIGIN}/app/sign-in")
    sign_in(page, acme.bob)
    page.goto(f"{ORIGIN}/app/profile/factors")
    expect_no_faults(page)
    secret = page.locator("code").first.inner_text().replace(" ", "")
    page.get_by_label("Code that the app shows").fill(pyotp.TOTP(secret).at(timezone.now()))
    page.get_by_role("button", name="Add the app").click()
    recovery_code = page.locator("#codes code").inner_text().split("\n")[0]
    expect_no_faults(page)
    page.get_by_label("Name of the new passkey").fill("My telephone")
    page.get_by_role("button", name="Add a passkey").click()
    expect(page.get_by_text("My telephone", exact=True)).to_be_visible()
    # The passkey alone signs in.
    sign_out(page)
    page.get_by_role("button", name="Sign in with a passkey").click()
    expect(page.get_by_label("Your menu")).to_be_visible()
    # Or the password, and then the passkey.
    sign_out(page)
    sign_in(page, acme.bob)
    expect_no_faults(page)
    page.get_by_role("button", name="Sign in with a passkey").click()
    expect(page.get_by_label("Your menu")).to_be_visible()
    # Or the password, and then a recovery code: the device is lost.
    sign_out(page)
    sign_in(page, acme.bob)
    page.get_by_label("Code of your app").fill(recovery_code)
    page.get_by_role("button", name="Sign in", exact=True).click()
    expect(page.get_by_label("Your menu")).to_be_visible()
    context.close()
