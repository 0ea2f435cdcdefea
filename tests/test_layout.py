"""The layout of the code and of the tests: packages of one subject, which stay small."""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import grimp
from django.db import connection

from core.rooms import installed_rooms
from tests.support.examples import ROOT
from tests.support.rooms import ROOMS
from tests.support.tables import table

MAX_MODULES, MAX_LINES, MAX_LEVELS = 12, 2500, 5
# The parts of a subject that `core.rooms` finds by their names.
PARTS = (
    "jobs.py",
    "openapi.yaml",
    "registration.py",
    "static",
    "template_functions.py",
    "templates",
    "urls.py",
)
# Nothing imports these modules, so they are no level of imports.
ENTRIES = {"registration", "urls"}


def modules_of(package: Path) -> list[Path]:
    """Return the modules of a package and of the packages in it."""
    return [path for path in package.rglob("*.py") if path.name != "__init__.py" and "migrations" not in path.parts]


def packages() -> dict[str, list[Path]]:
    """Return the modules of each package of a room, and those that are in the room itself, by dotted name."""
    found = {}
    for room in ROOMS:
        found[room] = [path for path in (ROOT / room).glob("*.py") if path.name != "__init__.py"]
        for path in (ROOT / room).glob("*/__init__.py"):
            if path.parent.name != "migrations":
                found[f"{room}.{path.parent.name}"] = modules_of(path.parent)
    return found


def test_packages_are_small():
    sizes = {
        name: (len(paths), sum(path.read_text().count("\n") for path in paths)) for name, paths in packages().items()
    }
    assert len(sizes) > 50
    assert {name: size for name, size in sizes.items() if size[0] > MAX_MODULES or size[1] > MAX_LINES} == {}


def test_packages_have_few_levels_of_imports():
    graph = grimp.build_graph(*ROOMS, cache_dir=None, exclude_type_checking_imports=True)
    levels = {}
    for name, paths in packages().items():
        members = {dotted_name(path) for path in paths if path.stem not in ENTRIES}
        imports = {member: graph.find_modules_directly_imported_by(member) & members for member in members}
        levels[name] = height(imports)
    assert max(levels.values()) > 2
    assert {name: number for name, number in levels.items() if number > MAX_LEVELS} == {}


def dotted_name(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts)


def height(imports: dict[str, set[str]]) -> int:
    """Return the number of modules in the longest chain of imports."""
    heights: dict[str, int] = {}
    while len(heights) < len(imports):
        ready = [name for name, imported in imports.items() if name not in heights and imported <= heights.keys()]
        heights |= {name: 1 + max((heights[each] for each in imports[name]), default=0) for name in ready}
    return max(heights.values(), default=0)


@table(
    ("imports", "expected"),
    [({}, 0), ({"a": set()}, 1), ({"a": {"b", "c"}, "b": {"c"}, "c": set()}, 3)],
)
def test_the_height_of_imports(imports, expected):
    assert height(imports) == expected


def test_no_class_name_is_used_twice():
    """Choices that a model contains, such as `Status.Kind`, carry the name of their model where they are used."""
    trees = [ast.parse(path.read_text()) for paths in packages().values() for path in paths]
    counts = Counter(name for tree in trees for name in class_names(tree))
    assert len(counts) > 800
    assert [name for name, count in counts.items() if count > 1] == []


def class_names(node: ast.AST, outer: ast.ClassDef | None = None) -> Iterator[str]:
    """Yield the names of the classes in a module, also of those inside of others. Leave out the names that Django prescribes."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef):
            is_choices = any(ast.unparse(base).endswith("Choices") for base in child.bases)
            if child.name not in {"Meta", "Command"} and not (outer and is_choices):
                yield child.name
        yield from class_names(child, child if isinstance(child, ast.ClassDef) else outer)


@table(
    ("code", "expected"),
    [
        ("class A: pass", ["A"]),
        ("class A:\n class B: pass", ["A", "B"]),
        ("if TYPE_CHECKING:\n class A: pass", ["A"]),
        ("class A:\n class Meta: pass\n class Kind(models.TextChoices): pass", ["A"]),
        ("class Kind(models.TextChoices): pass", ["Kind"]),
        ("class Command(BaseCommand): pass", []),
    ],
)
def test_class_names(code, expected):
    assert list(class_names(ast.parse(code))) == expected


def test_rooms_name_their_subjects():
    for room in installed_rooms():
        path = Path(room.path)
        found = {part.parent.name for name in PARTS for part in path.glob(f"*/{name}")} - {"management", "migrations"}
        assert found <= set(room.subjects) <= {each.parent.name for each in path.glob("*/__init__.py")}, room.name


def test_triggers_call_functions_of_their_own_room(db):
    """A function of the engine serves the tables of all rooms."""
    query = """
        SELECT tgrelid::regclass::text, tgfoid::regproc::text FROM pg_trigger
        WHERE NOT tgisinternal
    """
    with connection.cursor() as cursor:
        cursor.execute(query)
        calls = cursor.fetchall()
    assert len(calls) > 50
    foreign = {
        (table_name, function)
        for table_name, function in calls
        if room_of(function) not in {room_of(table_name), "core"}
    }
    assert foreign == set()


def room_of(name: str) -> str:
    """Return the room of a table or function by its name. The schemas `search` and `account_ids` belong to the engine."""
    return "core" if re.match(r"(search|account_ids)\.", name) else name.partition("_")[0]


def test_tables_carry_the_name_of_their_room(db):
    names = [name for name in connection.introspection.table_names() if name != "django_migrations"]
    assert len(names) > 50
    assert {name for name in names if name.partition("_")[0] not in ROOMS} == set()


def test_no_test_module_is_imported():
    """Shared helpers belong in tests/support/."""
    graph = grimp.build_graph("tests", cache_dir=None)
    tests = {module for module in graph.modules if module.rpartition(".")[2].startswith("test_")}
    assert len(tests) > 100
    assert {(module, test) for test in tests for module in graph.find_modules_that_directly_import(test)} == set()
