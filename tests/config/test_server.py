"""Workers that end unexpectedly."""

from tests.support.service import READY, is_running


def workers(service):
    service.wait_for_output(READY)
    return [child for child in service.find_process("manage.py serve").children() if is_running(child)]


def test_workers_are_replaced_however_often_they_die(start_service):
    """A worker is replaced by the server. The server ends if workers die within seconds, and `make run` starts it again."""
    service = start_service(WORKERS="2")
    for _ in range(4):
        service.wait_for(lambda: len(workers(service)) == 2)
        service.wait_for(service.is_healthy)
        before = workers(service)
        for worker in before:
            worker.kill()
        service.wait_for(lambda: not any(map(is_running, before)))  # noqa: B023
    service.wait_for(lambda: len(workers(service)) == 2)
    service.wait_for(service.is_healthy)
    assert "ERROR _granian: Unexpected exit from worker-2\n" in service.output()
    assert "Traceback" not in service.output()
