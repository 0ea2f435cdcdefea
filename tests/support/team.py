"""Helpers of the tests of the team's pages."""

from tests.support.pages import Visitor
from tests.support.settings import send


def assert_for_the_team_alone(acme, other, path: str, **values) -> None:
    """Assert that only the account's team can see the page and send `values`."""
    visitor, carol = acme.page(), acme.page(acme.carol)
    mallory = Visitor(acme.host)
    mallory.set_cookie("session", Visitor(other.host).sign_in("mallory").cookies["session"])
    for page in (visitor, mallory):
        assert page.get(path).headers["Location"].startswith("/app/sign-in?next=")
        response = send(page, path, status="*", **values)
        # A form with a text is shown again, so that the user can sign in and then submit the same text.
        is_shown_again = response.status_code == 403 and response.html.find(id="id_password")
        assert is_shown_again or response.headers["Location"].startswith("/app/sign-in?next=")
    carol.get(path, status=403)
    send(carol, path, status=403, **values)
    assert acme.page(acme.alice).get(path).status_code == 200


def messages_of(response) -> list[str]:
    return [" ".join(element.get_text(" ").split()) for element in response.html.select("#messages .notice p")]


def went_to(response, path: str) -> list[str]:
    """Assert that the response redirects to the path, and return the messages of the page there."""
    assert (response.status_code, response.headers["Location"]) == (303, path)
    page = response.follow()
    while page.status_code in (301, 302, 303):
        page = page.follow()
    return messages_of(page)


def fresh(post):
    return type(post).objects.get(pk=post.pk)


HTMX = {"HX-Request": "true"}
