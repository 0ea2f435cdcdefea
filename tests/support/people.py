"""Steps that several browser tests share."""

import re
from collections.abc import Callable
from urllib.parse import parse_qsl, urlsplit

from django.core import mail
from playwright.sync_api import Locator, Page, Response, Route, expect

from accounts.users.models import User
from forum.posts.models import Post
from tests.support.chromium import ORIGIN, TIMEOUT_MS
from tests.support.factories import PASSWORD
from tests.support.letters import link_in


def sign_in(page: Page, user: User) -> None:
    """Sign in with the password, on the page for it or on that for an e-mail address, which links to it."""
    link, login = page.get_by_role("link", name="Use a password instead"), page.get_by_label("Login or e-mail")
    expect(link.or_(login)).to_be_visible()
    if link.is_visible():
        link.click()
    page.get_by_label("Login or e-mail").fill(user.login)
    page.get_by_label("Password").fill(PASSWORD)
    page.locator("main").get_by_role("button", name="Sign in", exact=True).click()


def type_in(field: Locator, text: str) -> None:
    """Type letter by letter, and wait until the results for the whole text are shown."""

    def is_for_text(response: Response) -> bool:
        return text in dict(parse_qsl(urlsplit(response.url).query)).values()

    with field.page.expect_response(is_for_text):
        field.press_sequentially(text)
    # htmx removes the class once the results are in the page.
    expect(field).not_to_have_class(re.compile("htmx-request"))


def wait_until(page: Page, condition: Callable[[], object], message: Callable[[], str] = str) -> None:
    """Wait for a condition that events of the page change and that no element shows."""
    for _ in range(TIMEOUT_MS // 20):
        if condition():
            return
        page.wait_for_timeout(20)
    raise AssertionError(message() or "the condition did not become true in time")


class HeldRequests:
    """Holds the last request to each path that ends in one of the names, until the test continues it."""

    def __init__(self, page: Page, *names: str):
        self.page, self.routes = page, {}
        page.route(re.compile(rf"/({'|'.join(names)})(\?|$)"), self.hold)

    def hold(self, route: Route) -> None:
        self.routes[urlsplit(route.request.url).path.rpartition("/")[2]] = route

    def wait_for(self, name: str) -> Route:
        wait_until(self.page, lambda: name in self.routes, lambda: f"no request for {name}")
        return self.routes.pop(name)


def messages_on(page: Page) -> Locator:
    """Return the element that contains the messages of the page."""
    return page.locator("#messages")


def vote_button(page: Page, post: Post) -> Locator:
    return page.locator(f"#vote-{post.id}")


def count_of(page: Page, post: Post) -> Locator:
    return vote_button(page, post).locator("span").first


def at(path: str) -> re.Pattern:
    """Return a pattern of the URLs with this path, with any query and fragment."""
    return re.compile(rf"^{re.escape(ORIGIN + path)}([?#].*)?$")


def open_letter(page: Page) -> None:
    """Open the link of the only e-mail sent."""
    [sent] = mail.outbox
    page.goto(link_in(sent, ORIGIN.removeprefix("http://")))


def choose_name(page: Page, name: str) -> None:
    page.get_by_label("Your name").fill(name)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Join").click()
    expect(messages_on(page)).to_have_text("Welcome! You are signed in.")
