"""The layout of the tests."""

import grimp


def test_no_test_module_is_imported():
    """Shared helpers belong in tests/support/."""
    graph = grimp.build_graph("tests", cache_dir=None)
    tests = {module for module in graph.modules if module.rpartition(".")[2].startswith("test_")}
    assert len(tests) > 100
    assert {(module, test) for test in tests for module in graph.find_modules_that_directly_import(test)} == set()
