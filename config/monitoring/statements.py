"""Statements in the log and in traces."""

import logging
import re
from collections.abc import Callable

from core.logs import request_id

# The longest text of a logged or traced statement.
MAX_STATEMENT_LENGTH = 2000

logger = logging.getLogger("rostrum.statements")

_LITERAL = re.compile(r"'(?:[^']|'')*'")


def slow_statement_log(milliseconds: int) -> Callable[[object, float], None]:
    """Return an observer that logs the statements that take longer."""
    limit = milliseconds / 1000

    def log(statement: object, seconds: float) -> None:
        if seconds > limit:
            logger.warning(
                "%.0f ms, request %s: %s", seconds * 1000, request_id.get() or "-", without_values(statement)
            )

    return log


def without_values(statement: object) -> str:
    """Return the text of a statement in one line, without literals. Parameters are no part of it."""
    return " ".join(_LITERAL.sub("'?'", str(statement)).split())[:MAX_STATEMENT_LENGTH]
