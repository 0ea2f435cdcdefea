"""`manage.py reload`: workers with new code replace the old ones under load, and no request fails."""

import http.client
import shutil
import subprocess
import sys
import threading
from collections import Counter

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command

from tests.support.service import READY, environment_for, free_port

pytestmark = [
    pytest.mark.soak,
    pytest.mark.skipif(sys.platform != "linux", reason="the command needs Linux"),
]

NEW_PAGE = """
from django.http import HttpResponse
from django.urls import path

urlpatterns = [path("app/release", lambda request: HttpResponse("new")), *urlpatterns]
"""


@pytest.fixture
def tree(tmp_path):
    """Return a copy of the code, which the test changes."""
    ignored = shutil.ignore_patterns(".*", "tests", "bench")
    return shutil.copytree(settings.BASE_DIR, tmp_path / "tree", ignore=ignored)


class Load:
    """Threads that send requests, each on a connection of its own, until they are stopped. `statuses` counts the responses."""

    def __init__(self, service, threads=4):
        self.service = service
        self.statuses = Counter()
        self.stopped = threading.Event()
        self.threads = [threading.Thread(target=self.send) for _ in range(threads)]

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.stopped.set()
        for thread in self.threads:
            thread.join()

    def send(self):
        while not self.stopped.is_set():
            try:
                status = self.service.get("/app/sign-in")
            except (OSError, http.client.HTTPException) as error:
                status = repr(error)
            self.statuses[status] += 1


def run_command(service, tree, process, **variables):
    return subprocess.run(
        [sys.executable, "-m", "config.local.manage", "reload", str(process)],
        cwd=tree,
        env=environment_for(service.data, **variables),
        capture_output=True,
        text=True,
    )


def test_it_works(start_service, tree):
    service = start_service(tree=tree, WORKERS="2", RATE_LIMIT="0", LOG_LEVEL="INFO")
    service.wait_for_output(READY)
    server = service.find_process("manage.py serve")
    assert service.get("/app/release") == 404
    with (tree / "config/urls.py").open("a") as file:
        file.write(NEW_PAGE)
    files = []
    with Load(service) as load:
        for _ in range(2):
            workers = {process.pid for process in server.children()}
            result = run_command(service, tree, server.pid)
            assert (result.returncode, result.stdout) == (0, "All workers have the new code.\n"), service.output()
            assert len({process.pid for process in server.children()} - workers) == 2
            assert service.get("/app/release") == 200
            files.append(server.num_fds())
    assert files[0] == files[1]
    assert set(load.statuses) == {200}
    assert load.statuses.total() > 100


@pytest.mark.parametrize("file", ["config/urls.py", "config/wsgi.py", "config/monitoring/metrics.py"])
def test_it_rejects_code_that_does_not_start(start_service, tree, file):
    variables = {"METRICS_ADDRESS": f"127.0.0.1:{free_port()}"}
    service = start_service(tree=tree, LOG_LEVEL="INFO", **variables)
    service.wait_for_output(READY)
    server = service.find_process("manage.py serve")
    workers = server.children()
    with (tree / file).open("a") as module:
        module.write("\nurlpatterns = [no_such_name]\n")
    result = run_command(service, tree, server.pid, **variables)
    assert result.returncode == 1
    assert "no_such_name" in result.stderr
    assert server.children() == workers
    assert service.get("/app/sign-in") == 200


def test_it_rejects_a_process_that_is_no_server(monkeypatch):
    monkeypatch.setattr("config.management.commands.reload.find_problem", lambda: "")
    # A shell that has a child, as a server has.
    with subprocess.Popen(["sh", "-c", "sleep 5 & wait"]) as process:
        with pytest.raises(CommandError, match=f"Process {process.pid} is no web server."):
            call_command("reload", process.pid)
        process.kill()
