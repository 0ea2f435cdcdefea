"""Statements in the log and in traces."""

import logging
import re

from django.conf import settings

from core.logs import request_id

# The longest text of a logged or traced statement.
MAX_STATEMENT_LENGTH = 2000

logger = logging.getLogger("rostrum.statements")

_LITERAL = re.compile(r"'(?:[^']|'')*'")


def log_slow_statement(text: str, seconds: float) -> None:
    milliseconds = seconds * 1000
    if milliseconds > settings.SLOW_STATEMENT_MS:
        logger.warning("%.0f ms, request %s: %s", milliseconds, request_id.get() or "-", without_values(text))


def without_values(text: str) -> str:
    """Return a statement in one line, without literals. Parameters are no part of the text."""
    return " ".join(_LITERAL.sub("'?'", text).split())[:MAX_STATEMENT_LENGTH]
