"""E-mails to people: written in their language, sent after the answer, so that its time does not tell whether one was."""

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

# Of one process. When the mail server is slower than that for long, e-mails are lost, but neither memory nor answers.
MOST_WAITING = 1000
# Seconds before each try: at the first one the answer is out; the others are for a mail server that is away, or wants it later.
WAITS = (0.2, 5, 30, 120, 600)
# When the process ends, what is left is tried a last time, and no new one is begun after so many seconds.
ENDING = 5


class Postman:
    """Sends what the answers left behind, by a thread that lives as long as something is left; the process ends with it."""

    def __init__(self):
        # A heap: when it is due, a number, how often it was tried, the letter.
        self.waiting: list[tuple[float, int, int, Letter]] = []
        self.numbers = count()
        self.lock = threading.Lock()
        self.thread: threading.Thread | None = None
        self.ends_at: float | None = None

    def take(self, letter: "Letter") -> None:
        with self.lock:
            if len(self.waiting) >= MOST_WAITING:
                logger.error("an e-mail was not sent: too many wait")
                return
            self.put(letter)
            if self.thread is None:
                # A thread that answers is a daemon to Python, and hands that on.
                self.thread = threading.Thread(target=self.work, name="postman", daemon=False)
                self.thread.start()

    def put(self, letter: "Letter", tried: int = 0) -> None:
        heappush(self.waiting, (monotonic() + WAITS[tried], next(self.numbers), tried, letter))

    def work(self) -> None:
        while True:
            with self.lock:
                # The interpreter waits for this thread when the main one is through.
                if self.ends_at is None and not threading.main_thread().is_alive():
                    self.ends_at = monotonic() + ENDING
                now, is_ending = monotonic(), self.ends_at is not None
                if is_ending and self.waiting and now > self.ends_at:
                    logger.error("e-mails were not sent, as the process ends: %d", len(self.waiting))
                    self.waiting.clear()
                if not self.waiting:
                    self.thread = None
                    return
                wait = 0 if is_ending else self.waiting[0][0] - now
                if wait <= 0:
                    _due, _number, tried, letter = heappop(self.waiting)
            if wait > 0:
                sleep(min(wait, 1))
            else:
                self.deliver(letter, tried + 1)

    def deliver(self, letter: "Letter", tried: int) -> None:
        try:
            letter.send()
        except Exception as error:  # noqa: BLE001, whatever it is, the next one is to be sent
            # Its words may have the address in them.
            if may_pass(error) and tried < len(WAITS) and self.ends_at is None:
                logger.warning("an e-mail is tried again later: %s", type(error).__name__)
                with self.lock:
                    self.put(letter, tried)
            else:
                logger.error("an e-mail was not sent: %s", type(error).__name__)


def may_pass(error: Exception) -> bool:
    """Whether it may be sent later: no server was reached, or it said so (RFC 5321, section 4.2.1)."""
    if isinstance(error, SMTPRecipientsRefused):
        return all(code < 500 for code, _words in error.recipients.values())
    if isinstance(error, SMTPResponseException):
        return error.smtp_code < 500
    # Those of smtplib are among the others.
    return isinstance(error, SMTPServerDisconnected) or (
        isinstance(error, OSError) and not isinstance(error, SMTPException)
    )


postman = Postman()


def send(to: str, template: str, *, language: str, sender: str, delivered: bool = True, **context: Any) -> None:
    """Send `accounts/mail/<template>.txt`, whose first line is the subject, in that language, from the name `sender`.

    It is written elsewhere, later: the context is plain values, and the caller's transaction has ended. What the context
    holds of strangers' words (a name in a sign-up) would be read as ours, so it should hold none.

    An e-mail that is not to be `delivered` is queued and rendered like any other, and then dropped: where an answer must not
    tell whether there is an addressee, the work must not tell it either.
    """
    postman.take(Letter(to, template, language, sender, context, delivered=delivered))


class Letter:
    def __init__(
        self, to: str, template: str, language: str, sender: str, context: dict[str, Any], *, delivered: bool = True
    ):
        self.to, self.template, self.language, self.context = to, template, language, context
        self.delivered = delivered
        self.sender = in_one_line(sender)

    def send(self) -> None:
        _name, address = parseaddr(settings.DEFAULT_FROM_EMAIL)
        subject, text, page = self.write()
        message = EmailMultiAlternatives(
            subject,
            text,
            formataddr((self.sender, address)),
            [self.to],
            headers={
                # Answering machines keep quiet (RFC 3834).
                "Auto-Submitted": "auto-generated",
                # Django would name this machine in it.
                "Message-ID": make_msgid(domain=address.rpartition("@")[2]),
            },
        )
        message.attach_alternative(page, "text/html")
        if self.delivered:
            message.send()

    def write(self) -> tuple[str, str, str]:
        """Subject, text, and the same as HTML: its paragraphs, with an address that stands alone made a link."""
        language = self.language if self.language in dict(settings.LANGUAGES) else settings.LANGUAGE_CODE
        # A name with paragraphs in it would add some of its own, and links.
        context = {name: in_one_line(str(value)) for name, value in {"sender": self.sender, **self.context}.items()}
        with translation.override(language):
            plain = engines["django"].engine.get_template(f"accounts/mail/{self.template}.txt")
            subject, _newline, text = plain.render(Context(context, autoescape=False)).strip().partition("\n")
            paragraphs = [paragraph.strip() for paragraph in text.split("\n\n") if paragraph.strip()]
            page = render_to_string("accounts/mail/base.html", {"subject": subject, "paragraphs": paragraphs})
        return in_one_line(subject), "\n\n".join(paragraphs) + "\n", page


def in_one_line(text: str) -> str:
    return " ".join(text.split())
