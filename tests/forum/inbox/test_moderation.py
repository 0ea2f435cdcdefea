"""The queue of posts that wait for approval."""

import pytest

from tests.support.factories import make_post
from tests.support.settings import button_of, send, texts
from tests.support.team import fresh, went_to
from tests.support.threads import at_once

QUEUE = "/app/moderation"


@pytest.fixture
def unapproved_posts(acme):
    acme.account.forums.update(approval=True)
    return [make_post(acme.carol, f"Idea {n}", content="In **short**") for n in range(2)]


def test_it_works(acme, unapproved_posts):
    first, second = unapproved_posts
    bob = acme.page(acme.bob)
    page = bob.get("/app/inbox?tab=unapproved").click("Read the whole texts")
    assert texts(page, ".list h2") == ["Idea 0", "Idea 1"]
    assert page.html.find("strong").get_text() == "short"
    response = button_of(page, "approve", id=first.id).submit("do", value="approve")
    assert went_to(response, QUEUE) == ["The suggestion is approved: everyone can see it now."]
    response = button_of(page, "approve", id=second.id).submit("do", value="reject")
    assert went_to(response, QUEUE) == [
        "The suggestion is rejected. An admin can restore it from the trash for 30 days."
    ]
    assert fresh(first).approved
    assert fresh(second).trashed_by_id == acme.bob.id
    assert "Nothing waits for approval." in bob.get(QUEUE)


def test_posts_are_approved_and_rejected_on_their_pages(acme, unapproved_posts):
    first, second = unapproved_posts
    bob = acme.page(acme.bob)
    form = button_of(bob.get(f"/app/posts/{first.id}"), "approve", id=first.id)
    assert went_to(form.submit("do", value="approve"), f"/app/posts/{first.id}") != []
    form = button_of(bob.get(f"/app/posts/{second.id}"), "reject", id=second.id)
    assert went_to(form.submit("do", value="reject"), "/app/suggestions") != []
    assert (fresh(first).approved, fresh(second).trashed_at is None) == (True, False)


def test_it_rejects_a_decision_after_another_decision(acme, unapproved_posts):
    first, second = unapproved_posts
    bob = acme.page(acme.bob)
    first.approve(by=acme.alice)
    [message] = went_to(send(bob, QUEUE, do="reject", id=first.id), QUEUE)
    assert message == "This suggestion was approved in the meantime. You can still delete it on its page."
    assert fresh(first).trashed_at is None
    second.trash(by=acme.alice)
    for do in ("approve", "reject"):
        [message] = went_to(send(bob, QUEUE, do=do, id=second.id), QUEUE)
        assert message == "This suggestion was rejected or deleted in the meantime."
    assert not fresh(second).approved
    # The second click of a double click.
    assert send(bob, QUEUE, do="approve", id=first.id).status_code == 303


def test_it_rejects_approving_a_post_that_was_changed_meanwhile(acme, unapproved_posts):
    """A post that changed since the page was loaded is not approved."""
    first = unapproved_posts[0]
    bob = acme.page(acme.bob)
    forms = [button_of(bob.get(path), "approve", id=first.id) for path in (QUEUE, f"/app/posts/{first.id}")]
    first.comment(by=acme.carol, text="More")
    first.write({"content": "Quite another thing"}, by=acme.carol)
    for form, next_path in zip(forms, (QUEUE, f"/app/posts/{first.id}"), strict=True):
        [message] = went_to(form.submit("do", value="approve"), next_path)
        assert (
            message == "This suggestion was changed after you opened the page. Read it as it is now, then approve it."
        )
    assert not fresh(first).approved
    button_of(bob.get(QUEUE), "approve", id=first.id).submit("do", value="approve")
    assert fresh(first).approved


def test_an_approved_private_post_stays_private(acme, unapproved_posts):
    post = make_post(acme.carol, private=True)
    bob = acme.page(acme.bob)
    response = button_of(bob.get(QUEUE), "approve", id=post.id).submit("do", value="approve")
    assert went_to(response, QUEUE) == [
        "The suggestion is approved. It is private: only its author and the team can see it."
    ]
    acme.page().get(f"/app/posts/{post.id}", status=404)


def test_it_rejects_unknown_posts_and_pages(acme, unapproved_posts):
    bob = acme.page(acme.bob)
    for id in ("x", "", 10**17):
        send(bob, QUEUE, do="approve", id=id, status=404)
    send(bob, QUEUE, do="nonsense", status=400)
    bob.get(f"{QUEUE}?page=x", status=404)
    assert bob.get(f"{QUEUE}?page=7").headers["Location"] == QUEUE


@pytest.mark.django_db(transaction=True)
def test_simultaneous_decisions(acme, unapproved_posts):
    post = unapproved_posts[0]
    pages = [acme.page(acme.bob), acme.page(acme.alice)]
    at_once(
        lambda: send(pages[0], QUEUE, do="approve", id=post.id), lambda: send(pages[1], QUEUE, do="reject", id=post.id)
    )
    # The post is either approved or rejected, never both.
    assert fresh(post).approved is (fresh(post).trashed_at is None)
