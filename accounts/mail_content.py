"""The content of e-mails, as blocks that are rendered as text and as HTML."""

from collections.abc import Iterable
from dataclasses import dataclass

from django.template.loader import render_to_string

from accounts.branding import Look

# In the templates of texts, a line that begins with this is the label of the button to the URL in the next line.
LABEL = "> "


@dataclass(frozen=True)
class Block:
    """A part of an e-mail: a `text`, a `heading`, a `quote`, a `code`, or a `button` with the address `url`."""

    kind: str
    text: str
    url: str = ""

    @property
    def as_text(self) -> str:
        if self.kind == "button":
            return self.url
        if self.kind == "quote":
            return "\n".join(f"> {line}" for line in self.text.splitlines())
        return f"{self.text}\n{self.url}" if self.url else self.text


def read_blocks(paragraphs: Iterable[str]) -> list[Block]:
    """Return the blocks of the paragraphs of a text template."""
    blocks = []
    for paragraph in paragraphs:
        label, newline, url = paragraph.partition("\n")
        if paragraph.startswith(LABEL) and newline:
            blocks.append(Block("button", label.removeprefix(LABEL), url.strip()))
        elif paragraph.startswith("http"):
            blocks.append(Block("button", paragraph, paragraph))
        elif paragraph.isascii() and paragraph.replace(" ", "").isdigit():
            blocks.append(Block("code", paragraph))
        else:
            blocks.append(Block("text", paragraph))
    return blocks


def as_text(blocks: Iterable[Block], footer: str = "") -> str:
    parts = [block.as_text for block in blocks]
    return "\n\n".join([*parts, *([f"-- \n{footer}"] if footer else [])]) + "\n"


def as_html(subject: str, blocks: Iterable[Block], look: Look, *, reason: str, unsubscribe_url: str = "") -> str:
    """Return the HTML in the active language. `reason` says why the recipient receives the e-mail."""
    context = {"subject": subject, "blocks": blocks, "look": look, "reason": reason, "unsubscribe_url": unsubscribe_url}
    return render_to_string("accounts/mail/base.html", context)
