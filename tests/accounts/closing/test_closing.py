"""Closed accounts: suspended by an operator, or to be deleted by an owner."""

import json
from datetime import timedelta
from io import StringIO
from pathlib import Path

import pytest
from django.apps import apps
from django.core import mail
from django.core.management import CommandError, call_command
from django.db import connection
from django.utils import timezone

from accounts.account.models import Account
from accounts.closing.deletion import delete_account
from accounts.hosts.addresses import host_cache
from accounts.hosts.models import FormerPrefix
from accounts.sessions.models import Session
from core.db.transactions import in_transaction
from core.errors import Conflict, FieldError
from core.jobs.registry import jobs
from core.limits.rate_limits import RateCount
from tests.support.assertions import assert_refused, read
from tests.support.client import JSONClient
from tests.support.codes import code_in_letter
from tests.support.factories import PASSWORD
from tests.support.fill import SECRET, fill_both
from tests.support.fixtures import make_cast, make_other
from tests.support.jobs import rows_of_jobs, run_jobs
from tests.support.tables import table

CLOSED = "This account is closed; its owners can sign in to read why"
PATH = "/app/account/deletion.json"
# Tables whose rows `fill_both` does not make.
EMPTY = {"accounts_branding", "core_idempotentanswer"}


def run(*arguments: str) -> list[dict]:
    output = StringIO()
    call_command("accounts", *arguments, "--json", stdout=output)
    return json.loads(output.getvalue())


@pytest.fixture(autouse=True)
def no_operator(settings):
    settings.OPERATOR_ACCOUNT = ""


def test_it_works(acme):
    [shown] = run("suspend", "acme", "--reason", "Unpaid since May")
    assert (shown["prefix"], shown["state"], shown["reason"]) == ("acme", "suspended", "Unpaid since May")
    host_cache.clear()
    assert_refused(acme.json().get("/app/clients.json"), 403, "forbidden", message=CLOSED)
    assert CLOSED in acme.xml().get("/app/users/me.xml").text
    visitor = acme.page(None)
    assert CLOSED in visitor.get("/", status=403).text
    visitor.get("/app/sign-in")
    assert CLOSED in acme.page(acme.bob).get("/", status=403).text
    assert acme.page(acme.alice).get("/").location == "/app/account/closing"
    assert "Unpaid since May" in acme.page(acme.alice).get("/app/account/closing").text
    acme.page(acme.alice).get("/app/account/archive")
    entry = acme.account.audit_entries.latest("id")
    assert (entry.action, entry.actor_kind, entry.details) == (
        "account.suspended",
        "operator",
        {"reason": "Unpaid since May"},
    )
    run_jobs()
    assert [(message.to, message.subject) for message in mail.outbox] == [(["alice@acme.example"], "Acme is suspended")]
    [shown] = run("restore", "acme")
    assert shown["state"] == "open"
    host_cache.clear()
    assert acme.json().get("/app/clients.json").status_code == 200


def test_owners_delete_and_keep_the_account(acme):
    page = acme.page(acme.alice).get("/app/account/closing")
    form = page.forms["delete"]
    form["address"] = "acme"
    form.submit("do", value="delete")
    host_cache.clear()
    run_jobs()
    assert [message.to for message in mail.outbox] == [["alice@acme.example"]]
    assert_refused(acme.json().get("/app/clients.json"), 403, "forbidden", message=CLOSED)
    owner = acme.json(acme.alice_token)
    state = read(owner.get(PATH))
    assert (state["suspended_at"], state["deletion_at"][:10]) == (
        None,
        f"{timezone.now() + timedelta(days=14):%Y-%m-%d}",
    )
    page = acme.page(acme.alice).get("/app/account/closing")
    page.forms["keep"].submit("do", value="keep")
    host_cache.clear()
    assert read(owner.get(PATH)) == {"suspended_at": None, "deletion_at": None, "suspended_reason": ""}
    assert acme.json().get("/app/clients.json").status_code == 200
    assert read(owner.post(PATH, json={"deletion": {"prefix": "acme"}}))["deletion_at"] is not None
    host_cache.clear()
    assert read(owner.delete(PATH))["deletion_at"] is None
    # The jobs of the former deletion do nothing.
    run_jobs(later=timedelta(days=15))
    assert Account.objects.filter(id=acme.account.id).exists()


def test_it_rejects_another_prefix(acme):
    form = acme.page(acme.alice).get("/app/account/closing").forms["delete"]
    form["address"] = "acne"
    assert "Is not the address of this account" in form.submit("do", value="delete", status=422).text
    response = acme.json(acme.alice_token).post(PATH, json={"deletion": {"prefix": "acne"}})
    assert_refused(response, 422, "validation_failed", {"prefix": ["is not the prefix of this account"]})


def test_it_asks_owners_to_confirm_that_it_is_they(acme):
    alice = acme.page(acme.alice)
    Session.objects.update(confirmed_at=timezone.now() - Session.CONFIRMED_FOR)
    page = alice.get("/app/account/closing").follow()
    page.forms["confirm"]["current"] = "wrong"
    assert "Is wrong" in page.forms["confirm"].submit(status=422).text
    page.forms["confirm"]["current"] = PASSWORD
    assert page.forms["confirm"].submit().location == "/app/account/closing"
    alice.get("/app/account/closing")


def test_a_code_by_email_confirms_as_well(acme, outbox):
    alice = acme.page(acme.alice)
    Session.objects.update(confirmed_at=timezone.now() - Session.CONFIRMED_FOR)
    page = alice.get("/app/account/closing").follow().forms["code-request"].submit().follow()
    run_jobs()
    page.forms["confirm"]["code"] = code_in_letter()
    assert page.forms["confirm"].submit().location == "/app/account/closing"


def test_jobs_of_a_closed_account_wait(acme):
    acme.account.suspend("")
    run_jobs()
    jobs["webhooks.owners.tell_owners"].defer(account_id=acme.account.id, endpoint_id=1)
    run_jobs(raise_errors=False)
    assert rows_of_jobs() == [("tell_owners", "waiting", 0)]
    acme.account.restore()
    run_jobs(later=timedelta(minutes=11))
    assert rows_of_jobs() == []


def test_tokens_at_the_host_of_the_service_are_refused(acme):
    acme.account.suspend("")
    client = JSONClient("api.example.test", acme.bob_token)
    assert_refused(client.get("/app/clients.json"), 403, "forbidden", message=CLOSED)


def expire(account) -> None:
    account.ask_deletion()
    Account.objects.filter(pk=account.pk).update(deletion_at=timezone.now())


@table(
    ("call", "error"),
    [
        (lambda account: account.restore(), Conflict),
        (lambda account: account.cancel_deletion(), Conflict),
        (lambda account: account.suspend("a" * 501), FieldError),
        (lambda account: [account.ask_deletion(), account.ask_deletion()], Conflict),
        # The deletion has begun.
        (lambda account: [expire(account), account.cancel_deletion()], Conflict),
        (lambda account: [expire(account), account.suspend(""), account.restore()], Conflict),
    ],
)
def test_it_rejects_acts_that_do_not_fit(acme, call, error):
    with pytest.raises(error):
        call(acme.account)


def test_an_operator_resets_a_second_factor(acme):
    acme.alice.second_factors.create(account_id=acme.account.id, kind="app", key=b"sealed")
    run("reset-second-factor", "acme", "alice")
    assert acme.alice.second_factors.count() == 0
    entry = acme.account.audit_entries.latest("id")
    assert (entry.action, entry.actor_kind) == ("user.factors_reset", "operator")
    with pytest.raises(CommandError, match="The user has no second factor"):
        run("reset-second-factor", "acme", "alice")
    with pytest.raises(CommandError, match="No user has the login nobody"):
        run("reset-second-factor", "acme", "nobody")


def test_it_rejects_the_account_of_the_operators(acme, settings):
    settings.OPERATOR_ACCOUNT = "acme"
    for act in ("suspend", "delete"):
        with pytest.raises(CommandError, match="This is the account of the operators"):
            call_command("accounts", act, "ACME")
    acme.account.refresh_from_db()
    assert not acme.account.is_closed


def test_it_rejects_unknown_prefixes(db):
    with pytest.raises(CommandError, match="No account has the prefix nobody"):
        run("suspend", "nobody")


def rows_by_table(account: Account) -> dict[str, int]:
    """Return the number of the account's rows of each table in the database, whatever the models say."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT format('%I.%I', table_schema, table_name), column_name FROM information_schema.columns"
            " WHERE table_schema NOT IN ('pg_catalog', 'information_schema') AND column_name IN ('account_id', 'account')"
        )
        columns = cursor.fetchall()
        found = {}
        for name, column in columns:
            cursor.execute(f"SELECT count(*) FROM {name} WHERE {column} = %s", [account.id])  # noqa: S608
            found[name] = cursor.fetchone()[0]
    return found


def texts_of_database() -> list[str]:
    """Return all rows of all tables as texts."""
    with connection.cursor() as cursor:
        # Counters of limits end within a day.
        tables = sorted({model._meta.db_table for model in apps.get_models()} - {RateCount._meta.db_table})
        cursor.execute(" UNION ALL ".join(f"SELECT to_jsonb({name})::text FROM {name}" for name in tables))  # noqa: S608
        return [text for (text,) in cursor.fetchall()]


def test_a_deletion_leaves_nothing(transactional_db, settings):
    world = fill_both(make_cast(), make_other())
    acme, other = world.acme.account, world.other.account
    folder = Path(settings.FILES_DIR) / str(acme.id)
    in_transaction(acme.ask_deletion)
    filled, before = rows_by_table(acme), rows_by_table(other)
    assert {name.removeprefix("public.") for name, number in filled.items() if not number} == EMPTY
    Account.objects.filter(id=acme.id).update(deletion_at=timezone.now())
    acme.refresh_from_db()
    delete_account(account_id=acme.id, deletion_at=acme.deletion_at.isoformat())
    assert rows_by_table(other) == before
    run_jobs(later=timedelta(days=15))
    assert {name: number for name, number in rows_by_table(acme).items() if number} == {}
    left = [text for text in texts_of_database() if str(acme.id) in text or SECRET in text]
    assert left == []
    assert not folder.exists() or list(folder.rglob("*.*")) == []
    # Nobody else gets the address for a while.
    assert FormerPrefix.objects.is_reserved("acme")
