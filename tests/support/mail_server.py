"""A mail server that counts what it receives."""

import logging
from collections import Counter
from collections.abc import Iterator

import pytest
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, Envelope

from tests.support.service import free_port


class MailServer:
    """A mail server that counts the e-mails by address and by subject."""

    def __init__(self) -> None:
        self.addresses: Counter[str] = Counter()
        self.subjects: Counter[str] = Counter()
        # The values of Message-ID, by subject.
        self.ids: dict[str, set[str]] = {}
        self.controller = Controller(self, hostname="127.0.0.1", port=free_port())

    @property
    def url(self) -> str:
        """The value of EMAIL_URL."""
        return f"smtp://127.0.0.1:{self.controller.port}/"

    async def handle_DATA(self, server: SMTP, session: object, envelope: Envelope) -> str:  # noqa: N802
        self.addresses.update(envelope.rcpt_tos)
        lines = envelope.content.decode().splitlines()
        headers = dict(line.split(": ", 1) for line in lines[: lines.index("")] if ": " in line)
        self.subjects[headers["Subject"]] += 1
        self.ids.setdefault(headers["Subject"], set()).add(headers["Message-ID"])
        return "250 OK"


@pytest.fixture
def mail_server(caplog: pytest.LogCaptureFixture) -> Iterator[MailServer]:
    # The server logs each command.
    caplog.set_level(logging.WARNING, "mail.log")
    server = MailServer()
    server.controller.start()
    try:
        yield server
    finally:
        server.controller.stop()
