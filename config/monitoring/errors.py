"""Errors to Sentry: what the log has at the level ERROR, with the stack of the exception and without data of the request."""

import logging
import socket
from typing import TYPE_CHECKING, Any, cast

import sentry_sdk
from django.conf import settings
from sentry_sdk.integrations.logging import EventHandler
from sentry_sdk.utils import event_from_exception

from core.logs import redact, request_id

if TYPE_CHECKING:
    from sentry_sdk.types import Event, Hint

# What is sent of an event. Everything else, such as `request`, `user`, `extra` and `breadcrumbs`, may contain personal data.
SENT_FIELDS = ("event_id", "timestamp", "platform", "level", "logger", "release", "environment", "server_name", "sdk")
# Seconds in which a process that ends sends the last events.
FLUSH_TIMEOUT = 2


class SentryHandler(EventHandler):
    """Sentry's handler of the log. `logging.shutdown` calls `flush`."""

    def flush(self) -> None:
        sentry_sdk.flush(FLUSH_TIMEOUT)


def start() -> None:
    # Without integrations, which would change Django and the log, and take time in each request.
    sentry_sdk.init(
        settings.SENTRY_DSN,
        release=settings.VERSION,
        server_name=socket.gethostname(),
        default_integrations=False,
        auto_enabling_integrations=False,
        include_local_variables=False,
        max_breadcrumbs=0,
        before_send=clean,
    )
    logging.getLogger().addHandler(SentryHandler(level=logging.ERROR))


def clean(event: "Event", hint: "Hint") -> "Event":
    """Return an event without bodies, cookies, headers, queries, variables and the messages of exceptions."""
    given: dict[str, Any] = dict(event)
    record: logging.LogRecord | None = hint.get("log_record")
    if record is not None and isinstance(error := getattr(record, "error", None), BaseException):
        # The log of jobs has no traceback.
        # Without the options, the stack would include the values of variables.
        given |= event_from_exception(error, client_options=sentry_sdk.get_client().options)[0]
    sent: dict[str, Any] = {name: given[name] for name in SENT_FIELDS if name in given}
    if record is not None:
        # Events of one kind have the same `message`.
        sent["logentry"] = {"message": redact(str(record.msg)), "formatted": redact(record.getMessage())}
    exceptions = given.get("exception", {}).get("values", ())
    sent["exception"] = {
        "values": [{name: value.get(name) for name in ("type", "module", "stacktrace")} for value in exceptions]
    }
    sent["tags"] = {"request_id": request_id.get() or ""}
    return cast("Event", sent)
