import signal
import socket
import stat
import sys

import psutil
import pytest

from tests.support.service import READY, Service, free_port, is_running


def password(service):
    return next(line for line in service.output().splitlines() if line.strip().startswith("password"))


def test_it_works(run_anew):
    service = run_anew()
    service.await_text("api_token")
    assert READY in service.output()
    assert (service.get("/healthz"), service.get("/readyz")) == (200, 200)
    for name in ("secret_key", "demo.env"):
        assert stat.S_IMODE((service.data / name).stat().st_mode) == 0o600

    # An idle connection does not delay the stop.
    with socket.create_connection(("127.0.0.1", service.port)) as idle:
        idle.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert idle.recv(12) == b"HTTP/1.1 200"
        service.process.terminate()
        service.await_end()
    assert service.process.wait() == 0
    first = password(service)

    # The signals of Ctrl-C and of a closed terminal. The data is kept between runs.
    for number in (signal.SIGINT, signal.SIGHUP):
        service = run_anew(service.port)
        service.await_text("api_token")
        assert "Creating the database" not in service.output()
        assert password(service) == first
        service.process.send_signal(number)
        service.await_end()
        assert service.process.wait() == 0


def test_it_outlives_its_terminal_under_nohup(run):
    service = run(command=("nohup", sys.executable, "-m", "config.local"))
    service.await_text(READY)
    service.process.send_signal(signal.SIGHUP)
    with pytest.raises(psutil.TimeoutExpired):
        service.process.wait(1)
    assert service.get("/readyz") == 200


def test_it_stops_while_it_is_starting(run_anew):
    service = run_anew()
    for text in ("Creating the database", "Migrating the database"):
        service.await_text(text)
        service.process.terminate()
        service.await_end()
        assert service.process.wait() == 0
        service = run_anew(service.port)
    service.await_text(READY)


def test_it_starts_again_after_a_kill(run):
    service = run()
    service.await_text(READY)
    service.process.kill()
    # Start on the same port at once: remaining processes must be ended.
    again = run(service.port)
    again.await_text(READY)
    assert again.get("/readyz") == 200
    service.await_end()

    # Kill the web server too, which orphans its workers.
    for process in (again.process, again.member("config.serving.server")):
        process.kill()
    last = run(service.port)
    last.await_text(READY)
    assert last.get("/readyz") == 200
    again.await_end()


def test_it_ends_with_the_make_that_started_it(run):
    shell = ("/bin/sh", "-c", '"$1" -m config.local; true', "sh", sys.executable)
    service = run(command=shell, MAKELEVEL="1")
    service.await_text(READY)
    service.process.kill()
    service.await_end()


def test_it_starts_postgresql_again(run):
    service = run()
    service.await_text(READY)
    assert service.get("/readyz") == 200
    service.member("cluster_name=").kill()
    service.await_text("PostgreSQL is back")
    assert service.get("/readyz") == 200
    assert service.process.poll() is None


def test_it_starts_the_web_server_again(run):
    service = run(WORKERS="2")
    service.await_text(READY)
    web, postgres = service.member("config.serving.server"), service.member("cluster_name=")
    workers = web.children()
    web.kill()
    service.await_text("The web server ended unexpectedly (killed by signal 9): starting it again\n")
    # Orphaned workers must end, or they would keep the port.
    service.await_true(lambda: not any(map(is_running, workers)))
    service.await_true(lambda: service.output().count("Serving on ") == 2)
    service.await_true(service.answers)
    assert service.get("/readyz") == 200
    assert is_running(postgres)
    assert service.process.poll() is None


def test_it_rejects_data_and_a_port_in_use(run, tmp_path):
    service = run()
    service.await_text(READY)
    second = Service(service.data, free_port())
    assert second.process.wait(20) == 1
    assert second.output() == (
        f"{service.data} is in use by another make run: stop that one, or choose another DATA_DIR.\n"
    )

    third = Service(tmp_path / "elsewhere", service.port)
    assert third.process.wait(20) == 1
    assert third.output() == (
        f"Cannot listen on 127.0.0.1 port {service.port}: Address already in use. Choose another: make run PORT=8001\n"
    )
    assert service.get("/healthz") == 200


def test_it_rejects_a_port_that_is_none(run_anew):
    service = run_anew("http")
    assert service.process.wait(20) == 1
    assert service.output() == "PORT is not valid: write a whole number from 1 to 65535, not 'http'.\n"


def test_it_uses_the_database_that_it_is_given(run_anew, tmp_path):
    service = run_anew(DATABASE_URL="postgresql://nobody@127.0.0.1:1/nothing")
    assert service.process.wait(30) == 1
    assert "manage.py migrate failed (status 1)." in service.output()
    assert not (service.data / "postgres").exists()
