"""Helpers of the tests of the pages that show posts."""

from forum.lists.facets import FacetSelection
from tests.support.factories import make_client, make_contact, make_post
from tests.support.pages import Visitor
from tests.support.queries import capture_queries


def statements(visitor: Visitor, path: str) -> list[str]:
    """Return the statements of a page when host and session are cached."""
    visitor.get(path)
    response, queries = capture_queries(lambda: visitor.get(path))
    assert response.status_code == 200
    return queries


def titles(page) -> list[str]:
    """Return the titles of a page's suggestions, in order."""
    return [heading.text.strip() for heading in page.html.select(".post h2")]


def make_private(user, title: str = "Secret"):
    return make_post(user, title, private=True)


def make_unapproved(user, title: str = "Waiting"):
    return make_post(user, title, approved=False)


def make_for_customers(user):
    """Create a post of a client and a post of a contact."""
    client, contact = make_client(user, "Ann Client"), make_contact(user, "Con Tact")
    return make_post(user, "Of a client", client_id=client.id), make_post(user, "Of a contact", contact_id=contact.id)


def selection_of(
    category_id: int | None = None, status_id: int | None = None, kind: str | None = None, tag: str | None = None
) -> FacetSelection:
    """Return the selection of at most one value of each filter."""
    values = ((value,) if value is not None else () for value in (category_id, status_id, kind))
    return FacetSelection(*values, tag=tag)
