"""What is in the e-mails that a page sent."""

import re

from django.core import mail


def letter(to: str, *, about: str = ""):
    """The only e-mail that was sent; to that address, with those words in its subject."""
    [sent] = mail.outbox
    assert sent.to == [to]
    assert about in sent.subject
    return sent


def link_in(sent, host: str) -> str:
    """The first link of an e-mail, as a path; it is one of the host."""
    [url, *_] = re.findall(r"^http\S+$", sent.body, re.MULTILINE)
    assert url.startswith(f"http://{host}/")
    return url.removeprefix(f"http://{host}")
