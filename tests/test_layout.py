"""The layout of the tests."""

import grimp
import pytest


@pytest.fixture(scope="module")
def graph():
    return grimp.build_graph("tests", cache_dir=None)


def is_test(module: str) -> bool:
    return module.rpartition(".")[2].startswith("test_")


def test_no_test_module_imports_another(graph):
    """Shared helpers belong in tests/support/."""
    tests = {module for module in graph.modules if is_test(module)}
    assert len(tests) > 100
    imports = {(test, other) for test in tests for other in graph.find_modules_directly_imported_by(test) & tests}
    assert imports == set()


def test_no_helper_imports_a_test_module(graph):
    helpers = graph.find_descendants("tests.support")
    assert len(helpers) > 10
    imports = {helper: graph.find_modules_directly_imported_by(helper) for helper in helpers}
    assert {
        helper: imported_tests for helper in helpers if (imported_tests := set(filter(is_test, imports[helper])))
    } == {}
