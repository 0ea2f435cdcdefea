"""Comments that wait for approval: until then, only their authors and the team see them."""

import pytest
from django.db import transaction

from core.errors import FieldErrors
from forum.models import Comment, Post
from tests.support.assertions import read
from tests.support.factories import make_comment, make_post, make_user
from tests.support.followers import run_followers
from tests.support.settings import button_of, send, texts
from tests.support.tables import table
from tests.support.team import went_to

SPAM = "Cheap pills at https://spam.example/a"
QUEUE = "/app/moderation"


@pytest.fixture
def post(acme):
    acme.account.users.update(notification="own", notify_new_posts=False)
    post = make_post(acme.bob, "Dark mode")
    run_followers()
    acme.account.notifications.all().delete()
    return post


def row(post: Post) -> tuple[int, int]:
    return Post.objects.values_list("comments_cache", "internal_comments_cache").get(pk=post.pk)


def received(acme) -> list[str]:
    run_followers()
    ids = acme.account.notifications.values("user_id")
    return sorted(acme.account.users.filter(id__in=ids).values_list("login", flat=True))


def test_it_works(acme, post):
    before = Post.objects.get(pk=post.pk).updated_at
    comment = make_comment(post, acme.carol, SPAM)
    assert not comment.approved
    assert row(post) == (0, 1)
    assert Post.objects.get(pk=post.pk).updated_at == before
    post.approve_comment(comment)
    assert Comment.objects.get(pk=comment.pk).approved
    assert row(post) == (1, 0)
    assert Post.objects.get(pk=post.pk).updated_at > before


@table(
    ("text", "waits"),
    [
        ("No links", False),
        (SPAM, True),
        ("See www.spam.example", True),
        ("[this](//spam.example)", True),
        ("`x.y` in C:\\temp", False),
    ],
)
@table("requires_approval", [False, True])
def test_comments_of_new_members_with_links_wait(acme, post, text, waits, requires_approval):
    acme.account.forums.update(approval=requires_approval)
    assert make_comment(post, acme.bob, text).approved
    assert post.comment(by=acme.bob, text=text, internal=True).approved
    assert make_comment(post, acme.carol, text).approved is not (waits or requires_approval)


def test_public_texts_earn_trust(acme, post):
    make_comment(post, acme.carol, "One")
    hidden = make_post(acme.carol, "Mine", private=True)
    make_comment(hidden, acme.carol, "Not everyone sees this")
    make_comment(post, acme.carol, SPAM)
    make_comment(post, acme.carol, "Two")
    assert not make_comment(post, acme.carol, SPAM).approved
    own = make_post(acme.carol, "Three")
    assert make_comment(own, acme.carol, SPAM).approved
    assert make_comment(post, acme.carol, SPAM).approved


def test_a_changed_text_waits(acme, post):
    comment = make_comment(post, acme.carol, "Harmless")
    post.edit_comment(comment, "Still harmless", by=acme.carol)
    assert comment.approved
    post.edit_comment(comment, SPAM, by=acme.bob)
    assert comment.approved
    post.edit_comment(comment, f"{SPAM} now", by=acme.carol)
    assert not Comment.objects.get(pk=comment.pk).approved
    assert row(post) == (0, 1)


def test_comments_on_tasks_do_not_wait(acme):
    acme.account.forums.update(approval=True)
    task = Post(account=acme.account)
    task.write({"title": "Call", "task_kind": "task"}, by=acme.bob)
    assert make_comment(task, acme.bob, SPAM).approved


# Who sees them

READERS = {
    "XML": lambda acme, user, post: acme.xml(user).get(f"/app/posts/{post.id}.xml"),
    "page": lambda acme, user, post: acme.page(user).get(f"/app/posts/{post.id}"),
    "feed": lambda acme, user, post: acme.page(user).get("/app/feed.atom"),
    "list": lambda acme, user, post: acme.page(user).get("/", headers={"Accept": "text/html"}),
}


@table(
    ("name", "login", "sees"),
    [
        ("XML", "carol", True),
        ("XML", "bob", False),
        ("XML", "dora", False),
        ("page", "carol", True),
        ("page", "bob", True),
        ("page", "dora", False),
        ("page", None, False),
        ("feed", None, False),
        ("list", "dora", False),
    ],
)
def test_only_the_author_and_the_team_see_them(acme, post, name, login, sees):
    make_user(acme.account, "dora")
    user = None if login is None else acme.account.users.get(login=login)
    comment = make_comment(post, acme.carol, SPAM)
    body = READERS[name](acme, user, post).text
    assert ("spam.example" in body) is sees
    if name == "XML":
        assert '<comments-cache type="integer">0<' in body
    post.approve_comment(comment)
    if name in ("XML", "page"):
        assert "spam.example" in READERS[name](acme, user, post).text


def test_others_cannot_find_them_by_id(acme, post):
    comment = make_comment(post, acme.carol, SPAM)
    dora = acme.page(make_user(acme.account, "dora"))
    path = f"/app/posts/{post.id}/comments/{comment.id}"
    dora.get(f"{path}/edit", status=404)
    send(dora, f"{path}/delete")
    assert Comment.objects.filter(pk=comment.pk).exists()
    carol = acme.page(acme.carol)
    assert "Waiting for approval" in carol.get(path).follow()
    send(carol, f"{path}/delete")
    assert row(post) == (0, 0)


def test_a_waiting_comment_is_not_another_participant(acme):
    post = make_post(acme.carol, "Mine")
    dora = make_user(acme.account, "dora")
    comment = make_comment(post, dora, SPAM)
    assert post.may_be_changed_by(acme.carol)
    post.approve_comment(comment)
    assert not post.may_be_changed_by(acme.carol)


def test_a_merge_moves_them(acme, post):
    make_comment(post, acme.carol, SPAM)
    original = make_post(acme.bob, "Themes")
    post.merge_into(original, by=acme.bob)
    assert (row(post), row(original)) == ((0, 0), (0, 1))
    Post.objects.get(pk=post.pk).undo_merge(by=acme.bob)
    assert (row(post), row(original)) == ((0, 1), (0, 0))


# Notifications


def test_approval_sends_the_notifications(acme, post):
    dora = make_user(acme.account, "dora")
    post.vote(by=dora)
    comment = make_comment(post, acme.carol, SPAM)
    assert received(acme) == ["bob"]
    assert "commented, waiting for approval" in acme.page(acme.bob).get("/app/notifications")
    post.approve_comment(comment)
    assert received(acme) == ["bob", "dora"]
    assert "spam.example" in acme.page(dora).get("/app/notifications")


def test_a_text_that_waits_again_is_not_quoted(acme, post):
    dora = make_user(acme.account, "dora")
    post.vote(by=dora)
    comment = make_comment(post, acme.carol, "Harmless")
    assert received(acme) == ["bob", "dora"]
    post.edit_comment(comment, SPAM, by=acme.carol)
    assert "spam.example" not in acme.page(dora).get("/app/notifications")


# Decisions


def test_the_author_is_told(acme, post):
    carol = acme.page(acme.carol)
    form = carol.get(f"/app/posts/{post.id}").forms["comment-form"]
    form["content"] = SPAM
    assert "It is waiting for approval" in form.submit(status=303).follow()
    form = carol.get(f"/app/posts/{post.id}").forms["comment-form"]
    form["content"] = f"{SPAM} too"
    fragment = form.submit(headers={"HX-Request": "true"})
    assert "It is waiting for approval" in fragment


@pytest.mark.parametrize("path", [QUEUE, "/app/inbox?tab=unapproved"])
def test_the_team_decides_in_the_queue(acme, post, path):
    first, second = make_comment(post, acme.carol, SPAM), make_comment(post, acme.carol, f"{SPAM}/b")
    bob = acme.page(acme.bob)
    page = bob.get(path)
    assert texts(page, "section .list .prose") == [SPAM, f"{SPAM}/b"]
    if "inbox" in path:
        assert "2" in page.html.select_one("nav.tabs [aria-current]").get_text()
    went_to(button_of(page, "approve_comment", id=first.id).submit("do", value="approve_comment"), QUEUE)
    went_to(button_of(page, "reject_comment", id=second.id).submit("do", value="reject_comment"), QUEUE)
    assert row(post) == (1, 0)
    assert [comment.id for comment in acme.account.comments.public()] == [first.id]
    assert "Nothing waits for approval." in bob.get(path)


def test_the_team_decides_on_the_page(acme, post):
    comment = make_comment(post, acme.carol, SPAM)
    bob = acme.page(acme.bob)
    form = button_of(bob.get(f"/app/posts/{post.id}"), "approve_comment", id=comment.id)
    assert form.submit("do", value="approve_comment").headers["Location"].endswith(f"/comments/{comment.id}")
    assert row(post) == (1, 0)


def test_it_rejects_a_changed_text_and_a_second_decision(acme, post):
    comment = make_comment(post, acme.carol, SPAM)
    bob = acme.page(acme.bob)
    form = button_of(bob.get(QUEUE), "approve_comment", id=comment.id)
    post.edit_comment(comment, f"{SPAM} and more", by=acme.carol)
    assert "was changed after you opened the page" in form.submit("do", value="approve_comment").follow()
    assert row(post) == (0, 1)
    post.approve_comment(comment)
    assert "was approved in the meantime" in send(bob, QUEUE, do="reject_comment", id=comment.id).follow()
    with pytest.raises(FieldErrors, match="is approved"), transaction.atomic():
        post.reject_comment(comment)
    post.erase_comment(comment)
    assert "was deleted in the meantime" in send(bob, QUEUE, do="approve_comment", id=comment.id).follow()


def test_only_the_team_decides(acme, post):
    comment = make_comment(post, acme.carol, SPAM)
    for do in ("approve_comment", "reject_comment"):
        send(acme.page(acme.carol), QUEUE, status=403, do=do, id=comment.id)
    assert row(post) == (0, 1)


def test_the_account_api_reads_and_approves_them(acme, post):
    comment = make_comment(post, acme.carol, SPAM)
    path = f"/app/posts/{post.id}/comments.json"
    assert read(acme.json().get(path)) == []
    [body] = read(acme.json().get(f"{path}?internal=true"))
    assert (body["internal"], body["approved"]) == (False, False)
    one = f"/app/posts/{comment.id}.json"
    assert read(acme.json().put(one, json={"post": {"approved": False}}))["approved"] is False
    assert read(acme.json().put(one, json={"post": {"approved": True}}))["approved"] is True
    assert row(post) == (1, 0)
    response = acme.json().put(one, json={"post": {"approved": False}})
    assert (response.status_code, read(response)["errors"]) == (422, {"approved": ["can't be withdrawn"]})
