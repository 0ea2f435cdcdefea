"""Logs contain no password, no token and no part of one."""

import base64
import io
import json
import logging
from datetime import datetime
from time import process_time
from urllib.parse import unquote

import pytest
from django.conf import settings
from django.db import IntegrityError, OperationalError

from accounts.account.models import Account
from accounts.tokens.models import APIToken
from accounts.users.models import User
from core.logs import JSONFormatter, RedactingFormatter, redact, redact_query, request_id
from tests.support.client import Client
from tests.support.factories import PASSWORD, make_client
from tests.support.tables import table

NEW_PASSWORD = "grasshopper lighthouse vinegar"


@pytest.fixture
def log():
    """Capture the service's log at the lowest level, with the handler of the settings."""
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    formatter = settings.LOGGING["formatters"]["line"]
    handler.setFormatter(RedactingFormatter(formatter["format"], style=formatter["style"]))
    # Ignore the log of the test client.
    handler.addFilter(lambda record: not record.name.startswith("http"))
    root, names = logging.getLogger(), ["django", "django.request", "django.server", "django.db.backends", "rostrum"]
    levels = {name: logging.getLogger(name).level for name in names} | {None: root.level}
    root.addHandler(handler)
    for name in levels:
        logging.getLogger(name).setLevel(logging.DEBUG)
    yield stream
    for name, level in levels.items():
        logging.getLogger(name).setLevel(level)
    root.removeHandler(handler)


def secrets_of(acme) -> set[str]:
    """Return all 8-character pieces of the passwords and tokens."""
    secrets = [acme.alice_token, acme.bob_token]
    secrets += [token.partition("/")[0] for token in secrets]
    secrets += [base64.b64encode(f"{login}:{PASSWORD}".encode()).decode() for login in ("alice", "bob", "nobody")]
    secrets += [PASSWORD, NEW_PASSWORD]
    pieces = {text[start : start + 8] for text in secrets for start in range(len(text) - 7)}
    return pieces - {piece for piece in pieces if piece.endswith("/acme")}


def assert_no_secrets(log: io.StringIO, acme, *, lines: int = 1) -> str:
    text = log.getvalue()
    assert text.count("\n") >= lines
    leaked = [piece for piece in secrets_of(acme) if piece in text]
    assert not leaked, text
    return text


BASIC = "Basic " + base64.b64encode(f"alice:{PASSWORD}".encode()).decode()
WRONG = "Basic " + base64.b64encode(f"nobody:{PASSWORD}".encode()).decode()
USER = f"<user><login>new</login><email>n@example.com</email><password>{NEW_PASSWORD}</password></user>"
JSON, XML = "application/json", "application/xml"
CLIENT = '"client":{"name":"a"}'

# (method, path, headers, body). {token} is bob's token, {quoted} is bob's token in a query, and {alice} is alice's token.
REQUESTS = [
    ("GET", "/app/users/me.xml", {"Authorization": BASIC}, None),
    ("GET", "/app/users/me.xml", {"Authorization": WRONG}, None),
    ("GET", "/app/users/me.xml", {"Authorization": BASIC[:-3]}, None),
    ("GET", "/app/users/me.xml", {"Authorization": BASIC.lower()}, None),
    ("POST", "/app/users.xml", {"Authorization": BASIC, "Content-Type": XML}, USER),
    ("POST", "/app/users.xml", {"Authorization": WRONG, "Content-Type": XML}, USER),
    ("POST", "/app/users.xml", {"Authorization": BASIC, "Content-Type": XML}, USER.replace("new", "alice")),
    ("POST", "/app/users.xml", {"Authorization": BASIC, "Content-Type": XML}, USER[:-9]),
    ("POST", "/app/users.xml", {"Authorization": BASIC, "Content-Type": JSON}, USER),
    ("POST", "/app/users.xml", {"Authorization": BASIC, "Content-Type": f"{XML}; charset=utf-16"}, USER),
    ("GET", "/app/tasks.json?api_token={quoted}", {}, None),
    ("GET", "/app/tasks.json?api_token={token}", {}, None),
    ("GET", "/app/tasks.json?page=1&api_token={quoted}&per_page=0", {}, None),
    ("GET", "/app/tasks.json?%61pi_token={quoted}", {}, None),
    ("GET", "/app/tasks.json?api%5Ftoken={quoted}", {}, None),
    ("GET", "/app/tasks.json?%61%70%69%5f%74%6f%6b%65%6e={quoted}", {}, None),
    ("GET", "/app/tasks.json?API_TOKEN={quoted}", {}, None),
    ("GET", "/app/tasks.json?api_token[]={quoted}", {}, None),
    ("GET", "/app/tasks.json?api_token={quoted}&api_token=x", {}, None),
    ("GET", "/app/tasks.json?x=1;api_token={quoted}", {}, None),
    ("GET", "/app/tasks.json?password=grasshopper+lighthouse+vinegar&api_token={quoted}", {}, None),
    ("GET", "/app/tasks.json%3Fapi_token={quoted}", {}, None),
    ("GET", "/app/clients/1.json?api_token={quoted}", {}, None),
    ("GET", "/app/nothing.json?api_token={quoted}", {}, None),
    ("PUT", "/app/clients.json?api_token={quoted}", {}, None),
    ("GET", "/?api_token={quoted}", {"Authorization": BASIC}, None),
    ("GET", "/General?password=grasshopper+lighthouse", {"Authorization": BASIC}, None),
    ("GET", "/app/tasks.json", {"Authorization": "Bearer {token}"}, None),
    ("GET", "/app/tasks.json", {"Authorization": "Token {token}x"}, None),
    ("GET", "/app/tasks.json", {"Authorization": "Unknown {token}"}, None),
    ("GET", "/app/tasks.json?api_token={quoted}", {"Host": "nobody.example.test"}, None),
    ("GET", "/healthz?api_token={quoted}", {}, None),
    ("POST", "/app/clients.json", {"Content-Type": JSON}, '{"api_token":"{token}",' + CLIENT + "}"),
    ("POST", "/app/clients.json", {"Content-Type": JSON}, '{"api_token":"{token}x",' + CLIENT + "}"),
    ("POST", "/app/clients.json", {"Content-Type": JSON}, '{"api_token":"{token}",' + CLIENT),
    ("POST", "/app/clients.json", {"Content-Type": JSON}, '{"api_token":"{token}","client":{}}'),
    ("POST", "/app/clients.json", {"Content-Type": "text/html"}, '{"api_token":"{token}"}'),
    ("POST", "/app/clients.json", {"Content-Type": JSON}, '{"api_token":["{token}"]}'),
    ("POST", "/app/clients.json", {"Content-Type": JSON}, '{"api_token":"{token}"}' + " " * 1024 * 1024),
    (
        "POST",
        "/app/account.json",
        {"Content-Type": JSON, "Authorization": "Bearer {alice}"},
        '{"account":{"prefix":"new-one"},"user":{"login":"a","email":"a@b.c","password":"' + NEW_PASSWORD + '"}}',
    ),
    (
        "POST",
        "/app/account.json",
        {"Content-Type": JSON, "Authorization": "Bearer {alice}"},
        '{"account":{"prefix":"acme"},"user":{"login":"a","email":"a","password":"' + NEW_PASSWORD + '"}}',
    ),
]


def send(acme, method, path, headers, body):
    Account.objects.filter(id=acme.account.id).update(partner_key="key")

    def fill(text: str) -> str:
        quoted = acme.bob_token.replace("/", "%2F")
        return text.replace("{token}", acme.bob_token).replace("{quoted}", quoted).replace("{alice}", acme.alice_token)

    return Client(acme.host).request(
        method,
        fill(path),
        headers={name: fill(value) for name, value in headers.items()},
        content=None if body is None else fill(body).encode(),
    )


@table(("method", "path", "headers", "body"), REQUESTS)
def test_it_works(acme, log, monkeypatch, method, path, headers, body):
    """Neither the log of a request nor a traceback contains a secret. The message of the exception quotes the whole request."""
    response = send(acme, method, path, headers, body)
    text = assert_no_secrets(log, acme)
    assert f" {response.status_code} " in text
    parts = [unquote(path), str(headers), repr(headers), body or "", repr(body), repr((body or "").encode())]

    def fail(self, *args, **kwargs):
        message = " ".join(parts).replace("{token}", acme.bob_token).replace("{alice}", acme.alice_token)
        raise RuntimeError(message.replace("{quoted}", acme.bob_token.replace("/", "%2F")))

    monkeypatch.setattr("core.api.views.TenantViewSet.initial", fail)
    response = send(acme, method, path, headers, body)
    text = assert_no_secrets(log, acme)
    if response.status_code == 500:
        assert "Traceback" in text
        assert "RuntimeError" in text
        assert not any(piece in response.text for piece in secrets_of(acme))


def test_database_errors_are_logged_without_row_values(acme, log, monkeypatch):
    """An error message of the database contains the rejected row."""

    def fail(self, *args, **kwargs):
        User.objects.filter(pk=acme.bob.pk).update(login_key="alice", email_key=NEW_PASSWORD)

    monkeypatch.setattr("core.api.views.TenantViewSet.initial", fail)
    send(acme, "GET", "/app/tasks.json", {}, None)
    text = assert_no_secrets(log, acme)
    assert IntegrityError.__name__ in text
    assert acme.bob.password not in text


def test_an_unavailable_database_is_logged_without_secrets(acme, log, monkeypatch):
    def fail(token):
        raise OperationalError(f'connection to "db", password={NEW_PASSWORD!r} for {token}')

    monkeypatch.setattr(APIToken, "digest_of", fail)
    send(acme, "GET", "/app/tasks.json", {"Authorization": "Bearer {token}"}, None)
    assert "the database is unavailable: OperationalError" in assert_no_secrets(log, acme)


def test_fields_of_the_access_log(acme, log):
    client = make_client(acme.alice)
    response = send(acme, "GET", f"/app/clients/{client.id}.json?api_token={{quoted}}&x=ą b", {}, None)
    line = next(line for line in log.getvalue().splitlines() if "rostrum.access" in line)
    date, time, level, name, request_id, method, target, status, length, duration, user = line.split(" ")
    assert (level, name, method, status) == ("INFO", "rostrum.access:", "GET", "200")
    assert request_id == response.headers["X-Request-Id"]
    assert target == f"acme.example.test/app/clients/{client.id}.json?api_token=[redacted]&x=%C4%85%20b"
    assert length == response.headers["Content-Length"] == str(len(response.content))
    assert duration.endswith("ms")
    # Users appear as ids, without login and name.
    assert user == f"acme#{acme.bob.id}"
    assert date.count("-") == time.count(":") == 2


@table("path", ["/app/x.json%0Ax", "/%0d%0aFAKE", "/a?x=%0AFAKE", "/\u2028x", "/%00", "/%1b[31m"])
def test_every_record_is_one_line(acme, log, path):
    Client(acme.host).get(path)
    lines = [line for line in log.getvalue().splitlines() if "rostrum.access" in line]
    assert len(lines) == 1
    assert log.getvalue().isascii()
    assert all(character.isprintable() for character in lines[0])


@table(
    ("query", "redacted"),
    [
        ("", ""),
        ("page=1", "page=1"),
        ("api_token=abc", "api_token=[redacted]"),
        ("page=1&api_token=abc&x", "page=1&api_token=[redacted]&x"),
        ("%61pi_token=abc", "%61pi_token=[redacted]"),
        ("api+token=abc", "api+token=[redacted]"),
        ("new_password=abc", "new_password=[redacted]"),
        ("client_secret=a=b", "client_secret=[redacted]"),
        ("api_token=", "api_token="),
        ("api_token", "api_token"),
        ("%=%", "%=%"),
        ("q=Ann", "q=[omitted]"),
        ("page=1&q=Ann+Kowalska&q=Bob&order=name", "page=1&q=[omitted]&q=[omitted]&order=name"),
        ("q[]=Ann", "q[]=[omitted]"),
        ("Q=Ann", "Q=[omitted]"),
        ("%71=Ann", "%71=[omitted]"),
        ("EMAIL=ann%40example.com", "EMAIL=[omitted]"),
        ("client[email]=ann@example.com", "client[email]=[omitted]"),
        ("client%5B%65mail%5d=ann@example.com", "client%5B%65mail%5d=[omitted]"),
        ("external_ids[shop]=17", "external_ids[shop]=[omitted]"),
        ("external_ids%5Bemail%5D=17&x=1", "external_ids%5Bemail%5D=[omitted]&x=1"),
        ("client[external_ids][shop]=17", "client[external_ids][shop]=[omitted]"),
        ("external_id=17", "external_id=[omitted]"),
        ("x=1;q=Ann", "x=1;q=[omitted]"),
        ("q=Ann=Bob", "q=[omitted]"),
        ("q=", "q="),
        ("quantity=3&seq=4&emailed=on", "quantity=3&seq=4&emailed=on"),
        ("next=/app/clients?q=Ann", "next=/app/clients?[omitted]"),
        ("next=%2Fapp%2Fclients%3F%71%3DAnn", "next=%2Fapp%2Fclients%3F[omitted]"),
        ("next=%252Fapp%253fq%253dAnn&page=2", "next=%252Fapp%253f[omitted]&page=2"),
        ("title=Why%3F", "title=Why%3F"),
    ],
)
def test_query_strings_are_redacted(query, redacted):
    assert redact_query(query) == redacted


def test_query_strings_are_logged_if_log_queries_is_on(settings):
    settings.LOG_QUERIES = True
    query = "q=Ann&email=a@b.c&external_ids[x]=1&next=/a?q=Ann"
    assert redact_query(query + "&api_token=abc") == query + "&api_token=[redacted]"
    assert redact("GET /app/clients.json?" + query) == "GET /app/clients.json?" + query


@table(
    ("path", "redacted"),
    [
        ("/app/tasks.json?api_token=", "/app/tasks.json?api_token="),
        ("/app/tasks.json?x=1&password=&", "/app/tasks.json?x=1&password=&"),
        ("/app/tasks.json%3Fapi_token=", "/app/tasks.json%3F[omitted]"),
        ("/app/token=", "/app/token="),
        ("/app/authorization:", "/app/authorization:"),
        ("/app/clients.json?q=Ann", "/app/clients.json?q=[omitted]"),
        ("/app/clients.json%3Fq=Ann", "/app/clients.json%3F[omitted]"),
        ("/app/clients.json?external_ids[shop]=Ann", "/app/clients.json?external_ids[shop]=[omitted]"),
        ("/Why%3F", "/Why%3F"),
    ],
)
def test_the_access_log_redacts_query_strings_in_any_path(acme, log, path, redacted):
    response = Client(acme.host).get(path)
    line = next(line for line in log.getvalue().splitlines() if "rostrum.access" in line)
    status, length = str(response.status_code), response.headers["Content-Length"]
    assert line.split(" ")[6:9] == [f"acme.example.test{redacted}", status, length]
    assert "Ann" not in log.getvalue()


@table(
    ("text", "redacted"),
    [
        ("Error at /app/clients.json?q=Ann: it failed", "Error at /app/clients.json?q=[omitted] it failed"),
        ("'/app/clients?page=1&client[email]=ann@b.c&x=1'", "'/app/clients?page=1&client[email]=[omitted]&x=1'"),
        ("?external_ids%5Bshop%5D=17", "?external_ids%5Bshop%5D=[omitted]"),
        ("next=%2Fa%3Fq%3DAnn%26page%3D1 x", "next=%2Fa%3Fq%3D[omitted]%26page%3D1 x"),
        ("?EMAIL=ann@b.c", "?EMAIL=[omitted]"),
        ("a query of q=1, page=2&quality=3", "a query of q=1, page=2&quality=3"),
    ],
)
def test_query_strings_in_other_records_are_redacted(text, redacted):
    assert redact(text) == redacted


def test_a_form_with_too_many_fields_is_not_logged_as_an_error(acme, log):
    response = Client(acme.host).post(
        "/app/sign-in",
        content="&".join(f"a{number}=1" for number in range(1001)),
        headers={
            "Content-Type": "application/x-www-form-urlencoded",
            "Accept": "text/html",
            "Cookie": f"{settings.CSRF_COOKIE_NAME}={'a' * 32}",
        },
    )
    assert response.status_code == 400
    assert "Traceback" not in log.getvalue()
    assert " ERROR " not in log.getvalue()
    assert log.getvalue().count("/app/sign-in 400 ") == 1


@table(
    "text",
    [
        "api_token=hunter2hunter2/acme",
        "{'api_token': 'hunter2hunter2/acme'}",
        '{"api_token":"hunter2hunter2/acme"}',
        r'"{\"api_token\": \"hunter2hunter2/acme\"}"',
        "password='a hunter2 b'",
        '{"password": "a \\" hunter2 b"}',
        r"b'{\"password\": \"a hunter2 b\"}'",
        "{'password': 'hunter2",
        "<password>a hunter2 b</password>",
        "<password type='string'>hunter2</password>",
        "Authorization: Bearer hunter2hunter2",
        "'HTTP_AUTHORIZATION': 'Basic aHVudGVyMg=='",
        "Authorization: hunter2",
        "Basic hunter2hunter2",
        "secret = hunter2",
        "DETAIL:  Failing row contains (1, hunter2, b).",
        "token: hunter2",
        "password=b'a hunter2 b'",
        '{"api_token": ["hunter2"]}',
        "api_token[]=hunter2",
    ],
)
def test_secrets_are_redacted(text):
    redacted = redact(f"before {text}")
    assert "[redacted]" in redacted
    assert "hunter2" not in redacted
    assert "aHVudGVyMg" not in redacted
    assert redacted.startswith("before ")


OTHER_TEXTS = ["3 clients", "password", "the token was revoked", "a=b", "Basic", "/app/tasks.json?page=1"]


@table("text", [*OTHER_TEXTS, "api_token=[redacted]"])
def test_other_text_is_not_redacted(text):
    assert redact(text) == text


REPEATED = [
    *("a", " ", "token", "token ", "token=", "token='", "token=\\", "authorization: a ", "basic ", "<password", "\\"),
    *('"', "=", "&", "&q=", "&q[", "%26q[", "%3fq%5b=", "?a[", ";%3f"),
]


@table("text", REPEATED)
def test_redaction_takes_linear_time(text):
    """Each text is repeated to 200,000 characters, for which a pattern with quadratic time would take minutes."""
    before = process_time()
    redact(text * (200_000 // len(text)))
    redact_query(text * (200_000 // len(text)))
    # A linear pattern takes 0.04 s.
    assert process_time() - before < 10


def json_line(name: str, message: str, *arguments, **options) -> dict:
    record = logging.LogRecord(name, logging.WARNING, "", 1, message, arguments, options.get("exc_info"))
    line = json.loads(JSONFormatter().format(record))
    assert datetime.fromisoformat(line.pop("time")).tzinfo is not None
    return line


def test_lines_in_json(acme, caplog):
    caplog.set_level("INFO", "rostrum.access")
    response = acme.json().get("/app/clients.json?q=ann@example.com&page=2")
    [record] = [record for record in caplog.records if record.name == "rostrum.access"]
    line = json_line(record.name, record.msg, *record.args)
    assert line.pop("milliseconds") >= 0
    assert line == {
        "level": "WARNING",
        "logger": "rostrum.access",
        "request_id": response.headers["X-Request-Id"],
        "method": "GET",
        "url": f"{acme.host}/app/clients.json?q=[omitted]&page=2",
        "status": 200,
        "bytes": int(response.headers["Content-Length"]),
        "user": f"acme#{acme.bob.id}",
    }
    token = request_id.set("1234567890123456")
    try:
        raise ValueError("password=hunter22 \ud800")
    except ValueError as error:
        line = json_line("a", "token=%s\nnext", "abcdefgh", exc_info=(type(error), error, error.__traceback__))
    finally:
        request_id.reset(token)
    traceback = line.pop("traceback")
    assert traceback.endswith("ValueError: password=[redacted] \ud800")
    assert line == {
        "level": "WARNING",
        "logger": "a",
        "request_id": "1234567890123456",
        "message": "token=[redacted]\nnext",
    }
    unknown = ("0" * 16, "GET", "a/", "404", "-", 1.26, "-")
    line = json_line("rostrum.access", "%s %s %s %s %s %.1fms %s", *unknown)
    assert (line["request_id"], line["bytes"], line["milliseconds"], line["user"]) == ("0" * 16, None, 1.3, None)
