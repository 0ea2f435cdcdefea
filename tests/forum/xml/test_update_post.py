import pytest

from forum.posts.models import Post
from tests.support.factories import make_category, make_forum, make_post, make_user
from tests.support.tables import table
from tests.support.xml import (
    NOT_FOUND,
    client_of,
    document,
    refusal,
    shown,
    single,
    stamp,
)

FORBIDDEN = "Only the team may change this post"
BLANK = "Title can't be blank"


def code_of(post: Post) -> str:
    # `refresh_from_db` does not clear the cached `post.status`.
    return post.account.statuses.get(id=post.status_id).code


def update(client, post: Post, fields: str, method: str = "PUT"):
    response = client.send_xml(method, f"/app/posts/{post.id}.xml", f"<post>{fields}</post>")
    post.refresh_from_db()
    return response


def test_it_works(acme, django_assert_num_queries):
    post = make_post(acme.carol, "A dark them", content="So that")
    before = post.updated_at
    client = acme.xml(acme.carol)
    client.get("/app/users/me.xml")
    # The user with the account; the locked post with its status (its counts show no comments and votes); merged posts; whether
    # the forum requires approval; the post; a savepoint with its release.
    with django_assert_num_queries(8):
        response = client.send_xml("PUT", f"/app/posts/{post.id}.xml", "<post><title>A dark theme</title></post>")
    post.refresh_from_db()
    assert shown(response) == document(200, single(post))
    assert (post.title, post.content) == ("A dark theme", "So that")
    assert post.updated_at > before


@table(
    ("fields", "sentences"),
    [
        ("<title/>", [BLANK]),
        ('<title nil="true"/>', [BLANK]),
        (f"<title>{'x' * 256}</title>", ["Title is too long (maximum is 255 characters)"]),
        ("<kind>idea</kind>", ["Kind is not one of suggestion, error, question, praise, private"]),
        ("<category-id>999999</category-id>", ["Category can't be found"]),
        (
            "<status>won</status>",
            ["Status is not one of new, accepted, planned, started, completed, rejected, duplicate"],
        ),
        ("<status><x/></status>", ["Status must be a single value"]),
        ("<responsible-id>999999</responsible-id>", ["Responsible can't be found"]),
        ("<responsible-id>bob</responsible-id>", ["Responsible is not an id"]),
        (
            "<title/><responsible-id>999999</responsible-id><category-id>999999</category-id>",
            [BLANK, "Category can't be found", "Responsible can't be found"],
        ),
    ],
)
def test_it_rejects_invalid_fields(acme, fields, sentences):
    post = make_post(acme.alice, "before")
    response = acme.xml().send_xml("PUT", f"/app/posts/{post.id}.xml", "<post/>")
    assert shown(response) == refusal(422, "Post can't be blank")
    assert shown(update(acme.xml(), post, fields)) == refusal(422, *sentences)
    assert post.title == "before"


def test_it_rejects_responsible_users_outside_the_team(acme):
    post = make_post(acme.alice)
    for user in (acme.carol, make_user(acme.account, role="agent", is_active=False)):
        response = update(acme.xml(), post, f"<responsible-id>{user.id}</responsible-id>")
        assert shown(response) == refusal(422, "Responsible can't be found")
    assert post.responsible_id is None


@table(
    ("author", "participant", "status"),
    [("carol", None, 200), ("carol", "carol", 200), ("carol", "bob", 403), ("bob", None, 403)],
)
def test_authors_may_update_posts_without_other_participants(acme, author, participant, status):
    """The team may change any post."""
    post = make_post(getattr(acme, author), "before")
    if participant:
        post.vote(by=getattr(acme, participant))
        post.comment(by=getattr(acme, participant), text="a")
    response = update(acme.xml(acme.carol), post, "<title>after</title>")
    assert shown(response) == (refusal(403, FORBIDDEN) if status == 403 else document(200, single(post)))
    assert post.title == ("before" if status == 403 else "after")
    assert update(acme.xml(acme.bob), post, "<title>by the team</title>").status_code == 200


def test_what_the_author_and_the_team_may_change(acme):
    category = make_category(acme.account)
    fields = f"""
        <title>after</title> <content>text</content> <kind>question</kind> <category-id>{category.id}</category-id>
        <status>rejected</status> <responsible-id>{acme.bob.id}</responsible-id>
    """
    for user, changes in (
        # Only the team may set the status and the responsible user. From authors they are ignored, as read-only elements are.
        (acme.carol, ("new", None, False)),
        (acme.bob, ("rejected", acme.bob.id, True)),
    ):
        post = make_post(acme.carol)
        assert shown(update(acme.xml(user), post, fields)) == document(200, single(post))
        assert (post.title, post.content, post.kind, post.category_id) == ("after", "text", "question", category.id)
        assert (code_of(post), post.responsible_id, post.closed) == changes
    response = update(acme.xml(acme.bob), post, '<status>new</status><responsible-id type="integer" nil="true"/>')
    assert shown(response) == document(200, single(post))
    assert (code_of(post), post.responsible_id, post.closed, post.title) == ("new", None, False, "after")


def test_null_is_ignored_for_fields_that_are_never_null(acme):
    post = make_post(acme.alice, "before", content="kept", kind="praise")
    fields = '<kind nil="true"/><category-id nil="true"/><status nil="true"/><content nil="true"/><id>1</id><unknown/>'
    assert shown(update(acme.xml(), post, fields)) == document(200, single(post))
    assert (post.title, post.kind, post.category_id, post.content) == ("before", "praise", acme.category.id, "kept")
    assert shown(update(acme.xml(), post, "<content/>")) == document(200, single(post))
    assert post.content == ""


@pytest.mark.parametrize("role", ["agent", "member"])
def test_the_whole_post_may_be_sent_back(acme, role):
    """ActiveResource saves a post by sending every element that it received, with one changed."""
    post = make_post(acme.carol, "A dark them", content="text", kind="question", responsible_id=acme.bob.id)
    post.vote(by=acme.carol)
    post.comment(by=acme.carol, text="mine")
    post.refresh_from_db()
    votes, comments, created, agent = post.votes_cache, post.comments_cache, post.created_at, post.agent
    body = single(post).replace("A dark them", "A dark theme").replace(">1</votes-cache>", ">99</votes-cache>")
    body = body.replace("<agent>factory</agent>", "<agent>forged</agent>").replace(
        stamp(created), "2001-01-01T00:00:00Z"
    )
    response = client_of(acme, role).send_xml("PUT", f"/app/posts/{post.id}.xml", body)
    post.refresh_from_db()
    assert shown(response) == document(200, single(post))
    assert (post.title, post.content, post.kind) == ("A dark theme", "text", "question")
    assert (post.votes_cache, post.comments_cache, post.created_at, post.agent) == (votes, comments, created, agent)
    assert (post.responsible_id, code_of(post)) == (acme.bob.id, "new")


def test_the_responsible_user_may_have_left_the_team(acme):
    former_agent = make_user(acme.account, role="agent")
    post, other_post = make_post(acme.carol, responsible_id=former_agent.id), make_post(acme.carol)
    former_agent.deactivate(by=acme.alice)
    response = acme.xml().send_xml("PUT", f"/app/posts/{post.id}.xml", single(post))
    post.refresh_from_db()
    assert shown(response) == document(200, single(post))
    assert post.responsible_id == former_agent.id
    response = update(acme.xml(), other_post, f"<responsible-id>{former_agent.id}</responsible-id>")
    assert shown(response) == refusal(422, "Responsible can't be found")


def test_patch_is_the_same_as_put(acme):
    post = make_post(acme.alice, "before")
    response = update(acme.xml(), post, "<title>after</title>", method="PATCH")
    assert shown(response) == document(200, single(post))
    assert post.title == "after"


@table("state", [{"private": True}, {"kind": "private"}, {"approved": False}])
def test_it_rejects_posts_that_the_user_may_not_see(acme, state):
    post = make_post(acme.alice, "before", **state)
    assert shown(update(acme.xml(acme.carol), post, "<title>after</title>")) == refusal(404, NOT_FOUND)
    assert post.title == "before"


def test_it_rejects_trashed_posts(acme):
    post = make_post(acme.alice, "before")
    post.trash(by=acme.alice)
    assert shown(update(acme.xml(), post, "<title>after</title>")) == refusal(404, NOT_FOUND)
    assert post.title == "before"


def test_it_rejects_posts_and_categories_of_another_forum(acme):
    elsewhere = make_post(acme.alice, "before", forum_id=make_forum(acme.account).id)
    assert shown(update(acme.xml(), elsewhere, "<title>after</title>")) == refusal(404, NOT_FOUND)
    post = make_post(acme.alice)
    response = update(acme.xml(), post, f"<category-id>{elsewhere.category_id}</category-id>")
    assert shown(response) == refusal(422, "Category can't be found")
    assert (elsewhere.title, post.category_id) == ("before", acme.category.id)
