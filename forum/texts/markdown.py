"""Markdown as safe HTML: CommonMark with tables, strikethrough and task lists, without inline HTML.

It differs from CommonMark where people write otherwise: addresses without markup are links, emphasis works beside Chinese, Japanese and Korean
text, and Windows paths keep their backslashes.

A text is rendered once, when it is saved. The parser is configured to produce no dangerous HTML, and a sanitizer then removes all tags and
attributes that are not in ALLOWED_TAGS. The time of the parser depends on the number of blocks and of inline elements, such as the items of a
list, more than on the length. So a text that takes the parser more than MAX_STEPS steps is shown as plain text.
"""

import logging
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from functools import partial
from html import escape, unescape
from importlib import import_module
from itertools import count
from typing import Any

import nh3
from django.db import models
from markdown_it import MarkdownIt
from markdown_it.common.normalize_url import normalizeLink
from markdown_it.common.utils import unescapeAll
from markdown_it.rules_block import StateBlock
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline, emphasis, strikethrough
from markdown_it.token import Token
from markdown_it.tree import SyntaxTreeNode
from mdit_py_plugins.tasklists import tasklists_plugin

from accounts.attachments.models import path_pattern
from accounts.mentions.parsing import mentions_in

logger = logging.getLogger("rostrum.markdown")

MAX_LENGTH = 65_536
# Escaping makes up to five characters of one (`&amp;`), and tags add more.
MAX_HTML_LENGTH = 16 * MAX_LENGTH
MAX_MARKUP_CHARACTERS = 10_000
MAX_URLS = 2_500
# The number of attempts of the parser to find a block or an inline element. Each takes 10 to 20 µs, and an item of a list takes four or five.
MAX_STEPS = 6_000
# The address and the title of a link reference. Each use of a reference repeats them.
MAX_REFERENCE_LENGTH = 500
MARKUP_CHARACTERS = re.compile(r"[\[\]()!|`*_~<>#&\\\n+-]")

# Only mentions are in <b> (`ALLOWED_TAGS`).
MARKED_MENTION = re.compile(r"<b>@([^<]+)</b>")

# The query of the small picture of an attachment.
SMALL = "?size=small"

ALLOWED_TAGS: dict[str, AbstractSet[str]] = {
    **{f"h{level}": frozenset() for level in range(3, 7)},
    # Mentions are in <b>, which Markdown does not produce.
    **dict.fromkeys(("p", "br", "hr", "blockquote", "ul", "em", "strong", "s", "pre", "b"), frozenset()),
    **dict.fromkeys(("table", "thead", "tbody", "tr", "li"), frozenset()),
    "ol": {"start"},
    "a": {"href", "title"},
    "code": {"class"},
    "label": frozenset(),
    "input": {"disabled", "checked"},
    "th": {"align"},
    "td": {"align"},
    "img": {"src", "alt", "loading"},
}

# Attributes with the values that they may have: those of task lists.
ALLOWED_VALUES: dict[str, tuple[str, AbstractSet[str]]] = {
    "li": ("class", {"task-list-item"}),
    "input": ("type", {"checkbox"}),
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
    """Replace images by links, so that browsers of readers do not contact other servers. Within a link, keep only the image's text.

    A picture that is attached to a text of the account stays, in a small size, in a link to the whole picture.
    """
    for token in state.tokens:
        if token.children and any(child.type == "image" for child in token.children):
            token.children = list(_remove_images(token.children))


def _with_link_depth(tokens: list[Token]) -> Iterator[tuple[Token, int]]:
    """Yield each token with the number of links that it is in."""
    link_depth = 0
    for token in tokens:
        link_depth += token.nesting if token.type in ("link_open", "link_close") else 0
        yield token, link_depth


def _enclose(tokens: list[Token], find: Callable[[str], Iterable[tuple[int, int, Token, Token]]]) -> Iterator[Token]:
    """Enclose parts of the texts outside of links. `find` returns the start and the end of each part, and the tokens around it."""
    for token, link_depth in _with_link_depth(tokens):
        if token.type != "text" or link_depth:
            yield token
            continue
        position = 0
        for start, end, opening, closing in find(token.content):
            yield Token("text", "", 0, content=token.content[position:start])
            yield from (opening, Token("text", "", 0, content=token.content[start:end]), closing)
            position = end
        yield Token("text", "", 0, content=token.content[position:])


def _remove_images(tokens: list[Token]) -> Iterator[Token]:
    for token, link_depth in _with_link_depth(tokens):
        if token.type != "image":
            yield token
            continue
        address = token.attrs["src"]
        text = Token("text", "", 0, content=token.content or str(address))
        if link_depth or not address:
            yield text
        else:
            shown = text
            if path_pattern().fullmatch(str(address)):
                token.attrs["src"], shown = f"{address}{SMALL}", token
            attributes = {"href": address} | ({"title": token.attrs["title"]} if "title" in token.attrs else {})
            yield from (Token("link_open", "a", 1, attrs=attributes), shown, Token("link_close", "a", -1))


def _mark_mentions(state: StateCore) -> None:
    """Put mentions in <b>, except in links, code and quotes. The result of `find_mentions` is in the environment of the parser."""
    if ids := state.env.get("mentions"):
        for token in _outside_quotes(state.tokens):
            if token.children:
                token.children = list(_enclose(token.children, partial(_mentions, ids)))


def _mentions(ids: Mapping[str, int | None], text: str) -> Iterator[tuple[int, int, Token, Token]]:
    for start, end in mentions_in(text, ids):
        yield start, end, Token("mention_open", "b", 1), Token("mention_close", "b", -1)


def _outside_quotes(tokens: list[Token]) -> Iterator[Token]:
    depth = 0
    for token in tokens:
        depth += token.nesting if token.type in ("blockquote_open", "blockquote_close") else 0
        if not depth:
            yield token


# A URL in the text without markup: the scheme, and the part after it. Brackets belong to the URL if they are paired. Punctuation at the
# end does not belong to it, nor punctuation of Chinese, Japanese and Korean anywhere. The port is a number. A user name before the host
# is not accepted, because it could be taken for the host.
URL_SCHEME = re.compile(r"(?<![a-z0-9+.-])https?\Z", re.IGNORECASE)
_URL_CHARACTER = (
    r"[^\s<>\"`“”„«»()\[\]\u3000-\u3004\u3008-\u301f\u30fb\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65]"
)
_PORT = r"(?::\d{1,5}+)?"
_PATH = rf"(?:[/?#](?:{_URL_CHARACTER}|\({_URL_CHARACTER}*\)|\[{_URL_CHARACTER}*\])*)?"
URL_REST = re.compile(rf"://\w[\w.-]*+{_PORT}(?![:@%]?\w){_PATH}")
TRAILING_PUNCTUATION = "?!.,:;*_~'…|\\"
# A letter or punctuation of Chinese, Japanese and Korean, or a full-width form.
_IDEOGRAPH = r"[\u1100-\u11ff\u2e80-\ua4cf\uac00-\ud7ff\uf900-\ufaff\ufe30-\ufe4f\uff00-\uffef\U00020000-\U0003ffff]"
IDEOGRAPH = re.compile(_IDEOGRAPH)
# A host that begins with "www.", and an e-mail address. They may follow a letter that is not Latin, because Chinese and Japanese have no
# spaces.
_LABEL = "[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_DOMAIN = rf"(?:{_LABEL}\.)+[a-z]{{2,63}}(?![a-z0-9-])"
BARE_ADDRESS = re.compile(
    r"(?<![a-z0-9@._%+/:\\-])(?:"
    rf"(?P<host>www\.(?=[\w-]+\.)(?:(?!{_IDEOGRAPH})[\w.-])++{_PORT}(?![:@%]?[a-z0-9]){_PATH})"
    rf"|(?P<email>[a-z0-9_+-](?:[a-z0-9._%+-]{{0,62}}[a-z0-9_+-])?@{_DOMAIN})(?!@)"
    r")",
    re.IGNORECASE,
)


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


def _count_block(state: StateBlock, *_arguments: object) -> bool:
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


def _link_bare_addresses(state: StateCore) -> None:
    """Turn hosts that begin with "www." and e-mail addresses without markup into links, except within links and code."""
    for token in state.tokens:
        if token.children and ("@" in token.content or "www." in token.content.lower()):
            token.children = list(_enclose(token.children, _bare_addresses))


def _bare_addresses(text: str) -> Iterator[tuple[int, int, Token, Token]]:
    for match in BARE_ADDRESS.finditer(text):
        shown = match[0].rstrip(TRAILING_PUNCTUATION) if match["host"] else match[0]
        address = f"http://{shown}" if match["host"] else f"mailto:{shown}"
        link = Token("link_open", "a", 1, attrs={"href": normalizeLink(address)})
        yield match.start(), match.start() + len(shown), link, Token("link_close", "a", -1)


def _beside_ideographs(tokenize: Callable[[StateInline, bool], bool]) -> Callable[[StateInline, bool], bool]:
    """Return an inline rule for delimiters such as `**` that may also stand between punctuation and a letter.

    In CommonMark, a delimiter after punctuation closes only before a space or punctuation. Chinese, Japanese and Korean have no spaces
    there: **テスト。**テスト. The same is accepted for a colon and the like: **Note:**text.
    """

    def rule(state: StateInline, silent: bool) -> bool:
        start, number = state.pos, len(state.delimiters)
        if not tokenize(state, silent):
            return False
        if state.src[start] != "_":
            before, after = state.src[max(0, start - 1) : start], state.src[state.pos : state.posMax][:1]
            is_free = IDEOGRAPH.match(before) or IDEOGRAPH.match(after)
            for delimiter in state.delimiters[number:]:
                delimiter.open |= bool(after and not after.isspace() and (is_free or after in "([{"))
                delimiter.close |= bool(before and not before.isspace() and (is_free or before in ".,:;!?)]}…%"))
        return True

    return rule


# The beginning of a path of Windows: a drive, a server, a variable, or the current directory.
WINDOWS_PATH = re.compile(r"(?<!\S)[\"'(]*(?:[A-Za-z]:\\|\\\\(?=[\w.?])|%\w{1,30}%\\|\.{1,2}\\)\S*\Z")
MAX_PATH_LENGTH = 260


def _keep_backslashes_of_paths(state: StateInline, silent: bool) -> bool:
    """Keep the backslash of a Windows path before punctuation, which otherwise escapes the punctuation: C:\\temp\\*.txt."""
    position, source = state.pos, state.src
    if source[position] != "\\" or position + 1 >= state.posMax:
        return False
    following = source[position + 1]
    if following == "\\":
        is_kept = re.match(r"[\w.?]", source[position + 2 : position + 3]) and re.search(
            r"(?:^|\s)[\"'(]*\Z", source[max(0, position - 4) : position]
        )
    else:
        is_kept = WINDOWS_PATH.search(source[max(0, position - MAX_PATH_LENGTH) : position + 1])
    if not is_kept:
        return False
    kept = "\\" if following == "\n" else source[position : position + 2]
    if not silent:
        state.pending += kept
    state.pos += len(kept)
    return True


def _limit_references(state: StateCore) -> None:
    """Remove long link references ("[a]: address"): many uses of one would expand a short text enormously."""
    references = state.env.get("references", {})
    for label, reference in list(references.items()):
        if len(reference["href"]) + len(reference["title"]) > MAX_REFERENCE_LENGTH:
            del references[label]


_parser = (
    MarkdownIt("commonmark", {"html": False, "breaks": True, "maxNesting": 20})
    .enable(["table", "strikethrough"])
    .disable(["html_block", "html_inline"])
    .use(tasklists_plugin, label=True)
)
_parser.inline.ruler.before("escape", "windows_paths", _keep_backslashes_of_paths)
_parser.inline.ruler.at("emphasis", _beside_ideographs(emphasis.tokenize))
_parser.inline.ruler.at("strikethrough", _beside_ideographs(strikethrough.tokenize))
_parser.inline.ruler.push("link_urls", _link_urls)
_parser.core.ruler.after("block", "limit_references", _limit_references)
_parser.core.ruler.after("inline", "link_bare_addresses", _link_bare_addresses)
_parser.core.ruler.push("demote_headings", _demote_headings)
_parser.core.ruler.push("align_cells", _align_cells)
_parser.core.ruler.push("link_images", _link_images)
_parser.core.ruler.push("mark_mentions", _mark_mentions)

# With `alt`, the rule also counts the attempts to find the end of a paragraph, a quote or a list.
_parser.block.ruler.before("table", "count", _count_block, {"alt": ["paragraph", "reference", "blockquote", "list"]})
_parser.inline.ruler.before("text", "count", _count_inline)


def _filter_attribute(tag: str, name: str, value: str) -> str | None:
    """Remove the address of a picture that is not one of an attachment."""
    is_foreign = tag == "img" and name == "src" and not path_pattern().fullmatch(value.removesuffix(SMALL))
    return None if is_foreign else value


_cleaner = nh3.Cleaner(
    tags=set(ALLOWED_TAGS),
    attributes={tag: set(names) for tag, names in ALLOWED_TAGS.items() if names},
    tag_attribute_values={tag: {name: set(allowed)} for tag, (name, allowed) in ALLOWED_VALUES.items()},
    set_tag_attribute_values={"img": {"loading": "lazy"}},
    attribute_filter=_filter_attribute,
    url_schemes={"http", "https", "mailto", "tel"},
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


def render_again(text: str, html: str | None) -> str:
    """Return the HTML of a changed text, in which the mentions are marked that `html`, its former HTML, marks."""
    marked = (unescape(name) for name in MARKED_MENTION.findall(html or ""))
    return render(text, mentions=dict.fromkeys(marked, 1))


def with_base_url(text: str, base: str) -> str:
    """Return a plain text or HTML in which the addresses of attachments are absolute. `base` is the URL of a host, without a slash."""
    return re.sub(rf"(?<=[(\"]){path_pattern().pattern}", lambda match: base + match[0], text)


def has_links(title: str, html: str) -> bool:
    """Return whether the title, or the HTML of a text, has links."""
    return "<a " in html or "://" in html or "://" in title or "www." in title.lower()


def text_with_mentions(text: str) -> str:
    """Return the parts of a text whose mentions count: those outside of code, quotes and links."""
    if len(text) > MAX_LENGTH or len(MARKUP_CHARACTERS.findall(text)) > MAX_MARKUP_CHARACTERS:
        return text
    try:
        tokens = _parser.parse(text)
    except Exception as error:  # noqa: BLE001, as in `render`
        logger.error("A text could not be read: %s", type(error).__name__)
        return text
    return "\n".join("".join(_unlinked_texts(token.children or [])) for token in _outside_quotes(tokens))


def _unlinked_texts(tokens: list[Token]) -> Iterator[str]:
    for token, link_depth in _with_link_depth(tokens):
        if link_depth or token.type == "code_inline":
            # No name continues after it.
            yield " | "
        elif token.type in ("softbreak", "hardbreak"):
            yield "\n"
        elif token.type == "text":
            yield token.content


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
        (r"(?m)^[ \t]*(?:(?:#{1,6}|[*+-]|\d{1,9}[.)])(?:[ \t]+|$)|>[ \t]?)+(?:\[[ xX]\][ \t])?", ""),
        (r"(?m)^ {0,3}\[[^\[\]\n]+\]:[ \t]+\S+.*$", " "),  # link references
        (r"!?\[([^\[\]]*)\]\([^()\n]*(?:\)|$)", r"\1"),
        (r"!?\[([^\[\]]+)\]\[[^\[\]\n]*\]", r"\1"),
        (r"<((?:https?|mailto):[^<>\s]*)>", r"\1"),
        # A character between spaces, as in 2 * 3, or within a word, as in a_b, is not markup.
        (r"(?<!\\)(?:\*+|`+|~~)(?=\S)|(?<=[^\s\\])(?:\*+|`+|~~)", ""),
        (r"(?<![\w\\])_+(?=\S)|(?<=[^\s\\])_+(?!\w)", ""),
        # The backslashes of Windows paths are no markup.
        (r"((?<!\S)[\"'(]*(?:[A-Za-z]:\\|\\\\(?=[\w.?]))\S*)|\\([!-/:-@\[-`{-~])", r"\1\2"),
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
    if node.type == "html_inline":
        # The parser accepts no HTML: this is the box of a task.
        return ("☑" if "checked" in node.content else "☐") if node.content.startswith("<input") else ""
    if node.type == "link":
        text, address = "".join(map(_plain_inline, node.children)), str(node.attrs["href"])
        return text if address in (text, f"mailto:{text}", f"http://{text}") or not address else f"{text} ({address})"
    return "".join(map(_plain_inline, node.children)) if node.children else node.content


def html_field() -> "models.CharField[Any, Any]":
    """Return a field for the HTML of another field, which is rendered whenever that field is saved.

    The HTML is null if the other field is null, or was saved before the field of the HTML existed.
    """
    return models.CharField(max_length=MAX_HTML_LENGTH, null=True, editable=False)
