"""`manage.py doctor`: it finds what is wrong with an installation, and names the section of the document that helps."""

import json
import re
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command
from django.db import connection

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
        section = sections()[name]
        monkeypatch.setitem(checks._checks, name, (section, lambda: [(OK, "replaced")]))
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
        ("migrations", FAULT, "DELETE FROM django_migrations WHERE name = '0001_initial' AND app = 'webhooks'"),
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

    monkeypatch.setitem(checks._checks, "clock", ("the-database", fail))
    status, output = run()
    assert status == 2
    assert "error    clock: could not be checked: RuntimeError" in output
    assert "secret" not in output


def test_the_sections_exist():
    text = (ROOT / "docs" / "operating.md").read_text()
    headings = {
        re.sub(r"[^\w -]", "", line.lstrip("# ").lower()).replace(" ", "-")
        for line in re.findall("^##.*", text, re.MULTILINE)
    }
    assert set(sections().values()) <= headings
