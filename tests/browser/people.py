"""What people do in several stories."""

import re

from django.core import mail
from playwright.sync_api import Locator, Page, expect

from accounts.models import User
from forum.models import Post
from tests.accounts.pages.letters import link_in
from tests.browser.chromium import ORIGIN
from tests.factories import PASSWORD


def sign_in(page: Page, user: User) -> None:
    page.get_by_label("Login or e-mail").fill(user.login)
    page.get_by_label("Password").fill(PASSWORD)
    page.locator("main").get_by_role("button", name="Sign in").click()


def told(page: Page) -> Locator:
    """What the page says of what was just done."""
    return page.locator("#messages")


def vote_button(page: Page, post: Post) -> Locator:
    return page.locator(f"#vote-{post.id}")


def count_of(page: Page, post: Post) -> Locator:
    return vote_button(page, post).locator("span").first


def at(path: str) -> re.Pattern:
    """The address of a path, whatever comes after it."""
    return re.compile(rf"^{re.escape(ORIGIN + path)}([?#].*)?$")


def open_letter(page: Page) -> None:
    """Follow the link of the only e-mail that was sent."""
    [sent] = mail.outbox
    page.goto(link_in(sent, ORIGIN.removeprefix("http://")))


def choose_name(page: Page, name: str) -> None:
    page.get_by_label("Your name").fill(name)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Join").click()
    expect(told(page)).to_have_text("Welcome! You are signed in.")
