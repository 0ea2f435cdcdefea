"""Missing or invalid settings are errors of the system check, with a hint."""

import os
import runpy
import subprocess
import sys
from pathlib import Path

from django.test import override_settings

from config.apps import check_settings
from tests.support.tables import table

ROOT = Path(__file__).resolve().parent.parent.parent

VALID = {
    "SECRET_KEY": "0123456789-abcdefghijklmnopqrstuvwxyz-ABCDEFGHIJKLMNOPQRSTUVWXYZ",
    "BASE_DOMAIN": "example.com",
    "DATABASE_URL": "postgresql://user:hunter2@db:5432/rostrum",
    "EMAIL_URL": "smtp://user:hunter2@mail.example.com:587/?tls=True",
    "TRUST_PROXY": "forwarded",
    "FILES_DIR": "/files",
}
NAMES = [
    *("SECRET_KEY", "BASE_DOMAIN", "DATABASE_URL", "DATABASE_POOLER", "HTTPS", "TRUST_PROXY", "EMAIL_URL", "LOG_LEVEL"),
    *("STATEMENT_TIMEOUT", "RATE_LIMIT", "FAILED_LOGIN_LIMIT", "ACCOUNT_LIMIT", "WEBHOOK_ALLOW", "PORT", "HOST"),
    *(
        "PUBLIC_PORT",
        "WORKERS",
        "DATABASE_WAIT",
        "FILES_DIR",
        "FILES_URL",
        "FILES_QUOTA",
        "OPERATOR_ACCOUNT",
        "SIGN_UP",
    ),
    *("SIGN_UP_LIMIT", "TLS_ASK_ADDRESSES", "METRICS_ADDRESS", "OTEL_EXPORTER_OTLP_ENDPOINT", "SENTRY_DSN"),
    *("OTEL_TRACES_SAMPLER_ARG", "LOG_FORMAT", "SLOW_STATEMENT_MS"),
]


def errors_for(monkeypatch, **changes: str | None) -> list[tuple[str, str, str | None]]:
    """Return the errors for a valid environment with these changes."""
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)
    for name, value in {**VALID, **changes}.items():
        if value is not None:
            monkeypatch.setenv(name, value)
    loaded = runpy.run_path(str(ROOT / "config" / "settings.py"))
    names = (
        *("ENVIRONMENT", "HTTPS", "HTTPS_FOR_PAGES_ONLY", "TRUST_PROXY", "MIDDLEWARE", "EMAIL_BACKEND", "PORT"),
        *("SIGN_UP", "SIGN_UP_LIMIT", "TLS_ASK_ADDRESSES", "METRICS_ADDRESS", "SENTRY_DSN"),
        "OTEL_EXPORTER_OTLP_ENDPOINT",
    )
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


NOT_SET = {
    "SECRET_KEY": "Make one with: python -c 'import secrets; print(secrets.token_urlsafe(48))'",
    "DATABASE_URL": "Write the address of a PostgreSQL database: postgresql://user:password@host:5432/name",
    "FILES_DIR": "Write a directory that all processes share, or the address of a bucket in FILES_URL.",
}


def test_it_rejects_missing_settings(monkeypatch):
    for name, hint in NOT_SET.items():
        assert errors_for(monkeypatch, **{name: None}) == [("rostrum.E002", f"{name} is not set.", hint)]
    assert errors_for(monkeypatch, SECRET_KEY=" ") == errors_for(monkeypatch, SECRET_KEY=None)
    message = "SECRET_KEY is shorter than 32 characters."
    too_short = [("rostrum.E003", message, "Use 50 random characters or more.")]
    assert errors_for(monkeypatch, SECRET_KEY="too short") == too_short
    message = "BASE_DOMAIN is not set, and people reach the service by https."
    hint = "Write the domain that the accounts' addresses end in, or HTTPS=off on a laptop."
    for domain in (None, "localhost"):
        assert errors_for(monkeypatch, BASE_DOMAIN=domain) == [("rostrum.E005", message, hint)]
    message = "EMAIL_URL names no mail server: e-mails are written to the log, and its readers can use their links."
    hint = "Write its address: smtp://user:password@host:587/?tls=True"
    for url in (None, "console:", "console://anything"):
        assert errors_for(monkeypatch, EMAIL_URL=url) == [("rostrum.W001", message, hint)]


# The rule of each setting, which its description follows, with values that it rejects.
INVALID = {
    ("DATABASE_URL", "PostgreSQL is the only storage; the address starts with postgresql://. The"): [
        *("mysql://user:hunter2@db/rostrum", "sqlite:///x.sqlite3", "hunter2", "what://user:hunter2@db/x"),
    ],
    ("DATABASE_URL", "write an address such as postgresql://user:password@host:5432/name. The"): [
        *("postgresql://user:hunter2/x@db/rostrum", "postgresql://user:hunter2@db:5432"),
    ],
    ("BASE_DOMAIN", "write a domain name such as example.com, without a port. The domain"): [
        *("example.com:8000", "https://example.com", "exa mple.com", "a..b", "żółw.pl", "a" * 64),
    ],
    ("HTTPS", "write on, off or pages. Set"): ["maybe", "2", "o"],
    # `on` trusted headers that a client can send in another spelling.
    ("TRUST_PROXY", "write forwarded, x-forwarded or off. The header"): ["maybe", "on"],
    ("FORUM_DOMAINS", "write proven or trusted. Which"): ["all"],
    ("LOG_LEVEL", "write DEBUG, INFO, WARNING or ERROR. The"): ["LOUD"],
    ("PUBLIC_PORT", "write a whole number from 1 to 65535. The port"): ["0", "65536", ":8000", "x"],
    ("STATEMENT_TIMEOUT", "write a whole number, 1 or more. The number"): ["0", "-1", "1.5", "x", "٣"],
    ("PORT", "write a whole number from 1 to 65535. "): ["0", "65536", "http", "9" * 5000],
    ("WORKERS", "write a whole number from 1 to 256. "): ["0", "257", "many"],
    (
        "FILES_URL",
        "write an address such as s3://key:secret@bucket?endpoint=https://s3.example.com&region=eu-central-1. A",
    ): [
        *("s3://bucket", "s3://key:hunter2@", "https://key:hunter2@bucket", "s3://key:hunter2@bucket?region"),
        *(
            "s3://key:hunter2@bucket?endpoint=s3.example.com",
            "s3://key:hunter2@bucket/path",
            "s3://[",
            "s3://k:hunter2@b?x=1",
        ),
    ],
    ("DATABASE_WAIT", "write a whole number from 0 to 3600. "): ["-1", "3601", "1.5"],
    ("OPERATOR_ACCOUNT", "write the first part of the address of an account, such as acme. The prefix"): [
        *("acme.example.com", "Acme", "-acme", "https://acme.example.com", "a" * 64),
    ],
    ("SIGN_UP", "write open, invitation or closed. Who"): ["on", "yes"],
    ("SIGN_UP_LIMIT", "write a whole number, 0 or more. The accounts"): ["-1", "many"],
    ("TLS_ASK_ADDRESSES", "write addresses and networks such as 127.0.0.1,10.0.0.0/8,fd00::/8. The"): [
        "proxy",
        "10.0.0.1/8",
    ],
    ("METRICS_ADDRESS", "write a host and a port such as 127.0.0.1:9100. The"): ["9100", "127.0.0.1", "127.0.0.1:0"],
    ("OTEL_EXPORTER_OTLP_ENDPOINT", "write an address that starts with https:// or http://. The"): ["collector:4318"],
    ("OTEL_TRACES_SAMPLER_ARG", "write a number from 0 to 1, such as 0.01. The part"): ["2", "-0.1", "x"],
    ("SENTRY_DSN", "write the DSN of a project, such as https://key@sentry.example.com/1. The"): [
        *("https://sentry.example.com/1", "https://hunter2@sentry.example.com/project"),
    ],
    ("LOG_FORMAT", "write text or json. The"): ["xml"],
    ("SLOW_STATEMENT_MS", "write a whole number, 0 or more. Statements"): ["-1", "1.5"],
}


@table(("setting", "values"), INVALID.items())
def test_it_rejects_invalid_settings(monkeypatch, setting, values):
    name, rule = setting
    # An invalid TRUST_PROXY counts as off. With HTTPS on, that is a second error.
    https = {"HTTPS": "off"} if name == "TRUST_PROXY" else {}
    for value in values:
        [(id, message, hint)] = errors_for(monkeypatch, **{name: value}, **https)
        assert (id, hint) == ("rostrum.E001", None)
        assert message.startswith(f"{name} is not valid: {rule}")


def test_it_warns_of_endless_redirects(monkeypatch):
    [(id, message, hint)] = errors_for(monkeypatch, TRUST_PROXY=None)
    assert (id, message.partition(":")[0]) == ("rostrum.W002", "HTTPS is on and TRUST_PROXY is off")
    assert hint.startswith("Write TRUST_PROXY=forwarded")
    [(id, message, _)] = errors_for(monkeypatch, TRUST_PROXY=None, HTTPS="pages")
    assert (id, message.partition(":")[0]) == ("rostrum.W002", "HTTPS is pages and TRUST_PROXY is off")
    assert errors_for(monkeypatch, TRUST_PROXY=None, HTTPS="off") == []


# The settings that cause each warning, and similar ones that cause none.
RISKS = {
    "rostrum.W003": ([{"SIGN_UP": "open", "SIGN_UP_LIMIT": "0"}], [{"SIGN_UP": "open"}, {"SIGN_UP_LIMIT": "0"}]),
    "rostrum.W004": (
        [{"TLS_ASK_ADDRESSES": "0.0.0.0/0"}, {"TLS_ASK_ADDRESSES": "10.0.0.0/8,::/0"}],
        [{"TLS_ASK_ADDRESSES": "10.0.0.0/8"}],
    ),
    "rostrum.W005": (
        [{"METRICS_ADDRESS": "8.8.8.8:9100"}, {"METRICS_ADDRESS": "[2600::1]:9100"}],
        [{"METRICS_ADDRESS": f"{host}:9100"} for host in ("[::]", "127.0.0.1", "10.0.0.1", "metrics", "[::1]")],
    ),
    "rostrum.W006": ([{"METRICS_ADDRESS": "127.0.0.1:8000"}], [{"METRICS_ADDRESS": "127.0.0.1:8000", "PORT": "8001"}]),
    "rostrum.W007": (
        [
            {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector.example.com:4318"},
            {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://8.8.8.8:4318"},
            {"SENTRY_DSN": "http://key@sentry.example.com/1"},
        ],
        [
            {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector:4318"},
            {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector.prod.svc.cluster.local:4318"},
            {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://[::1]:4318"},
            {"SENTRY_DSN": "https://key@sentry.example.com/1"},
        ],
    ),
}


@table(("id", "settings"), RISKS.items())
def test_it_warns_of_risks(monkeypatch, id, settings):
    risky, safe = settings
    for changes in risky:
        [(found, _, hint)] = errors_for(monkeypatch, **changes)
        assert (found, bool(hint)) == (id, True)
        assert errors_for(monkeypatch, HTTPS="off", **changes) == []
    for changes in safe:
        assert errors_for(monkeypatch, **changes) == []


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


@table("others", [[], ["accounts.hosts.middleware.AccountMiddleware"]])
def test_it_rejects_middleware_in_the_wrong_order(settings, others):
    settings.MIDDLEWARE = ["django.middleware.security.SecurityMiddleware", *others]
    message = "AccountMiddleware must come first: it is what checks the Host header."
    assert ("rostrum.E004", message) in [(error.id, error.msg) for error in check_settings()]


def test_the_command_reports_missing_settings():
    """`make lint` runs the command with production settings."""
    environment = {name: value for name, value in os.environ.items() if name not in (*NAMES, "LOCAL_ACCOUNT")}
    command = [sys.executable, "manage.py", "check"]
    result = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == 1
    assert "Traceback" not in result.stderr
    for name in ("SECRET_KEY", "DATABASE_URL", "BASE_DOMAIN"):
        assert f"{name} is not set" in result.stderr
