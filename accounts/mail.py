"""E-mails to users, in their language.

A background thread sends them after the response, so that the response time does not show whether an e-mail was sent.
"""

import logging
import threading
from email.utils import formataddr, make_msgid, parseaddr
from heapq import heappop, heappush
from itertools import count
from smtplib import SMTPException, SMTPRecipientsRefused, SMTPResponseException, SMTPServerDisconnected
from time import monotonic, sleep
from typing import Any

from django.conf import settings
from django.core.mail import EmailMultiAlternatives
from django.template import Context, engines
from django.template.loader import render_to_string
from django.utils import translation

logger = logging.getLogger("rostrum.mail")

# The limit of e-mails in the queue of one process. Further e-mails are dropped, so that a slow mail server does not use up the memory.
MAX_QUEUED = 1000
# Seconds before each attempt. The response is sent during the first delay. The other delays follow temporary errors.
RETRY_DELAYS = (0.2, 5, 30, 120, 600)
# When the process shuts down, each pending e-mail is tried once more. No attempt starts after this number of seconds.
SHUTDOWN_SECONDS = 5


class MailQueue:
    """A queue of e-mails and the thread that sends them. The thread runs only while the queue has e-mails."""

    def __init__(self) -> None:
        # A heap of (due time, sequence number, number of failed attempts, e-mail).
        self.pending: list[tuple[float, int, int, QueuedEmail]] = []
        self.sequence = count()
        self.lock = threading.Lock()
        self.thread: threading.Thread | None = None
        self.shutdown_deadline: float | None = None

    def enqueue(self, email: "QueuedEmail") -> None:
        with self.lock:
            if len(self.pending) >= MAX_QUEUED:
                logger.error("an e-mail was not sent: the queue is full")
                return
            self.push(email)
            if self.thread is None:
                # The threads of the server are daemons, and a new thread would inherit that.
                self.thread = threading.Thread(target=self.run, name="mail", daemon=False)
                self.thread.start()

    def push(self, email: "QueuedEmail", attempts: int = 0) -> None:
        heappush(self.pending, (monotonic() + RETRY_DELAYS[attempts], next(self.sequence), attempts, email))

    def run(self) -> None:
        while True:
            with self.lock:
                # The interpreter waits for this thread after the main thread has ended.
                if self.shutdown_deadline is None and not threading.main_thread().is_alive():
                    self.shutdown_deadline = monotonic() + SHUTDOWN_SECONDS
                now = monotonic()
                if self.shutdown_deadline is not None and self.pending and now > self.shutdown_deadline:
                    logger.error("%d e-mails were not sent: the process ended", len(self.pending))
                    self.pending.clear()
                if not self.pending:
                    self.thread = None
                    return
                delay = 0 if self.shutdown_deadline is not None else self.pending[0][0] - now
                if delay <= 0:
                    _due, _number, attempts, email = heappop(self.pending)
            if delay > 0:
                sleep(min(delay, 1))
            else:
                self.deliver(email, attempts + 1)

    def deliver(self, email: "QueuedEmail", attempts: int) -> None:
        try:
            email.send()
        except Exception as error:  # noqa: BLE001, an error of one e-mail must not stop the others
            # Log the type only: the message of the error may contain the address.
            if is_temporary(error) and attempts < len(RETRY_DELAYS) and self.shutdown_deadline is None:
                logger.warning("an e-mail will be sent again later: %s", type(error).__name__)
                with self.lock:
                    self.push(email, attempts)
            else:
                logger.error("an e-mail was not sent: %s", type(error).__name__)


def is_temporary(error: Exception) -> bool:
    """Return whether to retry: no mail server was reached, or the server replied with a code below 500 (RFC 5321, section 4.2.1)."""
    if isinstance(error, SMTPRecipientsRefused):
        return all(code < 500 for code, _message in error.recipients.values())
    if isinstance(error, SMTPResponseException):
        return error.smtp_code < 500
    # SMTPException is a subclass of OSError.
    return isinstance(error, SMTPServerDisconnected) or (
        isinstance(error, OSError) and not isinstance(error, SMTPException)
    )


mail_queue = MailQueue()


def send(to: str, template: str, *, language: str, sender: str, deliver: bool = True, **context: Any) -> None:
    """Queue an e-mail from the template `accounts/mail/<template>.txt`, whose first line is the subject.

    `sender` is the displayed name of the sender. Call this function after the transaction has ended. The context must have plain
    values, because another thread renders the template. The context must not contain text of unauthenticated visitors, such as a name
    in a sign-up form: the recipient would read it as text of the service.

    Without `deliver` the e-mail is queued and rendered, but not sent. So a request does the same work whether or not the
    recipient exists.
    """
    mail_queue.enqueue(QueuedEmail(to, template, language, sender, context, deliver=deliver))


class QueuedEmail:
    """An e-mail that is rendered when it is sent."""

    def __init__(
        self, to: str, template: str, language: str, sender: str, context: dict[str, Any], *, deliver: bool = True
    ) -> None:
        self.to, self.template, self.language, self.context = to, template, language, context
        self.deliver = deliver
        self.sender = single_line(sender)

    def send(self) -> None:
        _name, address = parseaddr(settings.DEFAULT_FROM_EMAIL)
        subject, text, html = self.render()
        message = EmailMultiAlternatives(
            subject,
            text,
            formataddr((self.sender, address)),
            [self.to],
            headers={
                # This header suppresses automatic replies (RFC 3834).
                "Auto-Submitted": "auto-generated",
                # Django's default contains the name of this machine.
                "Message-ID": make_msgid(domain=address.rpartition("@")[2]),
            },
        )
        message.attach_alternative(html, "text/html")
        if self.deliver:
            message.send()

    def render(self) -> tuple[str, str, str]:
        """Return the subject, the text and the HTML, in which a paragraph that is a URL is a link."""
        language = self.language if self.language in dict(settings.LANGUAGES) else settings.LANGUAGE_CODE
        # Line breaks in a value would add paragraphs and links.
        context = {name: single_line(str(value)) for name, value in {"sender": self.sender, **self.context}.items()}
        with translation.override(language):
            template = engines["django"].engine.get_template(f"accounts/mail/{self.template}.txt")  # type: ignore[attr-defined]  # a Django engine
            subject, _newline, text = template.render(Context(context, autoescape=False)).strip().partition("\n")
            paragraphs = [paragraph.strip() for paragraph in text.split("\n\n") if paragraph.strip()]
            html = render_to_string("accounts/mail/base.html", {"subject": subject, "paragraphs": paragraphs})
        return single_line(subject), "\n\n".join(paragraphs) + "\n", html


def single_line(text: str) -> str:
    return " ".join(text.split())
