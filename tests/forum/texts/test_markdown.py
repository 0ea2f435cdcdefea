"""Rendered Markdown contains only allowed HTML, and no text takes long to render."""

import gc
import re
from collections.abc import Callable
from html.parser import HTMLParser
from time import thread_time
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from accounts.mentions.parsing import names_in
from forum.texts import markdown
from forum.texts.markdown import ALLOWED_TAGS, MAX_HTML_LENGTH, MAX_LENGTH, as_paragraphs, as_plain_text, render
from tests.support.tables import table

REL = 'rel="nofollow ugc noopener"'


def timed(act: Callable[[], Any]) -> tuple[Any, float]:
    """Return the result, and the CPU time of this thread in seconds.

    Without garbage collections: after thousands of other tests, one takes almost a second.
    """
    gc.disable()
    try:
        started_at = thread_time()
        return act(), thread_time() - started_at
    finally:
        gc.enable()


@table(
    ("text", "html"),
    [
        ("", ""),
        (" \n", ""),
        ("A dark theme", "<p>A dark theme</p>\n"),
        ("One\nTwo\n\nThree", "<p>One<br>\nTwo</p>\n<p>Three</p>\n"),
        ("**so** *that* ~~not~~ `x`", "<p><strong>so</strong> <em>that</em> <s>not</s> <code>x</code></p>\n"),
        ("# One\n\n###### Six", "<h3>One</h3>\n<h6>Six</h6>\n"),
        ("One\n===\n\nTwo\n---", "<h3>One</h3>\n<h4>Two</h4>\n"),
        ("- a\n- b", "<ul>\n<li>a</li>\n<li>b</li>\n</ul>\n"),
        ("3. a", '<ol start="3">\n<li>a</li>\n</ol>\n'),
        ("> a", "<blockquote>\n<p>a</p>\n</blockquote>\n"),
        ("```python\n<b>\n```", '<pre><code class="language-python">&lt;b&gt;\n</code></pre>\n'),
        ("[a](https://example.com)", f'<p><a href="https://example.com" {REL}>a</a></p>\n'),
        ("<https://example.com>", f'<p><a href="https://example.com" {REL}>https://example.com</a></p>\n'),
        ('![a cat](https://example.com/cat.png "Tom")', None),
        ("[![a](https://x.example/a.png)](https://y.example)", f'<p><a href="https://y.example" {REL}>a</a></p>\n'),
        ("![](https://x.example/a.png)", None),
        ("![a]()", "<p>a</p>\n"),
        ("a | b\n-|:-:\n1 | 2", None),
        ("[a]: /b\n\n[a]", f'<p><a href="/b" {REL}>a</a></p>\n'),
        ('[docs][1]\n\n[1]: https://e.example "T"', f'<p><a href="https://e.example" title="T" {REL}>docs</a></p>\n'),
        ("[a]: https://e.example/" + "a" * 500 + "\n\n[a]", "<p>[a]</p>\n"),
        (
            "- [ ] a\n- [x] b",
            (
                '<ul>\n<li class="task-list-item"><label><input disabled="disabled" type="checkbox"> a</label></li>\n'
                '<li class="task-list-item"><label><input checked="checked" disabled="disabled" type="checkbox"> b</label></li>\n</ul>\n'
            ),
        ),
        ("[a](tel:+48601234567)", f'<p><a href="tel:+48601234567" {REL}>a</a></p>\n'),
        ("<ann@e.example>", f'<p><a href="mailto:ann@e.example" {REL}>ann@e.example</a></p>\n'),
        ("**テスト。**テスト", "<p><strong>テスト。</strong>テスト</p>\n"),
        ("**历经10年发展，**年", "<p><strong>历经10年发展，</strong>年</p>\n"),
        ("请看**「强调」**的字", "<p>请看<strong>「强调」</strong>的字</p>\n"),
        ("**스크립트(script)**라고", "<p><strong>스크립트(script)</strong>라고</p>\n"),
        ("~~终止！~~好", "<p><s>终止！</s>好</p>\n"),
        ("**Note:**text, text**(note)**", "<p><strong>Note:</strong>text, text<strong>(note)</strong></p>\n"),
        ("**a (**b**) c** *2 * 3*", "<p><strong>a (<strong>b</strong>) c</strong> <em>2 * 3</em></p>\n"),
        (r"\\server\share, (\\server\share\*.txt)", "<p>\\\\server\\share, (\\\\server\\share\\*.txt)</p>\n"),
        (
            r"C:\temp\*.txt, C:\_b_\*, %TMP%\*.log, .\*.py",
            "<p>C:\\temp\\*.txt, C:\\_b_\\*, %TMP%\\*.log, .\\*.py</p>\n",
        ),
        ("C:\\temp\\\nnext", "<p>C:\\temp\\<br>\nnext</p>\n"),
        (r"\*a\* \\\\a\\b", "<p>*a* \\\\a\\b</p>\n"),
        ("a & b < c", "<p>a &amp; b &lt; c</p>\n"),
    ],
)
def test_it_works(text, html):
    rendered = render(text)
    if html is not None:
        assert rendered == html
    assert "<img" not in rendered


@table(
    ("text", "address", "template"),
    [
        ("see https://example.com", "https://example.com", "see {}"),
        ("http://localhost:8000, too", "http://localhost:8000", "{}, too"),
        ("(https://example.com/a_(b)_c)", "https://example.com/a_(b)_c", "({})"),
        ("[https://example.com/?a[]=b]!", "https://example.com/?a[]=b", "[{}]!"),
        ("Is it https://example.com/a?b=1#c?", "https://example.com/a?b=1#c", "Is it {}?"),
        ("„https://example.com/”…", "https://example.com/", "„{}”…"),
        ("**https://example.com/a**", "https://example.com/a", "<strong>{}</strong>"),
        ("https://example.com/__init__.py", "https://example.com/__init__.py", "{}"),
        (r"https://example.com/a\_b", "https://example.com/a_b", "{}"),
        ("https://example.com/\\\nand", "https://example.com/", "{}<br>\nand"),
        ("HTTPS://Example.com", "HTTPS://Example.com", "{}"),
        ("https://example.com/a，谢谢", "https://example.com/a", "{}，谢谢"),
        ("（https://example.com/深色）。", "https://example.com/深色", "（{}）。"),
        ("www.example.com/pricing, too", "www.example.com/pricing", "{}, too"),
        ("(WWW.example.com).", "WWW.example.com", "({})."),
        ("请看www.example.com/a。", "www.example.com/a", "请看{}。"),
        ("www.example.com请看", "www.example.com", "{}请看"),
        ("ask ann_b+c@mail.example.com.", "ann_b+c@mail.example.com", "ask {}."),
        ("邮箱ann@example.com。", "ann@example.com", "邮箱{}。"),
    ],
)
def test_addresses_become_links(text, address, template):
    scheme = "mailto:" if "@" in address else "http://" if address.lower().startswith("www.") else ""
    target = scheme + address.replace("[]", "%5B%5D").replace("深色", "%E6%B7%B1%E8%89%B2")
    link = f'<a href="{target}" {REL}>{address}</a>'
    assert render(text) == f"<p>{template.format(link)}</p>\n"


@table(
    "text",
    [
        "xhttps://example.com",
        r"\https://example.com",
        "https:// https://. https: //example.com",
        "https://{host}/ http://localhost:PORT/",
        "https://bank.example@example.com/",
        "ftp://example.com javascript://example.com",
        "`https://example.com`",
        "```\nhttps://example.com\n```",
        "www.example example.com setup.py xwww.example.com",
        "ann@localhost ann@example.com@x @example.com ann@ex_ample.c",
        "`www.example.com` `ann@example.com`",
    ],
)
def test_other_text_is_not_linked(text):
    assert "<a" not in render(text)


def test_an_address_in_the_text_of_a_link_is_not_linked():
    html = render("[a *b https://x.example/* c](https://y.example)")
    assert html == f'<p><a href="https://y.example" {REL}>a <em>b https://x.example/</em> c</a></p>\n'


def test_images_become_links():
    address = "https://example.com/cat.png"
    assert render(f"![a *cat*]({address})") == f'<p><a href="{address}" {REL}>a *cat*</a></p>\n'
    assert render(f"![]({address})") == f'<p><a href="{address}" {REL}>{address}</a></p>\n'
    assert render(f'![a]({address} "Tom")') == f'<p><a href="{address}" title="Tom" {REL}>a</a></p>\n'


def test_tables_are_rendered():
    html = render("a | b\n-|:-:\n1 | 2")
    assert re.sub(r"\n", "", html) == (
        '<table><thead><tr><th>a</th><th align="center">b</th></tr></thead>'
        '<tbody><tr><td>1</td><td align="center">2</td></tr></tbody></table>'
    )


class ElementCollector(HTMLParser):
    def __init__(self):
        super().__init__()
        self.elements = []

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))


def assert_safe(html: str) -> None:
    collector = ElementCollector()
    collector.feed(html)
    for tag, attributes in collector.elements:
        assert tag in ALLOWED_TAGS, html
        if tag in markdown.ALLOWED_VALUES:
            name, values = markdown.ALLOWED_VALUES[tag]
            assert attributes.pop(name, None) in {None, *values}, html
        assert attributes.keys() <= ALLOWED_TAGS[tag] | ({"rel"} if tag == "a" else set()), html
        if tag == "a":
            assert attributes["rel"] == "nofollow ugc noopener"
            address = re.sub(r"[\x00-\x20]", "", attributes.get("href") or "").lower()
            assert not re.match(r"(javascript|data|vbscript|file):", address), html


@table(
    "text",
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "[a](javascript:alert(1))",
        "[a](JaVaScRiPt:alert(1))",
        "[a](java&#x09;script:alert(1))",
        "[a](&#106;avascript:alert(1))",
        "[a](data:text/html;base64,PHNjcmlwdD4=)",
        "<javascript:alert(1)>",
        '[a](https://x.example "\\" onclick=alert(1) x=\\"")',
        '![" onerror="alert(1)](https://x.example)',
        "![a](javascript:alert(1))",
        '``` "><script>alert(1)</script>\na\n```',
        "<a href='javascript:alert(1)'>a</a>",
        "</p><style>*{display:none}</style>",
        "<!-- a -->",
        '[a](https://x.example" style="position:fixed)',
        "a | b\n-|-\n<td onclick=alert(1)> | 2",
    ],
)
def test_unsafe_html_is_removed(text):
    assert_safe(render(text))
    # The parser and the cleaner are each safe without the other.
    assert_safe(markdown._parser.render(text).replace("<a ", f"<a {REL} "))
    assert_safe(markdown._cleaner.clean(text))


SPECIAL_CHARACTERS = st.text(st.sampled_from("ab1 \n\t*_`~[]()<>!#|-+=>&\\\"':/.;{}"), max_size=200)
TEXT = SPECIAL_CHARACTERS | st.lists(SPECIAL_CHARACTERS, max_size=5).map("http://a".join)


@given(TEXT | st.text(max_size=100))
def test_any_text_is_rendered_safely(text):
    html = render(text)
    assert_safe(html)
    assert_safe(as_paragraphs(text))
    # Cleaning is idempotent.
    assert markdown._cleaner.clean(html) == html


# Texts that may take a parser quadratic time: patterns repeated up to the maximum length, and whole texts.
REPEATED_PATTERNS = [
    *("[", "](", "[a](", "![", "[]("),
    *("`", "`a``b", "``` ", "~~~\n", "> ", ">", "- ", "- a\n", "* a\n", "1. a\n", "> - ", "> > > a\n", "- a\n\n"),
    *("*a **b ", "**a*", "_a_ ", "~~a", "a**b", "*", "<", "<a@a", "&", "&amp;", "\\", "|", "a|b\n", "|\n"),
    *("a\n", "a\n\n", "# a\n", "a\n=\n", "a\\\n", "\n", "    a\n\n", "\t", "***\n", "[a](b) ", "<http://a>", "a"),
    *("https://a ", "https://a)", "://", "https:", "www.a.b ", "www.", "a@", "a@a.", "a@a.aa ", "a.", "-@"),
    *("- [ ] a\n", "[a]: b\n\n[a] ", "C:\\*", "C:\\_ ", "**。**a", "。*", "~~。"),
    *("[a]: b\n", "[a][a] ", "A plain line, and so on.\n", "A plain line, and so on. ", "Ala "),
]
WHOLE_TEXTS = {
    "brackets in brackets": "[" * 30_000 + "]" * 30_000,
    "links in links": "[" * 10_000 + "a" + "](b)" * 10_000,
    "images in images": "![" * 10_000 + "a" + "](b)" * 10_000,
    "emphasis in emphasis": "*" * 30_000 + "a" + "*" * 30_000,
    "growing ticks": "".join("`" * n + "a" for n in range(1, 360)),
    "lists in lists": "".join("  " * n + "- a\n" for n in range(250)),
    "quotes in lists": ("> " * 15 + "- " * 15 + "a\n") * 1400,
    "a wide table": "|" + "a|" * 300 + "\n|" + "-|" * 300 + "\n" + "|\n" * 9000,
    "one wide table": "|" + "a|" * 2000 + "\n|" + "-|" * 2000 + "\n" + "|\n" * 100,
    "many references to one address": f"[a]: https://x.example/{'a' * 30_000}\n\n" + "[a] " * 2400,
    "nested parentheses": "[a](" + "(" * 32_000 + ")" * 32_000,
    "brackets in an address": "https://a/" + "[" * 4000 + "(" * 4000,
    "addresses in brackets": "https://a/(" * 1200 + "https://b/)" * 1200,
    "a long address": "https://a/" + "." * 60_000,
    "a list at the limit": "1. a\n" * 5000,
    "lists and paragraphs": "- a\n- b\n\n  c\n" * 1600,
    "unclosed titles": '[a](b "' * 9000,
    # As many special characters as the parser accepts; it shows a text with more of them unformatted.
    **{f"at the limit {pattern}": pattern * 3300 for pattern in ("![", "[", "](", "*a", "- a\n", "|a", "<a>")},
    **{f"at the limit {pattern}": pattern * 2500 for pattern in ("http://a ", "[http://a ", "http://a/[", "http://ż ")},
}


@table(
    "text",
    [*(pattern * (MAX_LENGTH // len(pattern)) for pattern in REPEATED_PATTERNS), *WHOLE_TEXTS.values()],
)
def test_no_text_takes_long_to_render(text):
    text = text[:MAX_LENGTH]
    html, seconds = timed(lambda: render(text))
    assert seconds < 0.8
    assert len(html) <= MAX_HTML_LENGTH
    # The rest repeats it.
    assert_safe(html[:20_000])


@table(
    "text",
    [
        *("1. a\n" * 5000, "- a\n  - b\n    - c\n" * 1500, "* * a\n" * 2000, "> - a\n" * 2500),
        *("# a\n" * 4000, "*a* " * 4900, "a\nb\n\n" * 2500, "<a@b.c> " * 5000),
    ],
)
def test_a_text_that_takes_too_much_work_is_shown_unformatted(text):
    """The work is the same for any longer text, and `as_plain_text` has the same limit."""
    assert render(text) == as_paragraphs(text)
    assert as_plain_text(text) == text.strip()


def test_a_long_text_is_rendered():
    """A text of the maximum length, with a list of 500 items, is far below the limit."""
    text = "".join(f"- item {number} of the list, with **bold** words\n" for number in range(500))
    text += "\n" + "A plain line, and so on.\n\n" * 500
    html = render(text + "word " * ((MAX_LENGTH - len(text)) // 5))
    assert (html.count("<li>"), html.count("<strong>"), html.count("<p>")) == (500, 500, 501)


def test_a_text_that_cannot_be_parsed_is_shown_unformatted(monkeypatch, caplog):
    class Broken:
        def render(self, text, environment):
            raise RecursionError

    monkeypatch.setattr(markdown, "_parser", Broken())
    assert render("*a* <b>\n\nc") == "<p>*a* &lt;b&gt;</p>\n<p>c</p>\n"
    assert "RecursionError" in caplog.text


def test_a_text_with_too_much_html_is_shown_unformatted(monkeypatch):
    monkeypatch.setattr(markdown, "MAX_HTML_LENGTH", 20)
    assert render("**a** and **b**") == "<p>**a** and **b**</p>\n"


@table(
    ("text", "excerpt"),
    [
        ("", ""),
        ("# Why\n\nSo that *one* **can** _read_ ~~that~~ `this`.", "Why So that one can read that this."),
        ("- one\n* two\n+ three\n1. four\n> > five", "one two three four five"),
        ("2 * 3 = 6, snake_case_name, a ~ b", "2 * 3 = 6, snake_case_name, a ~ b"),
        (
            '[a link](https://e.example/ "title"), ![a picture](x.png) and [one cut off](https://e.exam',
            "a link, a picture and one cut off",
        ),
        ("<https://e.example/> <b>", "https://e.example/ <b>"),
        ("```python\nprint(1)\n```\n---\nTitle\n=====", "print(1) Title"),
        (r"\*so\* \# &amp; &lt;b&gt;", "*so* # & <b>"),
        ("a | b\n--|--\n1 | 2", "a | b 1 | 2"),
        ("Look:\n\n| a | b |\n|---|--:|\n| 1 | 2 |\n", "Look: a | b 1 | 2"),
        ("a || b", "a || b"),
        ("- [x] done\n\n[a][1]\n\n[1]: https://e.example", "done a"),
        (r"\\server\share C:\temp\*.txt", r"\\server\share C:\temp\*.txt"),
    ],
)
def test_an_excerpt_is_plain_text(text, excerpt):
    assert markdown.excerpt(text, max_length=200) == excerpt


def test_an_excerpt_is_cut_between_words():
    assert markdown.excerpt("one two three four", max_length=10) == "one two…"
    assert markdown.excerpt("one two three four", max_length=18) == "one two three four"
    assert markdown.excerpt("W" * 300, max_length=200) == "W" * 199 + "…"


@table(
    ("text", "plain"),
    [
        ("", ""),
        ("# Why\n\nSo that *one*\n**can** `read`.\n\n---\n\nOr <b>", "Why\n\nSo that one\ncan read.\n\nOr <b>"),
        ("- one\n- two\n\n  3. three\n\n     more\n  4. four", "• one\n• two\n  3. three\n    more\n  4. four"),
        ("> one\n>\n> > two", "> one\n>\n> > two"),
        (
            "[a link](https://e.example) ![a picture](x.png) https://e.example www.e.example a@e.example",
            "a link (https://e.example) a picture (x.png) https://e.example www.e.example a@e.example",
        ),
        ("- [ ] one\n- [x] two", "• ☐ one\n• ☑ two"),
        ("```python\n<b>\n```\n\n    code", "<b>\n\ncode"),
        ("a | b\n--|--\n1 | 2", "a | b\n1 | 2"),
        ("- \n- b", "•\n• b"),
    ],
)
def test_plain_text_keeps_lines_and_lists(text, plain):
    assert markdown.as_plain_text(text).replace("\N{NO-BREAK SPACE}", " ") == plain


@table(
    ("text", "expected"),
    [
        ("@theo, look", ["theo"]),
        ("_@theo_ **@theo**", ["theo", "theo"]),
        ("@theo's idea", ["theo"]),
        ("你好@theo你好", ["theo"]),
        ("@theo，谢谢", ["theo"]),
        ("@田中さん、どうぞ", ["田中"]),
        ("> @theo said so\n\nYes", []),
        ("> - @theo\n> > @theo", []),
        ("`@theo` ``@theo``", []),
        ("```\n@theo\n```\n\n    @theo", []),
        ("https://x.example/@theo [@theo](https://x.example) <https://x.example/@theo>", []),
        ("theo@theo.example żółw@theo", []),
    ],
)
def test_mentions_that_count(text, expected):
    found = [names & {"theo", "田中"} for names in names_in(text)]
    assert [name for names in found for name in names] == expected
    marked = render(text, mentions={"theo": 1, "田中": 2})
    assert re.findall("<b>@(.*?)</b>", marked) == expected


def test_a_text_that_fails_to_be_converted_stays_as_it_is(monkeypatch, caplog):
    monkeypatch.setattr(markdown, "_plain_block", lambda node: 1 / 0)
    assert markdown.as_plain_text(" *a* ") == "*a*"
    assert caplog.messages == ["A text could not be converted: ZeroDivisionError"]


@table("pattern", ["*", "_", "`", "~", "[", "![", "(", "> ", "#", "- ", "|", "\\", "<http:", "&#12;", "[]("])
def test_no_excerpt_takes_long_to_make(pattern):
    text = (pattern * 600)[:600]
    _, seconds = timed(lambda: (markdown.excerpt(text, max_length=200), markdown.as_plain_text(text)))
    assert seconds < 0.1
