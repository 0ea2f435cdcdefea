"""Customers of a shop, who come to the forum with a token that the shop has signed."""

import hmac
from base64 import urlsafe_b64encode
from datetime import timedelta
from urllib.parse import urlencode

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from django.utils import timezone
from joserfc import jwt
from joserfc.jwk import OctKey, OKPKey

from accounts.identities.models import Identity
from accounts.sessions.models import Session
from accounts.shop_sign_in.models import ShopSignIn
from core.errors import FieldError
from tests.support.tables import table

PATH = "/app/sign-in/token"
ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
DAN = {"id": 7, "email": "dan@shop.example", "name": "Dan Buyer"}


@pytest.fixture
def shop(acme):
    """Return acme with the secret of its shop."""
    keys = ShopSignIn.get_or_new(acme.account)
    keys.trusts_emails = True
    acme.secret = keys.rotate()
    return acme


def sign(secret: str, claims: dict, *, age: int = 0, algorithm: str = "HS256", key=None) -> str:
    issued = {"iat": int(timezone.now().timestamp()) - age}
    header, key = {"alg": algorithm}, key or OctKey.import_key(secret)
    return jwt.encode(header, {**issued, **claims}, key, algorithms=[algorithm])


def visit(acme, token: str, **query: str):
    return acme.page().get(f"{PATH}?{urlencode({'jwt': token, **query})}")


def reasons(acme) -> list[str]:
    return [refusal["reason"] for refusal in ShopSignIn.get_or_new(acme.account).refusals]


def test_it_works(shop):
    visitor = shop.page()
    response = visitor.get(f"{PATH}?{urlencode({'jwt': sign(shop.secret, DAN), 'return_to': '/app/roadmap'})}")
    assert response.location == "/app/roadmap"
    dan = shop.account.users.get(email="dan@shop.example")
    assert (dan.name, dan.role) == ("Dan Buyer", "member")
    assert "Dan Buyer" in visitor.get("/app/profile").text
    # The next token finds the same user, also with the names of Canny, and with another e-mail of the customer.
    token = sign(shop.secret, {**DAN, "email": "dan@other.example", "avatarURL": "https://shop.example/dan.png"})
    response = shop.page().get(f"{PATH}?{urlencode({'ssoToken': token, 'redirect': '/'})}")
    assert response.location == "/"
    assert shop.account.users.filter(name="Dan Buyer").count() == Identity.objects.count() == 1


def test_a_customer_with_the_email_of_a_member_is_this_member(shop):
    visit(shop, sign(shop.secret, {**DAN, "email": shop.carol.email}))
    assert Session.objects.get().user_id == shop.carol.id


@table(
    ("claims", "options", "reason"),
    [
        ({"id": None}, {}, "id is missing or too long: the id of the customer in the shop"),
        ({"id": True}, {}, "id is missing or too long: the id of the customer in the shop"),
        ({"email": "nobody"}, {}, "email is missing or is no e-mail address"),
        ({"name": 3}, {}, "name is not a text"),
        ({"iat": "now"}, {}, "iat is missing: the time of the token in seconds since 1970"),
        ({"iat": float("nan")}, {}, "iat is missing: the time of the token in seconds since 1970"),
        ({"iat": float("inf")}, {}, "iat is missing: the time of the token in seconds since 1970"),
        ({"iat": 10**400}, {}, "iat is missing: the time of the token in seconds since 1970"),
        ({"iat": -1}, {}, "iat is missing: the time of the token in seconds since 1970"),
        ({"exp": float("nan")}, {}, "the token has expired (exp)"),
        ({}, {"age": 90}, "iat is 90 seconds ago: a token is valid for 60 seconds"),
        ({}, {"age": -30}, "iat is -30 seconds ago: a token is valid for 60 seconds"),
        ({"exp": 1}, {}, "the token has expired (exp)"),
        ({"email": "alice@acme.example"}, {}, "users of the team sign in with their password"),
        ({}, {"key": OctKey.import_key("x" * 32)}, "the signature fits no key of this account (HS256 or EdDSA)"),
        (
            {},
            {"algorithm": "HS512", "key": OctKey.import_key("x" * 64)},
            "the signature fits no key of this account (HS256 or EdDSA)",
        ),
    ],
)
def test_it_rejects_a_token(shop, claims, options, reason):
    response = visit(shop, sign(shop.secret, {**DAN, **claims}, **options))
    assert response.location == "/app/sign-in?next=%2F"
    # A second may have passed.
    assert [text.replace("91 ", "90 ").replace("-29 ", "-30 ") for text in reasons(shop)] == [reason]
    assert Session.objects.count() == 0
    assert shop.account.audit_entries.latest("id").action == "sign_in.failed"


def test_it_rejects_a_token_that_was_used(shop):
    token = sign(shop.secret, DAN)
    assert visit(shop, token).location == "/"
    assert visit(shop, token).location == "/app/sign-in?next=%2F"
    assert reasons(shop) == ["the token was used already"]


@table("token", ["", "x", "a.b.c", "é" * 10, "x" * 5000])
def test_it_rejects_what_is_no_token(shop, token):
    assert visit(shop, token).location == "/app/sign-in?next=%2F"


def test_it_rejects_a_token_of_another_account(shop, other):
    secret = ShopSignIn.get_or_new(other.account).rotate()
    assert visit(shop, sign(secret, DAN)).location == "/app/sign-in?next=%2F"


def test_it_leads_to_no_other_site(shop):
    assert visit(shop, sign(shop.secret, DAN), return_to="https://evil.example/").location == "/"


def test_a_link_signs_no_user_of_the_team_out(shop):
    bob = shop.page(shop.bob)
    assert bob.get(f"{PATH}?{urlencode({'jwt': sign(shop.secret, DAN)})}").location == "/"
    assert Session.objects.get().user_id == shop.bob.id


def test_the_former_secret_is_valid_for_a_day(shop):
    keys = ShopSignIn.get_or_new(shop.account)
    keys.rotate()
    assert visit(shop, sign(shop.secret, DAN)).location == "/"
    ShopSignIn.objects.update(previous_until=timezone.now() - timedelta(seconds=1))
    assert visit(shop, sign(shop.secret, {**DAN, "id": 8})).location == "/app/sign-in?next=%2F"


def test_a_shop_may_sign_with_its_own_key(shop):
    private = Ed25519PrivateKey.generate()
    public = private.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()
    secret_pem = private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    form = shop.page(shop.alice).get("/app/account/shop-sign-in").forms["key"]
    form["public_key"] = secret_pem
    assert "Is not a public key of Ed25519" in form.submit("do", value="key", status=422).text
    form["public_key"] = public
    form.submit("do", value="key")
    token = sign("", DAN, algorithm="EdDSA", key=OKPKey.import_key(secret_pem))
    assert visit(shop, token).location == "/"
    # The last character has four bits that count for nothing, and padding is allowed, so other texts are the same signature.
    last = ALPHABET.index(token[-1])
    for again in (token[:-1] + ALPHABET[last ^ 1], f"{token}=="):
        assert visit(shop, again).location == "/app/sign-in?next=%2F"
    # The public key is no secret of HS256.
    signed, _dot, _signature = sign("x" * 32, {**DAN, "id": 9}).rpartition(".")
    forged = urlsafe_b64encode(hmac.digest(public.strip().encode(), signed.encode(), "sha256")).decode().rstrip("=")
    assert visit(shop, f"{signed}.{forged}").location == "/app/sign-in?next=%2F"
    with pytest.raises(FieldError):
        ShopSignIn.get_or_new(shop.account).write(public_key="-----BEGIN PUBLIC KEY-----", trusts_emails=True)


def test_the_settings_show_a_secret_once(acme):
    alice = acme.page(acme.alice)
    page = alice.get("/app/account/shop-sign-in").forms["rotate"].submit("do", value="rotate")
    secret = page.html.find("pre", attrs={"aria-label": "Secret"}).text
    assert len(secret) == 43
    assert visit(acme, sign(secret, DAN)).location == "/app/sign-in?next=%2F"
    assert reasons(acme) == ["the settings do not say that the shop verifies the e-mails of its customers"]
    form = page.forms["key"]
    form["trusts_emails"] = True
    form.submit("do", value="key")
    assert visit(acme, sign(secret, DAN)).location == "/"
    page = alice.get("/app/account/shop-sign-in")
    assert secret not in page.text
    assert secret not in ShopSignIn.get_or_new(acme.account).secret
    page.forms["disable"].submit("do", value="disable")
    assert visit(acme, sign(secret, {**DAN, "id": 8})).location == "/app/sign-in?next=%2F"


def test_only_owners_see_the_settings(acme):
    assert acme.page(acme.bob).get("/app/account/shop-sign-in", expect_errors=True).status_code == 403
