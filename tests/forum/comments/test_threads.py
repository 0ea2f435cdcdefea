"""Replies to comments: their place on the page of the post, what is left of a deleted parent, quotes."""

import pytest

from core.errors import FieldError
from forum.notifications.models import NotificationReason
from tests.support.assertions import assert_refused, read
from tests.support.factories import make_comment, make_post, make_user
from tests.support.followers import run_followers
from tests.support.pages import Visitor, path_of_post
from tests.support.queries import capture_queries
from tests.support.writing import comments, sender


@pytest.fixture
def post(acme):
    return make_post(acme.bob, "Dark mode")


def tree(visitor: Visitor, path: str) -> list[tuple[str, list[str]]]:
    """Return the texts of the page: of each thread, and of the replies below it. A comment that is not shown has a note."""

    def text_of(comment) -> str:
        return " ".join((comment.select_one(".prose") or comment).get_text().split())

    threads = visitor.get(path).html.select("ol.comments > li")
    return [
        (text_of(li.select_one(".comment")), [text_of(reply) for reply in li.select(".replies > li")]) for li in threads
    ]


def test_it_works(acme, post):
    first, second = make_comment(post, acme.carol, "First"), make_comment(post, acme.bob, "Second")
    carol, path = acme.page(acme.carol), f"/app/posts/{post.id}"
    page = carol.get(path).click("Reply", href=f"reply={first.id}")
    assert "Your reply to Carol Member." in page
    form = page.forms["comment-form"]
    form["content"] = "Below it"
    reply_path = form.submit().headers["Location"]
    reply = acme.account.comments.get(comment="Below it")
    assert (reply.parent_id, reply_path) == (first.id, f"{path_of_post(post)}#comment-{reply.id}")
    # A reply to a reply mentions its author, and belongs to the same parent.
    form = acme.page(acme.bob).get(path).click("Reply", href=f"reply={reply.id}").forms["comment-form"]
    assert form["content"].value.strip() == "@Carol Member"
    form["content"] = "@Carol Member Yes"
    fragment = form.submit(headers={"HX-Request": "true"})
    answer = acme.account.comments.get(comment="@Carol Member Yes")
    assert fragment.html.find(attrs={"hx-swap-oob": f"beforeend:#replies-{first.id}"}).find(id=f"comment-{answer.id}")
    assert tree(carol, path) == [("First", ["Below it", "@Carol Member Yes"]), ("Second", [])]
    assert comments(post) == ["First", "Second", "Below it", "@Carol Member Yes"]
    assert (answer.parent_id, second.parent_id) == (first.id, None)


def test_a_quote_is_the_text_with_its_author(acme, post):
    comment = make_comment(post, acme.bob, "One\n\n@carol, two")
    carol, path = acme.page(acme.carol), f"/app/posts/{post.id}"
    form = carol.get(path).click("Quote").forms["comment-form"]
    quoted = "> **Bob Nowak**:\n>\n> One\n>\n> @carol, two"
    assert form["content"].value.replace("\r\n", "\n").strip() == quoted
    assert form["parent_id"].value == str(comment.id)
    part = carol.get(f"{path}/comments?quote={comment.id}", headers={"HX-Request": "true"})
    assert part.html.find(attrs={"data-reply-text": True}).get_text().strip() == quoted
    assert part.html.find(id="comment-parent_id")["value"] == str(comment.id)


def test_further_replies_are_behind_a_link(acme, post, monkeypatch):
    parent = make_comment(post, acme.carol, "Parent")
    replies = [post.comment(by=acme.bob, text=f"Reply {number}", parent_id=parent.id) for number in range(6)]
    visitor, path = acme.page(), f"/app/posts/{post.id}"
    assert tree(visitor, path) == [("Parent", ["Reply 0", "Reply 1", "Reply 2", "3 more replies"])]
    thread = f"{path}/comments/{parent.id}/thread"
    assert tree(visitor, thread) == [("Parent", [f"Reply {number}" for number in range(6)])]
    part = visitor.get(thread, headers={"HX-Request": "true"})
    assert [prose.get_text(strip=True) for prose in part.html.select(".prose")] == ["Reply 3", "Reply 4", "Reply 5"]
    links = [visitor.get(f"{path}/comments/{reply.id}").headers["Location"] for reply in replies[2:4]]
    assert links == [f"{path_of_post(post)}#comment-{replies[2].id}", f"{thread}#comment-{replies[3].id}"]
    monkeypatch.setattr("forum.comments.pages.COMMENTS_PER_PAGE", 4)
    assert tree(visitor, f"{thread}?page=2") == [("Parent", ["Reply 4", "Reply 5"])]
    assert visitor.get(f"{path}/comments/{replies[5].id}").headers["Location"].startswith(f"{thread}?page=2#")
    assert (
        visitor.get(f"{path}/comments/{replies[0].id}/thread").headers["Location"] == f"{path}/comments/{replies[0].id}"
    )


def test_the_number_of_statements_is_fixed(acme, post):
    for number in range(4):
        parent = make_comment(post, acme.carol, f"Parent {number}")
        for reply in range(5):
            post.comment(by=acme.bob, text=f"Reply {reply}", parent_id=parent.id)
    carol = acme.page(acme.carol)
    carol.get(path_of_post(post))
    assert len(capture_queries(lambda: carol.get(path_of_post(post)))[1]) <= 8
    pages = [row.id for row in acme.account.comments.filter(parent_id=None)]
    assert len(capture_queries(lambda: carol.get(f"/app/posts/{post.id}/comments/{pages[0]}/thread"))[1]) <= 6


def test_a_deleted_parent_leaves_its_place(acme, post):
    parent = make_comment(post, acme.carol, "Parent")
    post.edit_comment(parent, "Parent, edited", by=acme.carol)
    first, second = (post.comment(by=acme.bob, text=text, parent_id=parent.id) for text in ("One", "Two"))
    sender(acme.page(acme.carol))(f"/app/posts/{post.id}/comments/{parent.id}/delete", status=303)
    assert comments(post) == ["One", "Two"]
    assert not acme.account.comment_versions.exists()
    path, xml = f"/app/posts/{post.id}", acme.xml().get(f"/app/posts/{post.id}.xml").text
    assert tree(acme.page(), path) == [("This comment was deleted.", ["One", "Two"])]
    assert xml.count("<comment>\n") == 2
    listed = read(acme.json().get(f"/app/posts/{post.id}/comments.json"))
    assert [(row["id"], row["parent_id"]) for row in listed] == [(first.id, parent.id), (second.id, parent.id)]
    # A merge and its undo move it, too.
    original = make_post(acme.bob, "Dark theme")
    post.merge_into(original, by=acme.bob)
    assert tree(acme.page(), f"/app/posts/{original.id}") == [("This comment was deleted.", ["One", "Two"])]
    late = original.comment(by=acme.bob, text="Three", parent_id=first.id)
    assert (late.parent_id, late.from_post_id) == (parent.id, post.id)
    post.undo_merge(by=acme.bob)
    assert tree(acme.page(), path) == [("This comment was deleted.", ["One", "Two", "Three"])]
    # It goes with its last reply.
    for reply in acme.account.comments.order_by("-id"):
        post.erase_comment(reply)
    assert not acme.account.comments(manager="with_withdrawn").exists()
    assert comments(post) == []


def test_replies_to_internal_comments_are_internal(acme, post):
    parent = post.comment(by=acme.bob, text="For us", internal=True)
    form = acme.page(acme.alice).get(f"/app/posts/{post.id}?reply={parent.id}").forms["comment-form"]
    form["content"] = "For us, too"
    form.submit(status=303)
    reply = acme.account.comments.get(comment="For us, too")
    assert (reply.internal, reply.parent_id) == (True, parent.id)
    post.refresh_from_db()
    assert (post.comments_cache, post.internal_comments_cache) == (0, 2)
    # A deleted internal comment leaves a place for the team alone.
    shown = make_comment(post, acme.carol, "Shown")
    post.comment(by=acme.bob, text="Below, for us", internal=True, parent_id=shown.id)
    post.erase_comment(shown)
    assert tree(acme.page(acme.carol), f"/app/posts/{post.id}") == []
    places = [("For us", ["For us, too"]), ("This comment was deleted.", ["Below, for us"])]
    assert tree(acme.page(acme.bob), f"/app/posts/{post.id}") == places
    carol = acme.page(acme.carol)
    for comment in (parent, reply):
        assert "comment-form" in carol.get(f"/app/posts/{post.id}/comments?reply={comment.id}").headers["Location"]
        thread = carol.get(f"/app/posts/{post.id}/comments/{comment.id}/thread").follow()
        thread.follow().mustcontain("That comment is no longer here.", no="For us")


def test_withdrawn_and_waiting_parents_are_not_shown(acme, post):
    dora = make_user(acme.account, "dora")
    parent = make_comment(post, dora, "Spam")
    post.comment(by=acme.carol, text="Stop it", parent_id=parent.id)
    path = f"/app/posts/{post.id}"
    acme.account.comments.filter(id=parent.id).update(approved=False)
    assert tree(acme.page(), path) == [("This comment is not shown at the moment.", ["Stop it"])]
    assert tree(acme.page(dora), path) == [("Spam", ["Stop it"])]
    with pytest.raises(FieldError, match="waits for approval"):
        post.comment(by=acme.bob, text="No", parent_id=parent.id)
    acme.account.comments.filter(id=parent.id).update(approved=True, withdrawn_at=post.created_at)
    assert tree(acme.page(dora), path) == [("This comment is not shown at the moment.", ["Stop it"])]


def test_the_author_of_the_parent_is_notified_of_a_reply(acme, post):
    acme.account.users.update(notification="own", notify_new_posts=False)
    parent = make_comment(post, acme.carol)
    run_followers()
    acme.account.notifications.all().delete()
    post.comment(by=acme.alice, text="Yes", parent_id=parent.id)
    run_followers()
    found = [(row.user_id, row.reason) for row in acme.account.notifications.order_by("user_id")]
    assert sorted(found) == sorted(
        [(acme.bob.id, NotificationReason.AUTHOR), (acme.carol.id, NotificationReason.REPLY)]
    )
    assert "replied to you" in acme.page(acme.carol).get("/app/notifications")
    internal = post.comment(by=acme.alice, text="For us", internal=True, parent_id=parent.id)
    run_followers()
    assert not acme.account.notifications.filter(activity__comment_id=internal.id, user_id=acme.carol.id).exists()


def test_json_has_the_parent(acme, post):
    parent = make_comment(post, acme.carol)
    path = f"/app/posts/{post.id}/comments.json"
    answers = [
        acme.json().post(path, json={"comment": {"comment": "A", "parent_id": parent.id}}),
        acme.json().post(
            "/app/posts.json",
            json={"post": {"task_kind": "comment", "post_id": post.id, "content": "B", "parent_id": parent.id}},
        ),
    ]
    assert [(answer.status_code, answer.json()["parent_id"]) for answer in answers] == [(201, parent.id)] * 2


def test_it_rejects_other_parents(acme, other, post):
    elsewhere = make_comment(make_post(acme.bob), acme.bob)
    foreign = make_comment(make_post(other.mallory), other.mallory)
    deleted = make_comment(post, acme.bob)
    post.comment(by=acme.bob, text="Reply", parent_id=deleted.id)
    post.erase_comment(deleted)
    for comment in (elsewhere, foreign, deleted):
        sent = {"comment": {"comment": "A", "parent_id": comment.id}}
        refused = acme.json().post(f"/app/posts/{post.id}/comments.json", json=sent)
        assert_refused(refused, 422, "validation_failed", {"parent_id": ["can't be found"]})
    form = acme.page(acme.carol).get(f"/app/posts/{post.id}").forms["comment-form"]
    form["content"], form["parent_id"] = "Lost?", str(deleted.id)
    refused = form.submit(status=422)
    assert "The comment that you reply to was deleted" in refused.html.get_text()
    assert refused.forms["comment-form"]["content"].value.strip() == "Lost?"
    assert comments(post) == ["Reply"]
