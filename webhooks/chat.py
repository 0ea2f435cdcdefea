"""The messages for chats, and how each chat escapes texts of users. No message mentions anybody."""

import re
from dataclasses import dataclass

from django.utils.translation import gettext as _

# Discord refuses longer messages.
MAX_TEXT_LENGTH = 2000
MAX_NAME_LENGTH, MAX_EXCERPT_LENGTH = 200, 300
# An @ in a message: the space without width prevents a mention there.
AT = "@\u200b"
CARD = "application/vnd.microsoft.card.adaptive"


@dataclass(frozen=True, slots=True)
class ChatText:
    """The parts of a message: a sentence with a link, facts such as the author, and the beginning of a text."""

    title: str
    url: str | None = None
    facts: tuple[str, ...] = ()
    excerpt: str = ""


def shorten(text: str, length: int) -> str:
    """Return the text in one line."""
    text = " ".join(text.split())
    return text if len(text) <= length else f"{text[: length - 1]}…"


def escape_slack(text: str) -> str:
    """Return the text without the markup of Slack, and without links of Markdown, which Mattermost reads."""
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return text.replace("](", "]\u200b(").replace("@", AT)


def escape_markdown(text: str) -> str:
    return re.sub(r"([\\`*_~|<>\[\]()#-])", r"\\\1", text)


def slack(parts: ChatText) -> dict[str, object]:
    title, excerpt = escape_slack(parts.title), escape_slack(parts.excerpt)
    lines = [f"<{parts.url}|{title}>" if parts.url else title, " · ".join(map(escape_slack, parts.facts))]
    return {"text": "\n".join(filter(None, [*lines, excerpt and f"> {excerpt}"]))}


def discord(parts: ChatText) -> dict[str, object]:
    title, excerpt = escape_markdown(parts.title), escape_markdown(parts.excerpt)
    lines = [f"[{title}](<{parts.url}>)" if parts.url else title, " · ".join(map(escape_markdown, parts.facts))]
    text = "\n".join(filter(None, [*lines, excerpt and f"> {excerpt}"]))
    return {"content": text[:MAX_TEXT_LENGTH], "allowed_mentions": {"parse": []}}


def teams(parts: ChatText) -> dict[str, object]:
    """Return an Adaptive Card. A run of text has no markup."""
    texts: list[tuple[str, dict[str, object]]] = [
        (parts.title, {"weight": "Bolder"}),
        (" · ".join(parts.facts), {"isSubtle": True}),
        (parts.excerpt, {}),
    ]
    body = [
        {"type": "RichTextBlock", "inlines": [{"type": "TextRun", "text": text, **style}]}
        for text, style in texts
        if text
    ]
    card: dict[str, object] = {"type": "AdaptiveCard", "version": "1.4", "body": body}
    card["$schema"] = "http://adaptivecards.io/schemas/adaptive-card.json"
    if parts.url:
        card["actions"] = [{"type": "Action.OpenUrl", "title": _("Open"), "url": parts.url}]
    return {"type": "message", "attachments": [{"contentType": CARD, "content": card}]}
