"""Traces by OpenTelemetry: a span for each sampled request, and for its statements.

Identifiers in the headers of a request are ignored. Otherwise a client could choose that its requests are traced.
"""

import os
import time
from contextvars import ContextVar, Token
from random import random
from typing import TYPE_CHECKING

from django.conf import settings
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.sampling import ALWAYS_ON
from opentelemetry.trace import Span, SpanKind, StatusCode, Tracer

from config.database.base import statement_observers
from config.monitoring.routes import route_of
from config.monitoring.statements import without_values

if TYPE_CHECKING:
    from config.wsgi import AccessLine

# The key in the environment of a request that is traced.
TRACE = "rostrum.trace"
# The span of the request that this thread answers, if it is traced.
current_span: ContextVar[Span | None] = ContextVar("current_span", default=None)


def start_tracing() -> Tracer:
    """Start to send spans to OTEL_EXPORTER_OTLP_ENDPOINT. The exporter reads further variables of OpenTelemetry."""
    os.environ.setdefault("OTEL_SERVICE_NAME", "rostrum")
    # Requests are sampled before their spans are created: a span that the sampler of the library drops takes 20 µs.
    provider = TracerProvider(resource=Resource.create({"service.version": settings.VERSION}), sampler=ALWAYS_ON)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return provider.get_tracer("rostrum")


class RequestTracer:
    """An observer of `Application`."""

    def __init__(self, tracer: Tracer) -> None:
        self.tracer = tracer
        self.ratio: float = settings.OTEL_TRACES_SAMPLER_ARG
        statement_observers.append(self.observe_statement)

    def start(self, line: "AccessLine") -> None:
        if random() < self.ratio:  # noqa: S311, no secret
            span = self.tracer.start_span("request", kind=SpanKind.SERVER)
            line.environ[TRACE] = current_span.set(span)

    def end(self, line: "AccessLine") -> None:
        token: Token[Span | None] | None = line.environ.pop(TRACE, None)
        if token is None or (span := current_span.get()) is None:
            return
        current_span.reset(token)
        route, method = route_of(line.environ)
        span.update_name(f"{method} {route}")
        status = int(line.status_line[:3])
        span.set_attributes(
            {
                "http.request.method": method,
                "http.route": route,
                "http.response.status_code": status,
                "rostrum.request_id": line.id,
            }
        )
        if status >= 500:
            span.set_status(StatusCode.ERROR)
        span.end()

    def observe_statement(self, statement: object, seconds: float) -> None:
        if (span := current_span.get()) is not None:
            text, end = without_values(statement), time.time_ns()
            self.tracer.start_span(
                text.partition(" ")[0],
                trace.set_span_in_context(span),
                kind=SpanKind.CLIENT,
                start_time=end - int(seconds * 1e9),
                attributes={"db.system.name": "postgresql", "db.query.text": text},
            ).end(end)
