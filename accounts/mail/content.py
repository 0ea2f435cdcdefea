"""The content of e-mails, as blocks that are rendered as text and as HTML."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.template.loader import render_to_string
from django.utils.text import Truncator
from django.utils.translation import gettext as _

from accounts.account.models import Look

# In the templates of texts, a line that begins with this is the label of the button to the URL in the next line.
LABEL = "> "
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
        if paragraph.startswith(LABEL) and newline:
            blocks.append(Block("button", label.removeprefix(LABEL), url.strip()))
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


def as_text(blocks: Iterable[Block], reason: str, unsubscribe_url: str = "", unsubscribe_label: str = "") -> str:
    """Return the text in the active language. For the other arguments, see `as_html`."""
    label = unsubscribe_label or _("Unsubscribe, or choose fewer e-mails")
    footer = reason + (f"\n{label}: {unsubscribe_url}" if unsubscribe_url else "")
    return "\n\n".join([*(block.as_text for block in blocks), f"-- \n{footer}"]) + "\n"


def as_html(
    subject: str,
    blocks: Sequence[Block],
    look: Look,
    reason: str,
    unsubscribe_url: str = "",
    unsubscribe_label: str = "",
) -> str:
    """Return the HTML in the active language.

    `reason` says why, or at which address, the recipient receives the e-mail. `unsubscribe_label` replaces the text of the link that
    users get, who may also choose fewer e-mails.
    """
    context = {
        "subject": subject,
        "preview": preview_of(blocks),
        "blocks": blocks,
        "look": look,
        "reason": reason,
        "unsubscribe_url": unsubscribe_url,
        "unsubscribe_label": unsubscribe_label or _("Unsubscribe, or choose fewer e-mails"),
    }
    return render_to_string("accounts/mail/base.html", context)
