import io
import re
import shlex

import pytest
from django.contrib.auth.hashers import make_password
from django.core.management import call_command
from django.utils import timezone

from accounts.models import Account, APIToken
from tests.assertions import read
from tests.client import Client


def demo(port=8000, **options) -> str:
    out = io.StringIO()
    call_command("demo", port=port, stdout=out, **options)
    return out.getvalue()


def said(text: str, name: str) -> str:
    return re.search(rf"^  {name} +(.+)$", text, re.MULTILINE)[1]


def curl(line: str):
    """Do what a curl line says, without a network."""
    words = iter(shlex.split(line)[1:])
    auth, headers, data, url = None, {}, None, None
    for word in words:
        if word == "-u":
            auth = tuple(next(words).split(":", 1))
        elif word == "-H":
            name, _, value = next(words).partition(": ")
            headers[name] = value
        elif word == "-d":
            data = next(words)
        else:
            url = word
    host, path = re.fullmatch(r"http://([^/]+)(/.*)", url).groups()
    return Client(host, auth=auth).request("POST" if data else "GET", path, content=data, headers=headers)


@pytest.fixture
def local(settings):
    settings.LOCAL_ACCOUNT = "demo"


def test_it_works(db, local):
    text = demo()
    forum, tasks, create = [curl(line.strip()) for line in text.splitlines() if line.startswith("  curl ")]
    assert forum.status_code == 200
    assert "<title>A dark theme</title>" in forum.text
    assert (tasks.status_code, read(tasks)) == (200, [])
    assert create.status_code == 201
    assert read(create)["name"] == "Ann Kowalska"
    assert said(text, r"forum \(XML\)") == "http://localhost:8000/  and  http://demo.example.test:8000/"
    assert said(text, "login") == "demo"
    assert said(text, "api_token").endswith("/demo")


def test_it_rejects_nothing_when_it_is_there_already(db, local):
    """Started again it prints the same, and keeps what was made meanwhile."""
    first = demo()
    created = curl(next(line.strip() for line in first.splitlines() if "clients.json" in line))
    assert demo() == first
    account = Account.objects.get()
    assert account.clients.get().id == read(created)["id"]
    assert account.posts.count() == 3


def test_another_port(db):
    text = demo(port=9000)
    assert "http://localhost:9000/" in text
    assert ":8000" not in text


def test_secrets_are_the_servers_own(db, settings):
    first = demo()
    settings.SECRET_KEY = "another-" + settings.SECRET_KEY
    second = demo()
    # They are worked out from the server's key, so with another key these are not the demo's any more.
    assert said(second, "password") == "(changed since)"
    assert said(second, "api_token") == "(revoked since)"
    assert len(said(first, "password")) == 16


def test_what_was_changed_since_is_said(db):
    text = demo()
    account = Account.objects.get()
    account.users.update(password=make_password("another pass phrase"))
    assert said(demo(), "password") == "(changed since)"
    APIToken.objects.update(revoked_at=timezone.now())
    again = demo()
    assert said(again, "api_token") == "(revoked since)"
    assert said(text, "api_token") not in again


def test_what_a_shell_can_read(db, tmp_path):
    env = tmp_path / "a demo.env"
    text = demo(port=9000, env=env)
    password, token = said(text, "password"), said(text, "api_token")
    assert env.read_text() == f"BASE_URL=http://localhost:9000\nPASSWORD={password}\nAPI_TOKEN={token}\n"
    assert text.endswith(f"this sets BASE_URL, PASSWORD, API_TOKEN:\n\n  . '{env}'\n")
    APIToken.objects.update(revoked_at=timezone.now())
    Account.objects.get().users.update(password=make_password("another pass phrase"))
    demo(port=9000, env=env)
    assert env.read_text() == "BASE_URL=http://localhost:9000\n"
