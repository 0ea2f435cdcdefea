"""Notes which routes each test file calls, and fails a run in which the test of a route does not call it.

The table in docs/interface.md names a test for each route. A run of some tests of a file says nothing about the file, so
nothing is checked where tests were selected.
"""

import pytest
from django.core.handlers.base import BaseHandler

from tests.support.examples import ROOT
from tests.support.route_table import Line, lines

Call = tuple[str, str, str]


class Noted:
    def __init__(self) -> None:
        self.calls: set[Call] = set()
        # The test files that ran, and the one that runs now.
        self.files: set[str] = set()
        self.file = ""


noted = Noted()
resolve = BaseHandler.resolve_request


def resolve_request(self, request):
    match = resolve(self, request)
    noted.calls.add((noted.file, request.method, request.resolver_match.route))
    return match


BaseHandler.resolve_request = resolve_request


def uncalled(table: list[Line], calls: set[Call], files: set[str]) -> list[Line]:
    """The lines whose test ran and did not call the route."""
    # PATCH is the same view as PUT, and among the executed examples.
    return [line for line in table if line.test in files and (line.test, line.methods[0], line.route) not in calls]


def is_selected(config: pytest.Config) -> bool:
    option = config.option
    chosen = (option.keyword, option.markexpr, getattr(option, "lf", False), option.deselect, option.maxfail)
    return any(chosen) or any("::" in argument for argument in config.args)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    noted.file = item.path.relative_to(ROOT).as_posix()
    noted.files.add(noted.file)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node, error) -> None:
    """Add the notes of a worker of xdist."""
    output = getattr(node, "workeroutput", {})
    noted.calls |= {tuple(call) for call in output.get("calls", ())}
    noted.files |= set(output.get("files", ()))


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    if (output := getattr(session.config, "workeroutput", None)) is not None:
        output |= {"calls": [list(call) for call in noted.calls], "files": list(noted.files)}
    elif missing(session.config) and exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def missing(config: pytest.Config) -> list[Line]:
    return [] if is_selected(config) else uncalled(lines(), noted.calls, noted.files)


def pytest_terminal_summary(terminalreporter) -> None:
    for line in missing(terminalreporter.config):
        terminalreporter.write_line(
            f"FAILED docs/interface.md: {line.test} does not call {line.methods[0]} {line.path}", red=True
        )
