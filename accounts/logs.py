"""What is written to the log, and what never is: passwords, tokens, and parts of them."""

import logging
import re

_SECRETS = re.compile(
    r"""(?ix)
    ( (?:token|password|secret|digest) [\\"'\[\]]* \s* (?:=|:|%3d|=>) \s* ) [\[(]? \s*
      (?: b?\\*"(?:\\.|[^"\\])* | b?\\*'(?:\\.|[^'\\])* | [^\s"'&,;<>}]+ )
    | ( authorization ["']? \s* [:=] \s* ["']? (?:\w+\s+)? ) [^\s"',}]+
    | ( \b(?:basic|bearer|token) \s+ ) [a-z0-9+/=_.~-]{8,}
    | ( <password[^<>]*> ) [^<]*
    | ( \bDETAIL: [ ] ) .*  # the database repeats the row that it refuses
    """
)


# What has none of these has no secret. Most lines have not, and this is soon seen.
_SUSPECT = re.compile("token|password|secret|digest|authorization|basic|bearer|DETAIL: ", re.IGNORECASE)


def redact(text: str) -> str:
    if not _SUSPECT.search(text):
        return text
    return _SECRETS.sub(lambda match: next(filter(None, match.groups())) + "[redacted]", text)


class RedactingFormatter(logging.Formatter):
    """The last thing before a line is written, so that tracebacks pass through it too."""

    def format(self, record: logging.LogRecord) -> str:
        return redact(super().format(record))
