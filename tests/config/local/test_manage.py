"""`make manage` beside a running, a stopped and a killed `make run`."""

import contextlib
import fcntl
import os
import pty
import signal
import subprocess
import sys
import termios

import httpx
import psutil
import pytest

from config.local import manage
from config.local.data import BASE_DIR, DataDirectory
from config.local.postgres import Cluster
from tests.support.service import READY, environment_for, free_port, is_running, wait_until

COMMAND = (sys.executable, "-m", "config.local.manage")
PIPES = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
PASSWORD = "a long pass phrase"


@pytest.fixture(scope="module")
def stopped_data(tmp_path_factory):
    """Return the data directory of a stopped `make run`, with a database without migrations."""
    data = tmp_path_factory.mktemp("stopped") / "data"
    data.mkdir()
    with Cluster(data / "postgres", durable=False):
        pass
    return data


@pytest.fixture
def data(tmp_path, monkeypatch):
    """Return an empty data directory."""
    path = tmp_path / "data"
    path.mkdir()
    for name in ("DATABASE_URL", "SECRET_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("DATA_DIR", str(path))
    return path


def start(data, *arguments, environment=(), **options):
    return subprocess.Popen(
        [*COMMAND, *arguments], env=environment_for(data, **dict(environment)), text=True, **options
    )


def run_manage(data, *arguments, **environment):
    with start(data, *arguments, environment=environment, **PIPES) as process:
        out, err = process.communicate(PASSWORD + "\n", timeout=180)
    return process.returncode, out, err


def create_account_arguments(prefix):
    return ("create_account", prefix, "--login", "ann", "--email", "ann@example.com")


def printed_values(out):
    """Return the values of an account as `create_account` prints them."""
    return dict(line.split(maxsplit=1) for line in out.splitlines()[:4])


def is_served(values, port):
    """Return True if the printed address serves the account's forum, and the API with the printed token."""
    url = httpx.URL(values["url"])
    assert (url.host, url.port) == (f"{values['prefix']}.localhost", port)
    # Resolvers may not resolve subdomains of localhost.
    with httpx.Client(base_url=url.copy_with(host="127.0.0.1"), headers={"Host": url.netloc.decode()}) as client:
        forum = client.get("/app/users/me.xml", auth=("ann", PASSWORD))
        tasks = client.get("/app/tasks.json", headers={"Authorization": f"Bearer {values['api_token']}"})
    return (forum.status_code, tasks.status_code) == (200, 200)


def is_postgresql_running(data):
    """Return True if the server that wrote the pid file is running. A server that was killed has left the file."""
    with contextlib.suppress(FileNotFoundError, IndexError, psutil.NoSuchProcess):
        lines = (data / "postgres" / "data" / "postmaster.pid").read_text().splitlines()
        return is_running(psutil.Process(int(lines[0])))
    return False


def test_it_works(start_service, tmp_path):
    service = start_service()
    service.wait_for_output(READY)
    # The port is that of the running service, not PORT.
    status, out, err = run_manage(service.data, *create_account_arguments("acme"), PORT=str(free_port()))
    assert (status, err) == (0, "")
    assert is_served(printed_values(out), service.port)
    assert service.process.poll() is None

    # The processes that the killed service has left running must be ended.
    service.process.kill()
    status, out, err = run_manage(service.data, *create_account_arguments("killed"), PORT=str(service.port))
    assert (status, err) == (0, "")
    assert not is_postgresql_running(service.data)
    service.wait_for_end()
    # With the programs of the server, not those that the machine may have.
    status, out_of_backup, err = run_manage(service.data, "backup", str(tmp_path / "backup"), PATH=os.defpath)
    assert (status, err, "rows" in out_of_backup) == (0, "", True)
    restarted = start_service(service.port)
    restarted.wait_for_output(READY)
    assert is_served(printed_values(out), service.port)


@pytest.mark.soak
def test_it_starts_and_stops_postgresql_if_make_run_is_stopped(stopped_data):
    """Simultaneous commands take turns. The address has the given port."""
    ports = {"twin-1": "8000", "twin-2": "8123"}
    processes = {
        name: start(stopped_data, *create_account_arguments(name), environment={"PORT": port}, **PIPES)
        for name, port in ports.items()
    }
    # Either process may be first and wait for its password, while the other waits for the first.
    for process in processes.values():
        process.stdin.write(PASSWORD + "\n")
        process.stdin.flush()
    for name, process in processes.items():
        with process:
            out, _ = process.communicate(timeout=180)
        assert process.returncode == 0
        assert printed_values(out)["url"] == f"http://{name}.localhost:{ports[name]}"
    assert not is_postgresql_running(stopped_data)
    # Errors of the command are passed on.
    status, out, err = run_manage(stopped_data, *create_account_arguments("www"))
    assert (status, out, err) == (1, "", "CommandError: Prefix is reserved\n")
    assert not is_postgresql_running(stopped_data)


def test_make_run_waits_for_the_command(start_service, stopped_data):
    with start(stopped_data, *create_account_arguments("patient"), **PIPES) as process:
        wait_until(lambda: is_postgresql_running(stopped_data))
        service = start_service(data=stopped_data)
        service.wait_for_output("Waiting for make manage\n")
        out, _ = process.communicate(PASSWORD + "\n", timeout=180)
    assert process.returncode == 0
    service.wait_for_output(READY)
    assert is_served(printed_values(out) | {"url": f"http://patient.localhost:{service.port}"}, service.port)


@pytest.mark.soak
def test_it_stops_postgresql_on_sigterm(stopped_data):
    with start(
        stopped_data, *create_account_arguments("never"), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        wait_until(lambda: is_postgresql_running(stopped_data))
        process.send_signal(signal.SIGTERM)
        process.wait(60)
    assert process.returncode == 130
    assert not is_postgresql_running(stopped_data)


@pytest.mark.soak
def test_it_asks_for_the_password_at_a_terminal(stopped_data):
    controller_fd, terminal_fd = pty.openpty()
    process = start(
        stopped_data,
        *create_account_arguments("typed"),
        stdin=terminal_fd,
        stdout=terminal_fd,
        stderr=terminal_fd,
        start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
    )
    os.close(terminal_fd)
    output = ""
    with os.fdopen(controller_fd, "wb", 0) as terminal, process:
        for prompt in ("Password: ", "Password (again): "):
            output += read_until(terminal, prompt)
            terminal.write(f"{PASSWORD}\n".encode())
        output += read_until(terminal, None)
        process.wait(60)
    assert process.returncode == 0, output
    assert "http://typed.localhost:8000" in output
    assert PASSWORD not in output


def read_until(terminal, text):
    """Return the output of a terminal up to the text, or to the end."""
    output = ""
    # Linux raises an error at the end of the output.
    with contextlib.suppress(OSError):
        while (text is None or text not in output) and (chunk := os.read(terminal.fileno(), 1000)):
            output += chunk.decode()
    return output


def test_it_lists_the_commands_without_arguments(data):
    status, out, err = run_manage(data)
    assert (status, err) == (0, "")
    assert {"create_account", "demo", "serve", "worker", "jobs"} <= set(out.split())
    status, out, err = run_manage(data, "create_account", "--help")
    assert (status, err) == (0, "")
    assert "the login of the owner" in out
    assert list(data.iterdir()) == []


def test_it_rejects_a_directory_without_data(data, tmp_path):
    for path in (data, tmp_path / "missing"):
        assert run_manage(path, *create_account_arguments("acme")) == (
            1,
            "",
            f"There is no database in {path}: start make run first, or set DATA_DIR.\n",
        )
    assert not (tmp_path / "missing").exists()


def test_it_rejects_another_database(data):
    status, _, err = run_manage(data, "check", DATABASE_URL="postgresql://rostrum@127.0.0.1:1/rostrum")
    assert status == 1
    assert err == (
        "DATABASE_URL is set, but make manage works on the database of make run only: unset it, or call python manage.py "
        "instead.\n"
    )


def test_it_rejects_a_running_service_on_another_database(data, capsys, monkeypatch):
    service = DataDirectory()
    lock, _ = service.lock(0, print)
    service.publish({"SECRET_KEY": "key", "PORT": "8123"})
    monkeypatch.setattr("sys.argv", ["manage", "check"])
    assert manage.main() == 1
    assert capsys.readouterr().err == (
        "The running make run uses the database of its DATABASE_URL: call python manage.py with the same variables "
        "instead.\n"
    )
    os.close(lock)


def test_it_gives_up_waiting(data, capsys, monkeypatch):
    monkeypatch.setattr(manage, "MAX_WAIT", 0)
    monkeypatch.setattr("sys.argv", ["manage", "check"])
    service = DataDirectory()
    lock, _ = service.lock(0, print)
    assert manage.main() == 1
    service.publish({})
    assert manage.main() == 1
    os.close(lock)
    messages = [
        f"{data} is in use by {holder}: end that first, or choose another DATA_DIR.\n"
        for holder in ("make manage", "make run or make dev")
    ]
    assert capsys.readouterr().err == "".join(messages)


def test_it_ignores_the_variables_of_a_killed_service(data):
    publish = "from config.local.data import DataDirectory as d; d().publish({'SECRET_KEY': 'key'})"
    subprocess.run([sys.executable, "-c", publish], cwd=BASE_DIR, env=os.environ | {"DATA_DIR": str(data)}, check=True)
    assert "SECRET_KEY" in (data / "running").read_text()
    assert DataDirectory().read_variables() == {}
