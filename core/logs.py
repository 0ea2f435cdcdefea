"""The formats of the log, and its redaction: passwords and tokens always, personal data in queries unless `LOG_QUERIES` is on."""

import json
import logging
import re
from contextvars import ContextVar
from datetime import UTC, datetime
from urllib.parse import unquote_plus

import orjson
from django.conf import settings

ACCESS_LOG = "rostrum.access"
# The id of the request that this thread answers, or `job-` and the id of the job that it runs.
request_id: ContextVar[str | None] = ContextVar("request_id", default=None)

_SECRETS = re.compile(
    r"""(?ix)
    ( (?:token|password|secret|digest) [\\"'\[\]]* \s* (?:=|:|%3d|=>) \s* ) [\[(]? \s*
      (?: b?\\*"(?:\\.|[^"\\])* | b?\\*'(?:\\.|[^'\\])* | [^\s"'&,;<>}]+ )
    | ( authorization ["']? \s* [:=] \s* ["']? (?:\w+\s+)? ) [^\s"',}]+
    | ( \b(?:basic|bearer|token) \s+ ) [a-z0-9+/=_.~-]{8,}
    | ( <password[^<>]*> ) [^<]*
    | ( \bDETAIL: [ ] ) .*  # PostgreSQL repeats the rejected row
    """
)

# A line that this pattern does not match has no secret. The pattern is faster than `_SECRETS`, and most lines do not match it.
_SUSPECT = re.compile("token|password|secret|digest|authorization|basic|bearer|DETAIL: ", re.IGNORECASE)

_SECRET_WORDS = ("token", "password", "secret")

# Parameters whose values are personal data, alone or as a part of a nested name: q, q[], client[email], external_ids[shop].
_PERSONAL_NAMES = {"q", "email", "external_id", "external_ids"}
_PERSONAL = re.compile(
    r"""(?ix)
    ( (?: [?&] | %3f | %26 ) (?: [\w.-]{0,64} (?: \[ | %5b ) )?
      (?: q | email | external_ids? ) (?: (?: \[ | %5b | %5d | \] ) [^=&?\s]{0,100}? )? (?: = | %3d ) )
      (?: (?!%26) [^\s"'&<>] )+
    """
)
# The beginning of a query inside a value or a path, percent-encoded any number of times. An equals sign after the question mark shows
# that a query begins there.
_INNER_QUERY = re.compile("[?]|%(?:25)*3f", re.IGNORECASE)
_INNER_EQUALS = re.compile("=|%(?:25)*3d", re.IGNORECASE)


def redact(text: str) -> str:
    """Return text without secrets and, unless `LOG_QUERIES` is on, without personal data in the queries of URLs."""
    if _SUSPECT.search(text):
        text = _SECRETS.sub(lambda match: next(filter(None, match.groups())) + "[redacted]", text)
    if ("=" in text or "%3" in text) and not settings.LOG_QUERIES:
        text = _PERSONAL.sub(r"\1[omitted]", text)
    return text


def redact_query(query: str) -> str:
    """Return a query string without the values of its secrets and, unless `LOG_QUERIES` is on, without personal data."""
    return "".join(_redact_pair(part) for part in re.split("([&;])", query))


def _redact_pair(pair: str) -> str:
    name, equals, value = pair.partition("=")
    if not value:
        return pair
    decoded = unquote_plus(name).lower()
    if any(word in decoded for word in _SECRET_WORDS):
        value = "[redacted]"
    elif not settings.LOG_QUERIES and not _PERSONAL_NAMES.isdisjoint(re.split(r"[\[\]]", decoded)):
        value = "[omitted]"
    else:
        value = omit_inner_query(value)
    return name + equals + value


def omit_inner_query(text: str) -> str:
    """Return a path or value without the query inside it, such as the query of the page to which a sign-in returns."""
    start = _INNER_QUERY.search(text)
    if start is None or settings.LOG_QUERIES or not _INNER_EQUALS.search(text, start.end()):
        return text
    return text[: start.end()] + "[omitted]"


class RedactingFormatter(logging.Formatter):
    """A formatter that redacts whole lines, including their tracebacks."""

    def format(self, record: logging.LogRecord) -> str:
        line = super().format(record)
        # The access log itself redacts the parts that come from the client. Redacting the whole line could remove other parts.
        return line if record.name == ACCESS_LOG else redact(line)


class JSONFormatter(logging.Formatter):
    """A formatter that writes each record as an object of JSON in one line, redacted as by `RedactingFormatter`."""

    def format(self, record: logging.LogRecord) -> str:
        fields: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
        }
        if record.name == ACCESS_LOG and isinstance(record.args, tuple):
            id, method, url, status, size, milliseconds, user = record.args
            fields |= {"request_id": id, "method": method, "url": url, "status": int(str(status))}
            fields["bytes"] = None if size == "-" else int(str(size))
            fields |= {"milliseconds": round(float(str(milliseconds)), 1), "user": None if user == "-" else user}
            # Faster than json, which is needed for characters that are not valid in UTF-8. The parts of these lines are quoted.
            return orjson.dumps(fields).decode()
        if (current_id := request_id.get()) is not None:
            fields["request_id"] = current_id
        fields["message"] = redact(record.getMessage())
        if record.exc_info:
            fields["traceback"] = redact(self.formatException(record.exc_info))
        return json.dumps(fields)
