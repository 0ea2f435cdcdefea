"""The chapters of `docs/integrating.md`, `docs/webhooks.md` and `docs/interface.md`, as HTML."""

import re
from dataclasses import dataclass, field
from functools import cache, cached_property

from django.conf import settings
from django.urls import reverse
from django.utils.html import escape
from django.utils.safestring import SafeString
from django.utils.text import slugify
from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.token import Token
from mdit_py_plugins.anchors import anchors_plugin

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
    """A heading with the text below it, for the search. The heading of a page has no anchor."""

    anchor: str
    title: str
    text: str


@dataclass
class Chapter:
    title: str
    # The name of the file in `docs`.
    document: str
    # The level in the file of the heading that becomes the heading of the page.
    level: int
    # The anchors in the file that link to the page: that of its heading, and those of preceding headings without a text.
    anchors: list[str]
    # The tokens of its heading, which the template renders, and of its text.
    tokens: list[Token] = field(default_factory=list, repr=False)

    HEADING_TOKENS = 3

    @property
    def slug(self) -> str:
        return f"guide-{slugify(self.title)}"

    @property
    def path(self) -> str:
        return reverse("accounts-docs-page", args=[self.slug])

    @cached_property
    def html(self) -> SafeString:
        """The text of the chapter without its heading. The files are part of the service, and HTML in them is escaped."""
        tokens = self.tokens[self.HEADING_TOKENS :]
        for link in (child for token in tokens for child in token.children or () if child.type == "link_open"):
            link.attrs["href"] = link_target(str(link.attrs["href"]), self.document)
        return SafeString(_parser.renderer.render(tokens, _parser.options, {}))

    @property
    def sections(self) -> list[Section]:
        starts = [number for number, token in enumerate(self.tokens) if token.type == "heading_open"]
        sections = []
        for start, end in zip(starts, [*starts[1:], len(self.tokens)], strict=True):
            anchor = str(self.tokens[start].attrs["id"]) if start else ""
            title, *texts = filter(None, map(plain_text, self.tokens[start:end]))
            sections.append(Section(anchor, title, " ".join(texts).replace(ADDRESS, "")))
        return sections


def plain_text(token: Token) -> str:
    """Return the text of a token without markup. A line break is a space."""
    children = token.children or [token]
    return "".join(" " if child.type in ("softbreak", "hardbreak") else child.content for child in children)


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


def _make_parser() -> MarkdownIt:
    """Return a parser whose HTML has code and tables in boxes that scroll, also by keyboard."""

    def code(text: str, language: str, attributes: str) -> str:
        return f'<pre tabindex="0"><code>{escape(text)}</code></pre>'

    parser = MarkdownIt("commonmark", {"html": False, "highlight": code}).enable("table")
    parser.use(anchors_plugin, max_level=6).core.ruler.push("adapt_cells", _adapt_cells)
    parser.add_render_rule("table_open", lambda *_: '<div class="scroll" tabindex="0"><table>\n')
    parser.add_render_rule("table_close", lambda *_: "</table></div>\n")
    return parser


_parser = _make_parser()


def link_target(href: str, document: str) -> str:
    """Return the address of a link of a document, or "" if it points to a file that is no page of the reference."""
    if re.match("https?:", href):
        return href
    name, _hash, anchor = href.partition("#")
    return anchors().get((name or document, anchor), "")


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


def read_chapters(document: str, divided: str = "") -> list[Chapter]:
    """Return the chapters of a document. Without `divided`, the document is one chapter.

    Otherwise each section is a chapter, and so is each section in the section `divided`. The anchor of a heading without a text belongs
    to the next chapter.
    """
    tokens = _parser.parse(text_for_customers(document))
    chapters: list[Chapter] = []
    parent = ""
    for token, content, end in zip(tokens, tokens[1:] + tokens[:1], tokens[2:] + tokens[:2], strict=True):
        if token.type == "heading_open":
            title, level, anchors = plain_text(content), int(token.tag[1]), [str(token.attrs["id"])]
            parent = title if level == 2 else parent
            if level == 1 or (divided and (level == 2 or (level == 3 and parent == divided))):
                if chapters and len(chapters[-1].tokens) == Chapter.HEADING_TOKENS:
                    anchors = chapters.pop().anchors + anchors
                chapters.append(Chapter(title, document, level, anchors))
            token.tag = end.tag = f"h{level - chapters[-1].level + 1}"
        chapters[-1].tokens.append(token)
    return chapters


@cache
def chapters() -> list[Chapter]:
    """Return the chapters of the guide, in the order of the navigation: the Account API before the Forum API."""
    interface = read_chapters("interface.md", DIVIDED_SECTION)
    interface.sort(key=lambda chapter: {1: 0, 3: 1}.get(chapter.level, 2))
    return [*read_chapters("integrating.md"), *read_chapters("webhooks.md"), *interface]


@cache
def anchors() -> dict[tuple[str, str], str]:
    """Return the address of each heading, by its document and its anchor there. The anchor of a document is ""."""
    addresses: dict[tuple[str, str], str] = {}
    for chapter in chapters():
        addresses.setdefault((chapter.document, ""), chapter.path)
        addresses |= {(chapter.document, anchor): chapter.path for anchor in chapter.anchors}
        for section in chapter.sections[1:]:
            addresses[chapter.document, section.anchor] = f"{chapter.path}#{section.anchor}"
    return addresses
