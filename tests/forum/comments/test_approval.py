"""Comments that wait for approval: until then, only their authors and the team see them."""

import pytest
from django.db import transaction

from core.errors import FieldErrors
from forum.comments.models import Comment
from forum.posts.models import Post
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


def test_comments_of_new_members_with_links_wait(acme, post):
    """test_approval.py has other texts with links."""
    for requires_approval in (False, True):
        acme.account.forums.update(approval=requires_approval)
        post = Post.objects.get(pk=post.pk)
        for text, waits in (("No links", False), (SPAM, True)):
            assert make_comment(post, acme.bob, text).approved
            assert post.comment(by=acme.bob, text=text, internal=True).approved
            assert make_comment(post, acme.carol, text).approved is not (waits or requires_approval), text


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


def test_only_the_author_and_the_team_see_them(acme, post):
    """The Forum API shows a comment that waits to its author only."""
    dora = make_user(acme.account, "dora")
    comment = make_comment(post, acme.carol, SPAM)
    path = f"/app/posts/{post.id}"

    def sees() -> dict[str, tuple[bool, bool]]:
        """Return whether the text is on the page and in XML, by the login of the reader."""
        texts = {
            user.login: (acme.page(user).get(path).text, acme.xml(user).get(f"{path}.xml").text)
            for user in (acme.carol, acme.bob, dora)
        }
        assert all('<comments-cache type="integer">0<' in xml for _page, xml in texts.values()) == (
            not comment.approved
        )
        return {login: ("spam.example" in page, "spam.example" in xml) for login, (page, xml) in texts.items()}

    assert sees() == {"carol": (True, True), "bob": (True, False), "dora": (False, False)}
    for hidden in (path, "/app/feed.atom", "/"):
        assert "spam.example" not in acme.page().get(hidden)
    # It does not make its author a participant.
    assert not Post.objects.get(pk=post.pk).has_other_participants()
    post.approve_comment(comment)
    assert sees() == dict.fromkeys(("carol", "bob", "dora"), (True, True))
    assert Post.objects.get(pk=post.pk).has_other_participants()


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


def test_a_merge_moves_them(acme, post):
    make_comment(post, acme.carol, SPAM)
    original = make_post(acme.bob, "Themes")
    post.merge_into(original, by=acme.bob)
    assert (row(post), row(original)) == ((0, 0), (0, 1))
    Post.objects.get(pk=post.pk).undo_merge(by=acme.bob)
    assert (row(post), row(original)) == ((0, 1), (0, 0))


# Notifications


def test_approval_sends_the_notifications(acme, post):
    """A text that waits again is not quoted."""
    dora = make_user(acme.account, "dora")
    post.vote(by=dora)
    comment = make_comment(post, acme.carol, SPAM)
    assert received(acme) == ["bob"]
    assert "commented, waiting for approval" in acme.page(acme.bob).get("/app/notifications")
    post.approve_comment(comment)
    assert received(acme) == ["bob", "dora"]
    assert "spam.example" in acme.page(dora).get("/app/notifications")
    post.edit_comment(comment, f"{SPAM} again", by=acme.carol)
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


@table("path", [QUEUE, "/app/inbox?tab=unapproved"])
def test_the_team_decides_in_the_queue(acme, post, path):
    first, second, third = (make_comment(post, acme.carol, f"{SPAM}/{name}") for name in "abc")
    bob = acme.page(acme.bob)
    page = bob.get(path)
    assert texts(page, "section .list .prose") == [f"{SPAM}/a", f"{SPAM}/b", f"{SPAM}/c"]
    if "inbox" in path:
        assert "3" in page.html.select_one("nav.tabs [aria-current]").get_text()
    went_to(button_of(page, "approve_comment", id=first.id).submit("do", value="approve_comment"), QUEUE)
    went_to(button_of(page, "reject_comment", id=second.id).submit("do", value="reject_comment"), QUEUE)
    assert row(post) == (1, 1)
    # The page of the suggestion has the buttons too.
    form = button_of(bob.get(f"/app/posts/{post.id}"), "approve_comment", id=third.id)
    assert form.submit("do", value="approve_comment").headers["Location"].endswith(f"/comments/{third.id}")
    assert [comment.id for comment in acme.account.comments.public().order_by("id")] == [first.id, third.id]
    assert "Nothing waits for approval." in bob.get(path)


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
