import pytest

from tests.support.factories import make_client, make_contact, make_deal, make_post, make_task
from tests.support.queries import capture_queries
from tests.support.tables import table
from workspace.find import MAX_FOUND, MAX_SUGGESTED

PATH = "/app/find"
# The session, the forum, the number of new suggestions; the planner setting with the folded words, the estimated numbers, the search and
# the rows.
STATEMENTS = 8


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
        f"/app/posts/{rows['post'].id}",
        f"/app/tasks/{rows['task'].id}",
    }
    # Fewer than enough rows were found, so two more statements search for similar words.
    assert len(queries) == STATEMENTS + 2, queries


@table("q", ["nortwind", "Northwnid"])
def test_it_finds_mistyped_words(acme, rows, q):
    page = acme.page(acme.bob).get(PATH, {"q": q})
    assert len(results(page)) == 5


def test_several_words_take_at_most_13_statements(acme, rows):
    bob = acme.page(acme.bob)
    bob.get(f"{PATH}?q=northwind")
    page, queries = capture_queries(lambda: bob.get(f"{PATH}?q=northwind+traders+rof"))
    assert len(queries) <= 13, queries
    page, queries = capture_queries(lambda: bob.get(f"{PATH}?q=northwind+traders"))
    assert results(page)["Clients"] == ["Northwind Traders office@northwind.example"]
    assert len(queries) <= 13, queries


def test_many_results(acme):
    for number in range(MAX_FOUND + 1):
        make_client(acme.bob, f"Northwind {number}")
    page = acme.page(acme.bob).get(f"{PATH}?q=northwind")
    assert len(results(page)["Clients"]) == MAX_FOUND
    assert page.html.select_one("main section a[href='/app/clients?q=northwind']").get_text() == "Show more"


def test_the_list_while_typing(acme, rows):
    for number in range(MAX_SUGGESTED + 1):
        make_client(acme.bob, f"Northwind {number}")
    page = acme.page(acme.bob).get(f"{PATH}?q=northw", headers={"HX-Request": "true"})
    assert page.html.find("html") is None
    options = page.html.select("[role=listbox] [role=group] a[role=option]")
    assert len(options) == MAX_SUGGESTED + 4
    assert len({option["id"] for option in options}) == len(options)
    assert page.html.select("a[role=option]")[-1]["href"] == "/app/find?q=northw"


@table("q", ["", "  ", "\x01", "'", "!!", "x" * 500, "a & b | !c:*"])
def test_texts_without_results(acme, rows, q):
    for headers in ({}, {"HX-Request": "true"}):
        page = acme.page(acme.bob).get(PATH, {"q": q}, headers=headers)
        assert not page.html.select("main section.card, [role=option]")


def test_it_finds_nothing_of_another_account_or_in_the_trash(acme, other):
    make_client(other.mallory, "Northwind")
    make_client(acme.bob, "Northwind").trash(by=acme.bob)
    assert results(acme.page(acme.bob).get(f"{PATH}?q=northwind")) == {}


def test_members_have_no_search(acme):
    carol = acme.page(acme.carol)
    carol.get(PATH, status=403)
    assert carol.get("/").html.find(id="find") is None
    assert acme.page(acme.bob).get("/").html.find(id="find") is not None


def test_shortcuts_can_be_switched_off(acme):
    bob = acme.page(acme.bob)
    assert bob.get("/app/clients").html.find(id="keys") is not None
    acme.bob.shortcuts = False
    acme.bob.save(update_fields=["shortcuts"])
    assert bob.get("/app/clients").html.find(id="keys") is None
