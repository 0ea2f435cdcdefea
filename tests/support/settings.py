"""Helpers of the tests of the account settings."""

from django.conf import settings

from tests.support.pages import Visitor
from tests.support.queries import capture_queries

# One of them counts the new suggestions of the team's inbox.
MAX_STATEMENTS = 10


def token_of(page: Visitor) -> str:
    """Return the CSRF token of the browser. If it has no cookie, set one, as a page with a form does."""
    if settings.CSRF_COOKIE_NAME not in page.cookies:
        page.set_cookie(settings.CSRF_COOKIE_NAME, "c" * 32)
    return page.cookies[settings.CSRF_COOKIE_NAME].strip('"')


def send(page: Visitor, path: str, *, status: int = 303, **values):
    """Send a form that the page does not show."""
    return page.post(path, {**values, "csrfmiddlewaretoken": token_of(page)}, status=status)


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
