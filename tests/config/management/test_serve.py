import contextlib
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from urllib.request import urlopen

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command

from config.local.postgres import Cluster
from tests.support.service import free_port

UNREACHABLE_DATABASE = "postgresql://rostrum@127.0.0.1:1/rostrum"


@pytest.fixture
def cluster():
    # The path of a Unix socket must be short.
    directory = tempfile.mkdtemp()
    cluster = Cluster(Path(directory) / "p", durable=False)
    yield cluster
    cluster.stop()
    shutil.rmtree(directory)


@pytest.fixture
def port():
    return free_port()


def start(*arguments, **environment):
    """Start a management command as a process, with its output in one pipe."""
    return subprocess.Popen(
        [sys.executable, "manage.py", *arguments],
        cwd=settings.BASE_DIR,
        env=os.environ | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def run(*arguments, **environment):
    with start(*arguments, **environment) as process:
        output, _ = process.communicate(timeout=60)
    return process.returncode, output


@pytest.mark.soak
def test_it_works_after_the_database_is_available_and_migrated(cluster, port):
    arguments = ("serve", "--port", str(port), "--workers", "1", "--database-wait", "50")
    with start(*arguments, DATABASE_URL=cluster.url) as server:
        try:
            assert re.fullmatch(r"Waiting, \d+ of 50 s\. The database does not answer: .*\n", server.stdout.readline())
            cluster.start()
            output_line = next(line for line in server.stdout if "does not answer" not in line)
            assert re.fullmatch(
                r"Waiting, \d+ of 50 s\. \d+ migrations are missing \(the first is \w+\.\w+\): "
                r"run python manage\.py migrate\n",
                output_line,
            )
            assert run("migrate", "--verbosity=0", DATABASE_URL=cluster.url) == (0, "")
            output_line = next(line for line in server.stdout if "Waiting" not in line)
            assert output_line == f"Serving on 127.0.0.1 port {port} with 1 workers.\n"
            deadline = time.monotonic() + 20
            while True:
                with contextlib.suppress(OSError), urlopen(f"http://127.0.0.1:{port}/healthz", timeout=5) as response:
                    assert response.status == 200
                    break
                assert time.monotonic() < deadline
                time.sleep(0.05)
        finally:
            server.terminate()
            server.communicate(timeout=20)


def test_it_gives_up_waiting_for_the_database(port):
    status, output = run("serve", "--port", str(port), DATABASE_URL=UNREACHABLE_DATABASE, DATABASE_WAIT="1")
    assert status == 1
    assert re.search(r"^Waiting, [01] of 1 s\. The database does not answer: ", output, re.MULTILINE)
    # The reason, without the hint that libpq adds in another line.
    reason = 'The database does not answer: connection failed: connection to server at "127.0.0.1", port 1 failed: Connection refused'
    assert output.endswith(f"CommandError: Gave up after 1 s. {reason}\n")


def test_it_rejects_missing_and_invalid_settings():
    status, output = run(
        "serve", SECRET_KEY="", DATABASE_URL="mysql://x@y/z", PORT="0", WORKERS="many", DATABASE_WAIT="-1"
    )
    assert status == 1
    assert "SystemCheckError: System check identified some issues:" in output
    assert "SECRET_KEY is not set." in output
    assert "DATABASE_URL is not valid" in output
    for name in ("PORT", "WORKERS", "DATABASE_WAIT"):
        assert f"{name} is not valid: write a whole number from " in output


def test_it_rejects_a_port_in_use():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        assert run("serve", PORT=str(port), DATABASE_URL=UNREACHABLE_DATABASE) == (
            1,
            f"CommandError: Cannot listen on 127.0.0.1 port {port}: Address already in use.\n",
        )


def test_it_rejects_arguments_that_are_not_valid_numbers():
    for argument, value, sentence in (
        ("--port", "0", "argument --port: write a whole number from 1 to 65535, not '0'"),
        ("--workers", "many", "argument --workers: write a whole number from 1 to 256, not 'many'"),
        ("--database-wait", "3601", "argument --database-wait: write a whole number from 0 to 3600, not '3601'"),
    ):
        with pytest.raises(CommandError) as caught:
            call_command("serve", argument, value)
        assert str(caught.value) == f"Error: {sentence}"
