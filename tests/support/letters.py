"""Read the e-mails that a page sent."""

import re

from django.core import mail


def letter(to: str, *, about: str = ""):
    """Return the only e-mail sent. Assert its recipient, and that its subject contains `about`."""
    [sent] = mail.outbox
    assert sent.to == [to]
    assert about in sent.subject
    return sent


def link_in(sent, host: str) -> str:
    """Return the path of the first link of an e-mail. Assert that the link names the host."""
    [url, *_] = re.findall(r"^http\S+$", sent.body, re.MULTILINE)
    assert url.startswith(f"http://{host}/")
    return url.removeprefix(f"http://{host}")
