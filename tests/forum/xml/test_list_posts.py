from datetime import UTC, datetime, timedelta
from urllib.parse import quote

import pytest

from accounts.users.models import User
from forum.posts.models import Post
from tests.support.factories import make_category, make_forum, make_post, make_task, make_user
from tests.support.tables import table
from tests.support.xml import (
    CONTENT_TYPE,
    NOT_FOUND,
    UNSUPPORTED,
    basic,
    call,
    posts,
    refusal,
    shown,
    titles,
)

ORDERS = "new, old, top, commented, active, accepted, completed, duplicate, planned, rejected, started"
BAD_ORDER = f"Order is not one of {ORDERS}"
BAD_PAGE = "Page must be a whole number, 1 or more"
BAD_PER_PAGE = "Per page must be a whole number from 1 to 100"

NOON = datetime(2009, 2, 2, 12, tzinfo=UTC)


def change(post: Post, **values) -> None:
    Post.objects.filter(pk=post.pk).update(**values)
    post.refresh_from_db()


@pytest.fixture
def three_posts(acme) -> list[Post]:
    """Create three posts with different times, votes and comments."""
    created = [make_post(acme.alice, title) for title in ("first", "second", "third")]
    for hours, (post, votes, comments, active) in enumerate(
        zip(created, (1, 3, 2), (2, 1, 3), (30, 20, 10), strict=True)
    ):
        change(
            post,
            created_at=NOON + timedelta(hours=hours),
            votes_cache=votes,
            comments_cache=comments,
            updated_at=NOON + timedelta(hours=active),
        )
    return created


def test_it_works(acme, django_assert_num_queries):
    """tests/test_fast_reads.py compares lists with all values and time zones."""
    post = make_post(acme.carol, "A dark theme", content="So that one can read at night.")
    change(post, agent="Mozilla/5.0", comments_cache=2, votes_cache=5, updated_at=NOON)
    client = acme.xml()
    client.get("/")
    # The user with the account; the page.
    with django_assert_num_queries(2):
        response = client.get("/", params={"order": "new", "page": 1})
    assert shown(response) == posts(post)
    assert response.headers["Link"] == '<http://acme.example.test/?order=new&page=1>; rel="first"'


INVALID = {
    ("order", BAD_ORDER): ["newest", "NEW", "-id", "won", "new ", "\0", "ł", "0", "x" * 10_000],
    ("page", BAD_PAGE): ["0", "-1", "1.5", "one", "", " ", "1e3", "²", "0x1", "9" * 101, "1_0", "\0"],
    ("per_page", BAD_PER_PAGE): ["0", "101", "-1", "many", "1000000000000"],
}


def test_it_rejects_invalid_parameters(acme):
    client = acme.xml()
    for (name, sentence), values in INVALID.items():
        for value in values:
            assert shown(client.get("/", params={name: value})) == refusal(422, sentence), (name, value)
    response = client.get("/", params={"page": 0, "per_page": 0, "order": "x"})
    assert shown(response) == refusal(422, BAD_PAGE, BAD_PER_PAGE, BAD_ORDER)


@table(
    ("body", "sentence"),
    [
        ("<order><a>1</a></order>", BAD_ORDER),
        ('<order type="array"><a>1</a></order>', BAD_ORDER),
        ('<order type="integer">1</order>', BAD_ORDER),
        ('<order type="boolean">true</order>', BAD_ORDER),
        ("<page><a>1</a></page>", BAD_PAGE),
        ('<page type="array"/>', BAD_PAGE),
        ('<page type="boolean">true</page>', BAD_PAGE),
        ('<page type="integer">²</page>', BAD_PAGE),
        ('<per-page type="integer">101</per-page>', BAD_PER_PAGE),
    ],
)
def test_it_rejects_invalid_parameters_in_the_body(acme, body, sentence):
    assert shown(acme.xml().send_xml("GET", "/", body)) == refusal(422, sentence)


def test_it_rejects_unknown_categories_and_paths(acme):
    categories = "/Unknown /app /static /media /.well-known /General// /Unknown/ /General/x /%20 /a%2Fb /a%00b"
    paths = "/General.xml /General.xml/ /app/ /app/posts /app/unknown.xml"
    for path in (*categories.split(), *paths.split()):
        assert shown(acme.xml().get(path)) == refusal(404, NOT_FOUND), path


def test_it_rejects_a_form(acme):
    response = acme.xml().post("/", data={"order": "new"})
    assert shown(response) == refusal(415, UNSUPPORTED)


# Orders


ORDERED = {
    None: ["third", "second", "first"],
    "": ["third", "second", "first"],
    "new": ["third", "second", "first"],
    "old": ["first", "second", "third"],
    "top": ["second", "third", "first"],
    "popular": ["second", "third", "first"],
    "commented": ["third", "first", "second"],
    "active": ["first", "second", "third"],
}


def test_orders(acme, three_posts):
    # Members have a query of their own, because they do not see all posts.
    for client in (acme.xml(), acme.xml(acme.carol)):
        for order, expected in ORDERED.items():
            assert titles(client.get("/", params={} if order is None else {"order": order})) == expected, order
            if order:
                assert titles(client.send_xml("POST", "/", f"<order>{order}</order>")) == expected, order


def test_an_order_by_status_filters_its_posts(acme, three_posts, django_assert_num_queries):
    first, _second, third = three_posts
    rejected = acme.account.statuses.get(kind="post", code="rejected")
    change(first, status_id=rejected.id, private=True)
    change(third, status_id=rejected.id)
    make_post(acme.carol, "own", status=rejected, private=True)
    client = acme.xml()
    client.get("/")
    # The user with the account; the statuses; the page.
    with django_assert_num_queries(3):
        response = client.get("/", params={"order": "rejected"})
    assert titles(response) == ["own", "third", "first"]
    assert response.headers["Link"] == '<http://acme.example.test/?order=rejected&page=1>; rel="first"'
    assert titles(acme.xml(acme.carol).get("/?order=rejected")) == ["own", "third"]
    assert titles(client.get("/?order=planned")) == []


# Pages


def test_pages_and_their_links(acme):
    for number in range(1, 6):
        make_post(acme.alice, str(number))
    client = acme.xml()

    def page(number: int, size: int = 2):
        response = client.get("/", params={"page": number, "per_page": size})
        return titles(response), response.headers["Link"]

    url = "http://acme.example.test/?per_page=2"
    assert page(1) == (["5", "4"], f'<{url}&page=1>; rel="first", <{url}&page=2>; rel="next"')
    assert page(2) == (
        ["3", "2"],
        f'<{url}&page=1>; rel="first", <{url}&page=1>; rel="prev", <{url}&page=3>; rel="next"',
    )
    assert page(3) == (["1"], f'<{url}&page=1>; rel="first", <{url}&page=2>; rel="prev"')
    assert page(4) == ([], f'<{url}&page=1>; rel="first", <{url}&page=3>; rel="prev"')
    # A full last page has no next one.
    assert page(1, 5) == (["5", "4", "3", "2", "1"], f'<{url.replace("2", "5")}&page=1>; rel="first"')


def test_a_page_has_25_posts_by_default_and_100_at_most(acme):
    template = make_post(acme.alice, "0")
    columns = ("account_id", "forum_id", "category_id", "user_id", "status_id")
    Post.objects.bulk_create(
        Post(title=str(number), **{name: getattr(template, name) for name in columns}) for number in range(1, 101)
    )
    client = acme.xml()
    assert len(titles(client.get("/"))) == 25
    assert len(titles(client.get("/?per_page=100"))) == 100
    assert titles(client.get("/?per_page=100&page=2")) == ["0"]
    assert titles(client.get("/?page=5")) == ["0"]


def test_pages_past_the_end_are_empty(acme):
    make_post(acme.alice)
    for client in (acme.xml(), acme.xml(acme.carol)):
        for page in (2, 10_000, 2**31, 2**62, 2**63, 2**64, 10**99):
            assert shown(client.get("/", params={"page": page, "per_page": 100})) == posts(), page


def test_pages_neither_repeat_nor_skip_posts(acme):
    """Ties are ordered by id."""
    rejected = acme.account.statuses.get(kind="post", code="rejected")
    for number in range(7):
        post = make_post(acme.carol if number % 3 else acme.bob, str(number), status=rejected, private=bool(number % 2))
        change(post, created_at=NOON, updated_at=NOON, votes_cache=number // 2, comments_cache=number // 3)
    for user, visible in ((acme.alice, "6543210"), (acme.carol, "654210")):
        client = acme.xml(user)
        for order in ("new", "old", "top", "commented", "active", "rejected"):
            expected = [*(visible[::-1] if order == "old" else visible)]
            for size in (1, 3, 7):
                pages = [
                    titles(client.get("/", params={"order": order, "per_page": size, "page": page}))
                    for page in range(1, 8 // size + 2)
                ]
                assert [title for page in pages for title in page] == expected, (order, size)


def test_links_contain_only_parameters_of_the_list(acme):
    response = acme.xml().get("/?utm=1&api_token=secret&order=old&page=1&order=top")
    assert response.headers["Link"] == '<http://acme.example.test/?order=top&page=1>; rel="first"'


def test_links_have_the_host_of_the_request(acme):
    response = call("acme.example.test:8000", b"/", HTTP_AUTHORIZATION=basic("alice", "correct horse battery"))
    assert response.headers["Link"] == '<http://acme.example.test:8000/?page=1>; rel="first"'


# Parameters in query and body


@table("method", ["GET", "POST"])
def test_parameters_may_be_in_an_xml_body(acme, three_posts, method):
    client = acme.xml()
    assert shown(client.request(method, "/")) == posts(*reversed(three_posts))
    response = client.send_xml(method, "/general", "<order>old</order>")
    assert shown(response) == posts(*three_posts)
    assert response.headers["Link"] == '<http://acme.example.test/general?order=old&page=1>; rel="first"'

    # A body with several parameters is a hash. Names may have hyphens or underscores.
    for name in ("per-page", "per_page"):
        body = f'<hash><order>old</order><page type="integer">2</page><{name}>2</{name}></hash>'
        response = client.send_xml(method, "/", body)
        url = "http://acme.example.test/?order=old&per_page=2"
        assert shown(response) == posts(three_posts[2])
        assert response.headers["Link"] == f'<{url}&page=1>; rel="first", <{url}&page=1>; rel="prev"'


def test_the_body_takes_precedence_over_the_query(acme, three_posts):
    client = acme.xml()
    assert titles(client.send_xml("POST", "/?order=old&per_page=1", "<order>top</order>")) == ["second"]
    assert titles(client.send_xml("GET", "/?order=old", '<order nil="true"/>')) == ["third", "second", "first"]


def test_a_body_without_parameters_of_the_list(acme, three_posts):
    for body in ("", "  \n", "<hash/>", "<unknown>1</unknown>"):
        assert titles(acme.xml().send_xml("POST", "/", body)) == ["third", "second", "first"]
    response = acme.xml().send_xml("POST", "/", "<hash><unknown/><page/></hash>")
    assert shown(response) == refusal(422, BAD_PAGE)


# Accept


ACCEPTED = [
    None,
    *("*/*", "application/xml", "application/json", "image/png", "x", "", ";q=", "/", "application/xml;q=0"),
]


def test_the_accept_header_is_ignored(acme, three_posts):
    for path in ("/", "/General", "/app/posts.xml"):
        for accept in ACCEPTED:
            response = acme.xml().get(path, headers={} if accept is None else {"Accept": accept})
            assert shown(response) == posts(*reversed(three_posts)), (path, accept)
    # Browsers get XML at paths with a suffix.
    for path in ("posts.xml", "categories.xml", "users/me.xml", f"posts/{three_posts[0].id}.xml"):
        response = acme.xml().get(f"/app/{path}", headers={"Accept": "text/html,application/xhtml+xml"})
        assert response.headers["Content-Type"] == CONTENT_TYPE


# Categories


def test_a_path_without_a_name_lists_the_first_category(acme, three_posts):
    earlier = make_category(acme.account, "Earlier", position=0)
    post = make_post(acme.alice, "there", category_id=earlier.id)
    client = acme.xml()
    assert shown(client.get("/")) == posts(post)
    assert shown(client.get("/app/posts.xml")) == posts(post)
    assert shown(client.get("/General")) == posts(*reversed(three_posts))


def test_a_category_is_found_in_any_case(acme, django_assert_num_queries):
    category = make_category(acme.account, "Pomysły i błędy")
    post = make_post(acme.alice, category_id=category.id)
    make_post(acme.alice, "elsewhere")
    client = acme.xml()
    client.get("/")
    for name in ("Pomysły i błędy", "pomysły i błędy", "POMYSŁY I BŁĘDY", "pomysły i błe\u0328dy"):
        path = "/" + quote(name)
        with django_assert_num_queries(3):
            response = client.get(path, params={"per_page": 1})
        assert shown(response) == posts(post)
        assert response.headers["Link"] == f'<http://acme.example.test{path}?per_page=1&page=1>; rel="first"'


@table("name", ["a&b", "100%", "a+b", "a?b=c", "#1", "{}", "a b", "%41", "Ξένος", "🦉", "straße", "a.b", "-"])
def test_a_category_may_have_any_name(acme, name):
    make_post(acme.alice, "there", category_id=make_category(acme.account, name).id)
    path = "/" + quote(name, safe="")
    response = acme.xml().get(path)
    assert titles(response) == ["there"]
    link = response.headers["Link"]
    assert link.isascii()
    assert titles(acme.xml().get(link[1 : link.index(">")])) == ["there"]


def test_a_forum_without_categories_has_an_empty_list(acme):
    acme.account.categories.all().delete()
    client = acme.xml()
    response = client.get("/")
    assert shown(response) == posts()
    assert response.headers["Link"] == '<http://acme.example.test/?page=1>; rel="first"'
    assert shown(client.get("/General")) == refusal(404, NOT_FOUND)
    assert shown(client.get("/?page=0")) == refusal(422, BAD_PAGE)


# Visibility


# The states of a post of carol, newest first, and whether another member sees it. A task belongs to no forum.
STATES = {
    "task": None,
    "original": True,
    "trashed": None,
    "duplicate": None,
    "unapproved": False,
    "of kind private": False,
    "private": False,
    "closed": True,
    "open": True,
}


def test_who_sees_which_posts(acme):
    for title in reversed(STATES):
        if title == "task":
            make_task(acme.bob, title)
            continue
        post = make_post(
            acme.carol,
            title,
            closed=title == "closed",
            private=title == "private",
            kind="private" if title == "of kind private" else "suggestion",
            approved=title != "unapproved",
        )
        if title == "trashed":
            post.trash(by=acme.bob)
    change(Post.objects.get(title="duplicate"), duplicate_from_id=Post.objects.get(title="original").id)
    for user, is_insider in ((acme.bob, True), (acme.carol, True), (make_user(acme.account, "erin"), False)):
        expected = [title for title, is_open in STATES.items() if is_open or (is_insider and is_open is False)]
        for order in ("new", "old", "top", "commented", "active"):
            listed_titles = titles(acme.xml(user).get("/", params={"order": order}))
            assert sorted(listed_titles) == sorted(expected), (user, order)
            assert order != "new" or listed_titles == expected


def test_a_demoted_agent_loses_access_immediately(acme):
    make_post(acme.alice, "private", private=True)
    client = acme.xml(acme.bob)
    assert titles(client.get("/")) == ["private"]
    User.objects.filter(pk=acme.bob.pk).update(role="member")
    assert titles(client.get("/")) == []


# Tenancy


def test_each_forum_of_an_account_has_its_own_posts(acme):
    forum = make_forum(acme.account, "ideas")
    category = make_category(acme.account, "General", forum_id=forum.id, position=0)
    make_post(acme.alice, "first forum")
    make_post(acme.alice, "second forum", forum_id=forum.id, category_id=category.id)
    client = acme.xml()
    for path in ("/", "/general", "/app/posts.xml"):
        assert titles(client.get(path)) == ["first forum"]
        assert titles(client.get("http://ideas.example.org" + path)) == ["second forum"]


def test_the_number_of_queries_is_independent_of_the_number_of_posts(acme, django_assert_num_queries):
    for number in range(5):
        make_post(acme.carol, str(number), private=bool(number % 2))
    # A member takes one more, which reads whether they belong to the forum.
    for user, number in ((acme.alice, 2), (acme.carol, 3)):
        client = acme.xml(user)
        client.get("/")
        for query, expected in (("", "43210"), ("?per_page=2&page=2", "21")):
            with django_assert_num_queries(number):
                assert titles(client.get(f"/{query}")) == [*expected]


def test_paths_may_end_in_a_slash(acme, three_posts):
    client = acme.xml()
    for path in ("/General/", "/general/?order=old", "/%47eneral/"):
        expected = client.get(path.replace("/?", "?").rstrip("/"))
        assert titles(expected)
        for method in ("GET", "POST"):
            response = client.request(method, path)
            assert (response.status_code, response.content) == (200, expected.content), path
    for path in ("/app/posts.xml/", "/app/categories.xml/?x=1", "/app/users/me.xml/"):
        assert client.get(path).status_code == 200
        assert client.get(path.replace(".xml/", ".xml//")).status_code == 404
