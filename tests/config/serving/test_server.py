"""Workers that end unexpectedly, and the records of their requests (`config.serving.server`, `config.serving.in_flight`)."""

import os
import re
import socket

from config.serving.in_flight import RECORD_BYTES, InFlight
from tests.support.admission import Call, answering, dispatcher_of
from tests.support.service import READY, is_running


def test_it_works():
    in_flight = InFlight(2)
    first = in_flight.add("1 GET host/a/long/path")
    second = in_flight.add("2 POST host/b")
    assert list(in_flight) == ["2 POST host/b", "1 GET host/a/long/path"]
    in_flight.remove(first)
    assert list(in_flight) == ["2 POST host/b"]
    in_flight.add("3 GET h/c")
    in_flight.remove(second)
    assert list(in_flight) == ["3 GET h/c"]


def test_the_parent_sees_the_requests_of_a_dead_child():
    in_flight = InFlight(3)
    pid = os.fork()
    if not pid:
        in_flight.remove(in_flight.add("1 GET host/answered"))
        in_flight.add("2 GET host/interrupted")
        os._exit(1)
    os.waitpid(pid, 0)
    assert list(in_flight) == ["2 GET host/interrupted"]


def test_long_and_odd_texts_are_cut_to_one_record():
    in_flight = InFlight(2)
    for text in ("x" * 10_000, "ó"):
        in_flight.add(text)
    assert list(in_flight) == ["?", "x" * (RECORD_BYTES - 1)]


def test_the_application_records_each_request():
    records = []
    dispatcher = dispatcher_of(answering(lambda environ: records.extend(in_flight)))
    in_flight = dispatcher.application.in_flight
    call = Call(dispatcher, "/app/tasks.json", QUERY_STRING="api_token=abc", HTTP_HOST="acme.example.test")
    assert records == [f"{call.headers['X-Request-Id']} GET acme.example.test/app/tasks.json?api_token=[redacted]"]
    assert list(in_flight) == []


def test_the_record_of_a_failed_request_is_removed(caplog):
    caplog.set_level("INFO", "rostrum.access")

    def raise_error(environ):
        raise RuntimeError("a defect")

    dispatcher = dispatcher_of(answering(raise_error))
    call = Call(dispatcher, "/healthz")
    assert (call.status, call.content) == ("500", b"")
    assert list(dispatcher.application.in_flight) == []
    [line] = [record.getMessage() for record in caplog.records if record.name == "rostrum.access"]
    assert line.split()[3] == "500"


def workers(web):
    return [child for child in web.children() if is_running(child)]


def begin_request(service):
    """Send a request up to its body, and wait until the application reads the body."""
    connection = socket.create_connection(("127.0.0.1", service.port), 60)
    head = "POST /app/sign-in HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\nExpect: 100-continue\r\n\r\n"
    connection.sendall(head.encode())
    assert connection.recv(12) == b"HTTP/1.1 100"
    return connection


def test_workers_are_replaced_repeatedly(start_service):
    service = start_service(WORKERS="2")
    service.wait_for_output(READY)
    web = service.find_process("manage.py serve")
    for _ in range(4):
        service.wait_for(lambda: len(workers(web)) == 2)
        service.wait_for(service.is_healthy)
        with begin_request(service):
            for worker in workers(web):
                worker.kill()
            service.wait_for(lambda: not is_running(worker))  # noqa: B023
    service.wait_for(lambda: len(workers(web)) == 2)
    service.wait_for(service.is_healthy)
    assert web.is_running()
    assert "worker 2 ended unexpectedly (killed by signal 9): starting it again in 0." in service.output()
    message = "ended while it was serving request"
    line = rf"worker \d {message} [0-9a-f]{{16}} POST localhost/app/sign-in\n"
    assert len(re.findall(line, service.output())) == service.output().count(message) == 4

    # A stop does not interrupt requests.
    service.process.terminate()
    service.wait_for_end()
    assert service.output().count(message) == 4
