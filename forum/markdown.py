"""Markdown as safe HTML: CommonMark with tables and strikethrough, without inline HTML.

A text is rendered once, when it is saved. The parser is configured to produce no dangerous HTML, and a sanitizer then removes all tags and
attributes that are not in ALLOWED_TAGS. The time of the parser depends on the number of blocks and of inline elements, such as the items of a
list, more than on the length. So a text that takes the parser more than MAX_STEPS steps is shown as plain text.
"""

import logging
import re
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from html import escape, unescape
from importlib import import_module
from itertools import count
from typing import Any

import nh3
from markdown_it import MarkdownIt
from markdown_it.common.utils import unescapeAll
from markdown_it.rules_block import StateBlock
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from markdown_it.tree import SyntaxTreeNode

from accounts.mentions import mentions_in

logger = logging.getLogger("rostrum.markdown")

MAX_LENGTH = 65_536
# Escaping makes up to five characters of one (`&amp;`), and tags add more.
MAX_HTML_LENGTH = 16 * MAX_LENGTH
MAX_MARKUP_CHARACTERS = 10_000
MAX_URLS = 2_500
# The number of attempts of the parser to find a block or an inline element. Each takes 10 to 20 µs, and an item of a list takes four or five.
MAX_STEPS = 6_000
MARKUP_CHARACTERS = re.compile(r"[\[\]()!|`*_~<>#&\\\n+-]")

ALLOWED_TAGS: dict[str, AbstractSet[str]] = {
    **{f"h{level}": frozenset() for level in range(3, 7)},
    # Mentions are in <b>, which Markdown does not produce.
    **dict.fromkeys(("p", "br", "hr", "blockquote", "ul", "em", "strong", "s", "pre", "b"), frozenset()),
    **dict.fromkeys(("table", "thead", "tbody", "tr", "li"), frozenset()),
    "ol": {"start"},
    "a": {"href", "title"},
    "code": {"class"},
    "th": {"align"},
    "td": {"align"},
}

# The parser fills short rows of a table with empty cells. This limit keeps a short text from becoming a large table.
setattr(import_module("markdown_it.rules_block.table"), "MAX_AUTOCOMPLETED_CELLS", 4096)  # noqa: B010, not in the type stubs


def _demote_headings(state: StateCore) -> None:
    """Lower headings by two levels, because the page has headings above those of the text."""
    for token in state.tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(int(token.tag[1]) + 2, 6)}"


def _align_cells(state: StateCore) -> None:
    """Replace the style of table cells by an attribute, because the Content-Security-Policy of the pages forbids inline styles."""
    for token in state.tokens:
        if token.type in ("th_open", "td_open") and "style" in token.attrs:
            token.attrs = {"align": str(token.attrs["style"]).removeprefix("text-align:")}


def _link_images(state: StateCore) -> None:
    """Replace images by links, so that browsers of readers do not contact other servers. Within a link, keep only the image's text."""
    for token in state.tokens:
        if token.children and any(child.type == "image" for child in token.children):
            token.children = list(_without_images(token.children))


def _without_images(tokens: list[Token]) -> Iterator[Token]:
    link_depth = 0
    for token in tokens:
        link_depth += token.nesting if token.type in ("link_open", "link_close") else 0
        if token.type != "image":
            yield token
            continue
        address = token.attrs["src"]
        text = Token("text", "", 0, content=token.content or str(address))
        if link_depth or not address:
            yield text
        else:
            attributes = {"href": address} | ({"title": token.attrs["title"]} if "title" in token.attrs else {})
            yield from (Token("link_open", "a", 1, attrs=attributes), text, Token("link_close", "a", -1))


def _mark_mentions(state: StateCore) -> None:
    """Put mentions in <b>, except in links and code. The result of `find_mentions` is in the environment of the parser."""
    if ids := state.env.get("mentions"):
        for token in state.tokens:
            if token.children:
                token.children = list(_with_mentions(token.children, ids))


def _with_mentions(tokens: list[Token], ids: Mapping[str, int | None]) -> Iterator[Token]:
    link_depth = 0
    for token in tokens:
        link_depth += token.nesting if token.type in ("link_open", "link_close") else 0
        if token.type != "text" or link_depth:
            yield token
            continue
        position = 0
        for start, end in mentions_in(token.content, ids):
            yield Token("text", "", 0, content=token.content[position:start])
            yield Token("mention_open", "b", 1)
            yield Token("text", "", 0, content=token.content[start:end])
            yield Token("mention_close", "b", -1)
            position = end
        yield Token("text", "", 0, content=token.content[position:])


# A URL in the text without markup: the scheme, and the part after it. Brackets belong to the URL if they are paired. Punctuation at the
# end does not belong to it. The port is a number. A user name before the host is not accepted, because it could be taken for the host.
URL_SCHEME = re.compile(r"(?<![a-z0-9+.-])https?\Z", re.IGNORECASE)
_URL_CHARACTER = r"[^\s<>\"`“”„«»()\[\]]"
URL_REST = re.compile(
    rf"://\w[\w.-]*+(?::\d{{1,5}}+)?(?![:@%]?\w)(?:[/?#](?:{_URL_CHARACTER}|\({_URL_CHARACTER}*\)|\[{_URL_CHARACTER}*\])*)?"
)
TRAILING_PUNCTUATION = "?!.,:;*_~'…|\\"


def _link_urls(state: StateInline, silent: bool) -> bool:
    """Turn a URL without markup into a link, except within a link. Return whether a URL was found, as an inline rule must."""
    if silent or state.linkLevel or not (url_rest := URL_REST.match(state.src, state.pos, state.posMax)):
        return False
    scheme = URL_SCHEME.search(state.src[max(0, state.pos - len(" https")) : state.pos])
    if scheme is None or not state.pending.endswith(scheme[0]):
        return False
    rest = url_rest[0].rstrip(TRAILING_PUNCTUATION)
    address = unescapeAll(scheme[0] + rest)
    state.pending = state.pending.removesuffix(scheme[0])
    state.push("link_open", "a", 1).attrs = {"href": state.md.normalizeLink(address)}
    state.push("text", "", 0).content = address
    state.push("link_close", "a", -1)
    state.pos += len(rest)
    return True


class TooManyStepsError(Exception):
    """The text takes the parser more than MAX_STEPS steps."""


def _count_block(state: StateBlock, *_arguments: Any) -> bool:
    """Count an attempt to find a block, as the first rule. Return False, so that the parser tries the other rules."""
    return _count_steps(state, 1)


def _count_inline(state: StateInline, silent: bool) -> bool:
    """Count an attempt to find an inline element. Links without brackets take longer, because their addresses are normalized."""
    return _count_steps(state, 4 if state.src[state.pos] in "<:" else 1)


def _count_steps(state: StateBlock | StateInline, number: int) -> bool:
    state.env["steps"] = state.env.get("steps", 0) + number
    if state.env["steps"] > MAX_STEPS:
        raise TooManyStepsError
    return False


# Link references ("[a]: address") are disabled: many references to one long address would expand a short text enormously.
_parser = (
    MarkdownIt("commonmark", {"html": False, "breaks": True, "maxNesting": 20})
    .enable(["table", "strikethrough"])
    .disable(["reference", "html_block", "html_inline"])
)
_parser.inline.ruler.push("link_urls", _link_urls)
_parser.core.ruler.push("demote_headings", _demote_headings)
_parser.core.ruler.push("align_cells", _align_cells)
_parser.core.ruler.push("link_images", _link_images)
_parser.core.ruler.push("mark_mentions", _mark_mentions)

# With `alt`, the rule also counts the attempts to find the end of a paragraph, a quote or a list.
_parser.block.ruler.before("table", "count", _count_block, {"alt": ["paragraph", "reference", "blockquote", "list"]})
_parser.inline.ruler.before("text", "count", _count_inline)

_cleaner = nh3.Cleaner(
    tags=set(ALLOWED_TAGS),
    attributes={tag: set(names) for tag, names in ALLOWED_TAGS.items() if names},
    url_schemes={"http", "https", "mailto"},
    link_rel="nofollow ugc noopener",
)


def render(text: str, *, mentions: Mapping[str, int | None] | None = None) -> str:
    """Return the HTML of a text. A text that cannot be rendered is shown as plain text, without an error.

    `mentions` is the result of `find_mentions` for the text. Without this argument, no mention is marked.
    """
    if (
        len(text) > MAX_LENGTH
        or len(MARKUP_CHARACTERS.findall(text)) > MAX_MARKUP_CHARACTERS
        or text.count("://") > MAX_URLS
    ):
        return as_paragraphs(text)
    try:
        html = _cleaner.clean(_parser.render(text, {"mentions": mentions}))
    except TooManyStepsError:
        return as_paragraphs(text)
    except Exception as error:  # noqa: BLE001, no text may fail to be saved or shown
        logger.error("A text could not be rendered: %s", type(error).__name__)
        return as_paragraphs(text)
    return html if len(html) <= MAX_HTML_LENGTH else as_paragraphs(text)


def as_paragraphs(text: str) -> str:
    """Return the HTML of a plain text, with its lines and paragraphs."""
    parts = re.split(r"\n\s*\n", text.replace("\r\n", "\n").strip())
    return "".join(f"<p>{escape(part, quote=False).replace(chr(10), f'<br>{chr(10)}')}</p>\n" for part in parts if part)


# Patterns of markup, and their replacements in an excerpt.
MARKUP_REPLACEMENTS = [
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (r"(?m)^ {0,3}(?:```|~~~).*$", " "),  # the edges of code
        (r"(?m)^[ \t|:=_*+-]+$", " "),  # rules, and the lines below headings
        (r"(?m)^[ \t]*\||(?<!\\)\|[ \t]*$", ""),  # the edges of tables
        (r"(?m)^[ \t]*(?:(?:#{1,6}|[*+-]|\d{1,9}[.)])(?:[ \t]+|$)|>[ \t]?)+", ""),
        (r"!?\[([^\[\]]*)\]\([^()\n]*(?:\)|$)", r"\1"),
        (r"<((?:https?|mailto):[^<>\s]*)>", r"\1"),
        # A character between spaces, as in 2 * 3, or within a word, as in a_b, is not markup.
        (r"(?<!\\)(?:\*+|`+|~~)(?=\S)|(?<=[^\s\\])(?:\*+|`+|~~)", ""),
        (r"(?<![\w\\])_+(?=\S)|(?<=[^\s\\])_+(?!\w)", ""),
        (r"\\([!-/:-@\[-`{-~])", r"\1"),
    )
]


def excerpt(text: str, *, max_length: int) -> str:
    """Return the beginning of a Markdown text in one line without markup. Rare forms of markup may remain.

    The whole text is processed, so the caller should truncate a long one.
    """
    for pattern, replacement in MARKUP_REPLACEMENTS:
        text = pattern.sub(replacement, text)
    return truncate(" ".join(unescape(text).split()), max_length)


def truncate(text: str, max_length: int) -> str:
    """Return the beginning of a text with an ellipsis, or the whole text if it is short enough. Cut only words of 30 characters or more."""
    if len(text) <= max_length:
        return text
    beginning = re.sub(r"\s\S{0,29}\Z", "", text[:max_length])
    return (beginning or text)[: max_length - 1].rstrip() + "…"


def as_plain_text(text: str) -> str:
    """Return a Markdown text without markup, with its paragraphs, lines, lists and quotes. The caller should truncate a long one."""
    try:
        return _plain_block(SyntaxTreeNode(_parser.parse(text)))
    except TooManyStepsError:
        return text.strip()
    except Exception as error:  # noqa: BLE001, as in `render`
        logger.error("A text could not be converted: %s", type(error).__name__)
        return text.strip()


def _plain_block(node: SyntaxTreeNode) -> str:
    if node.type == "inline":
        return "".join(map(_plain_inline, node.children))
    if node.type in ("fence", "code_block"):
        return node.content.rstrip("\n")
    parts = list(map(_plain_block, node.children))
    if node.type in ("bullet_list", "ordered_list"):
        first = int(node.attrs.get("start", 1))
        markers = (f"{number}." if node.type == "ordered_list" else "•" for number in count(first))
        return "\n".join(f"{marker} {part}".rstrip() for marker, part in zip(markers, parts, strict=False))
    if node.type == "list_item":
        # HTML would collapse other spaces.
        return "\n".join(filter(None, parts)).replace("\n", "\n\N{NO-BREAK SPACE}\N{NO-BREAK SPACE}")
    separator = {"tr": " | ", "thead": "\n", "tbody": "\n", "table": "\n"}.get(node.type, "\n\n")
    text = separator.join(filter(None, parts))
    return "\n".join(f"> {line}".rstrip() for line in text.splitlines()) if node.type == "blockquote" else text


def _plain_inline(node: SyntaxTreeNode) -> str:
    if node.type in ("softbreak", "hardbreak"):
        return "\n"
    return "".join(map(_plain_inline, node.children)) if node.children else node.content
