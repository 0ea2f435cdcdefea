"""Matches of a search and their order. The tests of the lists cover the searched fields of each resource."""

import pytest
from django.db import connection
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.search.queries import MAX_RESULTS, search, search_transaction
from core.search.terms import ConditionalRows, Query, matching, prefix_similarity
from crm.clients.models import Client
from tests.support.assertions import read
from tests.support.factories import make_client
from tests.support.lists import values_by_page, values_of
from tests.support.queries import capture_parameters
from tests.support.tables import table

PATH = "/app/clients.json"


def search_names(acme, query: str) -> list[str]:
    return values_of(acme.json().get(PATH, params={"q": query}))


def test_it_works(acme):
    make_client(acme.alice, "Łucja Źdźbło", email="lucja@example.com")
    make_client(acme.alice, "John Smith", email="john@example.com")
    for query in ("łucja", "LUCJA", "źdźbło Łucja"):
        assert search_names(acme, query) == ["Łucja Źdźbło"]
    assert search_names(acme, "john") == ["John Smith"]
    assert search_names(acme, "example.com") == ["Łucja Źdźbło", "John Smith"]
    assert search_names(acme, "łucja smith") == []


@table("query", ["k", "g", "jon", "pan", "1044", "kowalski 601234568", "日本", "😀a"])
def test_queries_that_do_not_match(acme, query):
    """A similar number is another number, short words do not match similar ones, and a single letter is a word."""
    make_client(acme.alice, "Jan Kowalski", phone="601 234 567", city="Gdańsk", external_ids={"shop": "S-1043"})
    assert search_names(acme, query) == []


def test_short_terms_are_found_together_with_longer_ones(acme):
    make_client(acme.alice, "Felix Michalewicz", email="felix.michalewicz84@example.com")
    make_client(acme.alice, "Felix Michalewicz", email="felix.michalewicz91@example.com")
    for query in ("felix michalewicz 84", "84 felix", "michalewicz 84 example"):
        assert len(search_names(acme, query)) == 1, query


def test_results_are_ordered_by_rank(acme):
    """Order: exact word, prefix, text with the word, similar word. Then the shorter, then the older."""
    for name in ("Nowka", "Nowakowski", "Jan Nowak", "Ewa Nowak", "Nowak"):
        make_client(acme.alice, name)
    make_client(acme.alice, "In the note", note="Knows Nowak")
    expected = ["Nowak", "Jan Nowak", "Ewa Nowak", "Nowakowski", "In the note", "Nowka"]
    assert search_names(acme, "nowak") == expected
    assert search_names(acme, "jan nowak") == ["Jan Nowak"]
    # Pages have the same order, and the request may ask for another one.
    assert values_by_page(acme.json(), f"{PATH}?q=nowak&per_page=2") == [expected[:2], expected[2:4], expected[4:]]
    assert values_of(acme.json().get(f"{PATH}?q=nowak&order=name")) == sorted(expected)
    assert values_of(acme.json().get(f"{PATH}?q=nowak&order=-id"))[:2] == ["In the note", "Nowak"]


def test_a_whole_phone_number_ranks_above_a_part_of_one(acme):
    make_client(acme.alice, "Middle", phone="91234567")
    make_client(acme.alice, "Whole", phone="234-567")
    assert search_names(acme, "234567") == ["Whole", "Middle"]


@table("scan_rows", [1, 100])
@table("max_results", [2, 1000])
def test_frequent_words_are_searched_in_the_order_of_ids(acme, other, monkeypatch, scan_rows, max_results):
    # Estimate that the list is short and that every condition is common.
    monkeypatch.setattr("core.search.queries.estimate_rows", lambda sides: [0, *(10_000 for _condition in sides[1:])])
    monkeypatch.setattr("core.search.queries.SCAN_ROWS", scan_rows)
    monkeypatch.setattr("core.search.queries.MAX_RESULTS", max_results)
    monkeypatch.setattr("core.search.queries.RANKED_BATCH", max_results)
    for name in ("Ewa Nowak", "Adam Nowak", "Nowak", "Nowka"):
        make_client(acme.alice, name)
        make_client(other.mallory, name)
    # If more rows match than are ranked, the oldest are ranked.
    expected = ["Ewa Nowak", "Adam Nowak"] if max_results == 2 else ["Nowak", "Ewa Nowak", "Adam Nowak", "Nowka"]
    assert search_names(acme, "nowak") == expected


def test_a_mistyped_word_is_not_taken_for_a_common_one(acme, monkeypatch):
    """The estimate of a mistyped word leaves out its swapped letters, which are no words. Their estimates would add up."""
    estimated = []

    def estimate(sides):
        estimated.extend(str(values[-1]) for _sql, values in sides)
        return [0] * len(sides)

    monkeypatch.setattr("core.search.queries.estimate_rows", estimate)
    make_client(acme.alice, "Kowalski")
    assert search_names(acme, "kowaslki") == ["Kowalski"]
    assert "'kowas':*" in estimated
    assert not any("kowalski" in words for words in estimated)


def test_rows_with_the_same_similar_word_are_equally_similar(acme):
    """The similarity of a word that replaces a mistyped one is computed once. The weight of the word in the row then decides."""
    for name in ("Kowalska Kowalska Kowalska Kowalska", "Maria Kowalska Zofia", "Kowalska", "Kowalik"):
        make_client(acme.alice, name)
    expected = ["Kowalska", "Kowalska Kowalska Kowalska Kowalska", "Maria Kowalska Zofia", "Kowalik"]
    assert search_names(acme, "kowaslka") == expected


def test_a_large_account_looks_up_the_most_similar_word_first(acme, monkeypatch):
    """Other similar words are looked up only if the page has room for more rows."""
    # Estimate that the account is large and that nothing is common.
    monkeypatch.setattr("core.search.queries.estimate_rows", lambda sides: [20_000, *(0 for _condition in sides[1:])])
    for name in ("Kowalik", "Kowalska", "Maria Kowalska", "Zofia Kowalska"):
        make_client(acme.alice, name)
    assert search_names(acme, "kowaslka") == ["Kowalska", "Maria Kowalska", "Zofia Kowalska", "Kowalik"]
    _, statements = capture_parameters(lambda: acme.json().get(PATH, params={"q": "kowaslka", "per_page": 2}))
    looked_up = [str(values) for sql, values in statements if "candidates" in sql]
    assert any("kowalska" in values for values in looked_up)
    assert not any("kowalik" in values for values in looked_up)


def test_only_live_rows_of_the_account_are_found(acme, other):
    make_client(other.mallory, "Nowak")
    make_client(acme.alice, "Nowak").trash(by=acme.alice)
    assert search_names(acme, "nowak") == search_names(acme, "nowka") == []


def test_at_most_a_thousand_results_are_found(acme, monkeypatch):
    monkeypatch.setattr("core.search.queries.MAX_RESULTS", 5)
    monkeypatch.setattr("core.api.lists.MAX_RESULTS", 5)
    for number in range(8):
        make_client(acme.alice, f"Nowak {number}")
    json = acme.json()
    assert len(values_of(json.get(f"{PATH}?q=nowak"))) == 5
    assert len(values_of(json.get(f"{PATH}?q=nowak&order=-name"))) == 5
    last = json.get(f"{PATH}?q=nowak&per_page=2&page=3")
    assert len(values_of(last)) == 1
    assert "next" not in last.links
    assert values_of(json.get(f"{PATH}?q=nowak&per_page=2&page=4")) == []
    assert MAX_RESULTS == 1000


ODD_QUERIES = [
    *("'", "' | !a:*", "a' & 'b", "a:*b", "!a", "<->a", "\\", "a\\'", "%", "_a%", "a_b", "[a]", "{a}", "$1 a", "%s a"),
    *("-a", "a" * 255, "a " * 127, "ﷺ" * 255, "1" * 255, "\u2028a\u00a0b"),
]


@table("text", ODD_QUERIES)
def test_any_query_is_accepted(acme, text):
    make_client(acme.alice, "Jan")
    with search_transaction(acme.account.id, text) as query:
        assert isinstance(search(Client.objects.filter(account=acme.account), query), list)


def test_long_texts_of_any_letters_can_be_stored(acme):
    for letters in ("ﷺ", "𐐀 𐐁 ", "a1 b2 "):
        text = (letters * 65_536)[:65_536]
        body = {"client": {"name": text[:255], "note": text, "description": text, "email": text[:255]}}
        response = acme.json().post(PATH, json=body)
        assert response.status_code == 201, response.text[:1000]
        assert read(response)["note"] == text


@table(
    ("text", "folded"),
    {
        "Zażółć gęślą JAŹŃ": "zazolc gesla jazn",
        "Straße, Æther & Œuvre": "strasse aether oeuvre",
        "j.kowalski+a@firma-x.pl": "j kowalski a firma x pl",
        "e\u0301 ﬁ Ａ１ ①": "e fi a1 1",
        "“Ковальский” – №1": "ковальский no1",
        " a\t\n_b` ": "a b",
    }.items(),
)
def test_folded_texts(db, text, folded):
    with search_transaction(0, text) as query:
        assert query.text == folded


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.text(
            st.sampled_from("aąe\u0301\u0323ﬁＡ①각ᄀ\u1161")
            | st.characters(exclude_categories=["Cs"], exclude_characters="\0")
        ),
        max_size=20,
    )
)
def test_composed_and_normalized_texts_are_equal(db, texts):
    with connection.cursor() as cursor:
        cursor.execute("SELECT t, search.composed(t), normalize(t, NFKC) FROM unnest(%s::text[]) AS t", [texts])
        for text, composed, normalized in cursor.fetchall():
            assert composed == normalized, ascii(text)


@table("text", ["szyma", "jan szym", "aaaa", "6676", "la"])
def test_the_similarity_of_a_beginning_is_that_of_its_trigrams(db, text):
    with connection.cursor() as cursor:
        cursor.execute("SELECT word_similarity(%s, %s)", [text, f"of {text}xyz"])
        assert prefix_similarity(text) == pytest.approx(cursor.fetchone()[0])


def test_conditions_are_added_to_any_queryset(acme, other):
    for user, name, city in (
        (acme.alice, "Nowak", "Gdynia"),
        (acme.alice, "Nowak", "Sopot"),
        (acme.alice, "Kowalski", "Gdynia"),
        (other.mallory, "Nowak", "Gdynia"),
    ):
        make_client(user, name, city=city)
    condition = Query("nowak", acme.account.id).prefixes()
    in_gdynia = acme.account.clients.filter(city="Gdynia")
    for rows in (in_gdynia, in_gdynia.filter(id__in=acme.account.clients.filter(name="Nowak", tags=[]).values("id"))):
        with connection.cursor() as cursor:
            cursor.execute(*ConditionalRows(rows).matching(condition))
            assert [row[0] for row in cursor.fetchall()] == [matching(rows, condition).get().id]


@table(
    ("text", "digits", "words", "variants"),
    [
        ("jan", "", "('jan':* | 'þjan')", "('jan' | 'þjan')"),
        ("a b2 a", "", "'a' & 'b2':*", "'a' & 'b2'"),
        ("601 234", "601234", "'601':* & '234':*", "'601' & '234'"),
        ("00 486 0123 4567", "601234567", "'00':* & '486':* & '0123':* & '4567':*", "'00' & '486' & '0123' & '4567'"),
        ("a nowak", "", "'a' & ('nowak':* | 'þnowak')", "'a' & ('nowa':* | 'onwak' | 'nwoak' | 'noawk' | 'nowka')"),
        (
            "umowami",
            "",
            "('umowami':* | 'þumowami')",
            "('umowa':* | 'muowami' | 'uomwami' | 'umwoami' | 'umoawmi' | 'umowmai' | 'umowaim')",
        ),
    ],
)
def test_terms_of_a_query(text, digits, words, variants):
    query = Query(text, account_id=1)
    assert (query.digits, query.prefix_tsquery, query.variant_tsquery) == (digits, words, variants)
