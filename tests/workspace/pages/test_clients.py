"""The list of clients."""

from tests.support.factories import make_client
from tests.support.reading import statements

PATH = "/app/clients"


def names(page) -> list[str]:
    return [cell.get_text(strip=True) for cell in page.html.select("tbody th")]


def test_it_works(acme, other):
    make_client(other.mallory, "Secret")
    for name in ("Adler", "Brandt", "Corvus"):
        make_client(acme.bob, name, email=f"{name.lower()}@example.com")
    make_client(acme.bob, "Dorn").trash(by=acme.bob)
    bob = acme.page(acme.bob)
    assert names(bob.get(PATH)) == ["Corvus", "Brandt", "Adler"]
    assert names(bob.get(f"{PATH}?q=brandt")) == ["Brandt"]
    assert names(bob.get(f"{PATH}?q=nobody")) == []


def test_it_has_pages(acme):
    for number in range(26):
        make_client(acme.bob, f"Client {number}")
    page = acme.page(acme.bob).get(PATH)
    assert len(names(page)) == 25
    assert names(page.click("Next")) == ["Client 0"]


def test_the_number_of_statements_does_not_depend_on_the_rows(acme):
    bob = acme.page(acme.bob)
    for number in range(2):
        make_client(acme.bob, f"Client {number}")
        # The session, the forum, the clients, and the number beside the link to the inbox.
        assert len(statements(bob, PATH)) == 5
