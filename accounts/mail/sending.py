"""E-mails to users, in their language, their limits and links. Jobs render and send them, so no e-mail is lost when a process ends."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from email.header import Header
from email.utils import formataddr, make_msgid, parseaddr
from enum import StrEnum
from smtplib import SMTPException, SMTPRecipientsRefused, SMTPResponseException, SMTPServerDisconnected
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.core import signing
from django.core.mail import EmailMultiAlternatives
from django.template.loader import render_to_string
from django.utils import translation
from django.utils.text import Truncator
from django.utils.translation import gettext
from django.utils.translation import gettext as _

from accounts.account.models import Account
from accounts.brand.models import Look
from accounts.hosts.requests import PageRequest
from core.http.regions import override_region
from core.http.throttling import HOUR, client_address_of
from core.jobs.registry import PermanentError, RetryDelays, job, register_queue
from core.limits.rate_limits import hashed_key, hit
from core.rows.trimmed import fold_email
from core.sealing import SealError, seal, unseal

if TYPE_CHECKING:
    from accounts.users.models import User

# Each worker has one thread for e-mails, so a slow mail server does not delay other jobs, and one for urgent e-mails, such as codes, so
# that other e-mails do not delay these. If a worker is killed, at most one e-mail of each queue was sent without a record, and is sent
# again.
MAIL_QUEUE, URGENT_MAIL_QUEUE = "mail", "urgent mail"
# In seconds. An error is temporary if the mail server cannot be reached, or rejects the e-mail with a code below 500.
RETRY_DELAYS = RetryDelays(5, 60, 600, 3600, 6 * 3600)
# In seconds. Each step of a conversation with the mail server has the timeout of `EMAIL_URL`.
TIME_LIMIT = 300
# A new account may send this part of EMAIL_LIMIT_PER_ACCOUNT to customers: one tenth.
NEW_ACCOUNT_FACTOR = 10

# The sender of e-mails that belong to no account.
SERVICE_NAME = "Rostrum"

register_queue(MAIL_QUEUE, threads=1)
register_queue(URGENT_MAIL_QUEUE, threads=1)


def send(
    to: str,
    template: str,
    *,
    account_id: int | None,
    language: str,
    sender: str,
    deliver: bool = True,
    urgent: bool = True,
    **context: object,
) -> None:
    """Queue an e-mail from a template, such as `accounts/mail/sign_up.txt`, whose first line is the subject.

    The e-mail is a part of the caller's transaction: it is sent if the transaction is committed. Queueing takes one statement.
    `sender` is the displayed name of the sender. The context must not contain text of unauthenticated visitors, such as a name in a
    sign-up form: the recipient would read it as text of the service. Templates also have `to` and `sender`.

    Users wait for an `urgent` e-mail, such as a code or a link. Other e-mails, such as invitations, are sent in the queue of notifications.
    Without `deliver` the e-mail is queued and rendered, but not sent. So a request does the same work whether or not the
    recipient exists.
    """
    email = Email(
        to,
        template,
        language,
        single_line(sender),
        # Line breaks in a value would add paragraphs and links.
        {name: single_line(str(value)) for name, value in context.items()},
        deliver=deliver,
    )
    # Encrypt the address and the links, which must not be readable in the database or in a dump.
    name = URGENT_MAIL_QUEUE if urgent else MAIL_QUEUE
    send_email.defer(account_id=account_id, sealed=seal(asdict(email)), _queue=name)


def new_message_id() -> str:
    # Django's default contains the name of this machine.
    return make_msgid(domain=from_address().rpartition("@")[2])


def from_address() -> str:
    return parseaddr(settings.DEFAULT_FROM_EMAIL)[1]


@dataclass(frozen=True)
class Email:
    """An e-mail that is rendered when it is sent. Its fields are JSON values."""

    to: str
    template: str
    language: str
    # The displayed name of the sender.
    sender: str
    context: Mapping[str, str]
    deliver: bool = True
    # The id is the same for all attempts, so a mail program shows a duplicate once.
    message_id: str = field(default_factory=new_message_id)

    def message(self, look: Look | None = None) -> EmailMultiAlternatives:
        language = supported_language(self.language)
        return make_message(
            self.to, *self.render(look), sender=self.sender, language=language, message_id=self.message_id
        )

    def render(self, look: Look | None = None) -> tuple[str, str, str]:
        # The recipient may have other formats than the sender of the request.
        with translation.override(supported_language(self.language)), override_region(""):
            context = {"sender": self.sender, "to": self.to, **self.context}
            content = render_to_string(self.template, context)
            first_line, _newline, text = content.strip().partition("\n")
            subject = single_line(first_line)
            blocks = read_blocks(subject, (paragraph.strip() for paragraph in text.split("\n\n") if paragraph.strip()))
            reason = gettext("%(sender)s sent this e-mail to %(to)s.") % {"sender": self.sender, "to": self.to}
            return subject, *render_blocks(subject, blocks, look or Look(self.sender), reason)


def supported_language(language: str) -> str:
    return language if language in dict(settings.LANGUAGES) else settings.LANGUAGE_CODE


def make_message(
    to: str,
    subject: str,
    text: str,
    html: str,
    *,
    sender: str,
    language: str,
    message_id: str,
    headers: Mapping[str, str] | None = None,
) -> EmailMultiAlternatives:
    """Return an e-mail with a text and HTML. `sender` is the displayed name of the sender."""
    all_headers = {
        # Suppresses automatic replies (RFC 3834).
        "Auto-Submitted": "auto-generated",
        "Content-Language": language,
        "Message-ID": message_id,
        **(headers or {}),
    }
    from_email = formataddr((sender, from_address()))
    if (encoded := header_text(sender)) != sender:
        from_email = f"{encoded} <{from_address()}>"
    message = EmailMultiAlternatives(header_text(subject), text, from_email, [to], headers=all_headers)
    message.attach_alternative(html, "text/html")
    return message


# Also for a closed account, whose owners can still sign in and are told what happens to it.
@job(time_limit=TIME_LIMIT, retry=RETRY_DELAYS, queue=MAIL_QUEUE, runs_when_closed=True)
def send_email(*, account_id: int | None, sealed: str) -> None:
    """Send an e-mail of `send`. The worker deletes the job as soon as the mail server has accepted the e-mail."""
    account = None if account_id is None else Account.objects.filter(id=account_id).first()
    if account is None and account_id is not None:
        return
    try:
        email = Email(**unseal(sealed))
    except (SealError, TypeError) as error:
        # The e-mail was queued with another SECRET_KEY, or by another version of the code.
        raise PermanentError from error
    message = email.message(None if account is None else Look.read(account, name=email.sender))
    if not email.deliver:
        return
    try:
        deliver(message)
    except PermanentError as error:
        if account is not None and rejects_address(error.__cause__):
            # The stored address exactly: an equal one in another spelling may be another mailbox, which anyone may have typed.
            user = account.users.filter(email_key=fold_email(email.to), email=email.to).first()
            if user is not None:
                user.record_bounce()
        raise


def deliver(message: EmailMultiAlternatives) -> None:
    """Send an e-mail to the mail server. Raise PermanentError if another attempt would not help."""
    try:
        message.send()
    except Exception as error:
        if is_temporary(error):
            raise
        raise PermanentError from error


def seconds_over_limit(user: "User") -> int:
    """Count an e-mail of a notification. Return 0, or the seconds until the limits per address and per account allow it.

    E-mails that users request, such as codes and links to set a password, are not counted or delayed.
    """
    key, limit = hashed_key("mail-to", user.account_id, user.email_key), settings.EMAIL_LIMIT_PER_ADDRESS
    if limit and not (status := hit(key, limit, HOUR)).allowed:
        return status.reset
    return seconds_over_account_limit(user.account_id)


def seconds_over_account_limit(account_id: int) -> int:
    """Count an e-mail of a notification or a message. Return 0, or the seconds until EMAIL_LIMIT_PER_ACCOUNT allows it."""
    key, limit = hashed_key("mail-of", account_id), settings.EMAIL_LIMIT_PER_ACCOUNT
    return 0 if not limit or (status := hit(key, limit, HOUR)).allowed else status.reset


def seconds_over_message_limit(account: Account) -> int:
    """Count an e-mail of a message to customers. Return 0, or the seconds until the limits of the account allow it.

    A new account may send them a tenth of EMAIL_LIMIT_PER_ACCOUNT, because its customers may be strangers.
    """
    limit = settings.EMAIL_LIMIT_PER_ACCOUNT
    if limit and account.is_new:
        status = hit(hashed_key("messages-of", account.id), max(1, limit // NEW_ACCOUNT_FACTOR), HOUR)
        if not status.allowed:
            return status.reset
    return seconds_over_account_limit(account.id)


def deliver_to_user(message: EmailMultiAlternatives, user: "User") -> None:
    """Send an e-mail of a notification to the mail server, and count a permanent rejection of the user's address."""
    try:
        deliver(message)
    except PermanentError as error:
        if rejects_address(error.__cause__):
            user.record_bounce()
        raise
    if user.bounces:
        user.reset_bounces()


def rejects_address(error: BaseException | None) -> bool:
    """Return whether the mail server rejected the recipient, and not the sender or the content."""
    return isinstance(error, SMTPRecipientsRefused)


def is_temporary(error: Exception) -> bool:
    """Return whether to retry: no mail server was reached, or the server replied with a code below 500 (RFC 5321, section 4.2.1)."""
    if isinstance(error, SMTPRecipientsRefused):
        return all(code < 500 for code, _message in error.recipients.values())
    if isinstance(error, SMTPResponseException):
        return error.smtp_code < 500
    # SMTPException is a subclass of OSError.
    is_of_network = isinstance(error, OSError) and not isinstance(error, SMTPException)
    return is_of_network or isinstance(error, SMTPServerDisconnected)


# The characters with the property Bidi_Control (UAX #9). They could make a mail program show a subject or a name in another order.
BIDI_CONTROLS = dict.fromkeys([0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)])


def single_line(text: str) -> str:
    """Return a text of a user as a part of a line: without line breaks and controls of the direction of the text."""
    return " ".join(text.translate(BIDI_CONTROLS).split())


def header_text(text: str) -> str:
    """Return a text for a header that mail programs show as it is.

    Django encodes only texts that are not ASCII. In other texts, mail programs would decode what looks like an encoded word (RFC 2047).
    """
    if "=?" not in text or not text.isascii():
        return text
    # The words are short, so that the first one fits on the line of the header's name.
    return " ".join(Header(text, "utf-8", maxlinelen=60).encode().split())


# The content, as blocks that are rendered as text and as HTML

# In the templates of texts, a line that begins with this is the label of the button to the URL in the next line.
BUTTON_PREFIX = "> "
# The number of characters that lists of e-mails show after the subject.
MAX_PREVIEW_LENGTH = 150
MAX_UNDERLINE_LENGTH = 70


@dataclass(frozen=True)
class Block:
    """A part of an e-mail.

    The kinds are `title`, `heading`, `text`, `quote`, `code`, and `button` with a `url`. A heading may also have a `url`. The kind
    `html` has Markdown as its text, and also its safe HTML.
    """

    kind: str
    text: str
    url: str = ""
    html: str = ""

    @property
    def as_text(self) -> str:
        if self.kind == "button":
            return f"{self.text}:\n{self.url}"
        if self.kind == "quote":
            return "\n".join(f"> {line}".rstrip() for line in self.text.splitlines())
        if self.kind == "heading":
            underline = "-" * min(len(self.text), MAX_UNDERLINE_LENGTH)
            return "\n".join(filter(None, (self.text, underline, self.url)))
        return self.text


def read_blocks(subject: str, paragraphs: Iterable[str]) -> list[Block]:
    """Return the blocks of a text template: the subject as title, and the paragraphs. With a code, there is no title."""
    blocks = []
    for paragraph in paragraphs:
        label, newline, url = paragraph.partition("\n")
        if paragraph.startswith(BUTTON_PREFIX) and newline:
            blocks.append(Block("button", label.removeprefix(BUTTON_PREFIX), url.strip()))
        elif paragraph.isascii() and paragraph.isdigit():
            blocks.append(Block("code", paragraph))
        else:
            blocks.append(Block("text", paragraph))
    has_code = any(block.kind == "code" for block in blocks)
    return blocks if has_code else [Block("title", subject), *blocks]


def preview_of(blocks: Iterable[Block]) -> str:
    """Return the text that lists of e-mails show after the subject. It omits the title and the code, which the subject contains."""
    texts = (block.text for block in blocks if block.kind not in ("title", "code", "button"))
    return Truncator(" ".join(" ".join(texts).split())).chars(MAX_PREVIEW_LENGTH)


def render_blocks(
    subject: str,
    blocks: Sequence[Block],
    look: Look,
    reason: str,
    unsubscribe_url: str = "",
    unsubscribe_label: str = "",
) -> tuple[str, str]:
    """Return the text and the HTML in the active language.

    `reason` says why, or at which address, the recipient receives the e-mail. `unsubscribe_label` replaces the text of the link that
    users get, who may also choose fewer e-mails.
    """
    label = unsubscribe_label or _("Unsubscribe, or choose fewer e-mails")
    footer = reason + (f"\n{label}: {unsubscribe_url}" if unsubscribe_url else "")
    context = {
        "subject": subject,
        "preview": preview_of(blocks),
        "blocks": blocks,
        "look": look,
        "reason": reason,
        "unsubscribe_url": unsubscribe_url,
        "unsubscribe_label": label,
    }
    text = "\n\n".join([*(block.as_text for block in blocks), f"-- \n{footer}"]) + "\n"
    return text, render_to_string("accounts/mail/base.html", context)


# Limits on the e-mails that visitors and users request

# E-mails per hour and purpose to one recipient: those that one client address or one user of the team causes, and all together.
MAX_EMAILS_PER_ORIGIN = 5
MAX_EMAILS_PER_RECIPIENT = 20


class Purpose(StrEnum):
    """The purpose of an e-mail that a visitor requests. Each purpose has a separate limit."""

    CODE = "code"
    PASSWORD = "password"  # noqa: S105  # the purpose of a link
    NEW_ACCOUNT = "new-account"
    NEW_EMAIL = "new-email"
    INVITATION = "invitation"


def count_email(request: PageRequest, purpose: Purpose, recipient: str) -> bool:
    """Count an e-mail to the recipient (an e-mail address or a login), and return whether it is within the limits.

    The e-mail is counted whether or not a user has the address or the login.
    """
    if not settings.FAILED_LOGIN_LIMIT:
        return True
    kind, account_id = f"mailed-{purpose}", request.address.account_id
    name = fold_email(recipient[:256])
    origin = client_address_of(request) if request.user is None else request.user.id
    if not hit(hashed_key(kind, account_id, name, origin), MAX_EMAILS_PER_ORIGIN, HOUR).allowed:
        # Do not count it for the recipient as well, because nothing is sent.
        return False
    return hit(hashed_key(kind, account_id, name), MAX_EMAILS_PER_RECIPIENT, HOUR).allowed


# Signed links, which are not stored: the signature covers the purpose, the subject and the time

# Enough for an e-mail address and the path of a page.
MAX_LINK_TOKEN_LENGTH = 6000


def sign_link(payload: Mapping[str, object], *subject: object) -> str:
    """Return a token that holds the payload. It is valid only together with an equal `subject`."""
    return signing.dumps(payload, salt=_link_salt(subject), compress=True)


def read_link(token: str, *subject: object, expires: bool = True) -> dict[str, Any] | None:
    """Return the payload of the token, or None if it is invalid, expired, or signed for another subject."""
    if len(token) > MAX_LINK_TOKEN_LENGTH or not token.isascii():
        return None
    max_age = settings.PASSWORD_RESET_TIMEOUT if expires else None
    try:
        payload: dict[str, Any] = signing.loads(token, salt=_link_salt(subject), max_age=max_age)
    except signing.BadSignature:
        return None
    return payload


def _link_salt(subject: tuple[object, ...]) -> str:
    return "\0".join(["link", *map(str, subject)])
