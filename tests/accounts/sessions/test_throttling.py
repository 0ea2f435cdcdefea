"""Limits on failed logins, wrong tokens and new accounts."""

import base64
import time

import pytest
from django.core import mail
from django.db import connection
from django.test import RequestFactory

from accounts.account.models import Account
from accounts.hosts.addresses import host_cache
from accounts.hosts.names import normalize
from accounts.sessions import passwords
from accounts.sessions.cookies import KNOWN_BROWSER_COOKIE, find_browser
from accounts.tokens.models import APIToken
from core.limits import rate_limits
from core.limits.rate_limits import RateCount
from tests.support.assertions import assert_refused
from tests.support.client import XMLClient
from tests.support.codes import code_in_letter, enter_code, request_code
from tests.support.factories import PASSWORD, make_token, make_user
from tests.support.limits import (
    NEW_USER,
    NOT_COUNTED,
    expected_headers,
    fail_to_log_in,
    from_address,
    limit_headers,
    log_in,
    used_counts,
)
from tests.support.pages import Visitor
from tests.support.settings import send
from tests.support.tables import table
from tests.support.threads import at_once
from tests.support.xml import TOO_MANY, UNAUTHENTICATED, refusal, shown

ME = "/app/users/me.xml"
TASKS = "/app/tasks.json"
CONNECTIONS = 16


@pytest.fixture
def hashed(monkeypatch) -> list[str]:
    """Return a list that receives each password that is hashed, in order."""
    recorded, check = [], passwords.check_password

    def record_and_check(password, *args, **kwargs):
        recorded.append(password)
        return check(password, *args, **kwargs)

    monkeypatch.setattr(passwords, "check_password", record_and_check)
    return recorded


# Failed logins


def test_failed_logins_of_an_address_are_limited_before_any_hashing(acme, settings, clock, hashed):
    settings.FAILED_LOGIN_LIMIT = 3
    for login, remaining in (("alice", 2), ("bob", 1), ("nobody", 0)):
        response = fail_to_log_in(acme, login)
        assert shown(response) == refusal(401, UNAUTHENTICATED)
        assert limit_headers(response) == expected_headers(3, remaining, 3600)
    assert hashed == ["wrong"] * 3
    clock.advance(600)
    for login, password in (("carol", "wrong"), ("nobody", "wrong"), ("", ""), ("carol", PASSWORD)):
        response = log_in(acme, login, password)
        assert shown(response) == refusal(429, TOO_MANY)
        assert limit_headers(response) == expected_headers(3, 0, 3000, 3000)
        assert "WWW-Authenticate" not in response.headers
    assert hashed == ["wrong"] * 3
    assert log_in(acme, "carol", address="192.0.2.2").status_code == 200
    clock.advance(3000)
    assert limit_headers(fail_to_log_in(acme, "carol")) == expected_headers(3, 2, 3600)


def test_failed_logins_of_a_user_are_limited_from_all_addresses(acme, other, settings, clock, hashed):
    settings.FAILED_LOGIN_LIMIT = 5
    make_user(other.account, "alice")
    # The login and the e-mail of a user share a count.
    names = ["alice", "alice@acme.example", "ALICE", "Alice@Acme.example", "alice"]
    for number, name in enumerate(names):
        assert fail_to_log_in(acme, name, f"192.0.2.{number}").status_code == 401
    clock.advance(100)
    # A new address has `MAX_FAILURES_PER_ADDRESS` attempts of its own.
    assert [fail_to_log_in(acme, name, "198.51.100.1").status_code for name in names[:3]] == [401] * 3
    assert len(hashed) == 8
    response = fail_to_log_in(acme, "alice", "198.51.100.1")
    assert shown(response) == refusal(429, TOO_MANY)
    # The count of the login ends before that of the address, so its reset is returned.
    assert limit_headers(response) == expected_headers(3, 0, 3500, 3500)
    for name in names[:2]:
        assert log_in(acme, name, address="198.51.100.1").status_code == 429
    assert len(hashed) == 8
    # Rejected attempts do not count as failed, so the address has two attempts left for other logins.
    assert limit_headers(fail_to_log_in(acme, "bob", "198.51.100.1")) == expected_headers(5, 1, 3600)
    # The same login in another account has its own count.
    assert log_in(other, "alice", address="192.0.2.9").status_code == 200
    clock.advance(3500)
    assert log_in(acme, "alice", address="198.51.100.1").status_code == 200


def test_unknown_names_are_counted_separately(acme, settings, clock):
    """A deactivated user counts as unknown."""
    settings.FAILED_LOGIN_LIMIT = 1
    acme.carol.deactivate(by=acme.alice)
    for login in ("nobody", "carol"):
        assert [fail_to_log_in(acme, login, f"192.0.2.{number}").status_code for number in range(3)] == [401] * 3
        statuses = [
            fail_to_log_in(acme, f"{login}@acme.example", f"198.51.100.{number}").status_code for number in range(3)
        ]
        assert statuses == [401] * 3
        RateCount.objects.all().delete()


def send_wrong_password(page: Visitor, part: str):
    values = {"part": part, "current": "wrong", "email": "new@acme.example", "password": "grasshopper lighthouse"}
    return send(page, "/app/profile/security", status=422, **values)


def test_all_pages_that_ask_for_a_password_share_the_count(acme, settings, clock):
    page = Visitor(acme.host, REMOTE_ADDR="192.0.2.200").start_session(acme.carol)
    settings.FAILED_LOGIN_LIMIT = 4
    assert fail_to_log_in(acme, "carol", "192.0.2.1").status_code == 401
    visitor = Visitor(acme.host, REMOTE_ADDR="192.0.2.2")
    values = {"login": "carol@acme.example", "password": "wrong"}
    assert "The login or the password is wrong." in send(visitor, "/app/sign-in", status=422, **values)
    for part in ("email", "password"):
        assert "Is wrong" in send_wrong_password(page, part)
    assert used_counts("login:") == [4]
    # Reset the counts of all attempts of an address. The address of `page` still has `MAX_FAILURES_PER_ADDRESS` (3) attempts
    # for this user.
    RateCount.objects.filter(key__startswith="address:").delete()
    for part in ("email", "password", "email"):
        assert "Is wrong" in send_wrong_password(page, part)
    RateCount.objects.filter(key__startswith="address:").delete()
    assert "Too many attempts." in send_wrong_password(page, "password")


def use_up_sign_ins(acme, email: str, address: str) -> None:
    """Use up the attempts, the codes and the links of a user, as a stranger at an address."""
    for _ in range(6):
        fail_to_log_in(acme, email, address)
        stranger = Visitor(acme.host, REMOTE_ADDR=address)
        request_code(stranger, email)
        send(stranger, "/app/password", status="*", login=email)


def ways_in(acme, visitor: Visitor, email: str) -> list[str]:
    """Return the ways by which the visitor could sign in."""
    found = []
    mail.outbox.clear()
    page = request_code(visitor, email)
    if page.status_code == 303 and "is your code" in mail.outbox[-1].subject:
        entered = enter_code(page.follow(), code_in_letter())
        found += ["code"] if entered.status_code == 303 else []
        send(visitor, "/app/sign-out", status="*")
    mail.outbox.clear()
    send(visitor, "/app/password", status="*", login=email)
    found += ["link"] if any("new password" in each.subject for each in mail.outbox) else []
    response = send(visitor, "/app/sign-in", status="*", login=email, password=PASSWORD)
    found += ["password"] if response.status_code == 303 else []
    send(visitor, "/app/sign-out", status="*")
    return found


@table("email", ["carol@acme.example", "nobody@example.com"])
def test_a_stranger_does_not_use_up_the_sign_ins_of_a_person_elsewhere(acme, settings, clock, email):
    settings.FAILED_LOGIN_LIMIT = 60
    use_up_sign_ins(acme, email, "192.0.2.1")
    assert "too many e-mails" in request_code(Visitor(acme.host, REMOTE_ADDR="192.0.2.1"), email)
    elsewhere = Visitor(acme.host, REMOTE_ADDR="192.0.2.2")
    assert ways_in(acme, elsewhere, email) == ["code", "link", *(["password"] if email.startswith("carol") else [])]


def test_strangers_do_not_use_up_the_sign_ins_of_a_browser_that_the_person_has_used(acme, settings, clock):
    settings.FAILED_LOGIN_LIMIT = 20
    known, new = (Visitor(acme.host, REMOTE_ADDR="192.0.2.1") for _ in range(2))
    known.sign_in("carol")
    send(known, "/app/sign-out", status="*")
    use_up_sign_ins(acme, "carol@acme.example", "192.0.2.1")
    # The limits of all addresses together are used up, too.
    RateCount.objects.update(used=10_000)
    rate_limits.rate_limiter.clear()
    for _ in range(2):
        passwords.verified_credentials.clear()
        assert ways_in(acme, known, "carol@acme.example") == ["code", "link", "password"]
    passwords.verified_credentials.clear()
    assert ways_in(acme, new, "carol@acme.example") == []
    # The cookie of carol's browser gives no privilege for another user.
    use_up_sign_ins(acme, "bob@acme.example", "192.0.2.1")
    assert request_code(known, "bob@acme.example").status_code == 422


def test_the_cookie_of_a_known_browser_is_valid_for_one_host(acme, other, settings, clock):
    settings.FAILED_LOGIN_LIMIT = 60
    visitor = acme.page().sign_in("carol")
    send(visitor, "/app/sign-out", status="*")
    [cookie] = [each for each in visitor.cookiejar if each.name == KNOWN_BROWSER_COOKIE]
    assert (cookie.path, cookie.has_nonstandard_attr("HttpOnly")) == ("/", True)
    assert cookie.expires - time.time() > 300 * 24 * 3600
    mallory = make_user(other.account, "twin", id=acme.carol.id)
    for value in (cookie.value, cookie.value[:-2], "x" * 5000, ""):
        request = RequestFactory().get("/")
        request.COOKIES = {KNOWN_BROWSER_COOKIE: value}
        request.address = host_cache.find(normalize(acme.host))
        assert bool(find_browser(request, acme.carol.id)) == (value == cookie.value)
        assert not find_browser(request, acme.bob.id)
        request.address = host_cache.find(normalize(other.host))
        assert not find_browser(request, mallory.id)


def test_the_owner_of_an_attacked_login_can_sign_in_from_another_address(acme, settings, clock):
    settings.FAILED_LOGIN_LIMIT = 4
    for number in range(16):
        fail_to_log_in(acme, "alice", f"192.0.2.{number}")
    for _ in range(5):
        passwords.verified_credentials.clear()
        assert log_in(acme, "alice", address="198.51.100.1").status_code == 200
    # Two wrong passwords do not lock the owner out.
    assert [fail_to_log_in(acme, "alice", "198.51.100.1").status_code for _ in range(2)] == [401] * 2
    assert log_in(acme, "alice", address="198.51.100.1").status_code == 200


def test_a_recently_verified_password_is_always_accepted(acme, settings, clock, hashed):
    settings.FAILED_LOGIN_LIMIT = 1
    assert log_in(acme, "alice").status_code == 200
    assert [fail_to_log_in(acme).status_code for _ in range(5)] == [401, 429, 429, 429, 429]
    for address in ("192.0.2.1", "192.0.2.2"):
        assert log_in(acme, "alice", address=address).status_code == 200
    assert hashed == [PASSWORD, "wrong"]


def test_attempts_that_are_not_counted(acme, settings, clock):
    """Correct passwords, and requests without credentials."""
    settings.FAILED_LOGIN_LIMIT = 1
    for _ in range(3):
        passwords.verified_credentials.clear()
        response = log_in(acme, "alice")
        assert response.status_code == 200
        assert limit_headers(response) == NOT_COUNTED
    assert used_counts() == [0, 0]
    for header in ("Basic !", "Digest x", ""):
        response = XMLClient(acme.host).get(ME, headers={"Authorization": header})
        assert (response.status_code, limit_headers(response)) == (401, NOT_COUNTED)


def test_known_and_unknown_logins_get_the_same_responses(acme, settings, clock, hashed):
    settings.FAILED_LOGIN_LIMIT = 3
    XMLClient(acme.host).get(ME)
    observed = {}
    for login in ("alice", "nobody"):
        observed[login] = []
        for number in range(5):
            before = len(hashed)
            with connection.execute_wrapper(recorder := StatementRecorder()):
                response = fail_to_log_in(acme, login, "192.0.2.1" if number > 2 else f"192.0.2.{number}")
            headers = {name: value for name, value in response.headers.items() if name != "x-request-id"}
            observed[login].append((shown(response), headers, recorder.statements, len(hashed) - before))
        RateCount.objects.all().delete()
    assert observed["alice"] == observed["nobody"]


class StatementRecorder:
    def __init__(self):
        self.statements = []

    def __call__(self, execute, sql, params, many, context):
        self.statements.append(sql)
        return execute(sql, params, many, context)


def test_malformed_credentials_are_counted_like_wrong_ones(acme, settings, clock):
    malformed = [b"", b":", b"alice", b"\xff:\xff", b"a\0b:c", b"x" * 5000 + b":y", "ł".encode() * 300 + b":"]
    settings.FAILED_LOGIN_LIMIT = len(malformed)
    headers = [{"Authorization": "Basic " + base64.b64encode(raw).decode()} for raw in malformed]
    responses = [shown(XMLClient(acme.host).get(ME, headers=header)) for header in headers]
    assert responses == [refusal(401, UNAUTHENTICATED)] * len(malformed)
    assert shown(XMLClient(acme.host).get(ME, headers=headers[0])) == refusal(429, TOO_MANY)


@pytest.mark.django_db(transaction=True)
def test_simultaneous_failed_logins_do_not_exceed_the_limit(acme, settings, hashed):
    settings.FAILED_LOGIN_LIMIT = 5
    for login in ("alice", "nobody"):
        responses = at_once(*(lambda login=login: fail_to_log_in(acme, login) for _ in range(CONNECTIONS)))
        assert sorted(response.status_code for response in responses) == [401] * 5 + [429] * (CONNECTIONS - 5)
        assert hashed == ["wrong"] * 5
        assert used_counts("address:") == used_counts("login:") == [5]
        hashed.clear()
        RateCount.objects.all().delete()
        rate_limits.rate_limiter.clear()


@pytest.mark.django_db(transaction=True)
def test_simultaneous_correct_passwords_are_accepted(acme, settings):
    settings.FAILED_LOGIN_LIMIT = passwords.MAX_CONCURRENT_HASHES
    responses = at_once(*(lambda: log_in(acme, "alice") for _ in range(CONNECTIONS)))
    assert [response.status_code for response in responses] == [200] * CONNECTIONS
    assert used_counts() == [0, 0]


# Wrong tokens


def test_wrong_tokens_of_an_address_are_limited(acme, settings, clock):
    settings.FAILED_LOGIN_LIMIT = 3
    for token, remaining in (("wrong/acme", 2), ("x" * 300, 1), ("", 0)):
        response = acme.json().get(TASKS, headers={"Authorization": f"Bearer {token}"})
        assert_refused(response, 401, "unauthenticated")
        assert limit_headers(response) == expected_headers(3, remaining, 3600)
    clock.advance(600)
    for token in ("wrong/acme", acme.bob_token + "x"):
        response = acme.json(token).get(TASKS)
        assert_refused(response, 429, "rate_limited", retry_after="3000")
        assert limit_headers(response) == expected_headers(3, 0, 3000, 3000)
    # A valid token of the same address, and a wrong token of another address, are not limited.
    assert acme.json().get(TASKS).status_code == 200
    assert from_address(acme.json("wrong/acme"), "192.0.2.2").get(TASKS).status_code == 401
    # Passwords are not limited either.
    assert acme.xml().get(ME).status_code == 200


# Networks


def test_networks_of_ipv6_are_counted_too(acme, settings, clock):
    """A subscriber may have a whole /48. Its limit is four times that of a /64, as others have only a part of one."""
    settings.FAILED_LOGIN_LIMIT = 1
    statuses = [fail_to_log_in(acme, f"user-{n}", f"2001:db8:1:{n:x}::1").status_code for n in range(6)]
    assert statuses == [401] * 4 + [429] * 2
    assert fail_to_log_in(acme, "user-7", "2001:db8:2::1").status_code == 401
    assert fail_to_log_in(acme, "user-8", "2001:db8:2:0:1::1").status_code == 429
    # The refused attempts do not count, except for the limit of the audit log.
    counts = RateCount.objects.filter(used__gt=0).exclude(key__startswith="refusals:")
    assert max(counts.values_list("used", flat=True)) == 4


def test_forms_of_visitors_count_networks_too(acme, settings):
    settings.FAILED_LOGIN_LIMIT = 1
    statuses = []
    for number in range(6):
        visitor = Visitor(acme.host, REMOTE_ADDR=f"2001:db8:1:{number:x}::1")
        form = next(form for form in visitor.get("/app/sign-in").forms.values() if "email" in form.fields)
        form["email"] = f"new-{number}@example.com"
        statuses.append(form.submit(expect_errors=True).status_code)
    assert statuses[:4] == [303] * 4
    assert 303 not in statuses[4:]


def test_a_login_has_a_limit_for_all_addresses(acme, settings, clock, hashed):
    settings.FAILED_LOGIN_LIMIT = 5
    statuses = [fail_to_log_in(acme, "alice", f"192.0.2.{number}").status_code for number in range(27)]
    assert statuses == [401] * 25 + [429] * 2
    assert len(hashed) == 25
    # The right password is refused too, and a code is not.
    assert log_in(acme, "alice", address="198.51.100.1").status_code == 429
    visitor = Visitor(acme.host, REMOTE_ADDR="198.51.100.1")
    form = next(form for form in visitor.get("/app/sign-in/code").forms.values() if "email" in form.fields)
    form["email"] = acme.alice.email
    assert form.submit().headers["Location"].startswith("/app/sign-in/code/enter")
    assert fail_to_log_in(acme, "bob", "198.51.100.1").status_code == 401
    clock.advance(3600)
    assert log_in(acme, "alice", address="198.51.100.1").status_code == 200


# New accounts


@pytest.fixture
def partner(acme):
    acme.account.partner_key = "acme-partner"
    acme.account.save()
    return acme


def create(partner, prefix: str, token: str | None = None):
    body = {"account": {"prefix": prefix}, "user": NEW_USER}
    return partner.json(token or partner.alice_token).post("/app/account.json", json=body)


def test_new_accounts_of_a_partner_are_limited(partner, other, settings, clock):
    settings.RATE_LIMIT, settings.ACCOUNT_LIMIT = 600, 2
    second_token = make_token(partner.alice)
    for prefix, token, status, expected in (
        ("one", None, 201, expected_headers(2, 1, 60)),
        # A failed creation does not count as a new account, but as a request.
        ("one", None, 422, expected_headers(600, 598, 60)),
        ("two", second_token, 201, expected_headers(2, 0, 60)),
    ):
        response = create(partner, prefix, token)
        assert response.status_code == status
        assert limit_headers(response) == expected
    clock.advance(15)
    for token in (None, second_token):
        response = create(partner, "three", token)
        assert_refused(response, 429, "rate_limited", retry_after="45")
        assert limit_headers(response) == expected_headers(2, 0, 45, 45)
    assert not Account.objects.filter(prefix="three").exists()
    assert partner.json().get(TASKS).status_code == 200
    # Each partner has its own count.
    Account.objects.filter(pk=other.account.pk).update(partner_key="other-partner")
    body = {"account": {"prefix": "other-one"}, "user": NEW_USER}
    assert other.json().post("/app/account.json", json=body).status_code == 201
    clock.advance(45)
    assert create(partner, "three").status_code == 201


# Stored counts


def test_stored_keys_reveal_no_login_address_or_secret(partner, settings, clock):
    settings.RATE_LIMIT, settings.FAILED_LOGIN_LIMIT, settings.ACCOUNT_LIMIT = 9, 1, 9
    fail_to_log_in(partner, "nobody@acme.example", "192.0.2.77")
    for _ in range(2):
        fail_to_log_in(partner, "nobody@acme.example", "192.0.2.78")
    partner.json("wrong/acme").get(TASKS)
    partner.xml().get(ME)
    create(partner, "one")
    keys = list(RateCount.objects.order_by("key").values_list("key", flat=True))
    account, token = partner.account.id, APIToken.objects.find_by_token(partner.alice_token).id
    assert [key for key in keys if len(key.rpartition(":")[2]) != 64] == [
        f"partner:{account}",
        f"refusals:{account}",
        f"token:{account}:{token}",
        f"user:{account}:{partner.alice.id}",
    ]
    kinds = sorted(key.partition(":")[0] for key in keys)
    assert kinds == ["address"] * 3 + ["login"] * 2 + [
        "login-at",
        "partner",
        "refusals",
        "token",
        "user",
        "wrong-token",
    ]
    assert max(map(len, keys)) <= 128
