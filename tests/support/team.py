"""What the tests of the team's pages share."""

from tests.support.pages import Visitor
from tests.support.settings import send


def assert_for_the_team_alone(acme, other, path: str, **values) -> None:
    """Nobody who is not of the account's team sees the page, or does what `values` say."""
    visitor, carol = acme.page(), acme.page(acme.carol)
    stranger = Visitor(acme.host)
    stranger.set_cookie("session", Visitor(other.host).sign_in("mallory").cookies["session"])
    for page in (visitor, stranger):
        assert page.get(path).headers["Location"].startswith("/app/sign-in?next=")
        asked = send(page, path, status="*", **values)
        # A form with a text comes back with the question.
        comes_back = asked.status_code == 403 and asked.html.find(id="id_password")
        assert comes_back or asked.headers["Location"].startswith("/app/sign-in?next=")
    carol.get(path, status=403)
    send(carol, path, status=403, **values)
    assert acme.page(acme.alice).get(path).status_code == 200


def messages_of(response) -> list[str]:
    return [" ".join(found.get_text(" ").split()) for found in response.html.select("#messages .notice p")]


def went_to(response, path: str) -> list[str]:
    """The messages of the page that a form led to."""
    assert (response.status_code, response.headers["Location"]) == (303, path)
    shown = response.follow()
    while shown.status_code in (301, 302, 303):
        shown = shown.follow()
    return messages_of(shown)


def fresh(post):
    return type(post).objects.get(pk=post.pk)


HTMX = {"HX-Request": "true"}
