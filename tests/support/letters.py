"""Read the e-mails that a page sent."""

import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from django.core import mail
from django.db.models import F

from forum.notifications.emails import send_due_notifications
from forum.notifications.models import Notification
from tests.support.followers import run_followers
from tests.support.jobs import run_jobs


class Outbox(list):
    """The e-mails sent. Reading the list runs the due jobs first, if an e-mail was deferred since the last reading."""

    is_behind = False

    def send(self) -> None:
        while self.is_behind:
            self.is_behind = False
            run_jobs()

    def __iter__(self) -> Iterator:
        self.send()
        return super().__iter__()

    def __len__(self) -> int:
        self.send()
        return super().__len__()

    def __getitem__(self, index: Any) -> Any:
        self.send()
        return super().__getitem__(index)

    def __eq__(self, other: object) -> bool:
        self.send()
        return super().__eq__(other)

    __hash__ = None

    def clear(self) -> None:
        self.send()
        super().clear()


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


def send_notifications(*, later: timedelta = timedelta()) -> list:
    """Create the notifications, move their times back by `later`, and send them. Return the e-mails, and empty the outbox."""
    run_followers()
    Notification.objects.exclude(mail_at=None).update(mail_at=F("mail_at") - later)
    send_due_notifications()
    run_jobs()
    sent = list(mail.outbox)
    mail.outbox.clear()
    return sent
