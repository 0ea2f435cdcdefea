from datetime import UTC, datetime

from forum.models import Comment, Post
from tests.support.factories import make_post, make_task, make_user
from tests.support.tables import table
from tests.support.xml import (
    CONTENT_TYPE,
    NOT_ALLOWED,
    NOT_FOUND,
    UNAUTHENTICATED,
    call,
    client_of,
    document,
    refusal,
    shown,
    single,
)

SINGLE = """<?xml version="1.0" encoding="UTF-8"?>
<hash>
  <comments type="array">
    <comment>
      <agent>Mozilla/5.0</agent>
      <comment>Yes, please &amp; soon.</comment>
      <created-at type="datetime">2009-02-03T09:00:00+01:00</created-at>
      <id type="integer">{comment}</id>
      <kind nil="true"/>
      <updated-at type="datetime">2009-07-03T09:00:00+02:00</updated-at>
    </comment>
  </comments>
  <post>
    <agent>Mozilla/5.0</agent>
    <category-id type="integer">{category}</category-id>
    <comments-cache type="integer">1</comments-cache>
    <content>So that one can read at night.</content>
    <created-at type="datetime">2009-02-02T00:34:02+01:00</created-at>
    <id type="integer">{post}</id>
    <kind>suggestion</kind>
    <responsible-id type="integer" nil="true"/>
    <status>new</status>
    <title>A dark theme</title>
    <updated-at type="datetime">2009-02-02T00:34:02+01:00</updated-at>
    <votes-cache type="integer">5</votes-cache>
  </post>
</hash>
"""


def without_comments(post: Post) -> tuple[int, str, str]:
    """Return the expected response for a post without comments."""
    indented = "".join(f"  {line}\n" for line in single(post).splitlines())
    return document(200, '<hash>\n  <comments type="array"/>\n', indented, "</hash>\n")


def test_it_works(acme, django_assert_num_queries):
    acme.account.time_zone = "Europe/Warsaw"
    acme.account.save()
    post = make_post(acme.carol, "A dark theme", content="So that one can read at night.")
    comment = post.comment(by=acme.bob, text="Yes, please & soon.", agent="Mozilla/5.0")
    Comment.objects.update(
        created_at=datetime(2009, 2, 3, 8, tzinfo=UTC), updated_at=datetime(2009, 7, 3, 7, tzinfo=UTC)
    )
    time = datetime(2009, 2, 1, 23, 34, 2, 999_999, tzinfo=UTC)
    Post.objects.update(agent="Mozilla/5.0", votes_cache=5, created_at=time, updated_at=time)
    client = acme.xml()
    client.get("/app/users/me.xml")
    # The user with the account; the post with its status; the comments.
    with django_assert_num_queries(3):
        response = client.get(f"/app/posts/{post.id}.xml")
    expected = SINGLE.format(comment=comment.id, category=acme.category.id, post=post.id)
    assert shown(response) == (200, CONTENT_TYPE, expected)


def test_it_rejects_anonymous_requests(acme):
    post = make_post(acme.alice)
    response = client_of(acme, "anonymous").get(f"/app/posts/{post.id}.xml")
    assert shown(response) == refusal(401, UNAUTHENTICATED)


@table("method", ["POST", "OPTIONS", "FOO"])
def test_it_rejects_other_methods(acme, method):
    post = make_post(acme.alice)
    response = acme.xml().request(method, f"/app/posts/{post.id}.xml")
    assert shown(response) == refusal(405, NOT_ALLOWED)
    assert response.headers["Allow"] == "GET, HEAD, PUT, PATCH, DELETE"


@table(
    "id",
    ["0", "999999999", "9" * 18, "9" * 19, "9" * 5000, "-1", "1.0", "one", "", "%00", "%FF", "1%0A", "²", "1e3", "0x1"],
)
def test_it_rejects_unknown_ids(acme, id):
    client = acme.xml()
    assert shown(client.get(f"/app/posts/{id}.xml")) == refusal(404, NOT_FOUND)
    assert client.head(f"/app/posts/{id}.xml").status_code == 404


def test_it_rejects_posts_of_another_account(acme, other):
    post = make_post(acme.alice)
    other_post = make_post(other.mallory)
    # Each account numbers its own rows. No post of acme may have this id.
    while other_post.id <= post.id:
        other_post = make_post(other.mallory)
    path = f"/app/posts/{other_post.id}.xml"
    assert shown(other.xml().get(path)) == without_comments(other_post)
    for role in ("owner", "member"):
        client = client_of(acme, role)
        assert shown(client.get(path)) == refusal(404, NOT_FOUND)
        assert client.head(path).status_code == 404


def test_two_accounts_may_have_posts_with_the_same_id(acme, other):
    post, other_post = make_post(acme.alice), make_post(other.mallory)
    while other_post.id < post.id:
        other_post = make_post(other.mallory)
    while post.id < other_post.id:
        post = make_post(acme.alice)
    assert post.id == other_post.id
    post.comment(by=acme.bob, text="of acme")
    assert shown(other.xml().get(f"/app/posts/{other_post.id}.xml")) == without_comments(other_post)


def test_it_rejects_posts_of_another_forum(acme):
    forum = acme.account.forums.create(name="Second", host_id=acme.account.hosts.create(name="ideas.example.org").id)
    category = acme.account.categories.create(forum_id=forum.id, name="General")
    first = make_post(acme.alice)
    second = make_post(acme.alice, forum_id=forum.id, category_id=category.id)
    client = acme.xml()
    assert shown(client.get(f"/app/posts/{first.id}.xml")) == without_comments(first)
    assert shown(client.get(f"/app/posts/{second.id}.xml")) == refusal(404, NOT_FOUND)
    assert shown(client.get(f"http://ideas.example.org/app/posts/{first.id}.xml")) == refusal(404, NOT_FOUND)
    assert shown(client.get(f"http://ideas.example.org/app/posts/{second.id}.xml")) == without_comments(second)


def test_it_rejects_a_task(acme):
    task = make_task(acme.alice)
    assert shown(acme.xml().get(f"/app/posts/{task.id}.xml")) == refusal(404, NOT_FOUND)


def test_a_post_without_comments_has_an_empty_list(acme):
    post = make_post(acme.alice, responsible_id=acme.bob.id, kind="question")
    response = acme.xml(acme.carol).get(f"/app/posts/{post.id}.xml")
    assert shown(response) == without_comments(post)
    assert f'<responsible-id type="integer">{acme.bob.id}</responsible-id>' in response.text


def test_all_comments_are_included_oldest_first(acme, django_assert_num_queries):
    post = make_post(acme.alice)
    comments = [post.comment(by=acme.bob, text=f"comment {number}") for number in range(110)]
    Comment.objects.filter(id__in=[comment.id for comment in comments[100:]]).update(
        created_at=datetime(2009, 2, 3, 8, tzinfo=UTC)
    )
    client = acme.xml()
    client.get("/app/users/me.xml")
    with django_assert_num_queries(3):
        response = client.get(f"/app/posts/{post.id}.xml")
    lines = (line.strip() for line in response.text.splitlines())
    texts = [
        line.removeprefix("<comment>").removesuffix("</comment>") for line in lines if line.startswith("<comment>c")
    ]
    assert texts == [f"comment {number}" for number in [*range(100, 110), *range(100)]]


def test_head_has_the_status_and_headers_of_get(acme):
    post = make_post(acme.alice)
    client = acme.xml()
    path = f"/app/posts/{post.id}.xml"
    head, get = client.head(path), client.get(path)
    assert head.status_code == 200
    for name in ("Content-Type", "Content-Length"):
        assert head.headers[name] == get.headers[name]
    assert get.headers["Content-Length"] == str(len(get.content))
    post.trash(by=acme.alice)
    assert client.head(path).status_code == 404


@table("accept", ["*/*", "application/json", "text/html", "image/png", "x", "", ";q=", "application/xml;q=0"])
def test_the_accept_header_is_ignored(acme, accept):
    post = make_post(acme.alice)
    assert shown(acme.xml().get(f"/app/posts/{post.id}.xml", headers={"Accept": accept})) == without_comments(post)


def test_the_body_is_ignored(acme):
    post = make_post(acme.alice)
    user = ("alice", "correct horse battery")
    path = f"/app/posts/{post.id}.xml".encode()
    response = call(acme.host, path, user=user, body=b"<broken", CONTENT_TYPE="application/x-www-form-urlencoded")
    assert shown(response) == without_comments(post)


STATES = {
    "open": {},
    "closed": {"closed": True},
    "private": {"private": True},
    "of kind private": {"kind": "private"},
    "unapproved": {"approved": False},
}
VISIBLE_TO_ALL = {"open", "closed", "duplicate"}
VISIBLE_TO_NOBODY = {"trashed"}


def make_post_in_state(state: str, acme) -> Post:
    """Create a post of carol in a state. Duplicates and trashed posts may also be private."""
    state, _, duplicate = state.partition(" duplicate")
    post = make_post(acme.carol, **STATES.get(state, {}))
    if duplicate or state == "duplicate":
        Post.objects.filter(pk=post.pk).update(duplicate_from_id=make_post(acme.carol).id)
    if state == "trashed":
        post.trash(by=acme.bob)
    post.refresh_from_db()
    return post


@table("role", ["owner", "admin", "agent", "member", "another member"])
@table(
    "state",
    [
        *STATES,
        "duplicate",
        "trashed",
        "private duplicate of",
        "of kind private duplicate of",
        "unapproved duplicate of",
    ],
)
def test_who_sees_which_posts(acme, state, role):
    post = make_post_in_state(state, acme)
    client = acme.xml(make_user(acme.account, "erin")) if role == "another member" else client_of(acme, role)
    response = client.get(f"/app/posts/{post.id}.xml")
    if state in VISIBLE_TO_NOBODY or (role == "another member" and state not in VISIBLE_TO_ALL):
        assert shown(response) == refusal(404, NOT_FOUND)
    else:
        assert shown(response) == without_comments(post)
