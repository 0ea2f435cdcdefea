"""The templates of the pages."""

from collections.abc import Iterator

from django.template import engines
from jinja2 import meta, nodes

from tests.support.words import templates


def compared_names(source: str) -> Iterator[str]:
    """Return the names of the context of which a template asks `is not none`, but not `is defined`."""
    tree = engines["jinja2"].env.parse(source)
    tests = {test for test in tree.find_all(nodes.Test) if isinstance(test.node, nodes.Name)}
    defined = {test.node.name for test in tests if test.name == "defined"}
    refused = [negation.node for negation in tree.find_all(nodes.Not) if negation.node in tests]
    names = {test.node.name for test in refused if test.name == "none"}
    yield from (names & meta.find_undeclared_variables(tree)) - defined


def test_it_works():
    assert [*compared_names("{% if rows is not none %}…{% endif %}")] == ["rows"]
    for source in (
        "{% if rows is defined and rows is not none %}…{% endif %}",
        "{% if row.id is not none %}…{% endif %}",
    ):
        assert [*compared_names(source)] == []


def test_no_template_takes_a_missing_name_for_a_value():
    """Check that no template asks `is not none` of a name that the context may leave out: that is true for a missing name."""
    assert {str(path): names for path in templates() if (names := [*compared_names(path.read_text())])} == {}
