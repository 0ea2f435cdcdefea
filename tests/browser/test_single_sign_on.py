"""Single sign-on with a real provider of OpenID Connect (npm `oidc-provider`), in a browser, from a draft to its enforcement."""

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings as project
from django.utils import timezone
from playwright.sync_api import Page, expect

from accounts.oidc.models import OIDCProvider
from tests.support.chromium import TIMEOUT_MS
from tests.support.people import sign_in
from tests.support.receiver import LOOPBACK
from tests.support.service import free_port

pytestmark = [pytest.mark.soak, pytest.mark.skipif(not shutil.which("npm"), reason="needs npm")]

HOST = "http://acme.localhost"
PACKAGE = "oidc-provider@9.13.3"


@pytest.fixture
def issuer() -> Iterator[str]:
    folder, port = project.BASE_DIR / ".cache" / "oidc", free_port()
    subprocess.run(["npm", "install", "--silent", "--no-save", "--prefix", folder, PACKAGE], check=True)
    script = Path(__file__).with_name("oidc_provider.mjs")
    command = ["node", script, str(port), f"{HOST}/app/sign-in/sso/callback", folder]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        assert any(line == "ready\n" for line in process.stdout)
        yield f"http://127.0.0.1:{port}"
        process.kill()


def sign_in_at_provider(page: Page, login: str) -> None:
    """Fill in the pages of the provider: the login, and the consent."""
    page.locator("[name=login]").fill(login)
    page.locator("[name=password]").fill("any")
    page.get_by_role("button", name="Sign-in").click()
    page.get_by_role("button", name="Continue").click()


def test_it_works(acme, chromium, issuer, settings, monkeypatch):
    settings.BASE_DOMAIN = "localhost"
    settings.WEBHOOK_ALLOW = LOOPBACK
    records: list[str] = []

    async def read_records(name: str) -> list[str]:
        return records

    monkeypatch.setattr("accounts.oidc.models.read_records", read_records)
    type(acme.alice).objects.filter(pk=acme.alice.pk).update(second_factor_at=None)
    context = chromium.new_context(locale="en")
    context.set_default_timeout(TIMEOUT_MS)
    owner = context.new_page()
    owner.goto(f"{HOST}/app/sign-in")
    sign_in(owner, acme.alice)
    owner.goto(f"{HOST}/app/account/oidc")
    owner.get_by_label("Issuer").fill(issuer)
    owner.get_by_label("Client id").fill("client")
    owner.get_by_label("Client secret").fill("the-secret")
    owner.get_by_label("Roles by group").fill("team = agent")
    owner.locator("#provider").get_by_role("button", name="Save").click()
    expect(owner.get_by_text("Saved. Now test it.")).to_be_visible()
    owner.get_by_role("link", name="Test now").click()
    sign_in_at_provider(owner, "alice")
    expect(owner.get_by_text("The provider works.")).to_be_visible()
    expect(owner.locator("#test").get_by_text("alice@acme.example")).to_be_visible()
    records.append(f"rostrum-domain={OIDCProvider.objects.get().token}")
    owner.get_by_label("Domain of e-mails").fill("acme.example")
    owner.get_by_role("button", name="Check the record").click()
    expect(owner.get_by_text("The domain is proven.")).to_be_visible()
    # The owner has a second factor, without which nobody may enforce it.
    type(acme.alice).objects.filter(pk=acme.alice.pk).update(second_factor_at=timezone.now())
    owner.get_by_label("Enforced").check()
    owner.locator("#state").get_by_role("button", name="Save").click()
    expect(owner.get_by_label("Enforced")).to_be_checked()
    context.close()

    context = chromium.new_context(locale="en")
    context.set_default_timeout(TIMEOUT_MS)
    page = context.new_page()
    page.goto(f"{HOST}/app/sign-in")
    sign_in(page, acme.bob)
    expect(page.get_by_text("Your organisation has you sign in with it")).to_be_visible()
    page.get_by_role("link", name="Sign in with your organisation").click()
    sign_in_at_provider(page, "bob")
    expect(page.get_by_label("Your menu")).to_be_visible()
    context.close()
    acme.bob.refresh_from_db()
    assert acme.bob.role == "agent"
