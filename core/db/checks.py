"""Checks of the session settings of PostgreSQL and of its pooler, for `manage.py check --database default` and `migrate`."""

from collections.abc import Sequence

import psycopg
from django.apps import AppConfig
from django.conf import settings
from django.core import checks
from django.core.checks import CheckMessage, Error, Tags, register
from django.db import OperationalError, connection

POOLER_VERSION = (1, 22)


@register(Tags.database)
def database(
    app_configs: Sequence[AppConfig] | None, databases: Sequence[str] | None = None, **kwargs: object
) -> list[CheckMessage]:
    if not databases or not settings.DATABASE_POOLER:
        return []
    try:
        return [*session_settings(), *pooler_settings()]
    except OperationalError as error:
        return [Error("The database does not answer.", hint=str(error).strip().splitlines()[-1], id="rostrum.E014")]


def session_settings() -> list[CheckMessage]:
    """Check that the role has the session settings, which a connection through a pooler cannot set itself."""
    required = settings.DATABASE_SESSION
    with connection.cursor() as cursor:
        # The second column is the current value. The third sets the required value for this statement, to get the server's notation of it.
        cursor.execute(
            "SELECT name, current_setting(name, true), set_config(name, value, true)"
            " FROM unnest(%s::text[], %s::text[]) AS required (name, value)",
            [list(required), list(required.values())],
        )
        rows = cursor.fetchall()
        cursor.execute("SELECT quote_ident(current_database())")
        [database] = cursor.fetchone()
    return [
        Error(
            f"The setting {name} of the database is {actual}, and should be {expected}.",
            hint=f"Run ALTER ROLE CURRENT_USER IN DATABASE {database} SET {name} = '{expected}', and RECONNECT in PgBouncer's console.",
            id="rostrum.E010",
        )
        # A setting of an extension is None or empty as long as the library of the extension is not loaded. It then has its default.
        for name, actual, expected in rows
        if actual not in (expected, None, "")
    ]


def pooler_settings() -> list[CheckMessage]:
    """Check the version and the settings of PgBouncer, which its console shows. Other poolers do not have this console."""
    address = connection.get_connection_params() | {"dbname": "pgbouncer", "target_session_attrs": "any"}
    try:
        with psycopg.connect(**address, autocommit=True) as console:
            version = divmod(console.info.server_version // 100, 100)
            # The console supports only the simple query protocol.
            config = console.pgconn.exec_(b"SHOW CONFIG")
            values = {config.get_value(row, 0): config.get_value(row, 1) for row in range(config.ntuples)}
    except psycopg.Error:
        hint = "Add the role to stats_users in pgbouncer.ini. The version has to be 1.22 or later."
        return [checks.Warning("PgBouncer does not tell its version and its settings.", hint=hint, id="rostrum.W010")]
    mode, none_kept = values.get(b"pool_mode"), "it does not keep prepared statements for its clients."
    if version < POOLER_VERSION:
        problem, hint = (
            f"PgBouncer is version {version[0]}.{version[1]}: {none_kept}",
            "Install PgBouncer 1.22 or later.",
        )
        return [Error(problem, hint=hint, id="rostrum.E011")]
    if mode == b"statement":
        problem = "PgBouncer's pool_mode is statement, which allows no transactions."
        return [Error(problem, hint="Set pool_mode = transaction in pgbouncer.ini.", id="rostrum.E012")]
    if mode == b"transaction" and values.get(b"max_prepared_statements") == b"0":
        problem = f"PgBouncer's max_prepared_statements is 0: {none_kept}"
        return [Error(problem, hint="Set max_prepared_statements = 200 in pgbouncer.ini.", id="rostrum.E013")]
    return []
