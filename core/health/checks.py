"""Checks of the running installation, for `manage.py doctor` and the console of operators. Each room registers those of its parts."""

import shutil
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from django.conf import settings
from django.core import mail
from django.core.checks import ERROR, run_checks
from django.db import DEFAULT_DB_ALIAS, OperationalError, connection
from django.db.migrations.executor import MigrationExecutor

from core.files import store
from core.jobs.counts import count_jobs, heartbeat_ages

OK, WARNING, FAULT = "ok", "warning", "error"
# Seconds by which the clock of the database may differ, and seconds that jobs and changes may wait.
CLOCK_WARNING, CLOCK_FAULT = 1, 5
WAIT_WARNING, WAIT_FAULT = 60, 600
# The free part of the disk with the files.
DISK_WARNING, DISK_FAULT = 0.1, 0.02

# What a check found: a level and a sentence.
Finding = tuple[str, str]
Check = Callable[[], Iterable[Finding]]


@dataclass(frozen=True)
class Result:
    check: str
    level: str
    message: str
    # The section of docs/operating.md that explains it.
    section: str


@dataclass(frozen=True)
class RegisteredCheck:
    section: str
    check: Check
    needs_database: bool


_checks: dict[str, RegisteredCheck] = {}


def register(name: str, section: str, check: Check, *, needs_database: bool = True) -> None:
    """Register a check. `section` is the anchor of its section in docs/operating.md."""
    _checks[name] = RegisteredCheck(section, check, needs_database)


def sections() -> dict[str, str]:
    """Return the section of each check."""
    return {name: each.section for name, each in _checks.items()}


def run_health_checks() -> list[Result]:
    """Run all checks. One that raises is a fault, and the others still run, except that a database that does not answer is asked once."""
    results: list[Result] = []
    is_database_down = False
    for name, each in _checks.items():
        try:
            if is_database_down and each.needs_database:
                found = [(FAULT, "was not checked: the database does not answer")]
            else:
                found = list(each.check())
        except Exception as error:  # noqa: BLE001, the others have to run
            # The message may contain a secret.
            found = [(FAULT, f"could not be checked: {type(error).__name__}")]
            is_database_down = is_database_down or (isinstance(error, OperationalError) and not connection.is_usable())
        results += [Result(name, level, message, each.section) for level, message in found]
    return results


def level_of(value: float, warning: float, fault: float) -> str:
    return FAULT if value > fault else WARNING if value > warning else OK


def check_settings() -> Iterable[Finding]:
    """Run Django's checks for production, which include those of the server and the role of the database, if it answers."""
    found = run_checks(include_deployment_checks=True, databases=[DEFAULT_DB_ALIAS])
    for message in found:
        if not message.is_silenced():
            yield FAULT if message.level >= ERROR else WARNING, f"{message.msg} ({message.id})"
    if not any(not message.is_silenced() for message in found):
        yield OK, "the settings fit production"


def check_migrations() -> Iterable[Finding]:
    executor = MigrationExecutor(connection)
    missing = executor.migration_plan(executor.loader.graph.leaf_nodes())
    if missing:
        yield FAULT, f"{len(missing)} migrations are missing: run manage.py migrate"
    else:
        yield OK, "all migrations are applied"


def check_clock() -> Iterable[Finding]:
    with connection.cursor() as cursor:
        before = time.time()
        cursor.execute("SELECT extract(epoch FROM clock_timestamp())::float8")
        [database] = cursor.fetchone()
        here = (before + time.time()) / 2
    difference = abs(database - here)
    yield level_of(difference, CLOCK_WARNING, CLOCK_FAULT), f"the clock of the database differs by {difference:.1f} s"


def check_workers() -> Iterable[Finding]:
    ages = heartbeat_ages()
    yield (OK, f"workers alive: {len(ages)}") if ages else (FAULT, "no worker runs: no e-mails, no webhooks")


def check_jobs() -> Iterable[Finding]:
    counts = count_jobs()
    wait = max((count.longest_wait or 0 for count in counts), default=0)
    yield level_of(wait, WAIT_WARNING, WAIT_FAULT), f"the oldest due job has waited for {wait:.0f} s"
    failed = sum(count.failed for count in counts)
    yield (WARNING, f"{failed} jobs have failed") if failed else (OK, "no job has failed")


def check_feed() -> Iterable[Finding]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT coalesce(extract(epoch FROM now() - min(at)), 0)::float8 FROM core_change WHERE number IS NULL"
        )
        [age] = cursor.fetchone()
    yield level_of(age, WAIT_WARNING, WAIT_FAULT), f"the oldest change without a number is {age:.0f} s old"


def check_mail() -> Iterable[Finding]:
    with mail.get_connection() as server:
        host = getattr(server, "host", None)
    yield OK, f"the mail server {host} answers" if host else "e-mails are not sent by SMTP"


def check_files() -> Iterable[Finding]:
    for _keys in store.keys_of("no-such-folder"):
        pass
    if settings.FILES_DIR:
        disk = shutil.disk_usage(settings.FILES_DIR)
        free = disk.free / disk.total
        yield level_of(-free, -DISK_WARNING, -DISK_FAULT), f"{free:.0%} of the disk with the files are free"
    else:
        yield OK, "the store answers"


# The first shows whether the database answers.
register("migrations", "the-database", check_migrations)
register("settings", "doctor-and-support-packet", check_settings, needs_database=False)
register("clock", "the-database", check_clock)
register("workers", "jobs", check_workers)
register("jobs", "jobs", check_jobs)
register("change feed", "jobs", check_feed)
register("e-mail", "e-mail", check_mail, needs_database=False)
register("files", "files", check_files, needs_database=False)
