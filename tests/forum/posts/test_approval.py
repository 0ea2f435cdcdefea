"""Permissions to read and write a forum, and posts that wait for approval."""

import pytest
from django.db import IntegrityError, connection, transaction
from django.test.utils import CaptureQueriesContext

from forum.forums.membership import TRUSTED_TEXTS
from forum.forums.models import Forum
from forum.posts.models import Post
from tests.support.factories import make_category, make_post
from tests.support.tables import table


@table(
    ("access", "visitor_reads", "takes_sign_ups"),
    [("public", True, True), ("members", True, False), ("private", False, False)],
)
def test_it_works(acme, access, visitor_reads, takes_sign_ups):
    assert acme.forum.access == Forum.Access.PUBLIC
    acme.account.forums.update(access=access)
    forum = acme.forum
    assert (forum.may_be_read_by(None), forum.takes_sign_ups) == (visitor_reads, takes_sign_ups)
    assert forum.may_be_read_by(acme.carol) == visitor_reads
    assert forum.may_be_read_by(acme.bob)
    assert (forum.description, forum.approval) == ("", False)


def test_it_rejects_unknown_kinds_of_access(acme):
    with pytest.raises(IntegrityError, match="forum_access_known"), transaction.atomic():
        acme.account.forums.update(access="open")


def test_posts_of_members_wait_for_approval(acme):
    acme.account.forums.update(approval=True)
    assert make_post(acme.bob).approved
    post = make_post(acme.carol)
    assert not post.approved
    assert list(acme.account.posts.unapproved()) == [post]
    assert list(acme.account.posts.visible_to(acme.carol).filter(approved=False)) == [post]
    assert not acme.account.posts.visible_to(None).filter(id=post.id).exists()
    post.write({"title": "Changed"}, by=acme.carol)
    assert list(acme.account.posts.unapproved()) == [post]
    post.approve(by=acme.bob)
    assert list(acme.account.posts.unapproved()) == []
    assert acme.account.posts.visible_to(None).filter(id=post.id).exists()


@table(
    ("values", "waits"),
    [
        ({"title": "No links"}, False),
        ({"title": "Buy", "content": "See https://spam.example/a"}, True),
        ({"title": "Buy", "content": "See www.spam.example"}, True),
        ({"title": "Buy", "content": "See [this](//spam.example)"}, True),
        ({"title": "Buy at https://spam.example"}, True),
        ({"title": "An error", "content": "`x.y` in C:\\temp"}, False),
    ],
)
def test_the_first_posts_of_a_member_wait_if_they_have_links(acme, values, waits):
    """The forum itself takes posts without an approval."""
    assert make_post(acme.bob, **values).approved
    post = make_post(acme.carol, **values)
    assert Post.objects.get(pk=post.pk).approved is not waits
    edited = make_post(acme.carol, "Harmless")
    edited.write(dict(values), by=acme.carol)
    assert Post.objects.get(pk=edited.pk).approved is not waits
    if waits:
        post.approve(by=acme.bob)
    for number in range(TRUSTED_TEXTS):
        make_post(acme.carol, f"Idea {number}")
    assert make_post(acme.carol, **values).approved


@table(
    ("values", "login", "waits"),
    [
        ({"title": "Other words"}, "carol", True),
        ({"content": "Other words"}, "carol", True),
        ({"title": "Mine", "content": "As it was", "kind": "error", "private": True}, "carol", False),
        ({"title": "Other words"}, "bob", False),
    ],
)
def test_changed_texts_wait_for_approval_again(acme, values, login, waits):
    post = make_post(acme.carol, "Mine", content="As it was")
    post.write({"content": "As it was", "title": "Mine"}, by=acme.carol)
    acme.account.forums.update(approval=True)
    post.write(dict(values), by=acme.account.users.get(login=login))
    assert Post.objects.get(pk=post.pk).approved is not waits
    assert list(acme.account.posts.unapproved()) == ([post] if waits else [])
    if waits:
        post.approve(by=acme.bob)
        acme.account.forums.update(approval=False)
        post.write({"title": "And others"}, by=acme.carol)
        assert Post.objects.get(pk=post.pk).approved


def test_texts_changed_by_xml_wait_for_approval_again(acme):
    post = make_post(acme.carol, "Mine")
    acme.account.forums.update(approval=True)
    path, carol = f"/app/posts/{post.id}.xml", acme.xml(acme.carol)
    assert carol.send_xml("PUT", path, "<post><title>Mine</title><kind>error</kind></post>").status_code == 200
    assert Post.objects.get().approved
    assert carol.send_xml("PUT", path, "<post><title>Another's</title></post>").status_code == 200
    assert not Post.objects.get().approved
    assert carol.get(path).status_code == 200


@table("approval", [False, True])
@table(("login", "has_category", "extra_statements"), [("carol", False, 1), ("carol", True, 2), ("alice", True, 0)])
def test_xml_creates_apply_the_approval_with_few_statements(acme, approval, login, has_category, extra_statements):
    """Every API applies the approval. Only a post of a member with a category needs a statement for it.

    A member also needs one that reads whether they belong to the forum.
    """
    acme.account.forums.update(approval=approval)
    user = acme.account.users.get(login=login)
    category = f"<category-id>{make_category(acme.account).id}</category-id>" if has_category else ""
    client = acme.xml(user)
    client.get("/app/me.xml")
    with CaptureQueriesContext(connection) as queries:
        response = client.send_xml("POST", "/app/posts.xml", f"<post><title>a</title>{category}</post>")
    assert response.status_code == 201
    assert Post.objects.get().approved == (login == "alice" or not approval)
    statements = [query["sql"] for query in queries if "SAVEPOINT" not in query["sql"]]
    # The user; the first category with the first status, or the locked category and the status; the post.
    assert len(statements) == (4 if has_category else 3) + extra_statements, statements


def test_posts_created_by_json_are_approved(acme):
    acme.account.forums.update(approval=True)
    assert acme.json().post("/app/posts.json", json={"post": {"title": "a"}}).status_code == 201
    assert Post.objects.get().approved
