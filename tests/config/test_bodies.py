"""Bodies that end early, through a socket of the service as `make run` starts it."""

import base64
import re
import socket
import time

import pytest


def begin_request(service, path="/app/sign-in", headers=b"Content-Length: 1000", body=b"a"):
    """Send the beginning of a request, and return the connection."""
    connection = socket.create_connection(("127.0.0.1", service.port), 20)
    head = b"POST %s HTTP/1.1\r\nHost: localhost\r\nAccept: text/html\r\n%s\r\n\r\n" % (path.encode(), headers)
    connection.sendall(head + body)
    return connection


def test_a_slow_body_is_read_and_a_truncated_body_has_no_effect(shared_service):
    with begin_request(shared_service, headers=b"Content-Length: 5") as connection:
        for _ in range(4):
            time.sleep(0.2)
            connection.sendall(b"a")
        assert connection.recv(12) == b"HTTP/1.1 403"

    def count(status):
        return shared_service.output().count(f"/app/contact_lists.json {status} ")

    refused, accepted = count(400), count(201)
    [token] = re.findall(r"api_token +(\S+)", shared_service.output())
    headers = b"Authorization: Bearer %s\r\nContent-Type: application/json\r\n" % token.encode()
    body = b'{"contact_list": {"name": "cut off"}}'
    sized = headers + b"Content-Length: 5000"
    with begin_request(shared_service, "/app/contact_lists.json", sized, body) as connection:
        connection.shutdown(socket.SHUT_WR)
        assert connection.recv(12) == b"HTTP/1.1 400"
    with begin_request(shared_service, "/app/contact_lists.json", sized, body):
        pass
    shared_service.wait_for(lambda: count(400) == refused + 2)
    assert count(201) == accepted


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
def test_an_incomplete_body_in_chunks_has_no_effect(shared_service, path, media_type, body):
    [token] = re.findall(r"api_token +(\S+)", shared_service.output())
    [password] = re.findall(r"^  password +(\S+)$", shared_service.output(), re.MULTILINE)
    credentials = b"Basic " + base64.b64encode(f"demo:{password}".encode())
    if path.endswith(".json"):
        credentials = b"Bearer " + token.encode()
    headers = b"Authorization: %s\r\nContent-Type: %s\r\nTransfer-Encoding: chunked" % (credentials, media_type)
    complete = CHUNK % (5, body[:5]) + CHUNK % (len(body) - 5, body[5:])

    writes = shared_service.output().count(f"{path} 201 ")

    def status_of_chunks(chunks, *, is_ended):
        with begin_request(shared_service, path, headers, chunks) as connection:
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
    assert shared_service.output().count(f"{path} 201 ") == writes
    assert status_of_chunks(complete + b"0;ext=1\r\nX-Trailer: a\r\n\r\n", is_ended=False) == b"201"


@pytest.mark.parametrize("framing", ["length", "chunks"])
def test_a_body_that_is_too_long_is_refused(shared_service, settings, framing):
    body = b" " * (settings.MAX_BODY_BYTES + 1)
    headers, sent = b"Content-Length: %d" % len(body), body
    if framing == "chunks":
        headers, sent = b"Transfer-Encoding: chunked", CHUNK % (len(body), body) + b"0\r\n\r\n"
    with begin_request(shared_service, "/app/clients.json", headers, sent) as connection:
        assert connection.recv(12) == b"HTTP/1.1 413"
