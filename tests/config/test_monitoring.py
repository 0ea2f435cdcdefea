"""Metrics, traces, errors, slow statements: what operators get, and that none of it names a tenant or has values."""

import contextlib
import json
import logging
import re
import shutil
import socket
import subprocess
import sys
from datetime import timedelta
from types import SimpleNamespace
from unittest.mock import Mock
from urllib.request import urlopen

import pytest
import sentry_sdk
import yaml
from django.conf import settings as service_settings
from django.db import connection
from django.http import HttpResponse
from django.utils import timezone
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from prometheus_client import CollectorRegistry, values
from prometheus_client.multiprocess import MultiProcessCollector

from config.database import base
from config.monitoring import errors, metrics
from config.monitoring.database import DatabaseCollector
from config.monitoring.processes import create_directory, take_number
from config.monitoring.statements import slow_statement_log, without_values
from config.monitoring.tracing import RequestTracer
from config.wsgi import Application, application
from core.changes.followers import Follower
from core.changes.models import Change
from core.db.time_limit import set_client_timeout
from core.jobs import queue
from core.jobs.queue import Job
from tests.support.service import READY, free_port

pytestmark = pytest.mark.django_db

MONITORING = service_settings.BASE_DIR / "docs" / "monitoring"
HOUSEKEEPING = "core.housekeeping.jobs.erase_trash"


@pytest.fixture
def directory(monkeypatch, tmp_path):
    """The directory of the metrics of a web server, in which this process has the number 0."""
    monkeypatch.setenv(metrics.DIRECTORY, str(tmp_path))
    monkeypatch.setattr(values, "ValueClass", values.MultiProcessValue(lambda: 0))
    take_number(tmp_path)
    return tmp_path


@pytest.fixture(autouse=True)
def client_timeout():
    """Restore the timeout of the connection, which a scrape closes unless it is in a transaction."""
    yield
    set_client_timeout(service_settings.STATEMENT_TIMEOUT + 1)


@pytest.fixture
def observed(directory):
    """The application of the service, whose requests are counted in `directory`."""
    observer = metrics.RequestMetrics(application)
    application.observers.append(observer)
    yield observer
    application.observers.remove(observer)


def samples(*collectors) -> dict[str, float]:
    """Return the values of metrics, by their names with labels."""
    found = {}
    for collector in collectors:
        for family in collector.collect():
            for sample in family.samples:
                labels = ",".join(f"{name}={value}" for name, value in sorted(sample.labels.items()))
                found[f"{sample.name}{{{labels}}}" if labels else sample.name] = sample.value
    return found


def test_it_works(acme, observed, directory):
    xml, json_client = acme.xml(), acme.json()
    for _ in range(2):
        assert xml.get("/app/users/me.xml").status_code == 200
    assert json_client.get("/app/clients/0.json").status_code == 404
    assert xml.request("BREW", "/app/users/me.xml").status_code == 405
    assert xml.get("/healthz").status_code == 200
    assert xml.get("/nothing/at/acme").status_code == 404
    observed.measure()
    found = samples(MultiProcessCollector(None, str(directory)))
    assert {name: value for name, value in found.items() if name.startswith("rostrum_requests_total")} == {
        "rostrum_requests_total{method=GET,route=forum-xml-me,status=2xx}": 2,
        "rostrum_requests_total{method=other,route=forum-xml-me,status=4xx}": 1,
        "rostrum_requests_total{method=GET,route=crm-json-client,status=4xx}": 1,
        "rostrum_requests_total{method=GET,route=probe,status=2xx}": 1,
        "rostrum_requests_total{method=GET,route=none,status=4xx}": 1,
    }
    assert found["rostrum_request_seconds_count{route=forum-xml-me}"] == 3
    assert found["rostrum_request_seconds_bucket{le=+Inf,route=forum-xml-me}"] == 3
    assert found["rostrum_request_slots"] == service_settings.REQUEST_THREADS
    assert (found["rostrum_request_slots_in_use"], found["rostrum_requests_waiting"]) == (0, 0)
    assert found["rostrum_resident_bytes{pid=0}"] > 10**7
    assert "acme" not in "".join(found)


def test_it_counts_rejections_by_cause(acme, observed, directory, settings, monkeypatch):
    settings.RATE_LIMIT = 1
    json_client = acme.json()
    assert [json_client.get("/app/clients.json").status_code for _ in range(2)] == [200, 429]
    headers = {"Content-Type": "application/json"}
    assert json_client.post("/app/clients.json", content=b"x" * 1_100_000, headers=headers).status_code == 413
    monkeypatch.setattr(application.slots, "free", 0)
    monkeypatch.setattr(application.slots, "timeout", 0)
    assert json_client.get("/app/clients.json").status_code == 503
    observed.measure()
    found = samples(MultiProcessCollector(None, str(directory)))
    assert {name: value for name, value in found.items() if name.startswith("rostrum_rejections_total")} == {
        "rostrum_rejections_total{cause=rate_limit}": 1,
        "rostrum_rejections_total{cause=too_large}": 1,
        "rostrum_rejections_total{cause=no_slot}": 1,
    }


def test_it_reads_jobs_and_the_feed_from_the_database(acme):
    empty = samples(DatabaseCollector())
    assert empty["rostrum_jobs{queue=webhooks,state=due}"] == 0
    Job.objects.all().delete()
    Change.objects.all().delete()
    now = timezone.now()
    queue.insert("mail", "a", {}, {}, scheduled_at=now - timedelta(seconds=100))
    queue.insert("mail", "a", {}, scheduled_at=now + timedelta(hours=1))
    Job.objects.create(queue="mail", name="a", state="failed", scheduled_at=now)
    Job.objects.create(queue="mail", name="a", state="waiting", scheduled_at=now - timedelta(seconds=9), error="E")
    queue.register_worker()
    queue.insert_periodic("periodic", HOUSEKEEPING, at=1_700_000_000, now=1_700_000_000)
    late = now - timedelta(seconds=70)
    Follower.objects.create(account=acme.account, name="webhook", key=1, cursor=0, newest=1, due_at=late, failures=2)
    Follower.objects.create(account=acme.account, name="webhook", key=2, cursor=0, newest=1, due_at=late, failures=2)
    Follower.objects.pause(acme.account.id, "webhook", 2)
    Change.objects.create(account=acme.account, position=1, resource="client", id=1, change="created", at=late)
    found = samples(DatabaseCollector())
    assert {name: found[name] for name in found if "queue=mail," in name} == {
        "rostrum_jobs{queue=mail,state=due}": 3,
        "rostrum_jobs{queue=mail,state=scheduled}": 1,
        "rostrum_jobs{queue=mail,state=running}": 0,
        "rostrum_jobs{queue=mail,state=failed}": 1,
    }
    assert found["rostrum_jobs_retried{queue=mail}"] == 1
    assert 99 < found["rostrum_jobs_oldest_due_seconds{queue=mail}"] < 160
    assert found["rostrum_job_workers"] == 1
    assert found[f"rostrum_periodic_job_queued_timestamp_seconds{{name={HOUSEKEEPING}}}"] == 1_700_000_000
    assert found["rostrum_followers_due{follower=webhook}"] == found["rostrum_followers_failing{follower=webhook}"] == 1
    assert 69 < found["rostrum_followers_oldest_due_seconds{follower=webhook}"] < 130
    assert 69 < found["rostrum_changes_oldest_unnumbered_seconds"] < 130
    assert found["rostrum_database_connections{state=active}"] >= 1
    assert found["rostrum_database_connections_max"] > 1
    assert found["rostrum_database_up"] == 1


def test_it_reports_a_database_that_is_away(monkeypatch):
    monkeypatch.setattr("config.monitoring.database.JOBS", "SELECT pg_sleep(10)")
    monkeypatch.setattr("config.monitoring.database.STATEMENT_LIMIT_MS", 20)
    assert samples(DatabaseCollector()) == {"rostrum_database_up": 0}


def job_metrics():
    registry = CollectorRegistry()
    return metrics.JobMetrics(registry), registry


def test_it_counts_jobs_by_name():
    observe, registry = job_metrics()
    observe(Job(name=HOUSEKEEPING), "succeeded", 0.2)
    observe(Job(name="of another version"), "failed", 2)
    found = samples(registry)
    assert found[f"rostrum_job_runs_total{{name={HOUSEKEEPING},outcome=succeeded}}"] == 1
    assert found["rostrum_job_runs_total{name=unknown,outcome=failed}"] == 1
    assert found[f"rostrum_job_seconds_sum{{name={HOUSEKEEPING}}}"] == 0.2
    assert [name for name in found if "succeeded_timestamp" in name] == [
        f"rostrum_job_succeeded_timestamp_seconds{{name={HOUSEKEEPING}}}"
    ]


def test_numbers_of_processes_are_used_again(tmp_path):
    code = f"from pathlib import Path; from config.monitoring.processes import take_number; print(take_number(Path({str(tmp_path)!r})), flush=True); input()"

    def start():
        process = subprocess.Popen(
            [sys.executable, "-c", code],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=service_settings.BASE_DIR,
        )
        return process, process.stdout.readline().strip()

    (first, number), (second, other) = start(), start()
    assert (number, other) == ("0", "1")
    first.kill()
    first.communicate()
    third, number = start()
    assert number == "0"
    for process in (second, third):
        process.kill()
        process.communicate()


def test_it_removes_directories_of_servers_that_were_killed(monkeypatch, tmp_path):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr("config.monitoring.processes.MIN_AGE", -1)
    (tmp_path / "rostrum-metrics-killed").mkdir()
    (tmp_path / "other").mkdir()
    first, second = create_directory(), create_directory()
    assert sorted(tmp_path.iterdir()) == sorted([tmp_path / "other", first, second])


def test_it_sends_errors_to_sentry_without_personal_data(settings, monkeypatch):
    settings.SENTRY_DSN = "https://key@sentry.example.com/1"
    root = logging.getLogger()
    handlers = list(root.handlers)
    sent = []
    errors.start()
    try:
        monkeypatch.setattr(
            sentry_sdk.get_client().transport, "capture_envelope", lambda envelope: sent.append(envelope)
        )
        sentry_sdk.set_user({"email": "ann@example.com"})
        secret = "the row of ann@example.com"
        try:
            raise ValueError(secret)
        except ValueError:
            request = {"url": "http://acme.example.com/?q=ann@example.com"}
            logging.getLogger("django.request").exception(
                "Internal Server Error: %s", "/app/clients?token=abcdefgh", extra={"request": request}
            )
        try:
            raise KeyError(secret)
        except KeyError as error:
            logging.getLogger("rostrum.jobs").error("job %d failed: KeyError", 5, extra={"error": error})
        logging.getLogger("rostrum.jobs").warning("not an error")
    finally:
        root.handlers = handlers
        sentry_sdk.get_client().close(timeout=0)
        sentry_sdk.get_global_scope().set_client(None)
        sentry_sdk.get_isolation_scope().clear()
    first, second = (envelope.get_event() for envelope in sent)
    assert first["exception"]["values"][0]["type"] == "ValueError"
    assert first["exception"]["values"][0]["stacktrace"]["frames"][-1]["function"] == (
        "test_it_sends_errors_to_sentry_without_personal_data"
    )
    assert first["logentry"]["formatted"] == "Internal Server Error: /app/clients?token=[redacted]"
    assert second["exception"]["values"][0]["type"] == "KeyError"
    assert second["logentry"] == {"message": "job %d failed: KeyError", "formatted": "job 5 failed: KeyError"}
    for event in (first, second):
        frame = event["exception"]["values"][0]["stacktrace"]["frames"][-1]
        # Lines of the code are sent, and this test has the address in its code.
        for name in ("pre_context", "context_line", "post_context"):
            del frame[name]
        assert "ann@" not in json.dumps(event)
        assert "acme" not in json.dumps(event)
        assert {"request", "user", "extra", "breadcrumbs", "contexts"}.isdisjoint(event)
        assert all("vars" not in frame for frame in event["exception"]["values"][0]["stacktrace"]["frames"])
        assert all("value" not in value for value in event["exception"]["values"])


@pytest.fixture
def statements(monkeypatch):
    """The observers of statements. The connection of the test calls them."""
    observers = []
    monkeypatch.setattr(base, "statement_observers", observers)
    monkeypatch.setattr("config.monitoring.tracing.statement_observers", observers)
    connection.ensure_connection()
    monkeypatch.setattr(connection.connection, "cursor_factory", base.ObservedCursor)
    return observers


@pytest.mark.machinery
def test_it_logs_slow_statements_without_values(acme, statements, caplog):
    statements.append(slow_statement_log(15))
    response = acme.json().get("/app/clients.json")
    assert response.status_code == 200
    assert "rostrum.statements" not in {record.name for record in caplog.records if "pg_sleep" in record.message}
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_sleep(%s),\n  'ann''s secret', %s", [0.02, "ann@example.com"])
    [line] = [record.getMessage() for record in caplog.records if "pg_sleep" in record.getMessage()]
    assert re.fullmatch(r"\d+ ms, request [0-9a-f]{16}: SELECT pg_sleep\(%s\), '\?', %s", line)
    assert response.headers["X-Request-Id"] in line


def test_statements_have_one_line_and_a_limit():
    assert without_values("SELECT 1\n  WHERE a = 'x''y' AND b = ''") == "SELECT 1 WHERE a = '?' AND b = '?'"
    assert len(without_values("SELECT " + "a, " * 10_000)) == 2000


@pytest.fixture
def spans():
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    yield provider.get_tracer("test"), exporter.get_finished_spans
    provider.shutdown()


@pytest.mark.machinery
def test_it_traces_requests_with_their_statements(acme, statements, spans, settings):
    settings.OTEL_TRACES_SAMPLER_ARG = 1
    tracer, finished = spans
    observer = RequestTracer(tracer)
    application.observers.append(observer)
    try:
        response = acme.json().get(
            "/app/clients.json?q=ann@example.com", headers={"traceparent": f"00-{'1' * 32}-{'1' * 16}-01"}
        )
    finally:
        application.observers.remove(observer)
    *children, request = finished()
    assert (request.name, request.parent) == ("GET crm-json-clients", None)
    assert dict(request.attributes) == {
        "http.request.method": "GET",
        "http.route": "crm-json-clients",
        "http.response.status_code": 200,
        "rostrum.request_id": response.headers["X-Request-Id"],
    }
    assert {child.parent.span_id for child in children} == {request.context.span_id}
    texts = [child.attributes["db.query.text"] for child in children]
    assert any("crm_client" in text for text in texts)
    assert "ann" not in json.dumps([child.to_json() for child in (*children, request)])


def metric_names(directory) -> set[str]:
    """Return the names of all metrics of the service, as queries write them."""
    observe, registry = job_metrics()
    observe(Job(name=HOUSEKEEPING), "succeeded", 1)
    requests = metrics.RequestMetrics(Application(lambda environ, start: HttpResponse()))
    requests.rejections.labels("share").inc()
    requests.requests.labels("none", "GET", "2xx").inc()
    requests.seconds.labels("none").observe(1)
    requests.measure()
    collectors = (
        MultiProcessCollector(None, str(directory)),
        metrics.ServerCollector(1),
        DatabaseCollector(),
        registry,
    )
    families = [family for collector in collectors for family in collector.collect()]
    return {sample.name for family in families for sample in family.samples} | {family.name for family in families}


def test_alerts_and_the_dashboard_name_metrics_that_exist(directory):
    alerts = yaml.safe_load((MONITORING / "alerts.yml").read_text())
    dashboard = json.loads((MONITORING / "dashboard.json").read_text())
    rules = [rule for group in alerts["groups"] for rule in group["rules"]]
    targets = [target for panel in dashboard["panels"] for target in panel["targets"]]
    used = set(re.findall(r"\brostrum_\w+", " ".join(entry["expr"] for entry in (*rules, *targets))))
    document = (service_settings.BASE_DIR / "docs" / "operating.md").read_text()
    existing = metric_names(directory)
    assert used - existing == set()
    documented = set(re.findall(r"`(rostrum_\w+)", document))
    assert documented - existing == set()
    families = {re.sub("_(total|bucket|sum|count)$", "", name) for name in existing}
    shown = {re.sub("_(total|bucket|sum|count)$", "", name) for name in used}
    assert families - shown == set(), "no alert and no panel shows these"
    assert families - {re.sub("_total$", "", name) for name in documented} == set()
    for rule in rules:
        assert f"`{rule['alert']}`" in document


def test_an_address_in_use_and_a_full_disk_are_logged_once(settings, monkeypatch, caplog, tmp_path):
    naps = iter(range(100))
    monkeypatch.setattr(metrics.time, "sleep", lambda seconds: next(naps))
    with socket.create_server(("127.0.0.1", 0)) as other:
        settings.METRICS_ADDRESS = other.getsockname()
        with pytest.raises(StopIteration):
            metrics.watch(SimpleNamespace(measure=Mock(side_effect=OSError(28, "No space left on device"))), tmp_path)
    assert [record.message for record in caplog.records] == [
        "metrics are not written: No space left on device",
        "no metrics: cannot listen on METRICS_ADDRESS: Address already in use",
    ]


@pytest.mark.skipif(not shutil.which("promtool"), reason="promtool is missing: the rules of alerts are not parsed")
def test_promtool_accepts_the_alerts():
    subprocess.run(["promtool", "check", "rules", MONITORING / "alerts.yml"], check=True, capture_output=True)


def test_what_is_off_is_not_imported():
    code = "import django; django.setup(); import config.server, config.wsgi, sys; print({'prometheus_client', 'opentelemetry', 'sentry_sdk'} & set(sys.modules))"
    completed = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=service_settings.BASE_DIR
    )
    assert completed.stdout == "set()\n"


@pytest.mark.soak
def test_counts_continue_after_a_worker_was_killed(start_service, tmp_path):
    port = free_port()

    def scrape() -> str:
        with urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as response:
            return response.read().decode()

    service = start_service(METRICS_ADDRESS=f"127.0.0.1:{port}", WORKERS="2")
    service.wait_for_output(READY)
    for _ in range(10):
        service.get("/app/docs")
    parent = service.find_process("serve")

    def count() -> float:
        found = re.findall(r'^rostrum_requests_total{[^}]*route="accounts-docs"[^}]*} (\S+)$', scrape(), re.MULTILINE)
        return sum(map(float, found))

    def is_counted() -> bool:
        with contextlib.suppress(OSError):
            return count() == 10 and "rostrum_web_workers 2.0" in scrape()
        return False

    service.wait_for(is_counted)
    killed = min(parent.children(), key=lambda process: process.create_time())
    killed.kill()
    service.wait_for(lambda: killed not in parent.children() and len(parent.children()) == 2 and is_counted())
    assert 'pid="2"' not in scrape()
