"""Find references to an upper room other than imports: reverse accessors, strings and names in templates.

The names of each room are read from Django: models, templates, static files, functions and filters of templates, and routes.
"""

import ast
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from django.apps import apps
from django.conf import settings
from django.template import engines
from django.urls import URLPattern, get_resolver
from jinja2 import nodes

from core.rooms import find_parts

# Each room with the rooms that it may use.
USES = {
    "core": {"core"},
    "accounts": {"core", "accounts"},
    "forum": {"core", "accounts", "forum"},
    "crm": {"core", "accounts", "crm"},
    "webhooks": {"core", "accounts", "webhooks"},
    "team": {"core", "accounts", "forum", "crm", "team"},
}
ROOMS = (*USES, "config")


@dataclass(frozen=True)
class Reference:
    """A place in a file of a lower room that uses a name of an upper one."""

    path: str
    line: int = field(compare=False)
    name: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.name}"


@dataclass(frozen=True)
class Names:
    """The names of the rooms that a room may not use."""

    # Reverse accessors: `account.posts`, `posts__title`.
    accessors: frozenset[str]
    # Strings that are compared as a whole: app labels and route names.
    words: frozenset[str]
    # Patterns of parts of strings: tables, modules, models ("crm.Client"), templates and static files.
    pattern: re.Pattern
    # Functions and filters of templates.
    functions: frozenset[str]


@cache
def names_above(room: str) -> Names:
    """Return the names of the rooms that the room may not use."""
    forbidden = [other for other in ROOMS if other not in USES[room]]
    tables = {re.escape(model._meta.db_table) for model in apps.get_models() if room_of(model.__module__) in forbidden}
    files = {re.escape(name) for other in forbidden for name in files_of(other)}
    modules = {rf"{other}\.[A-Za-z_]\w*" for other in forbidden}
    return Names(
        accessors=frozenset(accessors_of(forbidden)),
        # "team" is the name of a room, and of a group of users.
        words=frozenset(forbidden) - {"team"} | routes_of(forbidden),
        pattern=re.compile(rf"(?<![\w./-])(?:{'|'.join(sorted(tables | files | modules))})(?![\w-])"),
        functions=frozenset(
            name for name, function in template_functions().items() if room_of(function.__module__) in forbidden
        ),
    )


def room_of(module: str) -> str:
    return module.partition(".")[0]


def accessors_of(rooms: Iterable[str]) -> Iterator[str]:
    """Return the names of the reverse accessors that the models of these rooms define."""
    for model in apps.get_models():
        for relation in model._meta.related_objects:
            if room_of(relation.related_model.__module__) in rooms:
                yield from {relation.get_accessor_name(), relation.related_query_name or relation.name} - {None}


def files_of(room: str) -> Iterator[str]:
    """Return the names of the room's templates and static files."""
    for part in ("templates", "static"):
        for package, root in find_parts(part):
            if package.partition("/")[0] == room:
                yield from (f"{package}/{path.relative_to(root)}" for path in root.rglob("*") if path.is_file())


def template_functions() -> dict[str, Callable]:
    """Return the functions and filters of templates by their names."""
    engine = engines["jinja2"].env
    return {name: function for name, function in (engine.globals | engine.filters).items() if callable(function)}


def routes_of(rooms: Iterable[str]) -> frozenset[str]:
    def walk(patterns: list) -> Iterator[str]:
        for pattern in patterns:
            if not isinstance(pattern, URLPattern):
                yield from walk(pattern.url_patterns)
            elif pattern.name and room_of(module_of(pattern)) in rooms:
                yield pattern.name

    return frozenset(walk(get_resolver().url_patterns))


def module_of(pattern: URLPattern) -> str:
    view = pattern.callback
    return getattr(view, "view_class", getattr(view, "cls", view)).__module__


def references_in_room(room: str) -> Iterator[Reference]:
    root: Path = settings.BASE_DIR
    names = names_above(room)
    for path in sorted((root / room).rglob("*")):
        name = path.relative_to(root).as_posix()
        if path.suffix == ".py" and "migrations" not in path.parts:
            yield from references_in_python(path.read_text(), names, name)
        elif "templates" in path.parts and path.is_file():
            yield from references_in_template(path.read_text(), names, name)


# Python


def references_in_python(source: str, names: Names, path: str = "") -> Iterator[Reference]:
    tree = ast.parse(source)
    docstrings = set(docstrings_of(tree))
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(attr=name) if name in names.accessors:
                yield Reference(path, node.lineno, f".{name}")
            case ast.keyword(arg=str(name)) if names.accessors & set(name.split("__")[:-1]):
                yield Reference(path, node.value.lineno, f"{name}=")
            case ast.Constant(value=str(text)) if id(node) not in docstrings:
                yield from (Reference(path, node.lineno, name) for name in references_in_text(text, names))


def docstrings_of(tree: ast.Module) -> Iterator[int]:
    """Return the ids of the nodes of docstrings and other string statements."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            yield id(node.value)


def references_in_text(text: str, names: Names) -> Iterator[str]:
    """Return the names in a string: a route, an accessor (for `getattr` or in a query), or a part that matches a room."""
    if text in names.words or (re.fullmatch(r"\w+", text) and names.accessors & {text, *text.split("__")[:-1]}):
        yield text
    else:
        yield from names.pattern.findall(text)


# Templates


def references_in_template(source: str, names: Names, path: str = "") -> Iterator[Reference]:
    tree = engines["jinja2"].env.parse(source)
    for constant in tree.find_all(nodes.Const):
        if isinstance(constant.value, str):
            yield from (Reference(path, constant.lineno, name) for name in references_in_text(constant.value, names))
    for attribute in tree.find_all(nodes.Getattr):
        if attribute.attr in names.accessors:
            yield Reference(path, attribute.lineno, f".{attribute.attr}")
    called = {call.node.name: call.lineno for call in tree.find_all(nodes.Call) if isinstance(call.node, nodes.Name)}
    called |= {node.name: node.lineno for node in tree.find_all(nodes.Filter)}
    yield from (Reference(path, line, name) for name, line in called.items() if name in names.functions)
