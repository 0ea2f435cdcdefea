"""E-mails to people: written in their language, sent after the answer, so that its time does not tell whether one was."""

import logging
import threading
from concurrent.futures import ThreadPoolExecutor
from email.utils import formataddr, make_msgid, parseaddr
from typing import Any

from django.conf import settings
from django.core.mail import EmailMultiAlternatives
from django.template import Context, engines
from django.template.loader import render_to_string
from django.utils import translation

logger = logging.getLogger("rostrum.mail")

# Of one process. When the mail server is slower than that for long, e-mails are lost, but neither memory nor answers.
MOST_WAITING = 1000


class Postman:
    """One thread that sends what the answers left behind, and finishes it when the process ends."""

    def __init__(self):
        self.waiting = threading.BoundedSemaphore(MOST_WAITING)
        self.thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="postman")

    def take(self, letter: "Letter") -> None:
        if not self.waiting.acquire(blocking=False):
            logger.error("an e-mail was not sent: too many wait")
            return
        self.thread.submit(self.deliver, letter)

    def deliver(self, letter: "Letter") -> None:
        try:
            letter.send()
        except Exception as error:  # noqa: BLE001, whatever it is, the next one is to be sent
            # Its words may have the address in them.
            logger.error("an e-mail was not sent: %s", type(error).__name__)
        finally:
            self.waiting.release()


postman = Postman()


def send(to: str, template: str, *, language: str, sender: str, **context: Any) -> None:
    """Send `accounts/mail/<template>.txt`, whose first line is the subject, in that language, from the name `sender`.

    It is written elsewhere, later: the context is plain values, and the caller's transaction has ended. What the context
    holds of strangers' words (a name in a sign-up) would be read as ours, so it should hold none.
    """
    postman.take(Letter(to, template, language, sender, context))


class Letter:
    def __init__(self, to: str, template: str, language: str, sender: str, context: dict[str, Any]):
        self.to, self.template, self.language, self.context = to, template, language, context
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
            page = render_to_string("accounts/mail/frame.html", {"subject": subject, "paragraphs": paragraphs})
        return in_one_line(subject), "\n\n".join(paragraphs) + "\n", page


def in_one_line(text: str) -> str:
    return " ".join(text.split())
