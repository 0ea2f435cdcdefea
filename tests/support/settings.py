"""Helpers of the tests of the account settings."""

from tests.support.factories import make_user
from tests.support.pages import Visitor
from tests.support.queries import capture_queries

# One of them counts the new suggestions of the team's inbox.
MAX_STATEMENTS = 10


def token_of(page: Visitor) -> str:
    """Return the CSRF token of the visitor's cookie. A page with a form sets it."""
    if "csrf" not in page.cookies:
        page.get("/app/sign-in")
    if "csrf" not in page.cookies:
        page.get("/")
    return page.cookies["csrf"]


def send(page: Visitor, path: str, *, status: int = 303, **values):
    """Send a form that the page does not show."""
    return page.post(path, {**values, "csrfmiddlewaretoken": token_of(page)}, status=status)


def assert_for_admins_alone(acme, other, path: str, **values) -> None:
    """Assert that only admins of the account can see the page and send `values`."""
    visitor = acme.page()
    assert visitor.get(path).headers["Location"].startswith("/app/sign-in?next=")
    assert send(visitor, path, **values).headers["Location"].startswith("/app/sign-in?next=")
    for user in (acme.carol, acme.bob):
        page = acme.page(user)
        if user == acme.carol or path != "/app/account":
            page.get(path, status=403)
        send(page, path, status=403, **values)
    # Mallory has a session of another account, which is invalid here.
    mallory = Visitor(acme.host)
    mallory.set_cookie("session", Visitor(other.host).sign_in("mallory").cookies["session"])
    assert mallory.get(path).headers["Location"].startswith("/app/sign-in?next=")
    admin = make_user(acme.account, role="admin")
    assert acme.page(admin).get(path).status_code == 200


def assert_few_statements(page: Visitor, path: str) -> list[str]:
    page.get(path)
    _response, queries = capture_queries(lambda: page.get(path, status=200))
    assert len(queries) <= MAX_STATEMENTS, queries
    return queries


def texts(response, selector: str) -> list[str]:
    """Return the text of each element on one line, without <template> contents."""
    shown = (element for element in response.html.select(selector) if not element.find_parent("template"))
    return [" ".join(element.get_text(" ").split()) for element in shown]


def button_of(response, do: str, **values):
    """Return the form that has the button `do` and these hidden values."""
    fields = {"do": do, **{name: str(value) for name, value in values.items()}}
    for number, form in enumerate(response.html.find_all("form")):
        if all(form.find(["input", "button"], {"name": name, "value": value}) for name, value in fields.items()):
            return response.forms[number]
    raise AssertionError(f"no form has the fields {fields}")
