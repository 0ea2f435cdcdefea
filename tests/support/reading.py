"""What the tests of the pages for reading share."""

from tests.support.factories import make_client, make_contact, make_post
from tests.support.pages import Visitor
from tests.support.queries import asked_by


def statements(visitor: Visitor, path: str) -> list[str]:
    """What a page asks the database, once the host is known and the session has been seen."""
    visitor.get(path)
    response, asked = asked_by(lambda: visitor.get(path))
    assert response.status_code == 200
    return asked


def titles(page) -> list[str]:
    """The titles of a page's suggestions, in order."""
    return [heading.text.strip() for heading in page.html.select(".post h2")]


def make_private(user, title: str = "Secret"):
    return make_post(user, title, private=True)


def make_unapproved(user, title: str = "Waiting"):
    return make_post(user, title, approved=False)


def make_for_customers(user):
    """A post of a client, and one of a contact."""
    client, contact = make_client(user, "Ann Client"), make_contact(user, "Con Tact")
    return make_post(user, "Of a client", client_id=client.id), make_post(user, "Of a contact", contact_id=contact.id)
