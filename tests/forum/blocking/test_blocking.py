"""Blocked members, and the texts that are withdrawn with them."""

from functools import partial

import pytest
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.utils import timezone

from core.errors import FieldError
from forum.blocking import actions
from forum.comments.models import Comment
from forum.notifications.emails import send_due_notifications
from forum.posts.models import Post
from tests.support.assertions import read
from tests.support.factories import make_comment, make_post, make_user
from tests.support.followers import run_followers
from tests.support.jobs import run_jobs
from tests.support.queries import capture_queries
from tests.support.settings import send

SPAM = "Cheap pills at https://spam.example/a"


@pytest.fixture
def texts(acme):
    """A suggestion of carol, a suggestion of bob with a public and a waiting comment of carol, and a comment of bob."""
    post, other = make_post(acme.carol, "Buy"), make_post(acme.bob, "Dark mode")
    make_comment(other, acme.carol, "Buy here")
    make_comment(other, acme.carol, SPAM)
    make_comment(other, acme.bob, "No")
    return post, other


def state(post, other) -> tuple[bool, list[str], tuple[int, int]]:
    """Return whether the suggestion is in the trash, and the comments on the other one with their counts."""
    post, other = Post.objects.get(pk=post.pk), Post.objects.get(pk=other.pk)
    comments = other.account.comments.filter(post_id=other.id).order_by("id").values_list("comment", flat=True)
    return post.trashed_at is not None, list(comments), (other.comments_cache, other.internal_comments_cache)


BEFORE = (False, ["Buy here", SPAM, "No"], (2, 1))


def test_it_works(acme, texts):
    assert state(*texts) == BEFORE
    actions.block(acme.carol, by=acme.bob, takes_texts=True)
    assert state(*texts) == (True, ["No"], (1, 0))
    carol = acme.account.users.get(login="carol")
    assert (carol.is_active, carol.blocked_at is None) == (False, False)
    carol.unblock(by=acme.bob)
    assert state(*texts) == BEFORE
    assert not Comment.objects.get(comment=SPAM).approved
    carol = acme.account.users.get(login="carol")
    assert (carol.is_active, carol.blocked_at) == (True, None)


def test_texts_may_stay(acme, texts):
    actions.block(acme.carol, by=acme.bob, takes_texts=False)
    assert state(*texts) == BEFORE
    # What is deleted later stays deleted.
    Post.objects.get(pk=texts[0].pk).trash(by=acme.bob)
    acme.carol.unblock(by=acme.bob)
    assert state(*texts) == (True, *BEFORE[1:])


def test_what_was_deleted_before_stays_deleted(acme, texts):
    texts[0].trash(by=acme.carol)
    actions.block(acme.carol, by=acme.bob, takes_texts=True)
    acme.carol.unblock(by=acme.bob)
    assert state(*texts)[0]


def test_withdrawn_comments_move_with_a_merge(acme, texts):
    _post, other = texts
    original = make_post(acme.bob, "Themes")
    actions.block(acme.carol, by=acme.bob, takes_texts=True)
    Post.objects.get(pk=other.pk).merge_into(original, by=acme.bob)
    acme.carol.unblock(by=acme.bob)
    original.refresh_from_db()
    assert (original.comments_cache, original.internal_comments_cache) == (2, 1)
    assert original.account.comments.filter(post_id=original.id).count() == 3


def test_the_team_blocks_members_only(acme):
    users = {user.login: user for user in (acme.alice, acme.bob, acme.carol, make_user(acme.account, "dora"))}
    for by, whom in (("carol", "dora"), ("bob", "alice"), ("alice", "bob"), ("alice", "alice")):
        for act in (partial(actions.block, users[whom], takes_texts=True), users[whom].unblock):
            with pytest.raises(PermissionDenied), transaction.atomic():
                act(by=users[by])
        assert acme.account.users.get(login=whom).is_active
    for user in (acme.alice, acme.bob):
        actions.block(acme.carol, by=user, takes_texts=True)
        assert not acme.account.users.get(login="carol").is_active
        acme.carol.unblock(by=user)
        assert acme.account.users.get(login="carol").is_active


def test_a_deactivated_member_is_not_blocked(acme):
    """Otherwise an agent could reactivate the member by unblocking them."""
    acme.carol.deactivate(by=acme.alice)
    with pytest.raises(FieldError, match="is deactivated"), transaction.atomic():
        actions.block(acme.carol, by=acme.bob, takes_texts=True)
    acme.carol.unblock(by=acme.bob)
    assert not acme.account.users.get(login="carol").is_active


def test_a_blocked_member_reaches_nothing(acme, texts):
    _post, other = texts
    carol, token = acme.page(acme.carol), acme.xml(acme.carol)
    form = carol.get(f"/app/posts/{other.id}").forms["comment-form"]
    actions.block(acme.carol, by=acme.bob, takes_texts=True)
    assert token.get("/app/posts.xml").status_code == 401
    assert token.send_xml("POST", "/app/posts.xml", "<post><title>a</title></post>").status_code == 401
    form["content"] = "Again"
    assert form.submit(status=403).html.find(id="id_password") is not None
    assert acme.account.comments.filter(comment="Again").count() == 0


def test_texts_of_requests_in_progress_are_taken_back_later(acme, texts):
    """A request that was authenticated before the block may write after it."""
    _post, other = texts
    actions.block(acme.carol, by=acme.bob, takes_texts=True)
    late = make_post(acme.carol, "Late")
    make_comment(Post.objects.get(pk=other.pk), acme.carol, "Late, too")
    run_jobs()
    assert state(late, other) == (False, ["No", "Late, too"], (2, 0))
    run_jobs(later=2 * actions.LATE_TEXTS_DELAY)
    assert state(late, other) == (True, ["No"], (1, 0))
    acme.carol.unblock(by=acme.bob)
    assert state(late, other)[0] is False
    assert state(*texts) == (False, ["Buy here", SPAM, "No", "Late, too"], (3, 1))


def test_the_late_job_does_nothing_after_the_block_has_ended(acme, texts):
    actions.block(acme.carol, by=acme.bob, takes_texts=True)
    acme.carol.unblock(by=acme.bob)
    actions.block(acme.carol, by=acme.bob, takes_texts=False)
    run_jobs(later=2 * actions.LATE_TEXTS_DELAY)
    assert state(*texts) == BEFORE


def test_reactivating_ends_the_block(acme, texts):
    """Otherwise the member would be active and could not be blocked again."""
    actions.block(acme.carol, by=acme.bob, takes_texts=True)
    carol = acme.account.users.get(login="carol")
    carol.reactivate(by=acme.alice)
    assert state(*texts) == BEFORE
    assert acme.account.users.get(login="carol").blocked_at is None
    actions.block(carol, by=acme.bob, takes_texts=False)
    assert not acme.account.users.get(login="carol").is_active


def test_a_block_takes_few_statements(acme, texts):
    """The number of comments does not matter."""
    for number in range(10):
        make_comment(Post.objects.get(pk=texts[1].pk), acme.carol, f"Again {number}")
        make_comment(make_post(acme.bob), acme.carol)
    _result, statements = capture_queries(lambda: actions.block(acme.carol, by=acme.bob, takes_texts=True))
    assert len(statements) <= 12, statements
    assert state(*texts) == (True, ["No"], (1, 0))


@pytest.mark.parametrize("is_announced", [False, True])
def test_withdrawn_comments_are_in_no_notification(acme, texts, is_announced, mailoutbox):
    run_followers()
    acme.account.notifications.all().delete()
    acme.account.users.update(unread_notifications=0)
    comment = make_comment(Post.objects.get(pk=texts[1].pk), acme.carol, "Cheap pills")
    if is_announced:
        run_followers()
        assert acme.account.notifications.filter(activity__comment_id=comment.id, user_id=acme.bob.id).count() == 1
    actions.block(acme.carol, by=acme.bob, takes_texts=True)
    run_followers()
    acme.account.notifications.exclude(mail_at=None).update(mail_at=timezone.now())
    send_due_notifications()
    run_jobs()
    assert [message for message in mailoutbox if "pills" in message.body] == []
    bob = acme.account.users.get(login="bob")
    assert bob.unread_notifications == 0
    assert "Cheap pills" not in acme.page(bob).get("/app/notifications")


def test_withdrawn_comments_are_shown_nowhere(acme, texts):
    _post, other = texts
    comment = Comment.objects.get(comment="Buy here")
    acme.account.users.filter(id=acme.carol.id).update(shows_votes=True)
    other.vote(by=acme.carol)
    actions.block(acme.carol, by=acme.bob, takes_texts=True)
    path = f"/app/posts/{other.id}"
    for page in (acme.page(), acme.page(acme.bob)):
        for address in (path, "/app/feed.atom", "/"):
            assert "Buy here" not in page.get(address)
        assert page.get(f"{path}/comments/{comment.id}").headers["Location"] == path
    # Nor is the name, which may be an advertisement.
    assert "Carol Member" not in acme.page().get(path)
    assert "Buy here" not in acme.xml(acme.bob).get(f"{path}.xml").text
    api = acme.json()
    assert [row["comment"] for row in read(api.get(f"{path}/comments.json?internal=true"))] == ["No"]
    assert api.get(f"/app/posts/{comment.id}.json").status_code == 404
    assert api.put(f"/app/posts/{comment.id}.json", json={"post": {"content": "x"}}).status_code == 404
    assert api.delete(f"/app/posts/{comment.id}.json").status_code == 404
    acme.page(acme.bob).get(f"{path}/comments/{comment.id}/edit", status=404)
    acme.page(acme.bob).get(f"{path}/comments/{comment.id}/history", status=404)
    assert Comment.with_withdrawn.get(pk=comment.pk).comment == "Buy here"


# The card


def test_the_card_shows_what_the_member_did(acme, texts):
    texts[1].vote(by=acme.carol)
    page = acme.page(acme.bob).get(f"/app/posts/{texts[0].id}").click("Carol Member", index=0)
    for text in (acme.carol.email, "Buy", "Buy here", "Dark mode", "Acme"):
        assert text in page
    page = acme.page(acme.bob).get(f"/app/posts/{texts[1].id}")
    links = [link.get_text() for link in page.html.select(f'a[href="/app/authors/{acme.carol.id}"]')]
    assert [" ".join(link.split()) for link in links] == ["Carol Member"] * 3
    assert "/app/authors/" not in acme.page(acme.carol).get(f"/app/posts/{texts[1].id}")


def test_the_card_blocks_and_unblocks(acme, texts):
    path = f"/app/authors/{acme.carol.id}"
    bob = acme.page(acme.bob)
    assert "are withdrawn" in send(bob, path, do="block").follow()
    assert state(*texts)[0]
    assert "Unblock and restore" in bob.get(path)
    assert "are restored" in send(bob, path, do="unblock").follow()
    assert state(*texts) == BEFORE
    assert "Block" not in bob.get(f"/app/authors/{acme.alice.id}").html.select_one("main").get_text()
    bob.get("/app/authors/1000000000", status=404)
