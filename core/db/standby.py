"""A standby answers requests that only read while no server accepts writes."""

from django.db import connection


def allow_standby(is_allowed: bool) -> None:
    """Set whether the backend `config.database` may connect this thread to a standby. Django's own has no such choice."""
    connection.may_use_standby = is_allowed  # type: ignore[attr-defined]


def is_read_only() -> bool:
    """Return whether the server of the open connection is a standby, or accepts no writes for another reason."""
    if connection.connection is None:
        return False
    status = connection.connection.info.parameter_status
    return "on" in (status("in_hot_standby"), status("default_transaction_read_only"))
