"""Parsing of XML bodies."""

import codecs
from encodings.aliases import aliases
from io import BytesIO
from time import process_time
from types import SimpleNamespace

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from rest_framework.exceptions import ParseError

from core.errors import FieldError
from forum.xml.formats import MAX_DEPTH, XMLParser
from tests.support.assertions import errors_of
from tests.support.tables import table
from tests.support.xml import posts, refusal, shown

POLISH_TEXT = "Zażółć gęślą jaźń"
UNSUPPORTED = "The XML is in an encoding that is not supported"
UNKNOWN_CHARSET = "The encoding that the Content-Type names is not known"
UNKNOWN_ENCODING = "The encoding that the XML names is not known"
INVALID_CHARACTER = "has a character that can't be used (a control character or half of a surrogate pair)"
DTD = "The XML has a DTD or an entity declaration, which is not accepted"


def read(body: str | bytes, charset: str | None = None):
    content = body.encode() if isinstance(body, str) else body
    request = SimpleNamespace(META={"rostrum.charset": charset} if charset else {})
    return XMLParser().parse(BytesIO(content), "application/xml", {"request": request})


def test_it_works():
    body = """<?xml version="1.0" encoding="UTF-8"?>
        <post>
          <title>A dark theme</title>
          <category-id type="integer">7</category-id>
          <private type="boolean">true</private>
          <created-at type="dateTime">2009-02-02T00:34:02+01:00</created-at>
          <kind nil="true"/>
          <content></content>
          <tags type="array"><tag>ui</tag><tag>night</tag></tags>
        </post>
    """
    assert read(body) == {
        "post": {
            "title": "A dark theme",
            "category_id": 7,
            "private": True,
            "created_at": "2009-02-02T00:34:02+01:00",
            "kind": None,
            "content": "",
            "tags": ["ui", "night"],
        }
    }


MALFORMED = [
    *("x", "<", "<post", "<post>", "</post>", "<post></pots>", "<post/><post/>", "<post/>x", "<a b></a>", "<a b=c/>"),
    *("<a>&nbsp;</a>", "<a>&</a>", "<a>&;</a>", "<a><</a>", '<a b="1" b="2"/>', "<a>]]></a>", "<1/>", "<a-/ >"),
    *("<?xml?><a/>", ' <?xml version="1.0"?><a/>', "<a><![CDATA[</a>", "<!-- -- --><a/>", "{}", "title=x"),
    *("\0", "\ufeff", "<a>\0", "<post>\x01"),
]


@table("body", MALFORMED)
def test_it_rejects_malformed_xml(body):
    with pytest.raises((ParseError, FieldError)) as caught:
        read(body)
    if isinstance(caught.value, ParseError):
        assert str(caught.value).startswith("The XML can't be read: ")


@table(
    "body",
    [
        "<!DOCTYPE post><post/>",
        '<!DOCTYPE post SYSTEM "http://example.org/post.dtd"><post/>',
        '<!DOCTYPE post PUBLIC "-//x//y" "file:///etc/passwd"><post/>',
        '<!DOCTYPE post [<!ENTITY e "x">]><post>&e;</post>',
        '<!DOCTYPE post [<!ENTITY e SYSTEM "file:///etc/passwd">]><post>&e;</post>',
        '<!DOCTYPE post [<!ENTITY % e SYSTEM "http://example.org/">%e;]><post/>',
        '<!DOCTYPE post [<!ELEMENT post ANY><!ATTLIST post type CDATA "array">]><post/>',
        '<!DOCTYPE a [<!ENTITY b "bbbbbbbbbb"><!ENTITY c "&b;&b;&b;&b;&b;"><!ENTITY d "&c;&c;&c;&c;">]><a>&d;</a>',
    ],
)
def test_it_rejects_a_dtd(body):
    for content in (body, f'<?xml version="1.0"?>\n<!-- x -->{body}', body.encode("utf-16")):
        with pytest.raises(ParseError) as caught:
            read(content)
        assert str(caught.value) == DTD


UNSUPPORTED_ENCODINGS = "UTF-16 rot13 base64 nonsense shift_jis utf-7 idna undefined unicode_escape"
UNSUPPORTED_CHARSETS = [
    "rot13",
    "hex",
    "nonsense",
    "shift_jis",
    "utf-7",
    "utf-16",
    "undefined",
    "\xff",
    "x\0y",
    "x" * 10_000,
]


@table(
    ("body", "charset"),
    [
        *((f'<?xml version="1.0" encoding="{name}"?><a/>'.encode(), None) for name in UNSUPPORTED_ENCODINGS.split()),
        *((b"<a/>", charset) for charset in UNSUPPORTED_CHARSETS),
        (f"<a>{POLISH_TEXT}</a>".encode("iso-8859-2"), None),
        (f'<?xml version="1.0" encoding="UTF-8"?><a>{POLISH_TEXT}</a>'.encode("iso-8859-2"), None),
        (f'<?xml version="1.0" encoding="US-ASCII"?><a>{POLISH_TEXT}</a>'.encode(), None),
        (f"<a>{POLISH_TEXT}</a>".encode("iso-8859-2"), "utf8"),
        (f"<a>{POLISH_TEXT}</a>".encode(), "us-ascii"),
        (f"<a>{POLISH_TEXT}</a>".encode("utf-16"), "nonsense"),
        *((content, None) for content in (b"<a>\xc3</a>", b"<a>\xff</a>", b"<a>\xc0\xaf</a>")),
    ],
)
def test_it_rejects_unsupported_and_wrong_encodings(body, charset):
    with pytest.raises(ParseError):
        read(body, charset)


@table(
    ("content_type", "body", "sentence"),
    [
        ("application/xml; charset=rot13", b"<a/>", UNKNOWN_CHARSET),
        ("application/xml; charset=nonsense", b"<a/>", UNKNOWN_CHARSET),
        ("application/xml", b'<?xml version="1.0" encoding="nonsense"?><a/>', UNKNOWN_ENCODING),
        ("text/xml", b'<?xml version="1.0" encoding="shift_jis"?><a/>', UNSUPPORTED),
        ("application/xml; charset=shift_jis", b"<a/>", UNSUPPORTED),
        (
            "application/xml",
            f"<a>{POLISH_TEXT}</a>".encode("iso-8859-2"),
            "The XML can't be read: not well-formed (invalid token): line 1, column 5",
        ),
        ("application/xml", b"<a", "The XML can't be read: unclosed token: line 1, column 0"),
        ("text/xml", b"<a></b>", "The XML can't be read: mismatched tag: line 1, column 5"),
        ("text/xml", b"<!DOCTYPE post><post/>", DTD),
    ],
)
def test_unreadable_bodies_get_status_400(acme, content_type, body, sentence):
    for path in ("/", "/app/posts.xml"):
        response = acme.xml().post(path, content=body, headers={"Content-Type": content_type})
        assert shown(response) == refusal(400, sentence)


def nested(depth: int) -> str:
    return "<a>" * depth + "</a>" * depth


def test_it_rejects_xml_that_is_nested_too_deeply(acme):
    read(nested(MAX_DEPTH))
    sentence = f"The XML is nested too deeply (maximum is {MAX_DEPTH})"
    for depth in (MAX_DEPTH + 1, 1000, 140_000):
        assert shown(acme.xml().send_xml("POST", "/", nested(depth))) == refusal(400, sentence)


def test_many_elements_and_attributes_are_read():
    assert read(f"<a>{'<b/>' * 20_000}</a>") == {"a": {"b": [""] * 20_000}}
    assert read("<a " + " ".join(f'b{number}="{number}"' for number in range(5000)) + "/>") == {"a": ""}
    assert read(f"<{'a' * 500_000}/>") == {"a" * 500_000: ""}


@pytest.mark.parametrize("attribute", ['xmlns="{}"', 'xmlns:x="{}"'])
def test_it_rejects_long_namespaces(acme, attribute):
    """The parser repeats the namespace in every name, so even short elements would take long."""
    sentence = "The XML has a namespace that is too long (maximum is 255 characters)"
    body = "<a " + attribute.format("u" * 500_000) + f">{'<b/>' * 100_000}</a>"
    started_at = process_time()
    assert shown(acme.xml().send_xml("POST", "/", body)) == refusal(400, sentence)
    assert process_time() - started_at < 2
    nested_body = "<a><b " + attribute.format("u" * 256) + "/></a>"
    assert shown(acme.xml().send_xml("POST", "/", nested_body)) == refusal(400, sentence)
    assert read("<a " + attribute.format("u" * 255) + "><b/></a>") == {"a": {"b": ""}}


@table("body", ["", " ", "\n\t\r\n"])
def test_an_empty_body_has_no_parameters(body):
    assert read(body) == {}


@table(
    ("body", "expected"),
    [
        ("<order>rejected</order>", {"order": "rejected"}),
        ("<order/>", {"order": ""}),
        ('<order nil="true"/>', {"order": None}),
        ('<order nil="1">old</order>', {"order": None}),
        ('<order nil="false">old</order>', {"order": "old"}),
        ("<hash><order>old</order><page>2</page></hash>", {"order": "old", "page": "2"}),
        ("<hash><per-page>2</per-page></hash>", {"per_page": "2"}),
        ("<hash><per_page>2</per_page></hash>", {"per_page": "2"}),
        ("<hash/>", {}),
        ("<hash>text</hash>", {}),
        ('<hash nil="true"/>', {}),
        ('<hash type="array"><order>old</order></hash>', {}),
        ("<hash><hash><order>old</order></hash></hash>", {"hash": {"order": "old"}}),
        ('<a type="integer">-7</a>', {"a": -7}),
        ('<a type="integer"> 7 </a>', {"a": 7}),
        ('<a type="INTEGER">7</a>', {"a": 7}),
        ('<a type="integer"/>', {"a": ""}),
        ('<a type="integer">seven</a>', {"a": "seven"}),
        ('<a type="integer">-</a>', {"a": "-"}),
        ('<a type="integer">--7</a>', {"a": "--7"}),
        ('<a type="integer">7.0</a>', {"a": "7.0"}),
        ('<a type="integer">²</a>', {"a": "²"}),
        (f'<a type="integer">{"9" * 5000}</a>', {"a": "9" * 5000}),
        ('<a type="boolean">true</a>', {"a": True}),
        ('<a type="boolean"> 0 </a>', {"a": False}),
        ('<a type="boolean">maybe</a>', {"a": "maybe"}),
        ('<a type="string">7</a>', {"a": "7"}),
        ('<a type="datetime">2009-02-02T00:34:02+01:00</a>', {"a": "2009-02-02T00:34:02+01:00"}),
        ('<a type="unknown">7</a>', {"a": "7"}),
        ('<a type="array"/>', {"a": []}),
        ('<a type="array"><b>1</b><c>2</c></a>', {"a": ["1", "2"]}),
        ('<a type="array"><b><c>1</c></b></a>', {"a": [{"c": "1"}]}),
        ("<a><b>1</b><b>2</b></a>", {"a": {"b": ["1", "2"]}}),
        ("<a>\n  <b/>\n  text\n</a>", {"a": {"b": ""}}),
        ("<a-b-c><d-e/></a-b-c>", {"a_b_c": {"d_e": ""}}),
        ('<x:post xmlns:x="http://example.org/"><x:title>t</x:title></x:post>', {"post": {"title": "t"}}),
        ('<post xmlns="http://example.org/"><title>t</title></post>', {"post": {"title": "t"}}),
        ("<a><!-- c -->x<?pi y?>z</a>", {"a": "xz"}),
        ("<a> kept </a>", {"a": " kept "}),
    ],
)
def test_parsed_values(body, expected):
    assert read(body) == expected


@table(
    ("text", "expected"),
    [
        ("&lt;&gt;&amp;&quot;&apos;", "<>&\"'"),
        ("&#379;&#xF3;&#x142;w", "Żółw"),
        ("&#129417;", "🦉"),
        ("&#13;&#10;&#9;", "\r\n\t"),
        ("a\r\nb\rc", "a\nb\nc"),
        ("<![CDATA[<b>&amp;</b>]]>", "<b>&amp;</b>"),
        ("x<![CDATA[]]]]><![CDATA[>]]>y", "x]]>y"),
        ("&amp;lt;", "&lt;"),
        ("\u0085\u2028\ufeff", "\u0085\u2028\ufeff"),
    ],
)
def test_characters_and_references_are_decoded(text, expected):
    assert read(f"<a>{text}</a>") == {"a": expected}


UTF_16 = ("utf-16-le", "utf-16-be")
# Encodings that clients send.
ENCODINGS = [
    (f"<a>{POLISH_TEXT}</a>".encode(), None),
    (f"<a>{POLISH_TEXT}</a>".encode(), "utf-8"),
    (f"<a>{POLISH_TEXT}</a>".encode(), "UTF8"),
    (f'<?xml version="1.0" encoding="utf8"?><a>{POLISH_TEXT}</a>'.encode(), None),
    (f"<?xml version='1.0' encoding='utf8'?>\n<a>{POLISH_TEXT}</a>".encode(), "UTF-8"),
    (codecs.BOM_UTF8 + f"<a>{POLISH_TEXT}</a>".encode(), None),
    (codecs.BOM_UTF8 + f"<a>{POLISH_TEXT}</a>".encode(), "iso-8859-2"),
    (codecs.BOM_UTF8 + f'<?xml version="1.0" encoding="ISO-8859-2"?><a>{POLISH_TEXT}</a>'.encode(), None),
    (f'<?xml version="1.0" encoding="ISO-8859-2"?><a>{POLISH_TEXT}</a>'.encode("iso-8859-2"), None),
    (f'<?xml version="1.0" encoding="iso-8859-2" standalone="yes"?><a>{POLISH_TEXT}</a>'.encode("iso-8859-2"), None),
    (f'<?xml version="1.0" encoding="windows-1250"?><a>{POLISH_TEXT}</a>'.encode("windows-1250"), None),
    (f"<a>{POLISH_TEXT}</a>".encode("iso-8859-2"), "iso-8859-2"),
    (f"<a>{POLISH_TEXT}</a>".encode("iso-8859-2"), "ISO8859-2"),
    (f"<a>{POLISH_TEXT}</a>".encode("windows-1250"), "windows-1250"),
    # The header takes precedence over the declaration (RFC 7303).
    (f'<?xml version="1.0" encoding="UTF-8"?><a>{POLISH_TEXT}</a>'.encode("iso-8859-2"), "iso-8859-2"),
    (f'<?xml version="1.0" encoding="ISO-8859-2"?><a>{POLISH_TEXT}</a>'.encode(), "utf-8"),
    (f"<a>{POLISH_TEXT}</a>".encode("utf-16"), None),
    (f"<a>{POLISH_TEXT}</a>".encode("utf-16"), "utf-16"),
    (f'<?xml version="1.0" encoding="UTF-16"?><a>{POLISH_TEXT}</a>'.encode("utf-16"), None),
    (codecs.BOM_UTF16_BE + f"<a>{POLISH_TEXT}</a>".encode("utf-16-be"), "utf-8"),
    *((f"<a>{POLISH_TEXT}</a>".encode(encoding), charset) for encoding in UTF_16 for charset in (None, encoding)),
    (f'<?xml version="1.0" encoding="UTF-16"?><a>{POLISH_TEXT}</a>'.encode("utf-16-le"), None),
    ("<a>Za&#380;&#243;&#322;&#263; g&#281;&#347;l&#261; ja&#378;&#324;</a>".encode("ascii"), "us-ascii"),
]


@table(("body", "charset"), ENCODINGS)
def test_accepted_encodings(body, charset):
    assert read(body, charset) == {"a": POLISH_TEXT}


def test_iso_8859_2_through_the_application(acme):
    for content_type, declared_encoding in (
        ("application/xml", "ISO-8859-2"),
        ('text/xml; charset="iso-8859-2"', None),
        ("text/xml;version=1;CHARSET='iso-8859-2'", "UTF-8"),
    ):
        declaration = f'<?xml version="1.0" encoding="{declared_encoding}"?>' if declared_encoding else ""
        body = f"{declaration}<post><title>{POLISH_TEXT}</title></post>".encode("iso-8859-2")
        response = acme.xml().post("/app/posts.xml", content=body, headers={"Content-Type": content_type})
        assert response.status_code == 201
        assert acme.account.posts.latest("id").title == POLISH_TEXT
    assert shown(acme.xml().get("/")) == posts(*acme.account.posts.order_by("-id"))


@settings(deadline=None)
@given(st.binary(max_size=300) | st.binary(max_size=100).map(lambda raw: b"<a>" + raw + b"</a>"))
@example(b'<a type="integer">\xc2\xb2</a>')
@example(b"<a>\xed\xa0\x80</a>")
@example(b'<?xml version="1.0" encoding="punycode"?><a/>')
@example(b"\xff\xfe<\0a\0/\0>\0")
def test_any_bytes_are_read_or_rejected(body):
    try:
        value = read(body)
    except (ParseError, FieldError):
        return
    assert isinstance(value, dict)


INVALID_CHARACTERS = st.sampled_from([*map(chr, {*range(0x20)} - {0x9, 0xA, 0xD}), "\ufffe", "\uffff"]) | st.characters(
    categories=["Cs"]
)
TEXTS = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cc"], exclude_characters="<&]\ufffe\uffff"), max_size=20
)


@settings(deadline=None)
@given(TEXTS, INVALID_CHARACTERS, TEXTS, st.sampled_from(["{}", "<![CDATA[{}]]>", "&#{};", "&#x{:X};"]))
def test_errors_of_invalid_characters_name_the_field(before, character, after, notation):
    invalid_text = notation.format(ord(character) if "#" in notation else character)
    body = f"<post><title>x</title><my-text>{before}{invalid_text}{after}</my-text></post>"
    with pytest.raises(FieldError) as caught:
        read(body.encode(errors="surrogatepass"))
    assert errors_of(caught.value) == {"my_text": [INVALID_CHARACTER]}


@table("encoding", UTF_16)
@table("text", ["a\ud800bcd", "a\ud800", "\udc00", "\ud800\ud800\udc00", "\0", "\uffff"])
def test_it_rejects_invalid_characters_in_utf_16(encoding, text):
    with pytest.raises(FieldError) as caught:
        read(f"<a><b>{text}</b></a>".encode(encoding, "surrogatepass"))
    assert errors_of(caught.value) == {"b": [INVALID_CHARACTER]}


@table("encoding", ["utf-16", *UTF_16])
@table("text", ["fish & chips", "<c>", "a < b", "&nbsp;", '<c d="1" d="2"/>', "<x:c/>"])
def test_it_rejects_malformed_xml_in_utf_16(encoding, text):
    with pytest.raises(ParseError, match="The XML can't be read"):
        read(f"<a><b>{text}</b></a>".encode(encoding))


def test_it_rejects_truncated_utf_16():
    for encoding in ("utf-16", *UTF_16):
        with pytest.raises(ParseError, match="is not in the encoding that it begins with"):
            read("<a>🦉</a>".encode(encoding)[:-1])


MARKUP = st.sampled_from(
    [
        *("<a>", "</a>", "<b-c>", "</b-c>", "<hash>", "</hash>", "<a/>", '<a type="array">', '<a type="integer">'),
        *("<a nil='true'>", "<![CDATA[", "]]>", "<!--", "-->", "<!DOCTYPE a>", "<?xml version='1.0'?>", "&amp;"),
        *("&#0;", "&x;", "<", ">", "1", "\0"),
    ]
)


@settings(deadline=None)
@given(st.lists(MARKUP | st.text(max_size=5), max_size=20).map("".join), st.none() | st.text(max_size=12))
@example("<hash><a/></hash>", "utf-32")
@example("<a/>", "cp037")
@example("<a/>", "oem")
def test_any_markup_is_read_or_rejected(body, charset):
    try:
        value = read(body.encode(errors="surrogatepass"), charset)
    except (ParseError, FieldError):
        return
    assert isinstance(value, dict)
    assert all(isinstance(name, str) for name in value)


@table(
    "codec",
    sorted({*aliases.values(), "idna", "punycode", "raw_unicode_escape", "undefined", "unicode_escape", "palmos"}),
)
def test_no_codec_of_python_causes_another_error(codec):
    for body, charset in (
        (b"<a>\xc4\x85</a>", codec),
        (f"<?xml version='1.0' encoding='{codec}'?><a>\xff</a>".encode(), None),
    ):
        try:
            assert list(read(body, charset)) == ["a"]
        except (ParseError, FieldError):
            continue
