"""The pictures of the rooms in `docs/design.md` show the packages of each room and the imports between them. CONTRIBUTING.md names packages."""

import re
from copy import deepcopy

import grimp
import pytest

from tests.support.examples import ROOT, UPDATING

DOCUMENT = ROOT / "docs" / "design.md"
MAX_LINES = 415
ROOMS = ("core", "accounts", "forum", "crm", "webhooks", "team")
# Django and `core.rooms` find these by their names. No other part of a room imports them.
FOUND_BY_NAME = {"apps", "management", "migrations"}
MODULES_FOUND_BY_NAME = {"registration", "urls"}
# The arrows from a part of a room to the parts that it imports.
Arrows = dict[str, set[str]]


@pytest.fixture(scope="module")
def graph() -> grimp.ImportGraph:
    return grimp.build_graph(*ROOMS, cache_dir=None, exclude_type_checking_imports=True)


def parts_of(room: str, graph: grimp.ImportGraph) -> set[str]:
    """Return the names of the parts of a room: its packages, and modules beside them."""
    names = {child.rpartition(".")[2] for child in graph.find_children(room)} - FOUND_BY_NAME
    packages = {name for name in names if graph.find_children(f"{room}.{name}")}
    # The module `models` of a room with packages only imports those of the packages.
    return packages | names - MODULES_FOUND_BY_NAME - ({"models"} if packages else set())


def imports_between(room: str, parts: set[str], graph: grimp.ImportGraph) -> Arrows:
    return {
        part: {
            imported.split(".")[1]
            for module in {f"{room}.{part}"} | graph.find_descendants(f"{room}.{part}")
            for imported in graph.find_modules_directly_imported_by(module)
            if imported.startswith(f"{room}.")
        }
        & parts - {part}
        for part in parts
    }


def reachable(start: str, arrows: Arrows) -> set[str]:
    """Return the parts to which arrows lead from a part, directly or through other parts."""
    found: set[str] = set()
    waiting = set(arrows[start])
    while waiting:
        part = waiting.pop()
        found.add(part)
        waiting |= arrows[part] - found
    return found


def without_implied(arrows: Arrows) -> Arrows:
    """Return the arrows without those that follow from others."""
    remaining = {part: set(imported) for part, imported in arrows.items()}
    for part, imported in sorted(arrows.items()):
        for name in sorted(imported):
            remaining[part].remove(name)
            if name not in reachable(part, remaining):
                remaining[part].add(name)
    return remaining


def draw(arrows: Arrows) -> str:
    """Return a flowchart, from the highest parts to the lowest: a line for each set of imported parts, then the unconnected parts."""
    ranks = {part: (-len(reachable(part, arrows)), part) for part in arrows}
    importers: dict[str, list[str]] = {}
    for part in sorted(arrows, key=ranks.__getitem__):
        if arrows[part]:
            importers.setdefault(" & ".join(sorted(arrows[part], key=ranks.__getitem__)), []).append(part)
    lines = [f"{' & '.join(parts)} --> {imported}" for imported, parts in importers.items()]
    connected = {name for part, imported in arrows.items() if imported for name in (part, *imported)}
    unconnected = " & ".join(sorted(arrows.keys() - connected))
    lines += [unconnected] if unconnected else []
    return "".join(f"    {line}\n" for line in lines)


def picture_of(room: str, graph: grimp.ImportGraph) -> str:
    return draw(without_implied(imports_between(room, parts_of(room, graph), graph)))


@pytest.mark.parametrize("room", ROOMS)
def test_it_works(room, graph):
    """A new package, and an import that does not follow from the arrows, changes the picture. `make docs` draws it."""
    picture = picture_of(room, graph)
    pattern = rf"(\n\*\*`{room}`\*\*(?:.+\n)+\n```mermaid\nflowchart TD\n)([^`]*)(?=```)"
    [(_, drawn)] = re.findall(pattern, DOCUMENT.read_text())
    if UPDATING:
        DOCUMENT.write_text(re.sub(pattern, lambda match: match[1] + picture, DOCUMENT.read_text()))
        drawn = picture
    assert drawn == picture, f"run `make docs`, and read the difference of the picture of {room} in docs/design.md"


def test_a_new_package_changes_the_picture(graph):
    graph, before = deepcopy(graph), picture_of("crm", graph)
    for module in ("crm.offers", "crm.offers.models"):
        graph.add_module(module)
    assert picture_of("crm", graph) == f"{before}    offers\n"


def test_a_new_import_changes_the_picture(graph):
    graph, before = deepcopy(graph), picture_of("crm", graph)
    # This import follows from others: notes, contacts, clients.
    graph.add_import(importer="crm.notes.models", imported="crm.clients.models")
    assert picture_of("crm", graph) == before
    graph.add_import(importer="crm.contacts.models", imported="crm.deals.models")
    assert picture_of("crm", graph) != before


def test_arrows_that_follow_from_others_are_left_out():
    chain = {"a": {"b", "c"}, "b": {"c"}, "c": set(), "d": set()}
    assert without_implied(chain) == {"a": {"b"}, "b": {"c"}, "c": set(), "d": set()}
    assert draw(without_implied(chain)) == "    a --> b\n    b --> c\n    d\n"
    assert draw({"a": {"c"}, "b": {"c"}, "c": set()}) == "    a & b --> c\n"
    # An import in both directions stays, and so does what either part imports.
    circle = {"a": {"b", "c"}, "b": {"a", "c"}, "c": set()}
    assert without_implied(circle) == {"a": {"b"}, "b": {"a", "c"}, "c": set()}


def test_the_document_is_short():
    assert DOCUMENT.read_text().count("\n") <= MAX_LINES


def test_contributing_names_packages_that_exist() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text().partition("### The subjects\n")[2].partition("\n## ")[0]
    named = {}
    for table in text.split("\n\n| ")[1:]:
        heading, *rows = table.splitlines()
        room = heading.split("`")[1]
        for row in rows[1:]:
            for name in re.findall("`([^`]+)`", row.split("|")[1]):
                named[name if "/" in name else f"{room}/{name}"] = row
    assert len(named) > 60
    assert [name for name in named if not (ROOT / name / "__init__.py").exists()] == []
