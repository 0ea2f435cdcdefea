"""Reactions to comments, and the marks of the team: pinned and helpful comments."""

import pytest

from forum.comments.models import CommentReaction
from tests.support.assertions import assert_refused, read
from tests.support.factories import make_comment, make_post
from tests.support.pages import path_of_post
from tests.support.tables import table
from tests.support.writing import sender


@pytest.fixture
def post(acme):
    return make_post(acme.bob, "Dark mode")


def chips(page, comment) -> list[str]:
    return [chip.get_text(strip=True) for chip in page.html.select(f"#reactions-{comment.id} > .chip")]


def test_it_works(acme, post):
    comment, path = make_comment(post, acme.carol), f"/app/posts/{post.id}"
    assert comment.reactions == ()
    for user in (acme.bob, acme.carol, acme.carol):
        location = sender(acme.page(user))(f"{path}/reactions", {"heart": comment.id}, status=303).headers["Location"]
    assert location == f"{path}/comments/{comment.id}"
    assert chips(acme.page().get(path), comment) == ["❤️ 2"]
    sender(acme.page(acme.bob))(f"{path}/reactions", {"eyes": comment.id})
    page = acme.page(acme.bob).get(path)
    assert chips(page, comment) == ["❤️ 2", "👀 1"]
    [own, _] = page.html.select(f"#reactions-{comment.id} > button")
    assert (own["value"], own["aria-pressed"]) == (f"-{comment.id}", "true")
    sender(acme.page(acme.bob))(f"{path}/reactions", {own["name"]: own["value"]})
    assert chips(acme.page().get(path), comment) == ["❤️ 1", "👀 1"]
    assert not acme.account.activities.filter(comment_id=comment.id).exclude(kind="comment").exists()


def test_json_reacts(acme, post):
    comment, path = make_comment(post, acme.carol), f"/app/posts/{post.id}/reactions.json"
    values = {"comment_id": comment.id, "kind": "heart"}
    for sent, reactions in (
        (values, {"heart": 1}),
        (values, {"heart": 1}),
        ({**values, "kind": "eyes"}, {"heart": 1, "eyes": 1}),
        ({**values, "reacts": False}, {"eyes": 1}),
        ({**values, "reacts": False}, {"eyes": 1}),
    ):
        assert read(acme.json().post(path, json={"reaction": sent}))["reactions"] == reactions
    assert read(acme.json().get(f"/app/posts/{post.id}/comments.json"))[0]["reactions"] == {"eyes": 1}


@table(
    ("values", "errors"),
    [
        ({}, {"comment_id": ["can't be blank"], "kind": ["can't be blank"]}),
        (
            {"comment_id": 1, "kind": "tears"},
            {"kind": ["is not one of thumbs_up, heart, party, smile, confused, eyes"]},
        ),
        ({"comment_id": 10**15, "kind": "heart"}, {"comment_id": ["can't be found"]}),
    ],
)
def test_it_rejects_invalid_reactions(acme, post, values, errors):
    refused = acme.json().post(f"/app/posts/{post.id}/reactions.json", json={"reaction": values})
    assert_refused(refused, 422, "validation_failed", errors)


def test_it_rejects_reactions_of_those_who_may_not_comment(acme, post):
    comment = make_comment(post, acme.bob)
    internal = post.comment(by=acme.bob, text="For us", internal=True)
    carol = sender(acme.page(acme.carol))
    for values in ({}, {"tears": comment.id}, {"heart": "x"}):
        carol(f"/app/posts/{post.id}/reactions", values, status=422)
    carol(f"/app/posts/{post.id}/reactions", {"heart": internal.id}, status=303)
    acme.account.forums.update(access="members")
    page = acme.page(acme.carol).get(f"/app/posts/{post.id}")
    assert "react" not in page.forms
    carol(f"/app/posts/{post.id}/reactions", {"heart": comment.id}, status=403)
    assert not CommentReaction.objects.exists()


def test_the_team_pins_comments(acme, post):
    created = [make_comment(post, acme.carol, f"Number {number}") for number in range(5)]
    bob, path = sender(acme.page(acme.bob)), f"/app/posts/{post.id}"
    for comment in (created[4], created[2], created[1], created[0]):
        response = bob(f"{path}/comments/{comment.id}/mark", {"pinned": 1}, status=303)
    assert "is set for 3 comments already" in response.follow().follow()
    page = acme.page().get(path)
    assert [prose.get_text(strip=True)[-1] for prose in page.html.select(".comment .prose")] == [
        "4",
        "2",
        "1",
        "0",
        "3",
    ]
    assert len([badge for badge in page.html.select(".comment .badge") if "Pinned" in badge.get_text()]) == 3
    bob(f"{path}/comments/{created[4].id}/mark", {"pinned": 0})
    answer = read(acme.json().put(f"/app/posts/{created[2].id}.json", json={"post": {"pinned": False}}))
    assert (answer["pinned"], answer["helpful"]) == (False, False)
    assert [row["pinned"] for row in read(acme.json().get(f"{path}/comments.json"))] == [
        False,
        True,
        False,
        False,
        False,
    ]
    actions = acme.account.audit_entries.filter(action__startswith="comment.").order_by("id")
    assert list(actions.values_list("action", flat=True)) == ["comment.pinned"] * 3 + ["comment.not_pinned"] * 2


def test_the_team_marks_helpful_comments(acme, post):
    parent = make_comment(post, acme.carol)
    reply = post.comment(by=acme.bob, text="Press F2", parent_id=parent.id)
    path = f"/app/posts/{post.id}"
    assert "Helpful answer" not in acme.page().get(path)
    sender(acme.page(acme.bob))(f"{path}/comments/{reply.id}/mark", {"helpful": 1}, status=303)
    page = acme.page().get(path)
    assert page.click("Helpful answer").headers["Location"] == f"{path_of_post(post)}#comment-{reply.id}"
    assert "Helpful" in page.html.find(id=f"comment-{reply.id}").get_text()
    assert read(acme.json().get(f"/app/posts/{reply.id}.json"))["helpful"] is True


def test_it_rejects_marks_of_internal_comments_replies_and_members(acme, post):
    parent = make_comment(post, acme.carol)
    reply = post.comment(by=acme.bob, text="Reply", parent_id=parent.id)
    internal = post.comment(by=acme.bob, text="For us", internal=True)
    for comment, name, error in (
        (reply, "pinned", "is not for replies"),
        (internal, "pinned", "is only for public comments"),
        (internal, "helpful", "is only for public comments"),
    ):
        refused = acme.json().put(f"/app/posts/{comment.id}.json", json={"post": {name: True}})
        assert_refused(refused, 422, "validation_failed", {name: [error]})
    sender(acme.page(acme.carol))(f"/app/posts/{post.id}/comments/{parent.id}/mark", {"pinned": 1}, status=403)
    sender(acme.page(acme.bob))(f"/app/posts/{post.id}/comments/{parent.id}/mark", {"pinned": "x"}, status=422)
    assert not acme.account.comments.filter(pinned_at__isnull=False).exists()
