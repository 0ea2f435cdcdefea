from datetime import UTC, datetime, timedelta
from urllib.parse import quote

import pytest

from accounts.models import User
from forum.models import Post
from tests.support.factories import make_category, make_post, make_task, make_user
from tests.support.tables import table
from tests.support.xml import (
    CONTENT_TYPE,
    NOT_ALLOWED,
    NOT_FOUND,
    UNAUTHENTICATED,
    UNSUPPORTED,
    basic,
    call,
    client_of,
    posts,
    refusal,
    shown,
    titles,
)

LIST = """<?xml version="1.0" encoding="UTF-8"?>
<posts type="array">
  <post>
    <agent>Mozilla/5.0</agent>
    <comments-cache type="integer">2</comments-cache>
    <content>So that one can read at night.</content>
    <created-at type="datetime">2009-02-02T00:34:02+01:00</created-at>
    <id type="integer">{id}</id>
    <title>A dark theme</title>
    <updated-at type="datetime">2009-07-02T00:34:02+02:00</updated-at>
    <votes-cache type="integer">5</votes-cache>
  </post>
</posts>
"""

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
    acme.account.time_zone = "Europe/Warsaw"
    acme.account.save()
    post = make_post(acme.carol, "A dark theme", content="So that one can read at night.")
    change(
        post,
        agent="Mozilla/5.0",
        comments_cache=2,
        votes_cache=5,
        created_at=datetime(2009, 2, 1, 23, 34, 2, 999_999, tzinfo=UTC),
        updated_at=datetime(2009, 7, 1, 22, 34, 2, tzinfo=UTC),
    )
    client = acme.xml()
    client.get("/")
    # The user with the account; the page.
    with django_assert_num_queries(2):
        response = client.get("/", params={"order": "new", "page": 1})
    assert shown(response) == (200, CONTENT_TYPE, LIST.format(id=post.id))
    assert response.headers["Link"] == '<http://acme.example.test/?order=new&page=1>; rel="first"'


@table("path", ["/", "/General", "/app/posts.xml"])
def test_it_rejects_anonymous_requests(acme, path):
    response = client_of(acme, "anonymous").get(path)
    assert shown(response) == refusal(401, UNAUTHENTICATED)


@table("method", ["PUT", "PATCH", "DELETE", "OPTIONS", "FOO"])
@table("path", ["/", "/General", "/app/posts.xml"])
def test_it_rejects_other_methods(acme, path, method):
    response = acme.xml().request(method, path)
    assert shown(response) == refusal(405, NOT_ALLOWED)
    assert response.headers["Allow"] == "GET, HEAD, POST"


@table("order", ["newest", "NEW", "-id", "won", "new ", "\0", "ł", "0", "x" * 10_000])
def test_it_rejects_an_unknown_order(acme, order):
    response = acme.xml().get("/", params={"order": order})
    assert shown(response) == refusal(422, BAD_ORDER)


@table("page", ["0", "-1", "1.5", "one", "", " ", "1e3", "²", "0x1", "9" * 101, "1_0", "\0"])
def test_it_rejects_a_page_that_is_not_a_positive_number(acme, page):
    assert shown(acme.xml().get("/", params={"page": page})) == refusal(422, BAD_PAGE)


@table("per_page", ["0", "101", "-1", "many", "1000000000000"])
def test_it_rejects_a_per_page_out_of_range(acme, per_page):
    assert shown(acme.xml().get("/", params={"per_page": per_page})) == refusal(422, BAD_PER_PAGE)


def test_it_rejects_every_error_at_once(acme):
    response = acme.xml().get("/", params={"page": 0, "per_page": 0, "order": "x"})
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


@table(
    "path",
    [
        "/Unknown",
        "/app",
        "/static",
        "/media",
        "/.well-known",
        "/General//",
        "/Unknown/",
        "/General/x",
        "/%20",
        "/a%2Fb",
        "/a%00b",
    ],
)
def test_it_rejects_an_unknown_category(acme, path):
    assert shown(acme.xml().get(path)) == refusal(404, NOT_FOUND)


@table("path", ["/General.xml", "/General.xml/", "/app/", "/app/posts", "/app/unknown.xml"])
def test_it_rejects_unknown_paths(acme, path):
    assert shown(acme.xml().get(path)) == refusal(404, NOT_FOUND)


def test_it_rejects_a_form(acme):
    response = acme.xml().post("/", data={"order": "new"})
    assert shown(response) == refusal(415, UNSUPPORTED)


# Orders


@table(
    ("order", "expected"),
    [
        (None, ["third", "second", "first"]),
        ("", ["third", "second", "first"]),
        ("new", ["third", "second", "first"]),
        ("old", ["first", "second", "third"]),
        ("top", ["second", "third", "first"]),
        ("commented", ["third", "first", "second"]),
        ("active", ["first", "second", "third"]),
    ],
)
def test_orders(acme, three_posts, order, expected):
    parameters = {} if order is None else {"order": order}
    assert titles(acme.xml().get("/", params=parameters)) == expected
    # Members have a query of their own, because they do not see all posts.
    assert titles(acme.xml(acme.carol).get("/", params=parameters)) == expected


@table(
    ("order", "expected"),
    [
        ("new", ["third", "second", "first"]),
        ("old", ["first", "second", "third"]),
        ("top", ["third", "second", "first"]),
        ("commented", ["third", "second", "first"]),
        ("active", ["third", "second", "first"]),
        ("rejected", ["third", "second", "first"]),
    ],
)
def test_ties_are_ordered_by_id(acme, order, expected):
    rejected = acme.account.statuses.get(kind="post", code="rejected")
    for title in ("first", "second", "third"):
        post = make_post(acme.alice, title, status=rejected, private=title == "second")
        change(post, created_at=NOON, updated_at=NOON)
    client = acme.xml()
    assert titles(client.get("/", params={"order": order})) == expected
    pages = [titles(client.get("/", params={"order": order, "per_page": 1, "page": page})) for page in (1, 2, 3, 4)]
    assert pages == [[expected[0]], [expected[1]], [expected[2]], []]


def test_an_order_by_status_filters_its_posts(acme, three_posts, django_assert_num_queries):
    rejected = acme.account.statuses.get(kind="post", code="rejected")
    for post in (three_posts[0], three_posts[2]):
        change(post, status_id=rejected.id)
    client = acme.xml()
    client.get("/")
    # The user with the account; the statuses; the page.
    with django_assert_num_queries(3):
        response = client.get("/", params={"order": "rejected"})
    assert shown(response) == posts(three_posts[2], three_posts[0])
    assert response.headers["Link"] == '<http://acme.example.test/?order=rejected&page=1>; rel="first"'
    assert titles(client.get("/?order=planned")) == []


@table("code", ["accepted", "planned", "started", "completed", "rejected", "duplicate"])
def test_every_status_code_is_a_valid_order(acme, code):
    make_post(acme.alice, "new")
    make_post(acme.alice, code, status=acme.account.statuses.get(kind="post", code=code))
    assert titles(acme.xml().get("/", params={"order": code})) == [code]


# Pages


def test_pages_and_their_links(acme):
    for number in range(1, 6):
        make_post(acme.alice, str(number))
    client = acme.xml()

    def page(number: int):
        response = client.get("/", params={"page": number, "per_page": 2})
        return titles(response), response.headers["Link"]

    url = "http://acme.example.test/?per_page=2"
    assert page(1) == (["5", "4"], f'<{url}&page=1>; rel="first", <{url}&page=2>; rel="next"')
    assert page(2) == (
        ["3", "2"],
        f'<{url}&page=1>; rel="first", <{url}&page=1>; rel="prev", <{url}&page=3>; rel="next"',
    )
    assert page(3) == (["1"], f'<{url}&page=1>; rel="first", <{url}&page=2>; rel="prev"')
    assert page(4) == ([], f'<{url}&page=1>; rel="first", <{url}&page=3>; rel="prev"')


def test_a_full_last_page_has_no_next_link(acme):
    for number in range(2):
        make_post(acme.alice, str(number))
    response = acme.xml().get("/", params={"per_page": 2})
    assert titles(response) == ["1", "0"]
    assert response.headers["Link"] == '<http://acme.example.test/?per_page=2&page=1>; rel="first"'


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


@table("page", [2, 10_000, 2**31, 2**62, 2**63, 2**64, 10**99])
def test_pages_past_the_end_are_empty(acme, page):
    make_post(acme.alice)
    for client in (acme.xml(), acme.xml(acme.carol)):
        assert shown(client.get("/", params={"page": page, "per_page": 100})) == posts()


@table("size", [1, 2, 3])
@table("order", ["new", "old", "top", "commented", "active"])
def test_pages_neither_repeat_nor_skip_posts(acme, order, size):
    for number in range(7):
        post = make_post(acme.carol if number % 3 else acme.bob, str(number), private=bool(number % 2))
        change(post, created_at=NOON, updated_at=NOON, votes_cache=number // 2, comments_cache=number // 3)
    for user in (acme.alice, acme.carol):
        client = acme.xml(user)
        all_titles = titles(client.get("/", params={"order": order}))
        pages = [
            titles(client.get("/", params={"order": order, "per_page": size, "page": page})) for page in range(1, 8)
        ]
        assert [title for page in pages for title in page] == all_titles


def test_links_contain_only_parameters_of_the_list(acme):
    response = acme.xml().get("/?utm=1&api_token=secret&order=old&page=1&order=top")
    assert response.headers["Link"] == '<http://acme.example.test/?order=top&page=1>; rel="first"'


def test_links_have_the_host_of_the_request(acme):
    response = call("acme.example.test:8000", b"/", HTTP_AUTHORIZATION=basic("alice", "correct horse battery"))
    assert response.headers["Link"] == '<http://acme.example.test:8000/?page=1>; rel="first"'


# Parameters in query and body


@table("method", ["GET", "POST"])
@table("path", ["/", "/general"])
def test_parameters_may_be_in_an_xml_body(acme, three_posts, method, path):
    client = acme.xml()
    response = client.send_xml(method, path, "<order>old</order>")
    assert shown(response) == posts(*three_posts)
    assert response.headers["Link"] == f'<http://acme.example.test{path}?order=old&page=1>; rel="first"'

    # A body with several parameters is a hash. Names may have hyphens or underscores.
    for name in ("per-page", "per_page"):
        body = f'<hash><order>old</order><page type="integer">2</page><{name}>2</{name}></hash>'
        response = client.send_xml(method, path, body)
        url = f"http://acme.example.test{path}?order=old&per_page=2"
        assert shown(response) == posts(three_posts[2])
        assert response.headers["Link"] == f'<{url}&page=1>; rel="first", <{url}&page=1>; rel="prev"'


def test_the_body_takes_precedence_over_the_query(acme, three_posts):
    client = acme.xml()
    assert titles(client.send_xml("POST", "/?order=old&per_page=1", "<order>top</order>")) == ["second"]
    assert titles(client.send_xml("GET", "/?order=old", '<order nil="true"/>')) == ["third", "second", "first"]


@table("body", ["", "  \n", "<hash/>", "<unknown>1</unknown>", "<hash><unknown/><page/></hash>"])
def test_a_body_without_parameters_of_the_list(acme, three_posts, body):
    if "<page/>" in body:
        assert shown(acme.xml().send_xml("POST", "/", body)) == refusal(422, BAD_PAGE)
    else:
        assert titles(acme.xml().send_xml("POST", "/", body)) == ["third", "second", "first"]


def test_post_is_the_same_as_get(acme, three_posts):
    client = acme.xml()
    assert shown(client.post("/")) == shown(client.get("/")) == posts(*reversed(three_posts))


def test_head_has_the_status_of_get(acme, three_posts):
    assert acme.xml().head("/").status_code == 200
    assert acme.xml().head("/unknown").status_code == 404


# Accept


@table("accept", [None, "*/*", "application/xml", "application/json", "image/png", "x", "", ";q=", "/"])
@table("path", ["/", "/General", "/app/posts.xml"])
def test_the_accept_header_is_ignored(acme, three_posts, path, accept):
    headers = {} if accept is None else {"Accept": accept}
    assert shown(acme.xml().get(path, headers=headers)) == posts(*reversed(three_posts))


@table("path", ["/app/posts.xml", "/app/categories.xml", "/app/users/me.xml"])
def test_browsers_also_get_xml_at_paths_with_a_suffix(acme, path):
    headers = {"Accept": "text/html,application/xhtml+xml"}
    assert acme.xml().get(path, headers=headers).headers["Content-Type"] == CONTENT_TYPE


# Categories


def test_a_path_without_a_name_lists_the_first_category(acme, three_posts):
    earlier = make_category(acme.account, "Earlier", position=0)
    post = make_post(acme.alice, "there", category_id=earlier.id)
    client = acme.xml()
    assert shown(client.get("/")) == posts(post)
    assert shown(client.get("/app/posts.xml")) == posts(post)
    assert shown(client.get("/General")) == posts(*reversed(three_posts))


@table("name", ["Pomysły i błędy", "pomysły i błędy", "POMYSŁY I BŁĘDY", "pomysły i błe\u0328dy"])
def test_a_category_is_found_in_any_case(acme, name, django_assert_num_queries):
    category = make_category(acme.account, "Pomysły i błędy")
    post = make_post(acme.alice, category_id=category.id)
    make_post(acme.alice, "elsewhere")
    client = acme.xml()
    client.get("/")
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


@pytest.fixture
def posts_in_every_state(acme) -> None:
    """Create a post of carol in every state, and a task, which belongs to no forum."""
    for title in ("open", "closed", "private", "of kind private", "unapproved", "duplicate", "trashed"):
        post = make_post(
            acme.carol,
            title,
            closed=title == "closed",
            private=title == "private",
            kind="private" if title == "of kind private" else "suggestion",
            approved=title != "unapproved",
        )
        if title == "duplicate":
            change(post, duplicate_from_id=make_post(acme.carol, "original").id)
        if title == "trashed":
            post.trash(by=acme.bob)
    make_task(acme.bob, "task")


VISIBLE_TO_ALL = ["original", "closed", "open"]
VISIBLE_TO_TEAM_AND_AUTHOR = ["original", "unapproved", "of kind private", "private", "closed", "open"]


@table(
    ("role", "expected"),
    [
        ("owner", VISIBLE_TO_TEAM_AND_AUTHOR),
        ("admin", VISIBLE_TO_TEAM_AND_AUTHOR),
        ("agent", VISIBLE_TO_TEAM_AND_AUTHOR),
        ("member", VISIBLE_TO_TEAM_AND_AUTHOR),  # the author
        ("another member", VISIBLE_TO_ALL),
    ],
)
@table("order", ["new", "old", "top", "commented", "active"])
def test_who_sees_which_posts(acme, posts_in_every_state, role, expected, order):
    client = acme.xml(make_user(acme.account, "erin")) if role == "another member" else client_of(acme, role)
    listed_titles = titles(client.get("/", params={"order": order}))
    assert sorted(listed_titles) == sorted(expected)
    if order == "new":
        assert listed_titles == expected


def test_an_order_by_status_hides_private_posts(acme):
    rejected = acme.account.statuses.get(kind="post", code="rejected")
    make_post(acme.bob, "of the team", status=rejected, private=True)
    make_post(acme.carol, "own", status=rejected, private=True)
    make_post(acme.bob, "open", status=rejected)
    assert titles(acme.xml(acme.carol).get("/?order=rejected")) == ["open", "own"]
    assert titles(acme.xml().get("/?order=rejected")) == ["open", "own", "of the team"]


def test_a_demoted_agent_loses_access_immediately(acme):
    make_post(acme.alice, "private", private=True)
    client = acme.xml(acme.bob)
    assert titles(client.get("/")) == ["private"]
    User.objects.filter(pk=acme.bob.pk).update(role="member")
    assert titles(client.get("/")) == []


# Tenancy


def test_each_account_has_its_own_posts(acme, other):
    make_post(acme.alice, "ours")
    make_post(other.mallory, "theirs")
    assert titles(acme.xml().get("/")) == ["ours"]
    assert titles(other.xml().get("/General")) == ["theirs"]


def test_each_forum_of_an_account_has_its_own_posts(acme):
    forum = acme.account.forums.create(name="Second", host_id=acme.account.hosts.create(name="ideas.example.org").id)
    category = acme.account.categories.create(forum_id=forum.id, name="General")
    make_post(acme.alice, "first forum")
    make_post(acme.alice, "second forum", forum_id=forum.id, category_id=category.id)
    client = acme.xml()
    assert titles(client.get("/")) == titles(client.get("/general")) == ["first forum"]
    for path in ("/", "/general", "/app/posts.xml"):
        assert titles(client.get("http://ideas.example.org" + path)) == ["second forum"]


def test_the_number_of_queries_is_independent_of_the_number_of_posts(acme, django_assert_num_queries):
    for number in range(5):
        make_post(acme.carol, str(number), private=bool(number % 2))
    # A member takes one more, which reads whether they belong to the forum.
    for user, number in ((acme.alice, 2), (acme.carol, 3)):
        client = acme.xml(user)
        client.get("/")
        with django_assert_num_queries(number):
            assert len(titles(client.get("/"))) == 5


def test_popular_is_another_name_of_top(acme, three_posts):
    assert titles(acme.xml().get("/?order=popular")) == titles(acme.xml().get("/?order=top"))
    response = acme.xml().send_xml("POST", "/", "<order>popular</order>")
    assert titles(response) == titles(acme.xml().get("/?order=top"))


@table("path", ["/General/", "/general/?order=old", "/%47eneral/"])
def test_a_category_may_end_in_a_slash(acme, three_posts, path):
    expected = acme.xml().get(path.replace("/?", "?").rstrip("/"))
    assert titles(expected)
    for method in ("GET", "POST"):
        response = acme.xml().request(method, path)
        assert (response.status_code, response.content) == (200, expected.content)


@table("path", ["/app/posts.xml/", "/app/categories.xml/?x=1", "/app/users/me.xml/"])
def test_paths_may_end_in_a_slash(acme, path):
    assert acme.xml().get(path).status_code == 200
    assert acme.xml().get(path.replace(".xml/", ".xml//")).status_code == 404
