"""Clients that send incomplete requests to the service as `make run` starts it."""

import contextlib
import http.client
import re
import socket
import time

import pytest
from django.conf import settings

from config.serving import deadline
from config.serving.in_flight import InFlight


@pytest.fixture
def service(shared_service):
    return shared_service


def begin(service, path="/app/sign-in", headers=b"Content-Length: 1000", body=b"a", address="127.0.0.1"):
    """Send the beginning of a request, and return the connection."""
    connection = socket.create_connection(("127.0.0.1", service.port), 20, source_address=(address, 0))
    head = b"POST %s HTTP/1.1\r\nHost: localhost\r\nAccept: text/html\r\n%s\r\n\r\n" % (path.encode(), headers)
    connection.sendall(head + body)
    return connection


def status(service, method="GET", path="/", address="127.0.0.1"):
    connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=20, source_address=(address, 0))
    with contextlib.closing(connection):
        connection.request(method, path, b"a=b" if method == "POST" else None, {"Accept": "text/html"})
        return connection.getresponse().status


def test_missing_bodies_do_not_block_the_service(service):
    with contextlib.ExitStack() as stack:
        opened = [stack.enter_context(begin(service)) for _ in range(settings.QUEUE_CAPACITY + 12)]
        # Requests above the limit are rejected; the service waits for the bodies of the others.
        latest = time.monotonic() + 20
        while service.output().count("/app/sign-in 503 ") < len(opened) - settings.MAX_BODIES_PER_SENDER:
            assert time.monotonic() < latest
            time.sleep(0.02)
        assert [status(service) for _ in range(10)] == [200] * 10
        assert status(service, path="/readyz") == 200
        assert status(service, "POST", "/app/sign-in") == 503
        # The form of another client is read, and rejected because it lacks the CSRF token.
        assert status(service, "POST", "/app/sign-in", address="127.0.0.2") == 403
    service.wait_for_output("/app/sign-in 400 ")


def test_a_slow_body_is_read_and_a_truncated_body_has_no_effect(service):
    with begin(service, headers=b"Content-Length: 5") as connection:
        for _ in range(4):
            time.sleep(0.2)
            connection.sendall(b"a")
        assert connection.recv(12) == b"HTTP/1.1 403"

    [token] = re.findall(r"api_token +(\S+)", service.output())
    headers = b"Authorization: Bearer %s\r\nContent-Type: application/json\r\n" % token.encode()
    body = b'{"contact_list": {"name": "cut off"}}'
    sized = headers + b"Content-Length: 5000"
    with begin(service, "/app/contact_lists.json", sized, body) as connection:
        connection.shutdown(socket.SHUT_WR)
        assert connection.recv(12) == b"HTTP/1.1 400"
    with begin(service, "/app/contact_lists.json", sized, body):
        pass
    latest = time.monotonic() + 20
    while service.output().count("/app/contact_lists.json 400 ") < 2:
        assert time.monotonic() < latest
        time.sleep(0.02)
    assert "/app/contact_lists.json 201 " not in service.output()


only_linux = pytest.mark.skipif(not hasattr(socket, "TCP_INFO"), reason="only Linux says when something was sent last")


@only_linux
def test_unfinished_headers_do_not_block_the_service(service):
    """The service stays available before the deadline for headers (30 s): these requests have a timeout of 20 s."""
    with contextlib.ExitStack() as stack:
        for _ in range(settings.MAX_CLIENT_CONNECTIONS + 20):
            address = ("127.0.0.1", service.port)
            connection = stack.enter_context(socket.create_connection(address, 20, source_address=("127.0.0.2", 0)))
            connection.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n")
        assert status(service, path="/healthz") == 200
        assert [status(service) for _ in range(10)] == [200] * 10


@contextlib.contextmanager
def connected(*clients):
    """Open connections from these addresses to a server in this process. Return its port and its sockets, oldest first."""
    with socket.create_server(("127.0.0.1", 0)) as server, contextlib.ExitStack() as stack:
        address = server.getsockname()
        ends = []
        for client in clients:
            stack.enter_context(socket.create_connection(address, 20, source_address=(client, 0)))
            ends.append(stack.enter_context(server.accept()[0]))
            ends[-1].setblocking(False)
            latest = time.monotonic() + 20
            # Makes the order of the connections certain.
            while deadline.milliseconds_since_sending(ends[-1]) < 20:
                assert time.monotonic() < latest
        yield address[1], ends


def is_ended(connection):
    try:
        return connection.recv(1) == b""
    except BlockingIOError:
        return False


@only_linux
def test_connections_over_the_share_of_an_address_are_ended(settings, monkeypatch):
    settings.MAX_CLIENT_CONNECTIONS = 4
    monkeypatch.setattr(deadline, "COUNT_AFTER", 1)
    with connected("127.0.0.2", "127.0.0.1", "127.0.0.2", "127.0.0.2", "127.0.0.1", "127.0.0.2") as (port, ends):
        assert deadline.end_excess(port, InFlight(1)) == 2
        assert [is_ended(end) for end in ends] == [True, False, True, False, False, False]


@only_linux
@pytest.mark.parametrize(
    ("changed", "counted_after"),
    [({"TRUST_PROXY": True}, 1), ({"QUEUE_CAPACITY": 0}, 1), ({"MAX_CLIENT_CONNECTIONS": 6}, 1), ({}, 60_000)],
    ids=["all are the proxy's", "requests may wait for a thread", "within the share", "just opened"],
)
def test_other_connections_are_not_ended(settings, monkeypatch, changed, counted_after):
    settings.MAX_CLIENT_CONNECTIONS = 4
    monkeypatch.setattr(deadline, "COUNT_AFTER", counted_after)
    for name, value in changed.items():
        setattr(settings, name, value)
    with connected("127.0.0.2", "127.0.0.2", "127.0.0.2") as (port, ends):
        assert deadline.end_excess(port, InFlight(1)) == 0
        assert not any(map(is_ended, ends))


@only_linux
def test_overdue_connections_are_ended():
    with socket.create_server(("127.0.0.1", 0)) as server, contextlib.ExitStack() as stack:
        port = server.getsockname()[1]

        def connect():
            client = stack.enter_context(socket.create_connection(("127.0.0.1", port), 20))
            accepted = stack.enter_context(server.accept()[0])
            accepted.settimeout(20)
            return client, accepted

        late_client, late = connect()
        late_client.sendall(b"a")
        time.sleep(2.2)
        _, early = connect()
        deadline.end_overdue(port, 2)
        # The server can read the received bytes up to the end, and can still respond.
        assert (late.recv(10), late.recv(10)) == (b"a", b"")
        late.sendall(b"b")
        assert late_client.recv(10) == b"b"
        # Other connections stay open, and new ones are accepted.
        early.setblocking(False)
        with pytest.raises(BlockingIOError):
            early.recv(10)
        connect()


def test_the_watch_continues_when_no_more_files_can_be_opened(monkeypatch):
    """Otherwise a client could disable the deadline by opening many connections."""
    looked = []

    def look(port, in_flight):
        looked.append(port)
        if len(looked) < 3:
            raise OSError("Too many open files")
        raise SystemExit

    monkeypatch.setattr(deadline, "end_excess", look)
    monkeypatch.setattr(deadline.time, "sleep", lambda seconds: None)
    with pytest.raises(SystemExit):
        deadline._watch(8000, InFlight(1))
    assert looked == [8000] * 3
