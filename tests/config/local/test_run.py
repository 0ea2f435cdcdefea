import contextlib
import signal
import socket
import stat
import sys

import psutil
import pytest

from tests.support.service import READY, Service, free_port, is_running

SERVING = "Serving on "


def password_line(service):
    return next(line for line in service.output().splitlines() if line.strip().startswith("password"))


def test_it_works(start_new_service):
    service = start_new_service()
    # It can be stopped while it is starting. A closed terminal sends SIGHUP.
    for text, number in (("Creating the database", signal.SIGTERM), ("Migrating the database", signal.SIGHUP)):
        service.wait_for_output(text)
        service.process.send_signal(number)
        service.wait_for_end()
        assert service.process.wait() == 0
        # The default number of workers.
        service = start_new_service(service.port, WORKERS="")
    service.wait_for_output("api_token")
    assert READY in service.output()
    assert (service.get("/healthz"), service.get("/readyz")) == (200, 200)
    for name in ("secret_key", "demo.env"):
        assert stat.S_IMODE((service.data / name).stat().st_mode) == 0o600

    # An idle connection does not delay the stop.
    with socket.create_connection(("127.0.0.1", service.port)) as idle:
        idle.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert idle.recv(12) == b"HTTP/1.1 200"
        service.process.terminate()
        service.wait_for_end()
    assert service.process.wait() == 0
    first_password_line = password_line(service)

    # The data is kept between runs. Ctrl-C sends SIGINT.
    service = start_new_service(service.port)
    service.wait_for_output("api_token")
    assert "Creating the database" not in service.output()
    assert password_line(service) == first_password_line
    service.process.send_signal(signal.SIGINT)
    service.wait_for_end()
    assert service.process.wait() == 0


def test_it_starts_again_after_a_kill(start_service):
    service = start_service(command=("nohup", sys.executable, "-m", "config.local"))
    service.wait_for_output(READY)
    # It outlives its terminal.
    service.process.send_signal(signal.SIGHUP)
    with pytest.raises(psutil.TimeoutExpired):
        service.process.wait(1)
    assert service.get("/readyz") == 200
    service.process.kill()
    # Start at once on the same port. The processes that the killed service has left running must be ended.
    restarted = start_service(service.port)
    restarted.wait_for_output(READY)
    assert restarted.get("/readyz") == 200
    service.wait_for_end()

    # Kill the web server too, which orphans its workers.
    for process in (restarted.process, restarted.find_process("manage.py serve")):
        process.kill()
    shell = ("/bin/sh", "-c", '"$1" -m config.local; true', "sh", sys.executable)
    restarted_again = start_service(service.port, command=shell, MAKELEVEL="1")
    restarted_again.wait_for_output(READY)
    assert restarted_again.get("/readyz") == 200
    restarted.wait_for_end()
    # It ends with the make that started it.
    restarted_again.process.kill()
    restarted_again.wait_for_end()


def web_workers(service) -> list[psutil.Process]:
    """Return the running workers of the web server. Their parent is the server, whose parent is `make run`."""
    found = []
    for process in service.process.children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):
            is_of_server = "manage.py serve" in " ".join(process.cmdline())
            if is_of_server and process.ppid() != service.process.pid and is_running(process):
                found.append(process)
    return found


def test_it_restarts_what_ends(start_service):
    service = start_service(WORKERS="2")
    service.wait_for_output(READY)
    assert service.get("/readyz") == 200
    service.find_process("cluster_name=").kill()
    service.wait_for_output("PostgreSQL is back")
    assert service.get("/readyz") == 200

    # A worker is replaced by the server. The server ends if workers die within seconds, and is started again.
    for _ in range(3):
        service.wait_for(lambda: len(web_workers(service)) == 2)
        service.wait_for(service.is_healthy)
        before = web_workers(service)
        for worker in before:
            worker.kill()
        service.wait_for(lambda: not any(map(is_running, before)))  # noqa: B023
    service.wait_for(lambda: len(web_workers(service)) == 2)
    service.wait_for(service.is_healthy)
    assert "ERROR _granian: Unexpected exit from worker-2\n" in service.output()

    # `wait_for_output` finds the processes that run now.
    service.wait_for_output(READY)
    postgres, workers, starts = (
        service.find_process("cluster_name="),
        web_workers(service),
        service.output().count(SERVING),
    )
    service.find_process("manage.py serve").kill()
    service.wait_for_output("The web server ended unexpectedly (killed by signal 9): starting it again\n")
    # Orphaned workers must end, or they would keep the port.
    service.wait_for(lambda: not any(map(is_running, workers)))
    service.wait_for(lambda: service.output().count(SERVING) == starts + 1)
    service.wait_for(service.is_healthy)
    assert service.get("/readyz") == 200
    assert is_running(postgres)

    service.find_process("manage.py worker").kill()
    service.wait_for_output("The worker ended unexpectedly (killed by signal 9): starting it again\n")
    service.wait_for(lambda: service.output().count(" started with ") == 2)
    assert service.process.poll() is None
    assert "Traceback" not in service.output()


def test_it_rejects_data_and_a_port_in_use(shared_service, tmp_path):
    service = shared_service
    second = Service(service.data, free_port())
    assert second.process.wait(20) == 1
    waiting, error = second.output().splitlines()
    assert waiting.endswith("Waiting for make run or make dev")
    assert error == f"{service.data} is in use by make run or make dev: end that first, or choose another DATA_DIR."

    third = Service(tmp_path / "elsewhere", service.port)
    assert third.process.wait(20) == 1
    assert third.output() == (
        f"Cannot listen on 127.0.0.1 port {service.port}: Address already in use. Choose another: make run PORT=8001\n"
    )
    assert service.get("/healthz") == 200


def test_it_rejects_an_invalid_port(start_new_service):
    service = start_new_service("http")
    assert service.process.wait(20) == 1
    assert service.output() == "PORT is not valid: write a whole number from 1 to 65535, not 'http'.\n"


def test_it_uses_the_database_of_database_url(start_new_service, tmp_path):
    service = start_new_service(DATABASE_URL="postgresql://nobody@127.0.0.1:1/nothing")
    assert service.process.wait(30) == 1
    assert "Preparing the database failed (status 1)." in service.output()
    assert not (service.data / "postgres").exists()
