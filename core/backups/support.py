"""The support packet: what somebody who helps with a fault needs to know of an installation, without secrets and without rows."""

import json
import platform
import sys
import zipfile
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
SECRET_WORDS = ("SECRET", "PASSWORD", "KEY", "TOKEN", "DSN", "URL")
# The last bytes of a log that are included.
MAX_LOG_BYTES = 2_000_000
# Shorter values occur in other words.
MIN_SECRET_LENGTH = 4
SIZES = """
SELECT relname, pg_total_relation_size(oid), reltuples::bigint FROM pg_class
WHERE relkind = 'r' AND relnamespace::regnamespace::text IN ('public', 'account_ids') ORDER BY 2 DESC
"""
SERVER = "SELECT name, setting FROM pg_settings WHERE source NOT IN ('default', 'client') AND name !~* '(passw|conninfo|ssl_)'"


def secret_values(variables: dict[str, str]) -> set[str]:
    """Return the secrets of the settings: whole values by their names, and the credentials in addresses."""
    found = set()
    for name, value in variables.items():
        if any(word in name for word in SECRET_WORDS):
            found.add(value)
        for part in value.split():
            try:
                url = urlsplit(part)
                found |= {text for text in (url.password, url.username, url.query) if text}
            except ValueError:
                found.add(value)
    found |= {unquote(value) for value in found}
    database: dict[str, Any] = connection.settings_dict
    return {text for text in {*found, str(database.get("PASSWORD") or "")} if len(text) >= MIN_SECRET_LENGTH}


def shown_settings(variables: dict[str, str]) -> dict[str, str]:
    return {
        name: HIDDEN if any(word in name for word in SECRET_WORDS) else value
        for name, value in sorted(variables.items())
    }


def rows_of(statement: str) -> list[list[Any]]:
    with connection.cursor() as cursor:
        cursor.execute(statement)
        return [list(row) for row in cursor.fetchall()]


def write_support_packet(path: Path, logs: list[Path]) -> None:
    """Write the packet as a ZIP file. Each text loses the secrets of the settings, wherever they occur."""
    environment = settings.ENVIRONMENT
    variables = {
        each.name: environment.values[each.name] for each in environment.variables if environment.values.get(each.name)
    }
    contents: dict[str, object] = {
        "doctor.json": [asdict(result) for result in run_health_checks()],
        "settings.json": shown_settings(variables),
        "versions.json": {
            "rostrum": settings.VERSION,
            "python": sys.version,
            "system": platform.platform(),
            "packages": sorted(f"{each.metadata['Name']} {each.version}" for each in distributions()),
        },
        "database.json": {
            "version": rows_of("SELECT version()")[0][0],
            "settings": dict(rows_of(SERVER)),
            "tables": rows_of(SIZES),
        },
        "jobs.json": [count._asdict() for count in count_jobs()],
    }
    texts = {name: json.dumps(content, indent=1, default=str) for name, content in contents.items()}
    for log in logs:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - MAX_LOG_BYTES))
            texts[f"logs/{log.name}"] = redact(file.read().decode(errors="replace"))
    hidden = sorted(secret_values(variables), key=len, reverse=True)
    with zipfile.ZipFile(path, "x", zipfile.ZIP_DEFLATED) as packet:
        for name, text in texts.items():
            for secret in hidden:
                text = text.replace(secret, HIDDEN).replace(json.dumps(secret)[1:-1], HIDDEN)
            packet.writestr(name, text)
