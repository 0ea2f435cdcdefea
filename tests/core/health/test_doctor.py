"""`manage.py doctor`: it finds what is wrong with an installation, and names the section of the document that helps."""

import json
import re
import socket
from dataclasses import replace
from io import StringIO
from pathlib import Path
from unittest.mock import Mock

import pytest
from django.core.management import call_command
from django.db import OperationalError, connection

from accounts.hosts import health
from core import outbound
from core.health import checks
from core.health.checks import FAULT, OK, WARNING, run_health_checks, sections
from core.jobs.queue import Heartbeat, TransactionNow
from tests.support.factories import make_client
from tests.support.followers import run_followers
from tests.support.tables import table

ROOT = Path(__file__).resolve().parents[3]


def run(*arguments: str) -> tuple[int, str]:
    output = StringIO()
    try:
        call_command("doctor", *arguments, stdout=output)
    except SystemExit as end:
        return int(end.code or 0), output.getvalue()
    return 0, output.getvalue()


def results() -> dict[str, str]:
    return {result.check: result.level for result in run_health_checks()}


@pytest.fixture
def healthy(acme, monkeypatch):
    """Replace the checks that need a network or the settings of production."""
    for name in ("settings", "public address", "e-mail"):
        monkeypatch.setitem(checks._checks, name, replace(checks._checks[name], check=lambda: [(OK, "replaced")]))
    Heartbeat.objects.create(at=TransactionNow())
    make_client(acme.alice)
    run_followers()
    return acme


def test_it_works(healthy):
    status, output = run()
    assert {line.split()[0] for line in output.splitlines()} == {"ok"}, output
    assert status == 0
    status, output = run("--json")
    assert {row["level"] for row in json.loads(output)} == {"ok"}


def execute(sql: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(sql)


JOB = "INSERT INTO core_job (queue, name, state, scheduled_at) VALUES ('default', 'x', '{}', now() - interval '1 hour')"
LATE_WEBHOOK = """
INSERT INTO core_follower (account_id, name, key, cursor, newest, due_at, token, failures)
SELECT id, 'webhook', 1, 0, 0, now() - interval '1 hour', 0, 0 FROM accounts_account
"""


@table(
    ("check", "level", "breaks"),
    [
        ("workers", FAULT, "DELETE FROM core_heartbeat"),
        ("migrations", FAULT, "DELETE FROM django_migrations WHERE name = '0002_events' AND app = 'webhooks'"),
        ("jobs", WARNING, JOB.format("failed")),
        ("jobs", FAULT, JOB.format("waiting")),
        ("change feed", FAULT, "UPDATE core_change SET number = NULL, at = now() - interval '1 hour'"),
        ("deletions", FAULT, "UPDATE accounts_account SET deletion_at = now() - interval '2 days'"),
        ("webhooks", FAULT, LATE_WEBHOOK),
        ("stored values", WARNING, "UPDATE team_clientsummary SET won_sum = 77"),
    ],
)
def test_it_finds(healthy, check, level, breaks):
    execute(breaks)
    found = [result for result in run_health_checks() if result.check == check and result.level == level]
    assert found, [result for result in run_health_checks() if result.check == check]
    status, output = run()
    assert status == {WARNING: 1, FAULT: 2}[level]
    assert f"{level:8} {check}: {found[0].message} (docs/operating.md#{found[0].section})" in output


def test_a_check_that_fails_hides_no_other(healthy, monkeypatch):
    def fail():
        raise RuntimeError("postgresql://user:secret@host")

    monkeypatch.setitem(checks._checks, "clock", replace(checks._checks["clock"], check=fail))
    status, output = run()
    assert status == 2
    assert "error    clock: could not be checked: RuntimeError" in output
    assert "secret" not in output


def test_a_database_that_does_not_answer_is_asked_once(healthy, monkeypatch):
    calls = []

    def fail():
        calls.append(1)
        raise OperationalError

    for name in ("migrations", "clock"):
        monkeypatch.setitem(checks._checks, name, replace(checks._checks[name], check=fail))
    monkeypatch.setattr(connection, "is_usable", lambda: False)
    found = {result.check: result.message for result in run_health_checks()}
    assert len(calls) == 1
    assert found["workers"] == found["clock"] == "was not checked: the database does not answer"
    assert (found["e-mail"], "of the disk" in found["files"]) == ("replaced", True)


def test_a_domain_is_connected_to_at_the_address_that_was_checked(monkeypatch):
    answers = iter([["93.184.216.34"], ["127.0.0.1"]])
    monkeypatch.setattr(outbound, "resolve_host", lambda host, port: next(answers))
    connect = Mock(side_effect=ConnectionRefusedError)
    monkeypatch.setattr(socket, "create_connection", connect)
    with pytest.raises(ConnectionRefusedError):
        health.end_of_certificate("ideas.example.com")
    assert connect.call_args.args[0] == ("93.184.216.34", 443)


def test_domains_are_not_checked_for_long(healthy, settings, monkeypatch):
    settings.HTTPS, settings.FORUM_DOMAINS = True, "trusted"
    for name in ("a.example", "b.example", "c.example"):
        healthy.account.hosts.create(name=name)
    now = iter([0, 1, 30, 31])
    monkeypatch.setattr(health, "monotonic", lambda: next(now))
    monkeypatch.setattr(health, "end_of_certificate", Mock(side_effect=ConnectionRefusedError))
    [refused, late] = health.check_domains()
    assert refused[1].endswith("has no valid certificate: ConnectionRefusedError")
    assert late == (WARNING, "2 domains were not checked in time")


@table(
    ("sign_up", "operator", "host"),
    [
        ("open", "acme", "http://example.test"),
        ("closed", "acme", "http://acme.example.test"),
        ("closed", "", "http://acme.example.test"),
    ],
)
def test_the_public_address_is_one_that_visitors_use(acme, settings, sign_up, operator, host):
    settings.SIGN_UP, settings.OPERATOR_ACCOUNT = sign_up, operator
    [(level, message)] = health.check_proxy()
    assert (level, message.partition(" ")[0]) == (FAULT, host)


def test_the_sections_exist():
    text = (ROOT / "docs" / "operating.md").read_text()
    headings = {
        re.sub(r"[^\w -]", "", line.lstrip("# ").lower()).replace(" ", "-")
        for line in re.findall("^##.*", text, re.MULTILINE)
    }
    assert set(sections().values()) <= headings
