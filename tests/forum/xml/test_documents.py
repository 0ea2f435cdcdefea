"""Documents of the renderer. The parser of the Forum API and other XML parsers can read them."""

import re
from datetime import UTC, datetime, timedelta, timezone
from io import BytesIO
from zoneinfo import ZoneInfo

import pytest
from defusedxml import ElementTree
from hypothesis import given, settings
from hypothesis import strategies as st

from core.api.serializers import format_time
from core.db.text import is_xml_text
from core.rows.trimmed import is_blank
from forum.xml.documents import (
    CATEGORY,
    COMMENT,
    POST,
    POST_IN_LIST,
    STRING,
    USER,
    ElementType,
    array,
    document,
)
from forum.xml.formats import XMLParser
from tests.support.factories import make_category
from tests.support.tables import table
from tests.support.xml import CONTENT_TYPE

WARSAW = ZoneInfo("Europe/Warsaw")
THING = ElementType("thing", "id", "title", "updated_at")

# The production Char of XML 1.0, section 2.2.
CHARACTERS = st.characters(blacklist_categories=["Cs"], blacklist_characters="\ufffe\uffff").filter(
    lambda character: character >= " " or character in "\t\n\r"
)
TEXTS = st.text(CHARACTERS)
TIMES = st.integers(0, 2**33).map(lambda seconds: datetime.fromtimestamp(seconds, UTC))


def read(body: bytes):
    return XMLParser().parse(BytesIO(body))


def test_it_works():
    rows = [
        (1, "<&>\"'", datetime(2009, 1, 26, 17, 6, 53, 999_999, tzinfo=UTC)),
        (-1, "", datetime(2009, 7, 26, 17, 6, 53, tzinfo=UTC)),
        (None, None, None),
    ]
    assert (
        document(array("things", THING, rows, WARSAW)).decode()
        == """\
<?xml version="1.0" encoding="UTF-8"?>
<things type="array">
  <thing>
    <id type="integer">1</id>
    <title>&lt;&amp;&gt;"'</title>
    <updated-at type="datetime">2009-01-26T18:06:53+01:00</updated-at>
  </thing>
  <thing>
    <id type="integer">-1</id>
    <title></title>
    <updated-at type="datetime">2009-07-26T19:06:53+02:00</updated-at>
  </thing>
  <thing>
    <id type="integer" nil="true"/>
    <title nil="true"/>
    <updated-at type="datetime" nil="true"/>
  </thing>
</things>
"""
    )


def test_it_rejects_a_shape_that_is_not_alphabetical():
    with pytest.raises(ValueError, match="alphabetical order"):
        ElementType("thing", "title", "id")


def test_it_rejects_a_row_of_the_wrong_length():
    with pytest.raises(ValueError, match="zip"):
        THING.write((1, "text"), WARSAW)


# The fields of each document, with their types.
DOCUMENTED_FIELDS = {
    USER: "created-at:datetime description email login name notification updated-at:datetime www",
    POST_IN_LIST: (
        "agent comments-cache:integer content created-at:datetime id:integer title updated-at:datetime"
        " votes-cache:integer"
    ),
    POST: (
        "agent category-id:integer comments-cache:integer content created-at:datetime id:integer kind"
        " responsible-id:integer status title updated-at:datetime votes-cache:integer"
    ),
    COMMENT: "agent comment created-at:datetime id:integer kind updated-at:datetime",
    CATEGORY: "id:integer name",
}


@table("shape", DOCUMENTED_FIELDS)
def test_shapes_have_the_documented_fields(shape):
    fields = dict(field.partition(":")[::2] for field in DOCUMENTED_FIELDS[shape].split())
    assert shape.fields == {name: kind or STRING for name, kind in fields.items()}


def test_an_empty_list():
    assert array("things", THING, [], WARSAW) == '<things type="array"/>\n'
    assert array("things", THING, iter([]), WARSAW, depth=2) == '    <things type="array"/>\n'


@table(
    ("time", "zone", "expected"),
    [
        (datetime(2009, 1, 26, 17, 6, 53, tzinfo=UTC), "UTC", "2009-01-26T17:06:53+00:00"),
        (datetime(2009, 1, 26, 17, 6, 53, 999_999, tzinfo=UTC), "UTC", "2009-01-26T17:06:53+00:00"),
        (datetime(2009, 1, 26, 17, 6, 53, tzinfo=UTC), "Europe/Warsaw", "2009-01-26T18:06:53+01:00"),
        (datetime(2009, 7, 26, 17, 6, 53, tzinfo=UTC), "Europe/Warsaw", "2009-07-26T19:06:53+02:00"),
        (datetime(2009, 7, 26, 17, 6, 53, tzinfo=UTC), "America/St_Johns", "2009-07-26T14:36:53-02:30"),
        (datetime(2009, 7, 26, 17, 6, 53, tzinfo=UTC), "Asia/Kathmandu", "2009-07-26T22:51:53+05:45"),
        (datetime(2009, 7, 26, 17, tzinfo=timezone(timedelta(hours=-7))), "UTC", "2009-07-27T00:00:00+00:00"),
    ],
)
def test_times_are_in_the_time_zone_of_the_account(time, zone, expected):
    assert format_time(time, ZoneInfo(zone)) == expected


@settings(deadline=None)
@given(TEXTS, st.integers(), TIMES)
def test_the_parser_reads_documents_of_the_renderer(text, number, time):
    body = document(THING.write((number, text, time), ZoneInfo("UTC")))
    assert read(body) == {
        "thing": {
            "id": number if len(str(number)) < 100 else str(number),
            "title": text,
            "updated_at": time.strftime("%Y-%m-%dT%H:%M:%S+00:00"),
        }
    }


@settings(deadline=None)
@given(st.lists(st.none() | TEXTS, max_size=5))
def test_other_parsers_read_documents_of_the_renderer(texts):
    shape = ElementType("thing", "text")
    body = document(array("things", shape, [[text] for text in texts], WARSAW))
    parsed = [
        None if element.get("nil") == "true" else element.text or ""
        for element in ElementTree.fromstring(body).iter("text")
    ]
    assert parsed == texts
    assert read(body) == {"things": [{"text": text} for text in texts]}


@settings(deadline=None)
@given(st.text(st.characters(codec=None)))
def test_is_xml_text_accepts_what_parsers_accept(text):
    body = document(ElementType("thing", "text").write([text], WARSAW)) if is_xml_text(text) else None
    if body is None:
        assert re.search("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", text)
    else:
        assert ElementTree.fromstring(body).findtext("text") == text


# Requests to the whole application. Hypothesis does not empty the database between examples, so each one creates a post.


def test_any_text_survives_a_round_trip_through_the_application(acme):
    client = acme.xml()

    @settings(deadline=None, max_examples=30)
    @given(TEXTS.map(lambda text: text[:255]).filter(lambda text: not is_blank(text)), TEXTS)
    def check_round_trip(title, content):
        body = ElementType("post", "content", "title").write([content, title], WARSAW)
        created = client.send_xml("POST", "/app/posts.xml", body)
        assert created.status_code == 201, created.text
        read_response = client.get(created.headers["Location"])
        assert read_response.headers["Content-Type"] == CONTENT_TYPE
        post = ElementTree.fromstring(read_response.content).find("post")
        assert (post.findtext("title"), post.findtext("content")) == (title, content)
        assert ElementTree.fromstring(created.content).findtext("title") == title

    check_round_trip()


def test_a_category_of_any_name_is_listed(acme):
    category = make_category(acme.account, "<b>\r\n&amp;]]>\t\u0085\u2028🦉")
    root = ElementTree.fromstring(acme.xml().get("/app/categories.xml").content)
    assert root.findall("category")[1].findtext("name") == category.name
