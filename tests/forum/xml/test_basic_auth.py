"""HTTP Basic: accepted credentials, and the number of password hashes."""

import base64

import pytest

from accounts.account.models import Account
from accounts.sessions import passwords
from accounts.users.models import User
from forum.forums.models import Forum
from tests.support.client import XMLClient
from tests.support.factories import PASSWORD, make_user
from tests.support.tables import table
from tests.support.xml import UNAUTHENTICATED, basic, call, refusal, shown

ME = "/app/users/me.xml"
REFUSED = refusal(401, UNAUTHENTICATED)


@pytest.fixture
def hashes(monkeypatch) -> list[str]:
    """Record the hashed passwords in order, after the setup that runs once per process."""
    passwords.verify(None, "")
    passwords_hashed = []
    verify, encode = passwords.Argon2idPasswordHasher.verify, passwords.Argon2idPasswordHasher.encode

    def recording(method):
        def wrapper(self, password, *args):
            passwords_hashed.append(password)
            return method(self, password, *args)

        return wrapper

    monkeypatch.setattr(passwords.Argon2idPasswordHasher, "verify", recording(verify))
    monkeypatch.setattr(passwords.Argon2idPasswordHasher, "encode", recording(encode))
    return passwords_hashed


def client(cast, login: str, password: str = PASSWORD) -> XMLClient:
    return XMLClient(cast.host, auth=(login, password))


def login_or_refusal(cast, login: str, password: str = PASSWORD) -> str:
    """Return the login of the authenticated user, or the error message."""
    response = client(cast, login, password).get(ME)
    if response.status_code == 200:
        return response.text.partition("<login>")[2].partition("</login>")[0]
    assert shown(response) == REFUSED
    assert response.headers["WWW-Authenticate"] == 'Basic realm="Acme", charset="UTF-8"'
    return "refused"


def test_it_works(acme, django_assert_num_queries, hashes):
    assert login_or_refusal(acme, "alice") == "alice"
    assert hashes == [PASSWORD]
    with django_assert_num_queries(1):
        assert login_or_refusal(acme, "alice") == "alice"
    assert hashes == [PASSWORD]


def test_it_rejects_requests_without_credentials(acme, django_assert_num_queries, hashes):
    XMLClient(acme.host).get(ME)
    with django_assert_num_queries(0):
        response = XMLClient(acme.host).get(ME)
    assert shown(response) == REFUSED
    assert response.headers["WWW-Authenticate"] == 'Basic realm="Acme", charset="UTF-8"'
    assert hashes == []


def test_it_rejects_unknown_logins_like_wrong_passwords(acme, django_assert_num_queries, hashes):
    XMLClient(acme.host).get(ME)
    responses = []
    for login, password in (("alice", "wrong"), ("nobody", "wrong"), ("nobody", PASSWORD)):
        del hashes[:]
        # The user, and the entry in the audit log.
        with django_assert_num_queries(2):
            responses.append(client(acme, login, password).get(ME))
        # Each attempt takes one hash, so that the response time reveals nothing.
        assert hashes == [password]
    for response in responses:
        assert shown(response) == REFUSED
    assert (
        len({str([item for item in response.headers.items() if item[0] != "x-request-id"]) for response in responses})
        == 1
    )


@table(
    ("login", "password"),
    [
        *(("alice", ""), ("", ""), ("", PASSWORD), ("alice", PASSWORD.upper()), ("alice", PASSWORD + " ")),
        *(("alice ", PASSWORD), ("alice", PASSWORD + "\0"), ("alice\0", PASSWORD), ("*", PASSWORD)),
        *(("alice@acme.exampl", PASSWORD), ("x" * 256, PASSWORD), ("x" * 100_000, PASSWORD), ("alice", "x" * 100_000)),
        *(("ł" * 256, "ł"), ("%", "%")),
    ],
)
def test_it_rejects_wrong_credentials(acme, login, password):
    assert login_or_refusal(acme, login, password) == "refused"


def encoded(raw: bytes) -> str:
    return "Basic " + base64.b64encode(raw).decode()


HOSTILE_HEADERS = [
    *("", " ", "Basic", "Basic ", "Basic  ", "Basic !!!", "Basic YWxpY2U", "Basic \xff\xfe", "Basic \0", "Negotiate"),
    *("Digest YWxpY2U6eA==", "Token abc/acme", "YWxpY2U6eA==", "Basic,YWxpY2U6eA==", "Basic\tYWxpY2U6eA==", "="),
    *(encoded(b""), encoded(b":"), encoded(b"alice"), encoded(b"\0:\0"), encoded(b"alice:\0"), encoded(b"\xff:\xfe")),
    *(encoded(b"\xed\xa0\x80:x"), encoded(b"al\xb1ce:x"), encoded(b"x" * 10_000 + b":"), "Basic " + "A" * 10_000),
    *(basic("alice", PASSWORD)[:-1], basic("alice", PASSWORD)[:-4], "Basic " + basic("alice", PASSWORD)),
    *("basic " * 2000, "Basic ====", "Basic YWxpY2U6eA== trailing"),
]


def test_it_rejects_hostile_headers(acme):
    """The token of the Account API is no credential here either."""
    environments = [{"HTTP_AUTHORIZATION": header} for header in (*HOSTILE_HEADERS, f"Bearer {acme.alice_token}")]
    for environ in (*environments, {"QUERY_STRING": f"api_token={acme.alice_token}"}):
        response = call(acme.host, **environ)
        assert shown(response) == REFUSED, environ
        assert response.headers["WWW-Authenticate"] == 'Basic realm="Acme", charset="UTF-8"'


@table(("scheme", "space"), [("Basic", " "), ("basic", " "), ("BASIC", "   ")])
def test_the_scheme_is_accepted_in_any_case(acme, scheme, space):
    value = basic("alice", PASSWORD).partition(" ")[2]
    assert call(acme.host, HTTP_AUTHORIZATION=f"{scheme}{space}{value} ").status_code == 200


# Logins, e-mails and passwords


def test_logins_and_emails_are_accepted_in_any_case_and_script(acme):
    make_user(acme.account, "Żółw")
    for login, names in (
        ("alice", ("alice", "ALICE", "Alice", "alice@acme.example", "ALICE@Acme.Example")),
        ("Żółw", ("Żółw", "żółw", "ŻÓŁW", "z\u0307o\u0301łw")),
    ):
        assert {login_or_refusal(acme, name) for name in names} == {login}


def test_a_login_takes_precedence_over_an_equal_email(acme):
    make_user(acme.account, "bob@acme.example", email="other@acme.example", password="another secret")
    assert login_or_refusal(acme, "bob@acme.example", "another secret") == "bob@acme.example"
    assert login_or_refusal(acme, "bob@acme.example") == "refused"
    assert login_or_refusal(acme, "bob") == "bob"


@table("password", ["with:colons:in:it", " spaces at the ends ", "zażółć 🦉 gęślą", "\x01\x7f", "x" * 4000])
def test_any_password_is_accepted(acme, password):
    make_user(acme.account, "dora", password=password)
    assert login_or_refusal(acme, "dora", password) == "dora"
    assert login_or_refusal(acme, "dora", password[:-1]) == "refused"


def test_credentials_are_accepted_in_latin_1(acme):
    """Browsers and older libraries send credentials in Latin-1."""
    make_user(acme.account, "hervé", password="très secret")
    response = call(acme.host, HTTP_AUTHORIZATION=encoded("hervé:très secret".encode("latin-1")))
    assert response.status_code == 200


@table(
    ("name", "realm"),
    [
        ("Acme", "Acme"),
        ('A "good" \\ one', 'A \\"good\\" \\\\ one'),
        ("Żółw", "???w"),
        ("two\r\nSet-Cookie: lines", "two??Set-Cookie: lines"),
        ("", ""),
    ],
)
def test_the_realm_is_the_name_of_the_forum(acme, name, realm):
    Forum.objects.update(name=name)
    response = XMLClient(acme.host).get(ME)
    assert shown(response) == REFUSED
    assert response.headers["WWW-Authenticate"] == f'Basic realm="{realm}", charset="UTF-8"'


# Changes of users


def test_a_deactivated_user_is_rejected_immediately(acme, other, hashes):
    # The same login in another account is another user.
    make_user(other.account, "carol", password="mallory's choice")
    assert login_or_refusal(acme, "carol", "mallory's choice") == "refused"
    assert login_or_refusal(acme, "carol") == login_or_refusal(other, "carol", "mallory's choice") == "carol"
    User.objects.filter(pk=acme.carol.pk).update(is_active=False)
    del hashes[:]
    assert login_or_refusal(acme, "carol") == "refused"
    assert hashes == [PASSWORD]
    User.objects.filter(pk=acme.carol.pk).update(is_active=True)
    assert login_or_refusal(acme, "carol") == "carol"


def test_a_changed_password_replaces_the_old_one_immediately(acme, hashes):
    assert login_or_refusal(acme, "carol") == "carol"
    # The same password set again is hashed again.
    for password in (PASSWORD, "a new secret"):
        acme.carol.set_password(password)
        acme.carol.save(update_fields=["password"])
        del hashes[:]
        assert login_or_refusal(acme, "carol") == ("carol" if password == PASSWORD else "refused")
        assert hashes == [PASSWORD]
    for _ in range(2):
        assert login_or_refusal(acme, "carol", "a new secret") == "carol"
    assert hashes == [PASSWORD, "a new secret"]


def test_a_changed_login_replaces_the_old_one_immediately(acme):
    assert login_or_refusal(acme, "carol") == "carol"
    acme.carol.login, acme.carol.email = "caroline", "caroline@acme.example"
    acme.carol.save(update_fields=["login", "login_key", "email", "email_key"])
    assert login_or_refusal(acme, "carol") == "refused"
    assert login_or_refusal(acme, "carol@acme.example") == "refused"
    assert login_or_refusal(acme, "caroline") == "caroline"
    assert login_or_refusal(acme, "caroline@acme.example") == "caroline"


def test_a_deleted_user_is_rejected_immediately(acme):
    assert login_or_refusal(acme, "carol") == "carol"
    acme.carol.delete()
    assert login_or_refusal(acme, "carol") == "refused"
    # A new user with the login has another password.
    make_user(acme.account, "carol", password="another secret")
    assert login_or_refusal(acme, "carol") == "refused"
    assert login_or_refusal(acme, "carol", "another secret") == "carol"


# The cache of verified credentials


def test_wrong_passwords_are_not_cached(acme, hashes):
    for _ in range(2):
        assert login_or_refusal(acme, "alice", "wrong") == "refused"
    assert hashes == ["wrong", "wrong"]
    assert login_or_refusal(acme, "alice") == "alice"
    assert login_or_refusal(acme, "alice", "wrong") == "refused"
    assert hashes == ["wrong", "wrong", PASSWORD, "wrong"]


def test_cached_verifications_expire(acme, hashes, monkeypatch):
    now = 1000.0
    monkeypatch.setattr(passwords, "monotonic", lambda: now)
    assert login_or_refusal(acme, "alice") == "alice"
    now += passwords.verified_credentials.seconds - 1
    assert login_or_refusal(acme, "alice") == "alice"
    assert hashes == [PASSWORD]
    now += 2
    assert login_or_refusal(acme, "alice") == "alice"
    assert hashes == [PASSWORD, PASSWORD]


def test_the_cache_of_verifications_is_limited(acme, hashes, monkeypatch):
    monkeypatch.setattr(passwords.verified_credentials, "size", 2)
    for login in ("alice", "bob", "carol", "bob", "carol"):
        assert login_or_refusal(acme, login) == login
    assert len(hashes) == 3
    assert login_or_refusal(acme, "alice") == "alice"
    assert len(hashes) == 4
    assert len(passwords.verified_credentials._until) == 2


def test_the_cache_does_not_contain_passwords(acme, hashes):
    """The login and the e-mail share an entry."""
    for name in ("alice", "alice@acme.example"):
        assert login_or_refusal(acme, name) == "alice"
    assert hashes == [PASSWORD]
    [key] = passwords.verified_credentials._until
    assert isinstance(key, bytes)
    assert len(key) == 32


# Argon2id


def test_a_hash_is_upgraded_when_the_parameters_change(acme, hashes, monkeypatch):
    before = acme.alice.password
    monkeypatch.setattr(passwords.Argon2idPasswordHasher, "time_cost", 2)
    assert login_or_refusal(acme, "alice", "wrong") == "refused"
    acme.alice.refresh_from_db()
    assert acme.alice.password == before
    del hashes[:]

    assert login_or_refusal(acme, "alice") == "alice"
    acme.alice.refresh_from_db()
    assert acme.alice.password.startswith("argon2$argon2id$v=19$m=8,t=2,p=1$")
    # One hash verifies the password, one upgrades it; the upgraded hash is cached.
    assert hashes == [PASSWORD, PASSWORD]
    assert login_or_refusal(acme, "alice") == "alice"
    assert hashes == [PASSWORD, PASSWORD]
    passwords.verified_credentials.clear()
    assert login_or_refusal(acme, "alice") == "alice"
    assert hashes == [PASSWORD] * 3


def test_an_upgrade_does_not_undo_a_change_of_password(acme, monkeypatch):
    # An object that was loaded before the change.
    outdated_user = User.objects.get(pk=acme.alice.pk)
    acme.alice.set_password("a new secret")
    acme.alice.save(update_fields=["password"])
    outdated_user.upgrade_password(PASSWORD)
    assert login_or_refusal(acme, "alice") == "refused"
    assert login_or_refusal(acme, "alice", "a new secret") == "alice"
    assert outdated_user.password == acme.alice.password


def test_an_unusable_password_is_always_rejected(acme):
    for stored in ("!unusable", "", "plain"):
        Account.objects.get(pk=acme.account.pk).users.filter(login="carol").update(password=stored)
        for password in ("", "unusable", stored, PASSWORD):
            assert login_or_refusal(acme, "carol", password) == "refused"
