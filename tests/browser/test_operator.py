"""An operator suspends an account, and its owner reads why; a customer comes from a shop."""

import time
from urllib.parse import urlencode

from joserfc import jwt
from joserfc.jwk import OctKey
from playwright.sync_api import expect

from accounts.hosts.addresses import host_cache
from accounts.sessions.models import Session
from tests.support.axe import expect_no_faults
from tests.support.chromium import ORIGIN
from tests.support.fixtures import make_other

OTHER = "http://other.example.test"


def test_it_works(acme, browse, chromium):
    other = make_other()
    other.account.users.update(name="Mallory Owner")
    operator = browse()
    # The operator's account of the tests is acme.
    secret = Session.objects.start(acme.alice, is_verified=True)[1]
    operator.context.add_cookies([{"name": "session", "value": secret, "url": ORIGIN}])
    operator.goto("/app/operator")
    expect_no_faults(operator)
    operator.get_by_label("Prefix, host, or e-mail of an owner").fill("other")
    operator.get_by_role("button", name="Search", exact=True).click()
    operator.get_by_role("link", name="other", exact=True).click()
    expect_no_faults(operator)
    operator.get_by_label("Reason").fill("Unpaid since May")
    operator.get_by_role("button", name="Suspend").click()
    expect(operator.get_by_text("Unpaid since May")).to_be_visible()
    host_cache.clear()
    context = chromium.new_context(base_url=OTHER, locale="en")
    owner = context.new_page()
    owner.goto("/")
    expect(owner.get_by_text("This account is closed")).to_be_visible()
    session = Session.objects.start(other.mallory)[1]
    context.add_cookies([{"name": "session", "value": session, "url": OTHER}])
    owner.goto("/")
    expect(owner.get_by_text("The reason: Unpaid since May")).to_be_visible()
    operator.get_by_role("button", name="Open the account").click()
    expect(operator.get_by_text("The account is open.")).to_be_visible()
    host_cache.clear()
    owner.goto("/app/account/audit")
    expect(owner.get_by_text("An operator of the service").first).to_be_visible()
    expect(owner.get_by_text("suspended").first).to_be_visible()
    context.close()


def test_a_customer_comes_from_a_shop(acme, browse):
    page = browse(acme.alice)
    page.goto("/app/account/shop-sign-in")
    page.get_by_label("My shop verifies the e-mails of its customers").check()
    page.locator("#key").get_by_role("button", name="Save").click()
    page.get_by_role("button", name="Create a secret").click()
    secret = page.get_by_label("Secret").inner_text().strip()
    claims = {"id": 7, "email": "dan@shop.example", "name": "Dan Buyer", "iat": int(time.time())}
    token = jwt.encode({"alg": "HS256"}, claims, OctKey.import_key(secret))
    visitor = browse()
    visitor.goto(f"/app/sign-in/token?{urlencode({'jwt': token, 'return_to': '/app/posts/new'})}")
    expect(visitor.get_by_label("Title")).to_be_visible()
    visitor.goto("/app/profile")
    expect(visitor.get_by_label("Your name")).to_have_value("Dan Buyer")
