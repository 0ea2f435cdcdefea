import io
import json

import pytest
from django.core.management import CommandError, call_command
from django.db import IntegrityError

from accounts.account.models import Account
from accounts.management.commands import create_account
from tests.support.client import JSONClient, XMLClient
from tests.support.tables import table

OWNER = {"login": "ann", "email": "ann@new.example", "password": "a long pass phrase"}


def create(prefix="new-one", **options) -> str:
    out = io.StringIO()
    call_command("create_account", prefix, **{**OWNER, **options}, stdout=out)
    return out.getvalue()


def test_it_works(db):
    values = json.loads(create(json=True))
    assert list(values) == ["prefix", "login", "url", "api_token"]
    token = values.pop("api_token")
    assert values == {"prefix": "new-one", "login": "ann", "url": "http://new-one.example.test"}
    assert JSONClient("new-one.example.test", token).get("/app/tasks.json").status_code == 200
    forum = XMLClient("new-one.example.test", auth=("ann", "a long pass phrase"))
    assert forum.get("/app/users/me.xml").status_code == 200
    assert "<name>General</name>" in forum.get("/app/categories.xml").text
    owner = Account.objects.get(prefix="new-one").users.get()
    assert (owner.role, owner.notification, owner.email) == ("owner", "all", "ann@new.example")


def test_the_first_category_is_in_the_language_of_the_account(db):
    create(language="pl")
    account = Account.objects.get(prefix="new-one")
    assert account.language == "pl"
    assert [category.name for category in account.categories.all()] == ["Ogólne"]
    with pytest.raises(CommandError):
        call_command("create_account", "other", "--login=a", "--email=a@b.example", "--password=x", "--language=xx")


@table(
    ("prefix", "options", "errors"),
    [
        ("ACME", {}, ["Prefix is already taken"]),
        ("www", {}, ["Prefix is reserved"]),
        ("new", {"password": "short-1"}, ["Password is too short (minimum is 8 characters)"]),
        ("new", {"password": ""}, ["Password can't be blank"]),
        ("new", {"login": "a:b"}, ["Login can't have a colon, nor a space at either end"]),
        ("new", {"email": "x"}, ["Email is not an e-mail address"]),
        ("new", {"partner": "acme-partner"}, ["Partner is already taken"]),
        ("new", {"host": "acme.example.test"}, ["Host is already taken"]),
        *(
            ("new", {"host": host}, ["Host is reserved"])
            for host in ("xn--acme-abc.example.test", "api.example.test", "example.test")
        ),
        (
            "new",
            {"host": "ideas.example.com:80"},
            ["Host is not the name of a host (letters of other alphabets are written in Punycode: xn--…)"],
        ),
    ],
)
def test_it_rejects_invalid_options(acme, prefix, options, errors):
    Account.objects.filter(id=acme.account.id).update(partner_key="acme-partner")
    with pytest.raises(CommandError) as error:
        create(prefix, **options)
    assert error.value.returncode == 1
    assert str(error.value).split("\n") == errors
    assert Account.objects.count() == 1


def test_it_rejects_every_error_at_once(db):
    with pytest.raises(CommandError) as error:
        create("-", login="", password="1")
    assert len(str(error.value).split("\n")) > 3


def test_human_readable_output(db):
    *lines, last = create().splitlines()
    assert dict(line.split(maxsplit=1) for line in lines).keys() == {"prefix", "login", "url", "api_token"}
    assert last == "Keep the api_token: only its hash is stored, so it cannot be shown again."
    assert "a long pass phrase" not in "".join(lines)


def test_an_account_with_its_own_host(db):
    values = json.loads(create(json=True, host="Ideas.Customer.test."))
    assert values["url"] == "http://ideas.customer.test"
    for host in ("ideas.customer.test", "new-one.example.test"):
        assert JSONClient(host, values["api_token"]).get("/app/tasks.json").status_code == 200
        assert XMLClient(host, auth=("ann", "a long pass phrase")).get("/").status_code == 200


def test_an_account_of_a_partner(db):
    token = json.loads(create(json=True, partner="key"))["api_token"]
    body = {"account": {"prefix": "theirs", "from_partner": "key"}, "user": {**OWNER, "login": "eve"}}
    assert JSONClient("new-one.example.test", token).post("/app/account.json", json=body).status_code == 201


def test_the_password_is_read_from_standard_input(db, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("a long pass phrase\nmore"))
    create(password=None)
    assert XMLClient("new-one.example.test", auth=("ann", "a long pass phrase")).get("/").status_code == 200


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def typed(monkeypatch):
    """Return the list of inputs at the prompts of a terminal. An exception class in the list is raised."""
    inputs = []

    def read(prompt):
        text = inputs.pop(0)
        if isinstance(text, type):
            raise text
        return text

    monkeypatch.setattr("sys.stdin", Terminal())
    monkeypatch.setattr("getpass.getpass", read)
    return inputs


def test_the_password_is_asked_for_twice_at_a_terminal(db, typed, capsys):
    typed += ["a long pass phrase", "a lomg pass phrase", "a long pass phrase", "a long pass phrase"]
    create(password=None)
    assert typed == []
    assert capsys.readouterr().err == "The two passwords differ. Type them again.\n"
    assert XMLClient("new-one.example.test", auth=("ann", "a long pass phrase")).get("/").status_code == 200


@table("exception", [KeyboardInterrupt, EOFError])
def test_no_account_is_created_if_the_prompt_is_aborted(db, typed, exception):
    typed[:] = ["a long pass phrase", exception]
    with pytest.raises(CommandError, match=r"^No password was given, so no account was created\.$"):
        create(password=None)
    assert not Account.objects.exists()


def test_a_prefix_that_was_taken_meanwhile(db, monkeypatch):
    def fail(*args, **kwargs):
        raise IntegrityError("account_prefix_unique (prefix)=(new-one)")

    monkeypatch.setattr(create_account, "create_account", fail)
    with pytest.raises(CommandError, match=r"^Prefix, host or partner was taken meanwhile$"):
        create()
