"""Blocked members, and the texts that are taken back with them."""

import pytest
from django.core.exceptions import PermissionDenied
from django.db import transaction

from core.errors import FieldError
from forum import blocking
from forum.models import Comment, Post
from tests.support.factories import make_comment, make_post, make_user
from tests.support.settings import send
from tests.support.tables import table
from tests.support.team import assert_for_the_team_alone

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
    blocking.block(acme.carol, by=acme.bob, takes_texts=True)
    assert state(*texts) == (True, ["No"], (1, 0))
    carol = acme.account.users.get(login="carol")
    assert (carol.is_active, carol.blocked_at is None) == (False, False)
    blocking.unblock(carol, by=acme.bob)
    assert state(*texts) == BEFORE
    assert not Comment.objects.get(comment=SPAM).approved
    carol = acme.account.users.get(login="carol")
    assert (carol.is_active, carol.blocked_at) == (True, None)


def test_texts_may_stay(acme, texts):
    blocking.block(acme.carol, by=acme.bob, takes_texts=False)
    assert state(*texts) == BEFORE
    blocking.unblock(acme.carol, by=acme.bob)
    assert state(*texts) == BEFORE


def test_what_was_deleted_before_stays_deleted(acme, texts):
    texts[0].trash(by=acme.carol)
    blocking.block(acme.carol, by=acme.bob, takes_texts=True)
    blocking.unblock(acme.carol, by=acme.bob)
    assert state(*texts)[0]


def test_withdrawn_comments_move_with_a_merge(acme, texts):
    _post, other = texts
    original = make_post(acme.bob, "Themes")
    blocking.block(acme.carol, by=acme.bob, takes_texts=True)
    Post.objects.get(pk=other.pk).merge_into(original, by=acme.bob)
    blocking.unblock(acme.carol, by=acme.bob)
    original.refresh_from_db()
    assert (original.comments_cache, original.internal_comments_cache) == (2, 1)
    assert original.account.comments.filter(post_id=original.id).count() == 3


@table(
    ("by", "whom", "may"),
    [
        ("bob", "carol", True),
        ("alice", "carol", True),
        ("carol", "dora", False),
        ("bob", "alice", False),
        ("alice", "bob", False),
        ("alice", "alice", False),
    ],
)
def test_the_team_blocks_members_only(acme, by, whom, may):
    make_user(acme.account, "dora")
    users = {login: acme.account.users.get(login=login) for login in (by, whom)}
    acts = [lambda: blocking.block(users[whom], by=users[by], takes_texts=True)]
    acts.append(lambda: blocking.unblock(users[whom], by=users[by]))
    for act in acts:
        if may:
            act()
        else:
            with pytest.raises(PermissionDenied), transaction.atomic():
                act()
    assert acme.account.users.get(login=whom).is_active


def test_a_deactivated_member_is_not_blocked(acme):
    """Otherwise an agent could reactivate the member by unblocking them."""
    acme.carol.deactivate(by=acme.alice)
    with pytest.raises(FieldError, match="is deactivated"), transaction.atomic():
        blocking.block(acme.carol, by=acme.bob, takes_texts=True)
    blocking.unblock(acme.carol, by=acme.bob)
    assert not acme.account.users.get(login="carol").is_active


def test_a_blocked_member_reaches_nothing(acme, texts):
    _post, other = texts
    carol, token = acme.page(acme.carol), acme.xml(acme.carol)
    form = carol.get(f"/app/posts/{other.id}").forms["comment-form"]
    blocking.block(acme.carol, by=acme.bob, takes_texts=True)
    assert token.get("/app/posts.xml").status_code == 401
    assert token.send_xml("POST", "/app/posts.xml", "<post><title>a</title></post>").status_code == 401
    form["content"] = "Again"
    assert form.submit(status=403).html.find(id="id_password") is not None
    assert acme.account.comments.filter(comment="Again").count() == 0


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
    assert "are taken back" in send(bob, path, do="block").follow()
    assert state(*texts)[0]
    assert "Unblock and restore" in bob.get(path)
    assert "are restored" in send(bob, path, do="unblock").follow()
    assert state(*texts) == BEFORE
    assert "Block" not in bob.get(f"/app/authors/{acme.alice.id}").html.select_one("main").get_text()


def test_it_rejects_others(acme, other):
    assert_for_the_team_alone(acme, other, f"/app/authors/{acme.carol.id}", do="block")
    assert acme.account.users.get(login="carol").is_active
    acme.page(acme.bob).get("/app/authors/1000000000", status=404)
