"""The quality of the search: a table of texts with the results that must come first (`search_cases.toml`)."""

import tomllib
from pathlib import Path

from tests.support import search_rows
from tests.support.assertions import read
from tests.support.tables import table

CASES = tomllib.loads(Path(__file__).with_name("search_cases.toml").read_text())
# The function that creates the rows, the list, and the field with the name.
LISTS = {
    "clients": (search_rows.make_clients, "/app/clients.json", "name"),
    "contacts": (search_rows.make_contacts, "/app/contacts.json", "name"),
    "deals": (search_rows.make_deals, "/app/deals.json", "name"),
    "posts": (search_rows.make_posts, "/app/posts.json", "title"),
}


def find_fault(expected: str | list[str], found: list[str]) -> str:
    """Return what is wrong with the found names, or an empty text."""
    expected = [expected] if isinstance(expected, str) else expected
    first = found[: len(expected)] if expected else found
    return "" if sorted(first) == sorted(expected) else f"found {found[:3]}, not {expected}"


@table("name", LISTS)
def test_the_first_results_of_a_list(acme, other, name):
    make, path, field = LISTS[name]
    make(acme.alice)
    # The same rows of another account must not take part.
    make(other.mallory)
    json, faults = acme.json(), {}
    for group, cases in CASES[name].items():
        for q, expected in cases.items():
            response = json.get(path, params={"q": q, "per_page": 10})
            assert response.status_code == 200, response.text
            if fault := find_fault(expected, [row[field] for row in read(response)]):
                faults[f"{group}: {q}"] = fault
    assert faults == {}


def test_the_first_results_of_the_search_over_everything(acme):
    for make, _path, _field in LISTS.values():
        make(acme.alice)
    keys = {"clients": "clients", "contacts": "contacts", "deals": "deals", "posts": "suggestions"}
    json, faults = acme.json(), {}
    for name, groups in CASES.items():
        cases = [(q, expected) for group in groups.values() for q, expected in group.items()]
        # Every sixth text: the searches of a group differ from those of its list only in their limit, and in running side by side.
        for q, expected in cases[::6]:
            found = read(json.get("/app/find.json", params={"q": q}))[keys[name]]
            if fault := find_fault(expected, [row["name"] for row in found]):
                faults[f"{name}: {q}"] = fault
    assert faults == {}


def test_the_table_has_two_hundred_texts():
    assert sum(len(cases) for groups in CASES.values() for cases in groups.values()) >= 200
