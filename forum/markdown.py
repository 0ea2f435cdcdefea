"""What people write, as HTML that is safe to show: CommonMark with tables and struck text, and no HTML of their own.

It is rendered once, when it is saved. The parser is told to make nothing dangerous, and what it makes passes through a list of
what is allowed besides. What people write is limited in length, but a parser takes its time for what only marks up: what has
more marks than a text of that length can mean is shown as it was written.
"""

import logging
import re
from html import escape, unescape
from importlib import import_module

import nh3
from markdown_it import MarkdownIt
from markdown_it.common.utils import unescapeAll
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

logger = logging.getLogger("rostrum.markdown")

# Of a text, and of its HTML: five characters may stand for one (`&amp;`), and `<br>` and a line's end.
MOST, MOST_HTML = 65_536, 16 * 65_536
MOST_MARKS, MOST_ADDRESSES = 10_000, 2_500
MARKS = re.compile(r"[\[\]()!|`*_~<>#&\\\n+-]")

ALLOWED = {
    **{f"h{level}": frozenset() for level in range(3, 7)},
    **dict.fromkeys(("p", "br", "hr", "blockquote", "ul", "em", "strong", "s", "pre"), frozenset()),
    **dict.fromkeys(("table", "thead", "tbody", "tr", "li"), frozenset()),
    "ol": {"start"},
    "a": {"href", "title"},
    "code": {"class"},
    "th": {"align"},
    "td": {"align"},
}

# A row that is too short is filled up with empty cells: a few wide rows would become a page of nothing.
import_module("markdown_it.rules_block.table").MAX_AUTOCOMPLETED_CELLS = 4096


def _demote_headings(state: StateCore) -> None:
    """The page has headings of its own above those of a text."""
    for token in state.tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(int(token.tag[1]) + 2, 6)}"


def _align_cells(state: StateCore) -> None:
    """By an attribute, as the pages' policy for the browser forbids styles."""
    for token in state.tokens:
        if token.type in ("th_open", "td_open") and "style" in token.attrs:
            token.attrs = {"align": str(token.attrs["style"]).removeprefix("text-align:")}


def _link_images(state: StateCore) -> None:
    """An image is a link to it: nobody's browser is to tell another server who reads. Inside of a link it is its text."""
    for token in state.tokens:
        if token.children and any(child.type == "image" for child in token.children):
            token.children = list(_without_images(token.children))


def _without_images(tokens: list[Token]):
    depth = 0
    for token in tokens:
        depth += token.nesting if token.type in ("link_open", "link_close") else 0
        if token.type != "image":
            yield token
            continue
        address = token.attrs["src"]
        text = Token("text", "", 0, content=token.content or str(address))
        if depth or not address:
            yield text
        else:
            attributes = {"href": address} | ({"title": token.attrs["title"]} if "title" in token.attrs else {})
            yield from (Token("link_open", "a", 1, attrs=attributes), text, Token("link_close", "a", -1))


# An address that stands in a text as it is: what comes before its colon, and what after. Brackets are part of it in pairs, and
# what ends a sentence, or quotes or marks up the address, is none of it where nothing follows. A port is a number, and before
# the host stands no name, which could pass for one.
SCHEME = re.compile(r"(?<![a-z0-9+.-])https?\Z", re.IGNORECASE)
_WITHIN = r"[^\s<>\"`“”„«»()\[\]]"
ADDRESS = re.compile(
    rf"://\w[\w.-]*+(?::\d{{1,5}}+)?(?![:@%]?\w)(?:[/?#](?:{_WITHIN}|\({_WITHIN}*\)|\[{_WITHIN}*\])*)?"
)
AFTER_ADDRESS = "?!.,:;*_~'…|\\"


def _link_addresses(state: StateInline, silent: bool) -> bool:
    """An address is a link even where nothing marks it up: most who paste one know no Markdown. Within a link it is text."""
    if silent or state.linkLevel or not (after := ADDRESS.match(state.src, state.pos, state.posMax)):
        return False
    scheme = SCHEME.search(state.src[max(0, state.pos - len(" https")) : state.pos])
    if scheme is None or not state.pending.endswith(scheme[0]):
        return False
    rest = after[0].rstrip(AFTER_ADDRESS)
    address = unescapeAll(scheme[0] + rest)
    state.pending = state.pending.removesuffix(scheme[0])
    state.push("link_open", "a", 1).attrs = {"href": state.md.normalizeLink(address)}
    state.push("text", "", 0).content = address
    state.push("link_close", "a", -1)
    state.pos += len(rest)
    return True


# Without references ("[a]: address"): one long address that is named often makes a short text endless.
_parser = (
    MarkdownIt("commonmark", {"html": False, "breaks": True, "maxNesting": 20})
    .enable(["table", "strikethrough"])
    .disable(["reference", "html_block", "html_inline"])
)
_parser.inline.ruler.push("link_addresses", _link_addresses)
_parser.core.ruler.push("demote_headings", _demote_headings)
_parser.core.ruler.push("align_cells", _align_cells)
_parser.core.ruler.push("link_images", _link_images)

_cleaner = nh3.Cleaner(
    tags=set(ALLOWED),
    attributes={tag: names for tag, names in ALLOWED.items() if names},
    url_schemes={"http", "https", "mailto"},
    link_rel="nofollow ugc noopener",
)


def render(text: str) -> str:
    """The HTML of a text; nothing of nothing. Never fails: what can't be rendered is shown as it was written."""
    if len(text) > MOST or len(MARKS.findall(text)) > MOST_MARKS or text.count("://") > MOST_ADDRESSES:
        return as_paragraphs(text)
    try:
        html = _cleaner.clean(_parser.render(text))
    except Exception as error:  # noqa: BLE001, whatever is wrong with a text, it is still somebody's
        logger.error("a text could not be rendered: %s", type(error).__name__)
        return as_paragraphs(text)
    return html if len(html) <= MOST_HTML else as_paragraphs(text)


def as_paragraphs(text: str) -> str:
    """The text itself, with its lines and paragraphs."""
    parts = re.split(r"\n\s*\n", text.replace("\r\n", "\n").strip())
    return "".join(f"<p>{escape(part, quote=False).replace(chr(10), f'<br>{chr(10)}')}</p>\n" for part in parts if part)


# What marks up, and what is left in its place.
MARKUP = [
    (re.compile(pattern), left)
    for pattern, left in (
        (r"(?m)^ {0,3}(?:```|~~~).*$", " "),  # the edges of code
        (r"(?m)^[ \t|:=_*+-]+$", " "),  # rules, and the lines below headings
        (r"(?m)^[ \t]*\||(?<!\\)\|[ \t]*$", ""),  # the edges of tables
        (r"(?m)^[ \t]*(?:(?:#{1,6}|[*+-]|\d{1,9}[.)])(?:[ \t]+|$)|>[ \t]?)+", ""),
        (r"!?\[([^\[\]]*)\]\([^()\n]*(?:\)|$)", r"\1"),
        (r"<((?:https?|mailto):[^<>\s]*)>", r"\1"),
        # What stands alone, as in 2 * 3, or within a name, as in a_b, means itself.
        (r"(?<!\\)(?:\*+|`+|~~)(?=\S)|(?<=[^\s\\])(?:\*+|`+|~~)", ""),
        (r"(?<![\w\\])_+(?=\S)|(?<=[^\s\\])_+(?!\w)", ""),
        (r"\\([!-/:-@\[-`{-~])", r"\1"),
    )
]


def plain(text: str, *, most: int) -> str:
    """How a text begins, in one line of at most so many characters: not quite all that Markdown is, but close. The caller
    has cut off what is far longer."""
    for pattern, left in MARKUP:
        text = pattern.sub(left, text)
    text = " ".join(unescape(text).split())
    if len(text) <= most:
        return text
    beginning, _, cut = text[:most].rpartition(" ")
    return (beginning if beginning and len(cut) < 30 else text[: most - 1]).rstrip() + "…"
