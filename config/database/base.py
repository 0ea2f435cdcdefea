"""Django's PostgreSQL backend, with timeouts for failing servers, and a faster loader of timestamps.

Django's own loader of timestamps is written in Python and takes 5 µs for each; a list has fifty.
"""

import sys
from collections.abc import Callable
from time import perf_counter
from types import TracebackType
from typing import Any, Self

import psycopg
from django.conf import settings
from django.db import OperationalError
from django.db.backends.postgresql import base, schema
from django.db.utils import DatabaseErrorWrapper
from django.utils.functional import cached_property
from psycopg import IsolationLevel, errors
from psycopg.types.datetime import TimestamptzLoader

# A connection keeps at most this number of prepared statements.
MAX_PREPARED = 500
# The server has lost a prepared statement, or a migration has changed the types of its rows.
_OBSOLETE_STATEMENT = (errors.InvalidSqlStatementName, errors.FeatureNotSupported)


# Functions that get each statement, without its values, and the seconds that it took. `config.monitoring` adds them.
statement_observers: list[Callable[[object, float], None]] = []


class ObservedCursor(psycopg.Cursor[Any]):
    """A cursor that measures its statements. Connections use it only if there are observers."""

    def execute(
        self, query: Any, params: Any = None, *, prepare: bool | None = None, binary: bool | None = None
    ) -> Self:
        start = perf_counter()
        try:
            return super().execute(query, params, prepare=prepare, binary=binary)
        finally:
            seconds = perf_counter() - start
            for observe in statement_observers:
                observe(query, seconds)


class Connection(psycopg.Connection):
    """A connection that is closed when the server takes longer than `client_timeout` seconds to answer.

    A server that is frozen, or cut off from the network, does not enforce its own `statement_timeout`.
    """

    client_timeout: float | None = None

    def wait(self, gen: Any, interval: float = 0.1, timeout: float | None = None) -> Any:
        try:
            return super().wait(gen, interval, self.client_timeout if timeout is None else timeout)
        except errors._WaitTimeout:
            # The response may still arrive, so the connection cannot be used for another statement.
            self.pgconn.finish()
            raise errors.ConnectionTimeout("the server did not answer in time") from None


def is_unavailable(error: BaseException) -> bool:
    """Return whether an error is caused by the state of the server, and not by the statement.

    Django maps these errors to classes other than OperationalError.
    """
    if isinstance(error, errors.ReadOnlySqlTransaction | errors.IdleInTransactionSessionTimeout):
        return True
    # A standby has no unlogged tables and reports an unsupported feature. The message may be in any language.
    return isinstance(error, errors.FeatureNotSupported) and error.diag.source_function == "get_relation_info"


class ErrorWrapper(DatabaseErrorWrapper):
    """A wrapper that raises OperationalError if the server accepts no writes, and has the connection closed after the request.

    The next connection may reach another server.
    """

    def __exit__(
        self, exc_type: type[BaseException] | None, exc_value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if exc_value is None:
            return
        if isinstance(exc_value, _OBSOLETE_STATEMENT):
            # A new connection prepares its statements anew.
            self.wrapper.is_obsolete = True  # type: ignore[attr-defined]  # missing in the stubs
        if is_unavailable(exc_value):
            self.wrapper.is_obsolete = True  # type: ignore[attr-defined]  # missing in the stubs
            raise OperationalError(*exc_value.args).with_traceback(traceback) from exc_value
        super().__exit__(exc_type, exc_value, traceback)


class SchemaEditor(schema.DatabaseSchemaEditor):
    """Django's schema editor, without a statement timeout for atomic migrations."""

    def __enter__(self) -> Self:
        super().__enter__()
        if self.atomic_migration:
            # For this transaction only: a connection of a pooler must keep no settings.
            self.execute("SET LOCAL statement_timeout = 0")
        return self


class DatabaseWrapper(base.DatabaseWrapper):
    """Django's wrapper of a connection: the class of `django.db.connection`."""

    SchemaEditorClass = SchemaEditor
    # The number of commits that were attempted, including those whose outcome was lost with the connection.
    commits = 0

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # One second more than the timeout of the server, so that a working server reports its own timeout first.
        self.client_timeout: float | None = settings.STATEMENT_TIMEOUT + 1
        # If true, the connection is closed after the request.
        self.is_obsolete = False
        # If true, a standby may answer while no server accepts writes. `config.wsgi` sets it for each request (`core.db.availability`).
        self.may_use_standby = False

    @cached_property
    def wrap_database_errors(self) -> ErrorWrapper:
        return ErrorWrapper(self)

    def _commit(self) -> None:
        self.commits += 1
        super()._commit()  # type: ignore[misc]  # missing in the stubs

    def get_new_connection(self, conn_params: dict[str, Any]) -> Connection:
        # Django's method would create plain psycopg connections. Connection pools and isolation levels are not supported here.
        self.isolation_level = IsolationLevel.READ_COMMITTED
        is_obsolete = False
        try:
            connection = Connection.connect(**conn_params)
        except psycopg.OperationalError:
            if not self.may_use_standby or "target_session_attrs" not in conn_params:
                raise
            connection = Connection.connect(**conn_params | {"target_session_attrs": "any"})
            # The next request looks for a server that accepts writes.
            is_obsolete = True
        connection.client_timeout = self.client_timeout
        if statement_observers:
            connection.cursor_factory = ObservedCursor
        self.is_obsolete = is_obsolete
        # psycopg returns times in the time zone of the session, which Django sets to TIME_ZONE, that is to UTC.
        connection.adapters.register_loader("timestamptz", TimestamptzLoader)
        # Only `core.db.prepared` prepares statements. psycopg itself must not prepare others after five executions. It closes all prepared
        # statements after a rollback.
        connection.prepare_threshold, connection.prepared_max = sys.maxsize, MAX_PREPARED
        return connection

    def create_cursor(self, name: str | None = None) -> object:
        if name is None:
            return self.connection.cursor()
        return self.connection.cursor(name, scrollable=False, withhold=self.connection.autocommit)

    def close_if_unusable_or_obsolete(self) -> None:
        if self.in_atomic_block:
            return  # a request within a request (`accounts.examples.requests`), or in the transaction of a test
        if self.is_obsolete and self.connection is not None:
            self.close()
        super().close_if_unusable_or_obsolete()

    def set_autocommit(self, autocommit: bool, *args: bool, **kwargs: bool) -> None:
        # If the connection was lost in a transaction, Django would reconnect only to set this. New connections have it anyway.
        if autocommit and self.connection is None:
            return
        super().set_autocommit(autocommit, *args, **kwargs)

    def set_client_timeout(self, seconds: float | None) -> None:
        """Set how long to wait for a response of the server, on this connection and on those that replace it."""
        self.client_timeout = seconds
        if self.connection is not None:
            self.connection.client_timeout = seconds
