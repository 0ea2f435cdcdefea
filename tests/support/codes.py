"""Steps of signing in with a code from an e-mail."""

import re

from django.core import mail

from tests.support.pages import Visitor


def request_code(visitor: Visitor, email: str, path: str = "/app/sign-in/code"):
    """Request a code. Return the response, which redirects to the page for the code."""
    form = visitor.get(path).forms["code-request"]
    form["email"] = email
    return form.submit(expect_errors=True)


def code_in_letter() -> str:
    """Return the code in the newest e-mail."""
    return re.findall(r"^\d{6}$", mail.outbox[-1].body, re.MULTILINE)[0]


def wrong(code: str) -> str:
    """Return a code that differs from `code`."""
    return f"{(int(code) + 1) % 10**6:06}"


def enter_code(page, code: str):
    """Enter a code on its page, and return the response."""
    form = page.forms["code"]
    form["code"] = code
    return form.submit(expect_errors=True)


def sign_in_with_code(visitor: Visitor, email: str, path: str = "/app/sign-in/code"):
    """Sign in with a code, and return the response to the code."""
    page = request_code(visitor, email, path).follow()
    return enter_code(page, code_in_letter())
