"""Clients that send incomplete requests to the service as `make run` starts it."""

import base64
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


def begin_request(service, path="/app/sign-in", headers=b"Content-Length: 1000", body=b"a", address="127.0.0.1"):
    """Send the beginning of a request, and return the connection."""
    connection = socket.create_connection(("127.0.0.1", service.port), 20, source_address=(address, 0))
    head = b"POST %s HTTP/1.1\r\nHost: localhost\r\nAccept: text/html\r\n%s\r\n\r\n" % (path.encode(), headers)
    connection.sendall(head + body)
    return connection


def status_of(service, method="GET", path="/", address="127.0.0.1"):
    connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=20, source_address=(address, 0))
    with contextlib.closing(connection):
        connection.request(method, path, b"a=b" if method == "POST" else None, {"Accept": "text/html"})
        return connection.getresponse().status


def test_missing_bodies_do_not_block_the_service(service):
    with contextlib.ExitStack() as stack:
        connections = [stack.enter_context(begin_request(service)) for _ in range(2 * settings.MAX_BODIES)]
        # Requests above the limit are rejected; the service waits for the bodies of the others.
        give_up_at = time.monotonic() + 20
        while service.output().count("/app/sign-in 503 ") < len(connections) - settings.MAX_BODIES_PER_SENDER:
            assert time.monotonic() < give_up_at
            time.sleep(0.02)
        assert [status_of(service) for _ in range(10)] == [200] * 10
        assert status_of(service, path="/readyz") == 200
        assert status_of(service, "POST", "/app/sign-in") == 503
        # The form of another client is read, and rejected because it lacks the CSRF token.
        assert status_of(service, "POST", "/app/sign-in", address="127.0.0.2") == 403
    service.wait_for_output("/app/sign-in 400 ")


def test_a_slow_body_is_read_and_a_truncated_body_has_no_effect(service):
    with begin_request(service, headers=b"Content-Length: 5") as connection:
        for _ in range(4):
            time.sleep(0.2)
            connection.sendall(b"a")
        assert connection.recv(12) == b"HTTP/1.1 403"

    [token] = re.findall(r"api_token +(\S+)", service.output())
    headers = b"Authorization: Bearer %s\r\nContent-Type: application/json\r\n" % token.encode()
    body = b'{"contact_list": {"name": "cut off"}}'
    sized = headers + b"Content-Length: 5000"
    with begin_request(service, "/app/contact_lists.json", sized, body) as connection:
        connection.shutdown(socket.SHUT_WR)
        assert connection.recv(12) == b"HTTP/1.1 400"
    with begin_request(service, "/app/contact_lists.json", sized, body):
        pass
    give_up_at = time.monotonic() + 20
    while service.output().count("/app/contact_lists.json 400 ") < 2:
        assert time.monotonic() < give_up_at
        time.sleep(0.02)
    assert "/app/contact_lists.json 201 " not in service.output()


CHUNK = b"%x\r\n%s\r\n"


@pytest.mark.parametrize(
    ("path", "media_type", "body"),
    [
        ("/app/contact_lists.json", b"application/json", b'{"contact_list": {"name": "in chunks"}}'),
        ("/app/contact_lists.json", b"application/x-www-form-urlencoded", b"contact_list[name]=in+a+form"),
        ("/app/posts.xml", b"application/xml", b"<post><title>In chunks</title></post>"),
    ],
    ids=["JSON", "form", "XML"],
)
@pytest.mark.skipif(not hasattr(socket, "TCP_INFO"), reason="only on Linux is an incomplete body in chunks recognized")
def test_an_incomplete_body_in_chunks_has_no_effect(service, path, media_type, body):
    [token] = re.findall(r"api_token +(\S+)", service.output())
    [password] = re.findall(r"^  password +(\S+)$", service.output(), re.MULTILINE)
    credentials = b"Basic " + base64.b64encode(f"demo:{password}".encode())
    if path.endswith(".json"):
        credentials = b"Bearer " + token.encode()
    headers = b"Authorization: %s\r\nContent-Type: %s\r\nTransfer-Encoding: chunked" % (credentials, media_type)
    complete = CHUNK % (5, body[:5]) + CHUNK % (len(body) - 5, body[5:])

    writes = service.output().count(f"{path} 201 ")

    def status_of_chunks(chunks, *, is_ended):
        with begin_request(service, path, headers, chunks) as connection:
            if is_ended:
                connection.shutdown(socket.SHUT_WR)
            return connection.recv(12)[9:]

    for chunks in (b"", complete, complete[:-2], complete[: len(complete) // 2], complete + b"0\r\n"):
        assert status_of_chunks(chunks, is_ended=True) == b"400", chunks
    for end in (
        b"x\r\n",
        b"-1\r\n",
        b"0x0\r\n\r\n",
        b"f" * 17 + b"\r\n",
        b"\r\n",
        b"0\r\nno trailer\r\n\r\n",
        b"1\r\nab\r\n",
    ):
        assert status_of_chunks(complete + end, is_ended=False) == b"400", end
    assert service.output().count(f"{path} 201 ") == writes
    assert status_of_chunks(complete + b"0;ext=1\r\nX-Trailer: a\r\n\r\n", is_ended=False) == b"201"


@pytest.mark.skipif(not hasattr(socket, "TCP_INFO"), reason="only Linux has the number of received bytes")
def test_an_endless_body_in_chunks_is_refused(service):
    headers = b"Content-Type: application/json\r\nTransfer-Encoding: chunked"
    chunk = CHUNK % (65536, b" " * 65536)
    with begin_request(service, "/app/clients.json", headers, chunk) as connection:
        sent = 0
        with contextlib.suppress(ConnectionError):
            while sent < 2 * 1024**3:
                connection.sendall(chunk)
                sent += len(chunk)
        assert sent < 2 * 1024**3
    service.wait_for_output("/app/clients.json 400 ")


only_linux = pytest.mark.skipif(
    not hasattr(socket, "TCP_INFO"), reason="only Linux has the time of the last received data"
)


@only_linux
def test_unfinished_headers_do_not_block_the_service(service):
    """The service stays available before the deadline for headers (30 s): these requests have a timeout of 20 s."""
    with contextlib.ExitStack() as stack:
        for _ in range(settings.MAX_CLIENT_CONNECTIONS + 20):
            address = ("127.0.0.1", service.port)
            connection = stack.enter_context(socket.create_connection(address, 20, source_address=("127.0.0.2", 0)))
            connection.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n")
        assert status_of(service, path="/healthz") == 200
        assert [status_of(service) for _ in range(10)] == [200] * 10


@contextlib.contextmanager
def open_connections(*clients):
    """Open connections from these addresses to a server in this process. Yield its port and its sockets, oldest first."""
    with socket.create_server(("127.0.0.1", 0)) as server, contextlib.ExitStack() as stack:
        address = server.getsockname()
        server_sockets = []
        for client in clients:
            stack.enter_context(socket.create_connection(address, 20, source_address=(client, 0)))
            server_sockets.append(stack.enter_context(server.accept()[0]))
            server_sockets[-1].setblocking(False)
            give_up_at = time.monotonic() + 20
            # Wait, so that the times of the connections differ.
            while deadline.milliseconds_since_sending(server_sockets[-1]) < 20:
                assert time.monotonic() < give_up_at
        yield address[1], server_sockets


def is_shut_down(connection):
    try:
        return connection.recv(1) == b""
    except BlockingIOError:
        return False


@only_linux
def test_connections_over_the_share_of_an_address_are_ended(settings, monkeypatch):
    settings.MAX_CLIENT_CONNECTIONS = 4
    monkeypatch.setattr(deadline, "COUNT_AFTER", 1)
    with open_connections("127.0.0.2", "127.0.0.1", "127.0.0.2", "127.0.0.2", "127.0.0.1", "127.0.0.2") as (
        port,
        server_sockets,
    ):
        assert deadline.end_excess(port, InFlight(1)) == 2
        assert [is_shut_down(end) for end in server_sockets] == [True, False, True, False, False, False]


@only_linux
@pytest.mark.parametrize(
    ("changed_settings", "changed_constants"),
    [
        ({"TRUST_PROXY": "forwarded"}, {}),
        ({}, {"MANY_REQUESTS": 0}),
        ({"MAX_CLIENT_CONNECTIONS": 6}, {}),
        ({}, {"COUNT_AFTER": 60_000}),
    ],
    ids=["all connections are those of the proxy", "requests may wait", "within the share", "just opened"],
)
def test_other_connections_are_not_ended(settings, monkeypatch, changed_settings, changed_constants):
    settings.MAX_CLIENT_CONNECTIONS = 4
    for name, value in ({"COUNT_AFTER": 1} | changed_constants).items():
        monkeypatch.setattr(deadline, name, value)
    for name, value in changed_settings.items():
        setattr(settings, name, value)
    with open_connections("127.0.0.2", "127.0.0.2", "127.0.0.2") as (port, server_sockets):
        assert deadline.end_excess(port, InFlight(1)) == 0
        assert not any(map(is_shut_down, server_sockets))


@only_linux
def test_overdue_connections_are_ended():
    with socket.create_server(("127.0.0.1", 0)) as server, contextlib.ExitStack() as stack:
        port = server.getsockname()[1]

        def connect():
            client = stack.enter_context(socket.create_connection(("127.0.0.1", port), 20))
            accepted = stack.enter_context(server.accept()[0])
            accepted.settimeout(20)
            return client, accepted

        overdue_client, overdue = connect()
        overdue_client.sendall(b"a")
        time.sleep(2.2)
        _, recent = connect()
        deadline.end_overdue(port, 2)
        # The server can read the received bytes up to the end, and can still respond.
        assert (overdue.recv(10), overdue.recv(10)) == (b"a", b"")
        overdue.sendall(b"b")
        assert overdue_client.recv(10) == b"b"
        # Other connections stay open, and new ones are accepted.
        recent.setblocking(False)
        with pytest.raises(BlockingIOError):
            recent.recv(10)
        connect()


@only_linux
def test_clients_that_do_not_read_are_disconnected():
    """A client that has read everything, and waits for its next response, stays connected."""
    with open_connections("127.0.0.1", "127.0.0.1") as (port, (unread, idle)):
        with contextlib.suppress(BlockingIOError):
            while True:
                unread.send(bytes(65_536))
        deadline.end_unread(port, 20)
        assert not is_shut_down(unread)
        give_up_at = time.monotonic() + 20
        while deadline.milliseconds_since_sending(unread) < 20:
            assert time.monotonic() < give_up_at
        deadline.end_unread(port, 0.02)
        assert is_shut_down(unread)
        with pytest.raises(BrokenPipeError):
            unread.send(b"a")
        assert not is_shut_down(idle)


def test_the_thread_continues_when_no_more_files_can_be_opened(monkeypatch):
    """Otherwise a client could disable the deadline by opening many connections."""
    calls = []

    def fail_twice(port, in_flight):
        calls.append(port)
        if len(calls) < 3:
            raise OSError("Too many open files")
        raise SystemExit

    monkeypatch.setattr(deadline, "end_excess", fail_twice)
    monkeypatch.setattr(deadline.time, "sleep", lambda seconds: None)
    with pytest.raises(SystemExit):
        deadline._watch(8000, InFlight(1))
    assert calls == [8000] * 3
