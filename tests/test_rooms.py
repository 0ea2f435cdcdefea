"""Dependencies between rooms that import-linter does not see. CONTRIBUTING.md and `pyproject.toml` define their order."""

from dataclasses import replace
from functools import cache
from graphlib import CycleError, TopologicalSorter

import grimp
import pytest

from tests.support.rooms import (
    ROOMS,
    USES,
    Reference,
    names_above,
    references_in_python,
    references_in_room,
    references_in_template,
)
from tests.support.tables import table

MODULE = "a value of `initial_module` on the wire"
CUSTOMER = "a link to a customer or a deal is a field of posts and votes on the wire, and a foreign key"
POSTS = "clients count their posts; clients, contacts and deals detach theirs when they go to the trash"
# Allowed references with their reasons, by file and name, or by file.
EXCEPTIONS = {
    ("accounts/account/models.py", "forum"): MODULE,
    ("accounts/fields/api.py", "clients"): "the scope of a token for all definitions of fields",
    ("accounts/reference/guide.py", "webhooks.md"): "the name of a document, not of a module",
    ("core/openapi/document.py", "tags"): "a key of OpenAPI, not the tags of an account",
    ("core/openapi/schema.py", "tags"): "a key of OpenAPI, not the tags of an account",
    ("core/rows/declared.py", "tags"): "the type of a field, not the tags of an account",
    ("core/rows/declared.py", "forum"): "the type of a field, not the room",
    ("core/openapi/schema.py", ".statuses"): "HTTP statuses of an operation, not those of an account",
    ("crm/clients/models.py", "posts"): POSTS,
    ("crm/clients/models.py", ".posts"): POSTS,
    ("crm/contacts/models.py", "posts"): POSTS,
    ("crm/deals/models.py", "posts"): POSTS,
    ("forum/posts/api.py", "clients"): CUSTOMER,
    ("forum/posts/api.py", "contacts"): CUSTOMER,
    ("forum/posts/api.py", "deals"): CUSTOMER,
    ("forum/votes/models.py", "crm.Client"): CUSTOMER,
    ("forum/votes/models.py", "crm.Contact"): CUSTOMER,
}


def exception_for(reference: Reference) -> tuple[str, str] | None:
    keys = ((reference.path, reference.name), (reference.path, ""))
    return next((key for key in keys if key in EXCEPTIONS), None)


@cache
def references() -> frozenset[Reference]:
    return frozenset(reference for room in USES for reference in references_in_room(room))


@table("room", USES)
def test_no_room_refers_to_an_upper_room(room):
    forbidden = [str(each) for each in references() if each.path.startswith(f"{room}/") and exception_for(each) is None]
    assert sorted(forbidden) == [], (
        "let the upper room register what this one needs (core/registry.py, accounts/hosts/addresses.py)"
    )


def test_every_exception_is_needed():
    assert EXCEPTIONS.keys() - {exception_for(reference) for reference in references()} == set()


@table(
    ("room", "source", "expected"),
    [
        ("accounts", "account.posts.live()", [".posts"]),
        ("accounts", "getattr(account, 'contact_lists')", ["contact_lists"]),
        ("accounts", "users.filter(posts__title='x')", ["posts__title="]),
        ("accounts", "users.values_list('posts__title')", ["posts__title"]),
        ("accounts", "models.ForeignKey('crm.Client')", ["crm.Client"]),
        ("accounts", "apps.get_model('forum', 'Post')", ["forum"]),
        ("accounts", "import_string('forum.posts.models.Post')", ["forum.posts"]),
        ("accounts", "import_module('config.wsgi')", ["config.wsgi"]),
        ("accounts", "render(request, 'forum/posts/post.html')", ["forum/posts/post.html"]),
        ("accounts", "static('forum/lists/reading.js')", ["forum/lists/reading.js"]),
        ("accounts", "f'SELECT {columns} FROM crm_client'", ["crm_client"]),
        ("accounts", "reverse('route-of-the-forum')", ["route-of-the-forum"]),
        ("core", "account.users.first()", [".users"]),
        ("core", "settings.X = 'accounts/layout/base.html'", ["accounts/layout/base.html"]),
        ("forum", "account.deals.live()", [".deals"]),
        ("crm", "account.comments.live()", [".comments"]),
        # Allowed references.
        ("accounts", "'''Posts of forum.posts.'''\naccount.users.first()\nlog('the forum. It is')", []),
        ("forum", "account.posts.filter(user__login='x')\nrender('accounts/layout/base.html')", []),
        ("core", "'core_change core_word'", []),
    ],
)
def test_it_finds_references_in_python(room, source, expected):
    assert [reference.name for reference in references_in_python(source, names_of(room))] == expected


@table(
    ("room", "source", "expected"),
    [
        ("accounts", '<p>{% include "forum/posts/post.html" %}', ["forum/posts/post.html"]),
        ("accounts", "{% extends 'forum/team_tools/team.html' %}", ["forum/team_tools/team.html"]),
        ("accounts", "{{ on_behalf_of(name) }}{{ name|join_names }}", ["on_behalf_of", "join_names"]),
        ("accounts", "{{ url('route-of-the-forum') }}", ["route-of-the-forum"]),
        ("accounts", "{% for post in account.posts.all() %}{% endfor %}", [".posts"]),
        ("accounts", "{{ request.account.clients.count() + 1 }}", [".clients"]),
        ("core", '{% include "accounts/layout/base.html" %}', ["accounts/layout/base.html"]),
        # Allowed references.
        ("accounts", '{% include "core/pages/fields.html" %}{{ account.users.count() }} account.posts', []),
        ("accounts", '{# {% include "forum/posts/post.html" %} #}', []),
    ],
)
def test_it_finds_references_in_templates(room, source, expected):
    assert [reference.name for reference in references_in_template(source, names_of(room))] == expected


def names_of(room: str):
    names = names_above(room)
    return replace(names, words=names.words | {"route-of-the-forum"})


def test_core_knows_no_type_of_the_rooms_above():
    """Imports for type hints count too, which import-linter leaves out: `core.tenants` says what core needs of an account and its users."""
    graph = grimp.build_graph(*ROOMS, cache_dir=None)
    above = {
        module: sorted(name for name in graph.find_modules_directly_imported_by(module) if not name.startswith("core"))
        for module in graph.modules
        if module.startswith("core")
    }
    assert len(above) > 50
    assert {module: names for module, names in above.items() if names} == {}


def test_there_are_no_import_cycles():
    """Imports in functions and for type hints count too."""
    graph = grimp.build_graph(*ROOMS, cache_dir=None)
    imports = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    assert len(imports) > 150
    try:
        TopologicalSorter(imports).prepare()
    except CycleError as error:
        pytest.fail(f"these import each other: {' → '.join(error.args[1])}")
