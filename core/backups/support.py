"""The support packet: what somebody who helps with a fault needs to know of an installation, without secrets and without rows."""

import base64
import json
import os
import platform
import sys
import zipfile
from collections.abc import Callable
from dataclasses import asdict
from importlib.metadata import distributions
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from django.conf import settings
from django.db import connection

from core.health.checks import run_health_checks
from core.jobs.counts import count_jobs
from core.logs import redact

HIDDEN = "[hidden]"
SECRET_WORDS = ("SECRET", "PASSWORD", "KEY", "TOKEN", "DSN", "URL", "HEADERS")
# The last bytes of a log that are included.
MAX_LOG_BYTES = 2_000_000
# Shorter values occur in other words. Those of variables that are no settings of the service may be words, too.
MIN_SECRET_LENGTH, MIN_OTHER_LENGTH = 4, 8
SIZES = """
SELECT relname, pg_total_relation_size(oid), reltuples::bigint FROM pg_class
WHERE relkind = 'r' AND relnamespace::regnamespace::text IN ('public', 'account_ids') ORDER BY 2 DESC
"""
SERVER = "SELECT name, setting FROM pg_settings WHERE source NOT IN ('default', 'client') AND name !~* '(passw|conninfo|ssl_)'"


def secret_values() -> set[str]:
    """Return the secrets of the process: whole values by their names, the credentials in addresses, and the values of headers."""
    declared = {each.name for each in settings.ENVIRONMENT.variables}
    found = {str(connection.settings_dict.get("PASSWORD") or "")}
    for name, value in settings.ENVIRONMENT.values.items():
        is_secret = any(word in name for word in SECRET_WORDS)
        if is_secret and (name in declared or len(value) >= MIN_OTHER_LENGTH):
            found.add(value)
        if name.endswith("HEADERS"):
            # Such as `Authorization=Basic%20…,x-key=…`.
            headers = (unquote(part.partition("=")[2]) for part in value.split(","))
            found |= {text for header in headers for text in (header, header.rpartition(" ")[2])}
        for part in value.split():
            found |= secrets_in_address(part)
    found |= {unquote(value) for value in found}
    return {text for text in found if len(text) >= MIN_SECRET_LENGTH}


def secrets_in_address(text: str) -> set[str]:
    """Return the credentials in an address. The name of a user alone is a key, as in the DSN of Sentry, and so is that of a bucket."""
    try:
        url = urlsplit(text)
        name, password = url.username or "", url.password or ""
    except ValueError:
        return {text}
    found = {password, url.query}
    if url.scheme == "s3" or (url.scheme in ("http", "https") and not password):
        found.add(name)
    elif password:
        # As a client of HTTP or SMTP sends it.
        pair = f"{unquote(name)}:{unquote(password)}".encode()
        found |= {base64.b64encode(pair).decode(), base64.b64encode(unquote(password).encode()).decode()}
    return found


def shown_settings(variables: dict[str, str]) -> dict[str, str]:
    return {
        name: HIDDEN if any(word in name for word in SECRET_WORDS) else value
        for name, value in sorted(variables.items())
    }


def rows_of(statement: str) -> list[list[Any]]:
    with connection.cursor() as cursor:
        cursor.execute(statement)
        return [list(row) for row in cursor.fetchall()]


def parts() -> dict[str, Callable[[], object]]:
    environment = settings.ENVIRONMENT
    variables = {
        each.name: environment.values[each.name] for each in environment.variables if environment.values.get(each.name)
    }
    return {
        "doctor.json": lambda: [asdict(result) for result in run_health_checks()],
        "settings.json": lambda: shown_settings(variables),
        "versions.json": lambda: {
            "rostrum": settings.VERSION,
            "python": sys.version,
            "system": platform.platform(),
            "packages": sorted(f"{each.metadata['Name']} {each.version}" for each in distributions()),
        },
        "database.json": lambda: {
            "version": rows_of("SELECT version()")[0][0],
            "settings": dict(rows_of(SERVER)),
            "tables": rows_of(SIZES),
        },
        "jobs.json": lambda: [count._asdict() for count in count_jobs()],
    }


def write_support_packet(path: Path, logs: list[Path]) -> None:
    """Write the packet as a ZIP file. Each text loses the secrets of the process, wherever they occur.

    A part that fails, as without a database, contains the type of its error.
    """
    texts = {}
    for name, part in parts().items():
        try:
            content = part()
        except Exception as error:  # noqa: BLE001, the others help even more
            content = {"error": type(error).__name__}
        texts[name] = json.dumps(content, indent=1, default=str)
    for number, log in enumerate(logs, 1):
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - MAX_LOG_BYTES))
            texts[f"logs/{number}-{log.name}"] = redact(file.read().decode(errors="replace"))
    hidden = sorted(secret_values(), key=len, reverse=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as target, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as packet:
        for name, text in texts.items():
            for secret in hidden:
                text = text.replace(secret, HIDDEN).replace(json.dumps(secret)[1:-1], HIDDEN)
            packet.writestr(name, text)
