"""The entries of the search index: each contains its account, so that no look-up of words or of their parts reads those of other accounts."""

import json

from django.db import connection

from core.search.queries import search_transaction
from core.search.terms import ConditionalRows, Query
from crm.clients.models import Client
from tests.support.assertions import read
from tests.support.factories import make_client, make_post
from tests.support.tables import table


def query_value(sql: str, *values):
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {sql}", values)
        return cursor.fetchone()[0]


def lexemes(account_id: int, text: str) -> list[str]:
    return query_value("tsvector_to_array(search.words(%s, %s, 1000))", account_id, text)


def make_clients(user, names) -> None:
    """Insert clients, move them from the pending list into the index, and update the statistics."""
    common = {"account": user.account, "creator_id": user.id, "updater_id": user.id}
    Client.objects.bulk_create((Client(**common, name=name) for name in names), batch_size=1000)
    with connection.cursor() as cursor:
        cursor.execute("SELECT gin_clean_pending_list('client_found')")
        cursor.execute("ANALYZE crm_client")


def lookup(account, text: str, condition) -> tuple[int, int]:
    """Return the numbers of pages and of rows that a lookup reads. `condition` is a method of `Query`."""
    with search_transaction(account.id, text) as query, connection.cursor() as cursor:
        sql, values = ConditionalRows(account.clients.live()).matching(condition(query))
        cursor.execute(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {sql}", values)
        plan = cursor.fetchone()[0]
    plan = (json.loads(plan) if isinstance(plan, str) else plan)[0]["Plan"]
    return plan["Shared Hit Blocks"] + plan["Shared Read Blocks"], plan["Actual Rows"]


def letters(number: int) -> str:
    return "".join(chr(ord("a") + int(digit)) for digit in f"{number:04}")


def test_a_lookup_reads_no_words_of_other_accounts(acme, other):
    # The texts and conditions of lookups, and how many pages more they may read: the trees of the index may be deeper.
    lookups = [
        ("wrobl", Query.prefixes, 5),
        ("roblews", Query.substrings, 5),
        # Two look-ups.
        ("roblews", Query.prefixes_or_substrings, 10),
    ]
    make_clients(acme.alice, ["Wróblewski Gdynia", *(f"Client {letters(n)}" for n in range(50))])
    before = [lookup(acme.account, text, condition) for text, condition, _more in lookups]
    words = [f"Wroblews{letters(n)} Wr{letters(n)} Gd{letters(n)}" for n in range(2500)]
    make_clients(other.mallory, [" ".join(words[n : n + 5]) for n in range(0, 2500, 5)])
    after = [lookup(acme.account, text, condition) for text, condition, _more in lookups]
    assert [found for _pages, found in [*before, *after]] == [1] * 6
    assert [
        (text, condition.__name__, pages, more_pages)
        for (text, condition, more), (pages, _), (more_pages, _) in zip(lookups, before, after, strict=True)
        if more_pages > pages + more
    ] == []


@table(
    ("text", "expected"),
    {
        "Jan KOWALSKI": ["BQ.jan", "BQ.kowalski", "BQ.þjankowalski"],
        "601-234-567 17b a": ["BQ.17b", "BQ.234", "BQ.567", "BQ.601", "BQ.a"],
        "1e5 0x1f 1.2.3 http://x.example/y?z=1": [
            *("BQ.0x1f", "BQ.1", "BQ.1e5", "BQ.2", "BQ.3", "BQ.example", "BQ.http", "BQ.x", "BQ.y"),
            *("BQ.z", "BQ.þexampley", "BQ.þhttpx", "BQ.þxexample", "BQ.þyz"),
        ],
        "Ковальский 日本語": ["BQ.ковальский", "BQ.日本", "BQ.本語", "BQ.語"],
        "テスト。한국어": ["BQ.スト", "BQ.テス", "BQ.ト", "BQ.국어", "BQ.어", "BQ.한국"],
        "שָׁלוֹם مُحَمَّد": ["BQ.שלום", "BQ.محمد"],
        "it's 'quoted' \\ back": [
            *("BQ.back", "BQ.it", "BQ.quoted", "BQ.s", "BQ.þits", "BQ.þquotedback"),
            "BQ.þsquoted",
        ],
        "An e-mail, 5 log ins": [
            *("BQ.5", "BQ.an", "BQ.e", "BQ.email", "BQ.ins", "BQ.log", "BQ.mail", "BQ.þane", "BQ.þemail"),
            *("BQ.þlogins", "BQ.þmailemail"),
        ],
        "ż" * 900: ["BQ." + "z" * 255],
        "𐐀" * 900: ["BQ." + "𐐨" * 255],
        "": [],
    }.items(),
)
def test_each_lexeme_begins_with_the_account(db, text, expected):
    assert lexemes(5, text) == expected


def test_no_account_is_the_beginning_of_another_one(db):
    accounts = [0, 1, 5, 255, 256, 1280, 65_535, 65_536, 2**47, 2**48 - 1, 2**63 - 1]
    prefixes = [query_value("search.account(%s)", account) for account in accounts]
    assert not [(a, b) for a in prefixes for b in prefixes if a is not b and b.startswith(a)]
    assert query_value("search.query(5, %s)", "'a':*A & ('b2' | !'c')") == "'BQ.a':*A & ( 'BQ.b2' | !'BQ.c' )"


def parts(account_id: int, text: str) -> set[int]:
    return set(query_value("search.parts(%s, search.fold(%s))", account_id, text))


@table(
    ("text", "part", "contains"),
    [
        ("Jan Kowalski", "owals", True),
        ("Jan Kowalski", "kowalska", False),
        # The part begins and ends within words.
        ("Jan Kowalski", "jan kow", True),
        ("48 601 234 567 48601234567", "12345", True),
        # Too short for a trigram: every text may contain it.
        ("Jan Kowalski", "ja", True),
        ("Ковальский", "валь", True),
        ("Ковальский", "вали", False),
        ("日本語", "日本", True),
    ],
)
def test_the_parts_of_a_text(db, text, part, contains):
    is_indexed = query_value("cardinality(show_trgm('вал')) > 0")
    assert (parts(5, part) <= parts(5, text)) == (contains or not (part.isascii() or is_indexed))


def test_the_parts_of_accounts_differ(db):
    assert len(parts(5, "Kowalski")) == 6
    assert not parts(5, "Kowalski") & parts(6, "Kowalski")


def test_the_words_of_any_text_fit_into_a_row(acme):
    """The lexemes need most space for different words of one character of four bytes."""
    characters = " ".join(map(chr, range(0x20000, 0x20000 + 42_000)))
    run = characters.replace(" ", "")
    for note, description in ((characters[:65_536], characters[20_000:80_000]), (run[:30_000], run[12_000:])):
        client = make_client(acme.alice, "Nowak", note=note, description=description)
        assert query_value("length(search_words) FROM crm_client WHERE id = %s", client.id) > 12_000


@table(
    ("title", "query"),
    [
        ("Send an e-mail when a task is due", "email"),
        ("Send an e-mail when a task is due", "e-mail"),
        ("Send an email when a task is due", "e-mail"),
        ("Send an email when a task is due", "e mail task"),
        ("Let me log in", "login"),
        ("The login page", "log in"),
        ("The login page", "page log in"),
        ("Dark mode for the app", "darkmode"),
        ("Darkmode for the app", "dark mode"),
        ("A set-up for teams", "setup"),
        ("请增加深色模式支持", "深色模式"),
        ("请增加深色模式支持", "支持"),
        ("请增加深色模式支持", "深"),
        ("请增加iPhone支持", "iphone支持"),
        ("ダークモードを追加してください", "モード"),
        ("다크모드를 추가해 주세요", "모드"),
        ("Wsparcie dla 深色模式", "wsparcie 模式"),
        ("שָׁלוֹם", "שלום"),
        ("שלום", "שָׁלוֹם"),
        ("مُحَمَّد", "محمد"),
        ("محمد", "مُحَمَّد"),
    ],
)
def test_words_that_are_written_differently(acme, title, query):
    """The list and the search over everything find the row, beside other matches."""
    expected = make_post(acme.alice, title)
    for number in range(3):
        make_post(acme.alice, f"Other {number}")
    assert [row["id"] for row in read(acme.json().get("/app/posts.json", params={"q": query}))] == [expected.id]
    found = read(acme.json().get("/app/find.json", params={"q": query}))["suggestions"]
    assert [row["id"] for row in found] == [expected.id]


def test_words_written_together_and_apart_are_found_at_once(acme):
    titles = ["Log in by code", "A login by code", "Catalog insurance"]
    posts = [make_post(acme.alice, title) for title in titles]
    make_post(acme.alice, "Other", content="Please repair the login")
    for query in ("login", "log in"):
        found = read(acme.json().get("/app/find.json", params={"q": query}))["suggestions"]
        assert {row["id"] for row in found[:2]} == {post.id for post in posts[:2]}
