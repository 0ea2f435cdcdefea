"""Missing or invalid settings are errors of the system check, with a hint."""

import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest
from django.test import override_settings

from accounts.checks import check_settings
from tests.support.tables import table

ROOT = Path(__file__).resolve().parent.parent.parent

VALID = {
    "SECRET_KEY": "0123456789-abcdefghijklmnopqrstuvwxyz-ABCDEFGHIJKLMNOPQRSTUVWXYZ",
    "BASE_DOMAIN": "example.com",
    "DATABASE_URL": "postgresql://user:hunter2@db:5432/rostrum",
    "EMAIL_URL": "smtp://user:hunter2@mail.example.com:587/?tls=True",
    "TRUST_PROXY": "forwarded",
}
NAMES = [
    "SECRET_KEY",
    "BASE_DOMAIN",
    "DATABASE_URL",
    "DATABASE_POOLER",
    "HTTPS",
    "TRUST_PROXY",
    "EMAIL_URL",
    "LOG_LEVEL",
    "STATEMENT_TIMEOUT",
    "RATE_LIMIT",
    "FAILED_LOGIN_LIMIT",
    "ACCOUNT_LIMIT",
    "WEBHOOK_ALLOW",
    "PORT",
    "HOST",
    "PUBLIC_PORT",
    "WORKERS",
    "DATABASE_WAIT",
]


def errors_for(monkeypatch, **changes: str | None) -> list[tuple[str, str, str | None]]:
    """Return the errors for a valid environment with these changes."""
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)
    for name, value in {**VALID, **changes}.items():
        if value is not None:
            monkeypatch.setenv(name, value)
    loaded = runpy.run_path(str(ROOT / "config" / "settings.py"))
    names = ("ENVIRONMENT", "HTTPS", "HTTPS_FOR_PAGES_ONLY", "TRUST_PROXY", "MIDDLEWARE", "EMAIL_BACKEND")
    checked_settings = {name: loaded[name] for name in names}
    with override_settings(**checked_settings):
        return [(error.id, error.msg, error.hint) for error in check_settings()]


def test_it_works(monkeypatch):
    assert errors_for(monkeypatch) == []
    assert (
        errors_for(monkeypatch, HTTPS="off", LOG_LEVEL="debug", STATEMENT_TIMEOUT="5", TRUST_PROXY="X-Forwarded") == []
    )
    assert errors_for(monkeypatch, HTTPS="off", BASE_DOMAIN=None, EMAIL_URL=None) == []
    assert errors_for(monkeypatch, HTTPS="Pages") == []


SECRET_KEY_HINT = "Make one with: python -c 'import secrets; print(secrets.token_urlsafe(48))'"
DATABASE_HINT = "Write the address of a PostgreSQL database: postgresql://user:password@host:5432/name"
DOMAIN_HINT = "Write the domain that the accounts' addresses end in, or HTTPS=off on a laptop."


@table(
    ("name", "value", "id", "message", "hint"),
    [
        ("SECRET_KEY", None, "rostrum.E002", "SECRET_KEY is not set.", SECRET_KEY_HINT),
        *(
            (
                "EMAIL_URL",
                url,
                "rostrum.W001",
                "EMAIL_URL names no mail server: e-mails are written to the log, and its readers can use their links.",
                "Write its address: smtp://user:password@host:587/?tls=True",
            )
            for url in (None, "console:", "console://anything")
        ),
        ("SECRET_KEY", " ", "rostrum.E002", "SECRET_KEY is not set.", SECRET_KEY_HINT),
        (
            "SECRET_KEY",
            "too short",
            "rostrum.E003",
            "SECRET_KEY is shorter than 32 characters.",
            "Use 50 random characters or more.",
        ),
        ("DATABASE_URL", None, "rostrum.E002", "DATABASE_URL is not set.", DATABASE_HINT),
        (
            "BASE_DOMAIN",
            None,
            "rostrum.E005",
            "BASE_DOMAIN is not set, and people reach the service by https.",
            DOMAIN_HINT,
        ),
        (
            "BASE_DOMAIN",
            "localhost",
            "rostrum.E005",
            "BASE_DOMAIN is not set, and people reach the service by https.",
            DOMAIN_HINT,
        ),
        *(
            (
                "DATABASE_URL",
                url,
                "rostrum.E001",
                (
                    "DATABASE_URL is not valid: PostgreSQL is the only storage; the address starts with postgresql://."
                    " The address of the PostgreSQL database, version 15 or later."
                ),
                None,
            )
            for url in ("mysql://user:hunter2@db/rostrum", "sqlite:///x.sqlite3", "hunter2", "what://user:hunter2@db/x")
        ),
        *(
            (
                "DATABASE_URL",
                url,
                "rostrum.E001",
                (
                    "DATABASE_URL is not valid: write an address such as postgresql://user:password@host:5432/name."
                    " The address of the PostgreSQL database, version 15 or later."
                ),
                None,
            )
            for url in ("postgresql://user:hunter2/x@db/rostrum", "postgresql://user:hunter2@db:5432")
        ),
        *(
            (
                "BASE_DOMAIN",
                domain,
                "rostrum.E001",
                (
                    "BASE_DOMAIN is not valid: write a domain name such as example.com, without a port."
                    " The domain of all accounts: the account acme has the address acme.BASE_DOMAIN."
                ),
                None,
            )
            for domain in ("example.com:8000", "https://example.com", "exa mple.com", "a..b", "żółw.pl", "a" * 64)
        ),
        *(
            (
                "HTTPS",
                value,
                "rostrum.E001",
                (
                    "HTTPS is not valid: write on, off or pages. Set to on if people and clients reach the service by "
                    "https; with `pages`, API clients may use plain http too."
                ),
                None,
            )
            for value in ("maybe", "2", "o")
        ),
        *(
            (
                "TRUST_PROXY",
                value,
                "rostrum.E001",
                (
                    "TRUST_PROXY is not valid: write forwarded, x-forwarded or off. The header of a proxy with the client's "
                    "address and scheme: forwarded, x-forwarded, or off; see docs/operating.md."
                ),
                None,
            )
            # `on` trusted headers that a client can send in another spelling.
            for value in ("maybe", "on")
        ),
        (
            "FORUM_DOMAINS",
            "all",
            "rostrum.E001",
            (
                "FORUM_DOMAINS is not valid: write proven or trusted. Which domains of forums count: `proven` ones, or with "
                "`trusted` all, because only the operator adds domains."
            ),
            None,
        ),
        (
            "LOG_LEVEL",
            "LOUD",
            "rostrum.E001",
            (
                "LOG_LEVEL is not valid: write DEBUG, INFO, WARNING or ERROR. The lowest level that is logged: DEBUG, INFO,"
                " WARNING or ERROR."
            ),
            None,
        ),
        *(
            (
                "PUBLIC_PORT",
                value,
                "rostrum.E001",
                (
                    "PUBLIC_PORT is not valid: write a whole number from 1 to 65535. The port in printed addresses and in"
                    " links of e-mails, if people reach the service at a port other than 443 or 80."
                ),
                None,
            )
            for value in ("0", "65536", ":8000", "x")
        ),
        *(
            (
                "STATEMENT_TIMEOUT",
                value,
                "rostrum.E001",
                (
                    "STATEMENT_TIMEOUT is not valid: write a whole number, 1 or more. The number of seconds after"
                    " which the database cancels a statement."
                ),
                None,
            )
            for value in ("0", "-1", "1.5", "x", "٣")
        ),
    ],
)
def test_it_rejects_missing_and_invalid_settings(monkeypatch, name, value, id, message, hint):
    # An invalid TRUST_PROXY counts as off. With HTTPS on, that is a second error.
    https = {"HTTPS": "off"} if name == "TRUST_PROXY" else {}
    assert errors_for(monkeypatch, **{name: value}, **https) == [(id, message, hint)]


def test_it_warns_of_endless_redirects(monkeypatch):
    [(id, message, hint)] = errors_for(monkeypatch, TRUST_PROXY=None)
    assert (id, message.partition(":")[0]) == ("rostrum.W002", "HTTPS is on and TRUST_PROXY is off")
    assert hint.startswith("Write TRUST_PROXY=forwarded")
    [(id, message, _)] = errors_for(monkeypatch, TRUST_PROXY=None, HTTPS="pages")
    assert (id, message.partition(":")[0]) == ("rostrum.W002", "HTTPS is pages and TRUST_PROXY is off")
    assert errors_for(monkeypatch, TRUST_PROXY=None, HTTPS="off") == []


@table(
    ("name", "values", "range"),
    [
        ("PORT", ("0", "65536", "http", "9" * 5000), "1 to 65535"),
        ("WORKERS", ("0", "257", "many"), "1 to 256"),
        ("DATABASE_WAIT", ("-1", "3601", "1.5"), "0 to 3600"),
    ],
)
def test_it_rejects_numbers_out_of_range(monkeypatch, name, values, range):
    for value in values:
        [(id, message, _)] = errors_for(monkeypatch, **{name: value})
        assert id == "rostrum.E001"
        assert message.startswith(f"{name} is not valid: write a whole number from {range}. ")


def test_it_rejects_every_error_at_once(monkeypatch):
    ids = [id for id, _, _ in errors_for(monkeypatch, SECRET_KEY=None, DATABASE_URL=None, BASE_DOMAIN=None, HTTPS="on")]
    assert ids == ["rostrum.E002", "rostrum.E002", "rostrum.E005"]


def test_no_error_contains_a_value(monkeypatch):
    """The value may be a secret that was set under the wrong name."""
    secret = "hunter2-which-is-long-enough-to-be-a-secret-key"
    for name in NAMES:
        if name != "SECRET_KEY":
            assert secret not in str(errors_for(monkeypatch, **{name: f"{secret}!"}))
    assert secret[:7] not in str(errors_for(monkeypatch, DATABASE_URL=f"postgresql://user:{secret}/@db/rostrum"))


@pytest.mark.parametrize(
    "middleware",
    [
        ["django.middleware.security.SecurityMiddleware"],
        ["django.middleware.security.SecurityMiddleware", "accounts.middleware.AccountMiddleware"],
    ],
    ids=["missing", "second"],
)
def test_it_rejects_middleware_in_the_wrong_order(settings, middleware):
    settings.MIDDLEWARE = middleware
    message = "AccountMiddleware must come first: it is what checks the Host header."
    assert ("rostrum.E004", message) in [(error.id, error.msg) for error in check_settings()]


def check(*arguments: str, **environment: str) -> subprocess.CompletedProcess:
    inherited = {name: value for name, value in os.environ.items() if name not in (*NAMES, "LOCAL_ACCOUNT")}
    return subprocess.run(
        [sys.executable, "manage.py", "check", *arguments],
        cwd=ROOT,
        env=inherited | environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_command_has_no_warning_with_production_settings():
    result = check("--deploy", "--fail-level", "WARNING", **VALID)
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("System check identified no issues")
    assert result.stderr == ""


def test_the_command_reports_missing_settings():
    result = check()
    assert result.returncode == 1
    assert "Traceback" not in result.stderr
    for name in ("SECRET_KEY", "DATABASE_URL", "BASE_DOMAIN"):
        assert f"{name} is not set" in result.stderr
