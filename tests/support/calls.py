"""Record which routes each test file calls, and fail a run in which the test of a route does not call it.

The table in docs/interface.md names a test file for each route. A file of which a marker left out some tests is not checked,
and nothing is if tests were selected otherwise: the tests that call a route may be among the others.
"""

import pytest
from django.core.handlers.base import BaseHandler

from tests.support.examples import ROOT
from tests.support.route_table import Line, lines

Call = tuple[str, str, str]


class CallLog:
    def __init__(self) -> None:
        self.calls: set[Call] = set()
        # The test files that ran, and the current one.
        self.files: set[str] = set()
        self.file = ""
        # The test files of which some tests do not run.
        self.reduced: set[str] = set()


call_log = CallLog()
resolve = BaseHandler.resolve_request


def resolve_request(self, request):
    match = resolve(self, request)
    call_log.calls.add((call_log.file, request.method, request.resolver_match.route))
    return match


BaseHandler.resolve_request = resolve_request


def uncalled(table: list[Line], calls: set[Call], files: set[str]) -> list[Line]:
    """Return the lines whose test file ran and did not call the route."""
    # PATCH is served by the same view as PUT; the executed examples call it.
    return [line for line in table if line.test in files and (line.test, line.methods[0], line.route) not in calls]


def is_selected(config: pytest.Config) -> bool:
    option = config.option
    selections = (option.keyword, getattr(option, "lf", False), option.deselect, option.maxfail)
    return any(selections) or any("::" in argument for argument in config.args)


def pytest_deselected(items: list[pytest.Item]) -> None:
    call_log.reduced |= {item.path.relative_to(ROOT).as_posix() for item in items}


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    call_log.file = item.path.relative_to(ROOT).as_posix()
    call_log.files.add(call_log.file)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node, error) -> None:
    """Add the calls recorded by an xdist worker."""
    output = getattr(node, "workeroutput", {})
    call_log.calls |= {tuple(call) for call in output.get("calls", ())}
    call_log.files |= set(output.get("files", ()))
    call_log.reduced |= set(output.get("reduced", ()))


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    if (output := getattr(session.config, "workeroutput", None)) is not None:
        output |= {"calls": [list(call) for call in call_log.calls], "files": list(call_log.files)}
        output |= {"reduced": list(call_log.reduced)}
    elif missing(session.config) and exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def missing(config: pytest.Config) -> list[Line]:
    """Return the lines of the table whose route was not called; none if only some tests were selected."""
    return [] if is_selected(config) else uncalled(lines(), call_log.calls, call_log.files - call_log.reduced)


def pytest_terminal_summary(terminalreporter) -> None:
    for line in missing(terminalreporter.config):
        terminalreporter.write_line(
            f"FAILED docs/interface.md: {line.test} does not call {line.methods[0]} {line.path}", red=True
        )
