"""Traces by OpenTelemetry: a span for each sampled request with its statements, and for each sampled job.

Identifiers in the headers of a request are ignored. Otherwise a client could choose that its requests are traced.
"""

import os
import time
from typing import TYPE_CHECKING

from django.conf import settings
from opentelemetry import context, trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.sampling import ParentBased, TraceIdRatioBased
from opentelemetry.trace import SpanKind, StatusCode, Tracer

from config.database.base import statement_observers
from config.monitoring.routes import route_of
from config.monitoring.statements import without_values
from core.jobs.registry import jobs

if TYPE_CHECKING:
    from config.wsgi import AccessLine
    from core.jobs.queue import Job

SPAN, TOKEN = "rostrum.span", "rostrum.span_token"


def start_tracing() -> Tracer:
    """Start to send spans to OTEL_EXPORTER_OTLP_ENDPOINT. The exporter reads further variables of OpenTelemetry."""
    os.environ.setdefault("OTEL_SERVICE_NAME", "rostrum")
    sampler = ParentBased(TraceIdRatioBased(settings.OTEL_TRACES_SAMPLER_ARG))
    provider = TracerProvider(resource=Resource.create({"service.version": settings.VERSION}), sampler=sampler)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return provider.get_tracer("rostrum")


class RequestTracer:
    """An observer of `Application`."""

    def __init__(self, tracer: Tracer) -> None:
        self.tracer = tracer
        statement_observers.append(self.observe_statement)

    def start(self, line: "AccessLine") -> None:
        span = self.tracer.start_span("request", kind=SpanKind.SERVER)
        if span.is_recording():
            line.environ[SPAN], line.environ[TOKEN] = span, context.attach(trace.set_span_in_context(span))

    def end(self, line: "AccessLine") -> None:
        span = line.environ.pop(SPAN, None)
        if span is None:
            return
        context.detach(line.environ.pop(TOKEN))
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

    def observe_statement(self, text: str, seconds: float) -> None:
        if not trace.get_current_span().is_recording():
            return
        end = time.time_ns()
        text = without_values(text)
        name = text.partition(" ")[0]
        attributes = {"db.system.name": "postgresql", "db.query.text": text}
        start = end - int(seconds * 1e9)
        self.tracer.start_span(name, kind=SpanKind.CLIENT, start_time=start, attributes=attributes).end(end)


class JobTracer:
    """An observer of jobs that have ended."""

    def __init__(self, tracer: Tracer) -> None:
        self.tracer = tracer

    def __call__(self, job: "Job", outcome: str, seconds: float) -> None:
        end = time.time_ns()
        name = job.name if job.name in jobs else "unknown"
        attributes = {"rostrum.request_id": f"job-{job.id}", "rostrum.outcome": outcome}
        start = end - int(seconds * 1e9)
        span = self.tracer.start_span(name, kind=SpanKind.CONSUMER, start_time=start, attributes=attributes)
        if outcome == "failed":
            span.set_status(StatusCode.ERROR)
        span.end(end)
