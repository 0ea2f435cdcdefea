"""Route names: only URL modules contain paths, and a room uses only its own routes and those of lower rooms."""

import ast
import re
from functools import cache
from pathlib import Path

from django.urls import get_resolver

from core.rooms import import_modules
from team.list_queries.declarations import LISTS
from tests.support.rooms import ROOMS, USES, module_of

ROOT = Path(__file__).resolve().parent.parent
ROOMS_FROM_BELOW = {**USES, "config": set(ROOMS)}
MODULES_WITH_PATHS = {
    "accounts/sessions/middleware.py": "the prefix of all pages, before a route is resolved",
    "config/wsgi.py": "the paths at which a slash at the end is removed, before a route is resolved",
    "config/management/commands/demo.py": "curl commands for people to copy",
    "forum/forums/pages/robots.py": "prefixes for search engines",
    "forum/xml/documents.py": "operations of the OpenAPI document",
    "team/reports/api.py": "operations of the OpenAPI document",
    "team/move_in/pages.py": "paths of the older server",
    "team/move_in/reading.py": "paths of the older server",
}
# A page for a browser, and a document for a program.
ROUTES_OF_TWO_FORMATS = {"forum-home", "forum-category"}
ROUTES_WITHOUT_USES = {
    "forum-robots": "robots request it at this fixed path",
    "forum-favicon": "browsers request it at this fixed path",
    "forum-sitemap": "search engines request it at this fixed path",
    "forum-category": "`path_of` quotes the name of a category, as `reverse` would not",
}

TAG = re.compile(r"\{#.*?#\}|\{%.*?%\}|\{\{.*?\}\}", re.DOTALL)
PATH_ATTRIBUTE = re.compile(
    r'\s(?:href|src|action|formaction|hx-(?:get|post|put|patch|delete|push-url|replace-url))="\s*/[^"]*', re.IGNORECASE
)
APP_PATH = re.compile(r"""/app(?![\w-])[^\s"'<]*""")


@cache
def route_names() -> list[str | None]:
    return [pattern.name for pattern in get_resolver().url_patterns]


@cache
def files(*suffixes: str) -> dict[str, str]:
    """Return the text of every source file of the rooms, by path."""
    paths = (path for room in ROOMS for suffix in suffixes for path in sorted((ROOT / room).rglob(f"*{suffix}")))
    return {path.relative_to(ROOT).as_posix(): path.read_text() for path in paths}


def literals_in_markup(text: str) -> list[str]:
    """Return the literal paths in a template or a script, also those that begin with a template tag."""
    text = TAG.sub("", text)
    return [matches[0].strip() for pattern in (PATH_ATTRIBUTE, APP_PATH) for matches in pattern.finditer(text)]


@cache
def parse(text: str) -> ast.Module:
    return ast.parse(text)


@cache
def texts_in(text: str) -> list[str]:
    """Return all string literals of a module except docstrings."""
    nodes = list(ast.walk(parse(text)))
    owners = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docstrings = {
        node.body[0].value
        for node in nodes
        if isinstance(node, owners) and node.body and isinstance(node.body[0], ast.Expr)
    }
    constants = [node for node in nodes if isinstance(node, ast.Constant) and node not in docstrings]
    return [node.value for node in constants if isinstance(node.value, str)]


def literals_in_python(text: str) -> list[str]:
    return [literal for literal in texts_in(text) if APP_PATH.search(literal)]


def names_in_markup(text: str) -> set[str]:
    return set(re.findall(r"""(?:\burl|\|path_to)\(["']([^"']+)["']""", text))


def routes_named_in(file: str, text: str) -> set[str]:
    """Return the routes that a file names in any way."""
    if file.endswith(".html"):
        return names_in_markup(text)
    return set(texts_in(text)) & set(route_names())


def route_names_in_calls(text: str) -> set[str]:
    """Return the route names passed to `reverse`, `redirect` or `path_with_id`."""
    matches = set()
    for node in ast.walk(parse(text)):
        match node:
            case ast.Call(func=ast.Name(id="reverse" | "reverse_lazy" | "redirect" | "path_with_id"), args=[route, *_]):
                options = [route.body, route.orelse] if isinstance(route, ast.IfExp) else [route]
                matches |= {option.value for option in options if isinstance(option, ast.Constant)}
    return matches


@cache
def references() -> set[tuple[str, str]]:
    """Return (file, route) for each use of a route name."""
    return {
        (file, name)
        for file, text in files(".html", ".py").items()
        if not file.endswith("urls.py")
        for name in routes_named_in(file, text)
    }


def test_every_route_has_its_own_name():
    names = route_names()
    assert None not in names
    assert len(names) == len(set(names))


def test_names_begin_with_the_room_and_the_format_of_the_route():
    formats = {"api": "json-", "xml": "xml-"}
    routes = {
        pattern.name: (urls.__name__.partition(".")[0], module_of(pattern))
        for urls in import_modules("urls")
        for pattern in urls.urlpatterns
    }
    assert len(routes) > 200
    for name, (room, module) in routes.items():
        format = next((formats[part] for part in module.split(".") if part in formats), "")
        if name not in ROUTES_OF_TWO_FORMATS:
            assert name.startswith(f"{room}-{format}"), module
            assert format or not re.search("-(json|xml)-", name), module


def test_every_route_of_a_page_is_used():
    named = {name for _, name in references()}
    # The routes of records, and of what is done with them, derive from the name of the resource.
    named |= {
        name
        for records in LISTS.values()
        for name in (records.route, records.row_route, records.new_route, records.edit_route)
    }
    patterns = {
        re.sub(r"\{[^}]*\}", r"[a-z-]+", pattern)
        for text in files(".py").values()
        for pattern in re.findall(r'reverse\(f"(team-[^"]*)"', text)
    }
    named |= {name for name in route_names() if any(re.fullmatch(pattern, name) for pattern in patterns)}
    others = {name for name in route_names() if "-json-" not in name and "-xml-" not in name}
    assert others - named == set(ROUTES_WITHOUT_USES)


def test_every_used_name_is_the_name_of_a_route():
    known = set(route_names())
    for file, text in files(".html").items():
        assert names_in_markup(text) <= known, file
    for file, text in files(".py").items():
        assert route_names_in_calls(text) <= known, file


def test_no_room_uses_a_route_of_an_upper_room():
    matches = {
        (file, name) for file, name in references() if name.split("-")[0] not in ROOMS_FROM_BELOW[file.split("/")[0]]
    }
    assert matches == set()


def test_no_template_or_script_contains_a_path():
    matches = {file: literals_in_markup(text) for file, text in files(".html", ".js").items()}
    assert {file: texts for file, texts in matches.items() if texts} == {}


def test_no_module_contains_a_path_except_url_modules():
    matches = {file for file, text in files(".py").items() if not file.endswith("urls.py") and literals_in_python(text)}
    assert matches == set(MODULES_WITH_PATHS)


# Templates and scripts, and whether they contain a path.
MARKUP = {
    '<a href="/app/profile">': True,
    '<a href="/">': True,
    '<a class="button"\n  href="{% if id %}/app/posts/{{ id }}{% else %}{{ home }}{% endif %}">': True,
    '<form action="/language">': True,
    '<form method="post" hx-post="{{ url("forum-post", 1) }}/vote">': True,
    '<p data-path="/app/openapi.json">': True,
    'fetch("/app/docs")': True,
    '<a href="{{ url("forum-post", post.id) }}#comments">': False,
    '<a href="?page=2">': False,
    '<a href="#main">': False,
    '<a href="https://example.com/">': False,
    "{# as at /app/profile #}": False,
}
PYTHON = {
    'redirect("/app/profile")': True,
    'f"{base}/app/posts/{id}"': True,
    'path = "/app.json"': True,
    'def f():\n    """GET /app/docs."""': False,
    "# /app/docs": False,
    '"/application"': False,
}


def test_it_finds_paths():
    assert {text: bool(literals_in_markup(text)) for text in MARKUP} == MARKUP
    assert {text: bool(literals_in_python(text)) for text in PYTHON} == PYTHON
