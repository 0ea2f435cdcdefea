import pytest

from tests.support.client import XMLClient
from tests.support.factories import PASSWORD, make_category, make_forum
from tests.support.tables import table
from tests.support.xml import (
    TOO_LARGE,
    UNSUPPORTED,
    document,
    refusal,
    shown,
    single,
)

POST = "<post><title>A dark theme</title><content>So that one can read at night.</content></post>"
BLANK = "Title can't be blank"
KINDS = "Kind is not one of suggestion, error, question, praise, private"


def create(client: XMLClient, fields: str):
    return client.send_xml("POST", "/app/posts.xml", f"<post>{fields}</post>")


@table(
    ("origin", "content_type", "status"),
    [
        (None, None, 201),
        ("http://acme.example.test", None, 201),
        ("https://evil.example", "application/xml", 201),
        ("https://evil.example", None, 403),
        ("https://www.example.test", None, 403),
        ("null", None, 403),
        ("http://[", None, 403),
    ],
)
def test_it_rejects_cross_site_requests_without_preflight(acme, origin, content_type, status):
    """Browsers send a preflight request for other content types, which gets no permission."""
    optional_headers = {"Origin": origin, "Content-Type": content_type}
    headers = {name: value for name, value in optional_headers.items() if value is not None}
    response = acme.xml().post("/app/posts.xml", content=POST, headers=headers)
    assert response.status_code == status
    if status == 403:
        assert shown(response) == refusal(403, "Another site's page may not send this")
        assert not acme.account.posts.exists()


def test_it_works(acme, django_assert_num_queries):
    client = acme.xml(acme.carol)
    client.get("/app/users/me.xml")
    # The user with the account; the first category and the first status; the post; a savepoint and its release.
    with django_assert_num_queries(6):
        response = client.send_xml("POST", "/app/posts.xml", POST)
    post = acme.account.posts.get()
    assert shown(response) == document(201, single(post))
    assert (post.title, post.content) == ("A dark theme", "So that one can read at night.")
    assert (post.kind, post.agent, post.category_id, post.responsible_id) == (
        "suggestion",
        "tests/1.0",
        acme.category.id,
        None,
    )
    assert response.headers["Location"] == f"http://acme.example.test/app/posts/{post.id}.xml"
    assert (post.user_id, post.forum_id, post.task_kind) == (acme.carol.id, acme.forum.id, "feedback")


@table(
    ("body", "sentence"),
    [
        ("", "Post can't be blank"),
        (" \n ", "Post can't be blank"),
        ("<post/>", "Post can't be blank"),
        ("<post> \n </post>", "Post can't be blank"),
        ('<post nil="true"/>', "Post can't be blank"),
        ("<title>A dark theme</title>", "Post can't be blank"),
        ("<hash><title>A dark theme</title></hash>", "Post can't be blank"),
        ('<hash type="array"><post><title>x</title></post></hash>', "Post can't be blank"),
        ("<post>A dark theme</post>", "Post must have its fields as elements"),
        ('<post type="array"><title>x</title></post>', "Post must have its fields as elements"),
        ("<hash><post><title>x</title></post><post/></hash>", "Post must have its fields as elements"),
    ],
)
def test_it_rejects_a_body_without_a_post(acme, body, sentence):
    assert shown(acme.xml().send_xml("POST", "/app/posts.xml", body)) == refusal(422, sentence)
    assert not acme.account.posts.exists()


@table(
    ("fields", "sentences"),
    [
        ("<content>text</content>", [BLANK]),
        ("<title/>", [BLANK]),
        ("<title></title>", [BLANK]),
        ("<title> \t\n&#160;</title>", [BLANK]),
        ('<title nil="true"/>', [BLANK]),
        (f"<title>{'x' * 256}</title>", ["Title is too long (maximum is 255 characters)"]),
        (f"<title>{'ż' * 256}</title>", ["Title is too long (maximum is 255 characters)"]),
        ("<title><b>bold</b></title>", ["Title must be a single value"]),
        ('<title type="array"/>', ["Title must be a single value"]),
        ("<title>a</title><title>b</title>", ["Title must be a single value"]),
        ('<title type="boolean">true</title>', ["Title must be a text"]),
        (
            "<title>a &#0; b</title>",
            ["Title has a character that can't be used (a control character or half of a surrogate pair)"],
        ),
        (
            f"<title>t</title><content>{'x' * 65_537}</content>",
            ["Content is too long (maximum is 65536 characters)"],
        ),
        ("<title>t</title><content><p>x</p></content>", ["Content must be a single value"]),
        ("<title>t</title><kind>idea</kind>", [KINDS]),
        ("<title>t</title><kind>Suggestion</kind>", [KINDS]),
        ("<title>t</title><kind><x/></kind>", ["Kind must be a single value"]),
        ("<title>t</title><category-id>999999</category-id>", ["Category can't be found"]),
        ("<title>t</title><category-id>0</category-id>", ["Category can't be found"]),
        ("<title>t</title><category-id>-1</category-id>", ["Category can't be found"]),
        (f"<title>t</title><category-id>{'9' * 19}</category-id>", ["Category can't be found"]),
        (f"<title>t</title><category-id>{'9' * 400}</category-id>", ["Category is not an id"]),
        ("<title>t</title><category-id>1e999999999</category-id>", ["Category is not an id"]),
        ("<title>t</title><category-id>NaN</category-id>", ["Category is not an id"]),
        ("<title>t</title><category-id>1.5</category-id>", ["Category is not an id"]),
        ("<title>t</title><category-id>General</category-id>", ["Category is not an id"]),
        ('<title>t</title><category-id type="boolean">true</category-id>', ["Category is not an id"]),
        ("<title>t</title><category-id><id>1</id></category-id>", ["Category must be a single value"]),
        (
            f"<category-id>999999</category-id><kind>idea</kind><content>{'x' * 65_537}</content><title> </title><x>1</x>",
            [BLANK, "Content is too long (maximum is 65536 characters)", KINDS, "Category can't be found"],
        ),
    ],
)
def test_it_rejects_invalid_fields(acme, fields, sentences):
    response = create(acme.xml(), fields)
    assert shown(response) == refusal(422, *sentences)
    assert not acme.account.posts.exists()


@table(
    "content_type",
    [
        *("application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "multipart/form-data"),
        *("application/json", "text/plain", "text/html", "application/xhtml+xml", "*/*", "xml", "/", '"', "x" * 9000),
    ],
)
def test_it_rejects_other_content_types(acme, content_type):
    response = acme.xml().post("/app/posts.xml", content=POST, headers={"Content-Type": content_type})
    assert shown(response) == refusal(415, UNSUPPORTED)
    assert not acme.account.posts.exists()


@table(
    "content_type",
    [
        *(None, "application/xml", "text/xml", "Application/XML", "text/xml ;charset=UTF-8", "application/xml;"),
        *('application/xml; charset="utf-8"', "application/xml; charset=utf8", "application/xml; version=1; x"),
    ],
)
def test_accepted_content_types(acme, content_type):
    headers = {} if content_type is None else {"Content-Type": content_type}
    response = acme.xml().post("/app/posts.xml", content="<post><title>Żółw</title></post>".encode(), headers=headers)
    assert response.status_code == 201
    assert acme.account.posts.get().title == "Żółw"


# The size of a body

MAX_BODY_SIZE = 1024 * 1024


def padded(size: int) -> bytes:
    body = POST.encode()
    return body + b" " * (size - len(body))


@pytest.mark.parametrize("chunked", [False, True])
def test_it_rejects_a_body_of_more_than_1_mib(acme, chunked):
    def send(size: int):
        body = padded(size)
        content = iter([body[:10], body[10:]]) if chunked else body
        return acme.xml().post("/app/posts.xml", content=content, headers={"Content-Type": "application/xml"})

    assert shown(send(MAX_BODY_SIZE + 1)) == refusal(413, TOO_LARGE)
    assert not acme.account.posts.exists()
    assert send(MAX_BODY_SIZE).status_code == 201
    assert acme.account.posts.get().title == "A dark theme"


# Defaults of a post


def test_the_agent_is_cut_at_255_characters(acme):
    for user_agent, expected in {"a" * 256: "a" * 255, "a" * 255: "a" * 255, "": "", None: ""}.items():
        client = acme.xml()
        del client.headers["User-Agent"]
        if user_agent is not None:
            client.headers["User-Agent"] = user_agent
        response = client.send_xml("POST", "/app/posts.xml", POST)
        post = acme.account.posts.latest("id")
        assert post.agent == expected
        assert shown(response) == document(201, single(post))


def test_longest_texts(acme):
    response = create(acme.xml(), f"<title>{'ż' * 255}</title><content>{'🦉' * 65_536}</content>")
    post = acme.account.posts.get()
    assert shown(response) == document(201, single(post))
    assert (post.title, post.content) == ("ż" * 255, "🦉" * 65_536)


def test_the_kind_may_be_sent(acme):
    for kind in ("suggestion", "error", "question", "praise", "private"):
        response = create(acme.xml(acme.carol), f"<title>t</title><kind>{kind}</kind>")
        post = acme.account.posts.latest("id")
        assert post.kind == kind
        assert shown(response) == document(201, single(post))


def test_null_and_missing_fields_get_defaults(acme):
    for fields in (
        "",
        '<category-id type="integer" nil="true"/><kind nil="true"/><content nil="true"/>',
        '<category-id type="integer"></category-id><kind/><content/>',
    ):
        response = create(acme.xml(), "<title>t</title>" + fields)
        post = acme.account.posts.latest("id")
        assert (post.category_id, post.kind, post.content) == (acme.category.id, "suggestion", "")
        assert shown(response) == document(201, single(post))


def test_read_only_and_unknown_fields_are_ignored(acme):
    fields = f"""
        <id type="integer">1</id> <votes-cache type="integer">99</votes-cache> <comments_cache>99</comments_cache>
        <created-at type="dateTime">2009-02-02T00:34:02+01:00</created-at> <updated-at type="datetime">never</updated-at>
        <agent>forged</agent> <status>rejected</status> <responsible-id>{acme.bob.id}</responsible-id>
        <user-id>{acme.bob.id}</user-id> <forum-id>1</forum-id> <private type="boolean">true</private>
        <account-id>1</account-id> <unknown><deep type="array"><er/></deep></unknown> <title>A dark theme</title>
    """
    response = create(acme.xml(), fields)
    post = acme.account.posts.get()
    assert shown(response) == document(201, single(post))
    assert (post.agent, post.status.code, post.votes_cache, post.responsible_id) == ("tests/1.0", "new", 0, None)
    assert (post.user_id, post.private) == (acme.alice.id, False)
    assert post.id != 1


def test_the_category_is_one_of_the_forum_of_the_host(acme):
    forum = make_forum(acme.account, "ideas")
    second = make_category(acme.account)
    # The default is the first category by position.
    first = make_category(acme.account, position=0)
    ideas = acme.account.categories.of_forum(forum.id).get()
    for host, element, expected in (
        (acme.host, "", first),
        (acme.host, f"<category-id>{second.id}</category-id>", second),
        (acme.host, f'<category_id type="integer">{second.id}</category_id>', second),
        (acme.host, f"<category-id> {second.id} </category-id>", second),
        ("ideas.example.org", "", ideas),
    ):
        body = f"<post><title>t</title>{element}</post>"
        response = acme.xml().send_xml("POST", f"http://{host}/app/posts.xml", body)
        post = acme.account.posts.latest("id")
        assert shown(response) == document(201, single(post))
        assert (post.category_id, post.forum_id) == (expected.id, expected.forum_id)
        assert response.headers["Location"] == f"http://{host}/app/posts/{post.id}.xml"
    response = create(acme.xml(), f"<title>t</title><category-id>{ideas.id}</category-id>")
    assert shown(response) == refusal(422, "Category can't be found")
    acme.account.posts.all().delete()
    acme.account.categories.all().delete()
    assert shown(create(acme.xml(), "<title>t</title>")) == refusal(422, "Category can't be blank")


def test_the_status_is_the_first_of_the_account(acme):
    """The post is closed if the status is."""
    for code, closed in (("planned", False), ("rejected", True)):
        acme.account.statuses.filter(kind="post", code=code).update(position=-1 if closed else 0)
        response = acme.xml().send_xml("POST", "/app/posts.xml", POST)
        post = acme.account.posts.latest("id")
        assert (post.status.code, post.closed, post.completed_at) == (code, closed, None)
        assert shown(response) == document(201, single(post))


def test_the_post_of_a_limited_agent_has_no_responsible_user(acme):
    acme.account.agents_see = "own"
    acme.account.save()
    assert acme.xml(acme.bob).send_xml("POST", "/app/posts.xml", POST).status_code == 201
    assert acme.account.posts.get().responsible_id is None


def test_the_location_has_the_host_of_the_request(acme):
    client = XMLClient("acme.example.test:8000", auth=("alice", PASSWORD))
    response = client.send_xml("POST", "/app/posts.xml", POST)
    post = acme.account.posts.get()
    assert response.headers["Location"] == f"http://acme.example.test:8000/app/posts/{post.id}.xml"
