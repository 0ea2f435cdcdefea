"""Metrics, traces, errors and slow statements, for operators.

Each is off until its setting names where it goes, and is imported only then. Threads start after the web server has forked its workers.
"""

import importlib
from typing import TYPE_CHECKING

from django.conf import settings

if TYPE_CHECKING:
    from config.wsgi import Application


def register() -> None:
    """Let workers of jobs start what the settings ask for."""
    from core.jobs import worker

    worker.start_hooks.append(start_in_job_worker)


def import_modules() -> None:
    """Import what the settings ask for."""
    for is_on, name in (
        (settings.METRICS_ADDRESS, "metrics"),
        (settings.OTEL_EXPORTER_OTLP_ENDPOINT, "tracing"),
        (settings.SENTRY_DSN, "errors"),
        (settings.SLOW_STATEMENT_MS, "statements"),
    ):
        if is_on:
            importlib.import_module(f"config.monitoring.{name}")


def prepare_web_server(port: int) -> None:
    """Import what the settings ask for before the web server forks its workers, which then share the memory."""
    import_modules()
    if settings.METRICS_ADDRESS:
        from config.monitoring import metrics

        metrics.prepare(port)


def start_in_web_worker(application: "Application") -> None:
    if settings.METRICS_ADDRESS:
        from config.monitoring import metrics

        application.observers.append(metrics.start_in_web_worker(application))
    if settings.OTEL_EXPORTER_OTLP_ENDPOINT:
        from config.monitoring.tracing import RequestTracer, start_tracing

        application.observers.append(RequestTracer(start_tracing()))
    start_in_every_process()


def start_in_job_worker() -> None:
    from core.jobs import worker

    if settings.METRICS_ADDRESS:
        from config.monitoring import metrics

        worker.job_observers.append(metrics.start_in_job_worker())
    start_in_every_process()


def start_in_every_process() -> None:
    if settings.SENTRY_DSN:
        from config.monitoring import errors

        errors.start()
    if settings.SLOW_STATEMENT_MS:
        from config.database.base import statement_observers
        from config.monitoring.statements import slow_statement_log

        statement_observers.append(slow_statement_log(settings.SLOW_STATEMENT_MS))
