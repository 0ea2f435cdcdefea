"""Read the e-mails that a page sent."""

import re

from django.core import mail


def letter(to: str, *, about: str = ""):
    """Return the only e-mail sent. Assert its recipient, and that its subject contains `about`."""
    [email] = mail.outbox
    assert email.to == [to]
    assert about in email.subject
    return email


def link_in(email, host: str) -> str:
    """Return the path of the first link of an e-mail. Assert that the link names the host."""
    [url, *_] = re.findall(r"^http\S+$", email.body, re.MULTILINE)
    assert url.startswith(f"http://{host}/")
    return url.removeprefix(f"http://{host}")
