"""The chapters of `docs/integrating.md`, `docs/webhooks.md` and `docs/interface.md`, as HTML."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from django.conf import settings
from django.urls import reverse
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe
from django.utils.text import slugify
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.rules_core import StateCore
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict

# The placeholder in cached pages. Each response replaces it with the address of its host.
ADDRESS = "https://host-of-this-page.invalid"
DOCUMENTS = settings.BASE_DIR / "docs"
# The chapters of this section of interface.md are pages of their own, because the section is long. They come first.
DIVIDED_SECTION = "Account API (JSON)"
# Parts of the documents for developers of the service, which its customers do not see.
FOR_DEVELOPERS = re.compile(r"<!-- developers -->\n.*?<!-- /developers -->\n", re.DOTALL)
# The columns of tables for them, which are the last ones.
COLUMNS_FOR_DEVELOPERS = " statements | test |"
# The addresses of the service in the examples.
EXAMPLE_ADDRESS = re.compile(r"http://(\w+\.)?localhost:8000")


@dataclass(frozen=True)
class Section:
    """A heading with the text below it, for the search."""

    anchor: str
    title: str
    text: str


@dataclass
class Chapter:
    """A page of the guide."""

    slug: str
    title: str
    # The name of the file in `docs`.
    document: str
    # The level in the file of the heading that becomes the heading of the page.
    level: int
    # The anchors in the file that link to the page: that of its heading, and those of preceding headings without a text.
    anchors: list[str]
    tokens: list[Token] = field(default_factory=list, repr=False)
    sections: list[Section] = field(default_factory=list)

    # The number of tokens of the heading of the page, which the template renders.
    HEADING_TOKENS = 3

    def add(self, token: Token) -> None:
        is_heading = bool(self.tokens) and self.tokens[-1].type == "heading_open"
        self.tokens.append(token)
        if not is_heading and token.type in ("inline", "fence", "code_block"):
            text = plain_text(token.children or []) if token.type == "inline" else token.content
            last = self.sections[-1]
            self.sections[-1] = Section(last.anchor, last.title, f"{last.text} {text.replace(ADDRESS, '')}")

    @property
    def is_empty(self) -> bool:
        return len(self.tokens) == self.HEADING_TOKENS

    @property
    def path(self) -> str:
        return reverse("accounts-docs-page", args=[self.slug])

    @property
    def html(self) -> SafeString:
        """The text of the chapter without its heading. The files are part of the service, and HTML in them is escaped."""
        html = _renderer.render(self.tokens[self.HEADING_TOKENS :], _parser.options, {"chapter": self})
        return mark_safe(html)  # noqa: S308, see above


def anchor_of(text: str, taken: set[str]) -> str:
    """Return the anchor of a heading, in the form of GitHub."""
    anchor = re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")
    number, unique = 0, anchor
    while unique in taken:
        number += 1
        unique = f"{anchor}-{number}"
    taken.add(unique)
    return unique


def plain_text(tokens: Sequence[Token]) -> str:
    """Return the text of inline tokens without markup. A line break is a space."""
    return "".join(" " if token.type in ("softbreak", "hardbreak") else token.content for token in tokens)


def _adapt_cells(state: StateCore) -> None:
    """Replace the style of cells by an attribute, because the policy of the pages forbids inline styles.

    Change an empty header cell to a data cell.
    """
    for token, content, end in zip(state.tokens, state.tokens[1:], state.tokens[2:], strict=False):
        if token.type in ("th_open", "td_open"):
            if "style" in token.attrs:
                token.attrs = {"align": str(token.attrs["style"]).removeprefix("text-align:")}
            if not content.content:
                token.tag = end.tag = "td"


class Renderer(RendererHTML):
    """Render code and tables in boxes that scroll, also by keyboard, and links to other pages of the guide."""

    def fence(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        return f'<pre tabindex="0"><code>{escape(tokens[idx].content)}</code></pre>\n'

    def table_open(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        return '<div class="scroll" tabindex="0"><table>\n'

    def table_close(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        return "</table></div>\n"

    def heading_open(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        level = int(tokens[idx].tag[1]) - env["chapter"].level + 1
        return f'<h{level} id="{escape(tokens[idx].meta["anchor"])}">'

    def heading_close(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        return f"</h{int(tokens[idx].tag[1]) - env['chapter'].level + 1}>\n"

    def link_open(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        href = link_target(str(tokens[idx].attrs["href"]), env["chapter"].document)
        return f'<a href="{escape(href)}">' if href else "<span>"

    def link_close(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        opening = next(token for token in reversed(tokens[:idx]) if token.type == "link_open")
        return "</a>" if link_target(str(opening.attrs["href"]), env["chapter"].document) else "</span>"


def link_target(href: str, document: str) -> str:
    """Return the address of a link of a document. Return "" if it points to a file that is no page of the reference."""
    if re.match("https?:", href):
        return href
    name, _hash, anchor = href.partition("#")
    name = name or document
    if anchor:
        return anchors().get((name, anchor), "")
    return next((chapter.path for chapter in chapters() if chapter.document == name), "")


def text_for_customers(document: str) -> str:
    """Return a document without the parts for developers, and with the address of the service in the examples."""
    lines, dropped = [], 0
    for line in FOR_DEVELOPERS.sub("", (DOCUMENTS / document).read_text("utf-8")).splitlines():
        if line.endswith(COLUMNS_FOR_DEVELOPERS):
            dropped = COLUMNS_FOR_DEVELOPERS.count("|")
        elif not line.startswith("|"):
            dropped = 0
        lines.append("|".join(line.split("|")[: -dropped - 1]) + "|" if dropped else line)
    return EXAMPLE_ADDRESS.sub(ADDRESS, "\n".join(lines))


_parser = MarkdownIt("commonmark", {"html": False}, renderer_cls=Renderer).enable("table")
_parser.core.ruler.push("adapt_cells", _adapt_cells)
_renderer: Any = _parser.renderer


def read_chapters(document: str, divided: str = "") -> list[Chapter]:
    """Return the chapters of a document. Without `divided`, the document is one chapter.

    Otherwise each section is a chapter, and so is each section in the section `divided`.
    """
    tokens = _parser.parse(text_for_customers(document))
    chapters: list[Chapter] = []
    taken: set[str] = set()
    parent = ""
    for index, token in enumerate(tokens):
        if token.type == "heading_open":
            title, level = plain_text(tokens[index + 1].children or []), int(token.tag[1])
            anchor = anchor_of(title, taken)
            token.meta = {"anchor": anchor}
            parent = title if level == 2 else parent
            if level == 1 or (divided and (level == 2 or (level == 3 and parent == divided))):
                chapters.append(Chapter(f"guide-{slugify(title)}", title, document, level, [anchor]))
                anchor = ""
            chapters[-1].sections.append(Section(anchor, title, ""))
        chapters[-1].add(token)
    return list(without_empty(chapters))


def without_empty(chapters: list[Chapter]) -> Iterator[Chapter]:
    """Yield the chapters with a text. The anchor of a heading without a text belongs to the next chapter."""
    anchors: list[str] = []
    for chapter in chapters:
        chapter.anchors = [*anchors, *chapter.anchors]
        anchors = chapter.anchors if chapter.is_empty else []
        if not chapter.is_empty:
            yield chapter


@cache
def chapters() -> list[Chapter]:
    """Return the chapters of the guide, in the order of the navigation: the Account API before the Forum API."""
    interface = read_chapters("interface.md", DIVIDED_SECTION)
    interface.sort(key=lambda chapter: {1: 0, 3: 1}.get(chapter.level, 2))
    return [*read_chapters("integrating.md"), *read_chapters("webhooks.md"), *interface]


@cache
def anchors() -> dict[tuple[str, str], str]:
    """Return the address of each heading, by its document and its anchor there."""
    addresses = {}
    for chapter in chapters():
        addresses.update({(chapter.document, anchor): chapter.path for anchor in chapter.anchors})
        for section in chapter.sections[1:]:
            addresses[chapter.document, section.anchor] = f"{chapter.path}#{section.anchor}"
    return addresses
