import pytest

from team.search.queries import MAX_FOUND, MAX_SUGGESTED
from tests.support.factories import make_client, make_contact, make_deal, make_post, make_task
from tests.support.pages import path_of_post
from tests.support.queries import capture_queries

PATH = "/app/find"
# The session, the forum, the number of new suggestions; the planner setting with the folded words, the estimated numbers, the search and
# the rows.
STATEMENTS = 7


@pytest.fixture
def rows(acme):
    client = make_client(acme.bob, "Northwind Traders", email="office@northwind.example")
    return {
        "client": client,
        "contact": make_contact(acme.bob, "Nora of Northwind", client_id=client.id),
        "deal": make_deal(acme.bob, "Northwind roof", client_id=client.id),
        "post": make_post(acme.carol, "Northwind asks for dark mode"),
        "task": make_task(acme.bob, "Call Northwind", client_id=client.id),
    }


def results(page) -> dict[str, list[str]]:
    return {
        section.h2.get_text(): [" ".join(item.get_text(" ").split()) for item in section.select("li")]
        for section in page.html.select("main section.card")
    }


def test_it_works(acme, rows):
    bob = acme.page(acme.bob)
    bob.get(f"{PATH}?q=northwind")
    page, queries = capture_queries(lambda: bob.get(f"{PATH}?q=northwind"))
    assert results(page) == {
        "Clients": ["Northwind Traders office@northwind.example"],
        "Contacts": ["Nora of Northwind Northwind Traders"],
        "Deals": ["Northwind roof Northwind Traders"],
        "Suggestions": ["Northwind asks for dark mode New"],
        "Tasks": ["Call Northwind Northwind Traders"],
    }
    links = {link["href"] for link in page.html.select("main li a")}
    assert links == {
        f"/app/clients/{rows['client'].id}",
        f"/app/contacts/{rows['contact'].id}",
        f"/app/deals/{rows['deal'].id}",
        path_of_post(rows["post"]),
        f"/app/tasks/{rows['task'].id}",
    }
    # Fewer than enough rows were found, so two more statements search for similar words.
    assert len(queries) == STATEMENTS + 2, queries


def test_several_and_mistyped_words(acme, rows):
    """They take at most 13 statements."""
    bob = acme.page(acme.bob)
    bob.get(f"{PATH}?q=northwind")
    for q, number in (("northwind traders rof", 0), ("northwind traders", 1), ("nortwind", 5), ("Northwnid", 5)):
        page, queries = capture_queries(lambda q=q: bob.get(PATH, {"q": q}))
        assert len(queries) <= 13, queries
        assert len(results(page)) >= number
        if number == 1:
            assert results(page)["Clients"] == ["Northwind Traders office@northwind.example"]


def test_many_results(acme, rows):
    """A link leads to more than the page or the list while typing shows."""
    for number in range(MAX_FOUND):
        make_client(acme.bob, f"Northwind {number}")
    bob = acme.page(acme.bob)
    page = bob.get(f"{PATH}?q=northwind")
    assert len(results(page)["Clients"]) == MAX_FOUND
    assert page.html.select_one("main section a[href='/app/clients?q=northwind']").get_text() == "Show more"
    page = bob.get(f"{PATH}?q=northw", headers={"HX-Request": "true"})
    assert page.html.find("html") is None
    options = page.html.select("[role=listbox] [role=group] a[role=option]")
    assert len(options) == MAX_SUGGESTED + 4
    assert len({option["id"] for option in options}) == len(options)
    assert page.html.select("a[role=option]")[-1]["href"] == "/app/find?q=northw"


def test_texts_without_results(acme, other, rows):
    """Rows of another account and in the trash are not found either."""
    make_client(other.mallory, "Lantern")
    make_client(acme.bob, "Lantern").trash(by=acme.bob)
    bob = acme.page(acme.bob)
    for q in ("", "  ", "\x01", "'", "!!", "x" * 500, "a & b | !c:*", "lantern"):
        for headers in ({}, {"HX-Request": "true"}):
            page = bob.get(PATH, {"q": q}, headers=headers)
            assert not page.html.select("main section.card, [role=option]"), q


def test_the_field_and_the_shortcuts(acme):
    """Members have no search. A user may switch the shortcuts off."""
    assert acme.page(acme.carol).get("/").html.find(id="find") is None
    bob = acme.page(acme.bob)
    assert bob.get("/").html.find(id="find") is not None
    for shortcuts in (True, False):
        acme.account.users.filter(id=acme.bob.id).update(shortcuts=shortcuts)
        assert (bob.get("/app/clients").html.find(id="keys") is not None) == shortcuts
