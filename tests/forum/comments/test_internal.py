"""Internal comments: the team reads them, and nothing that other users can read depends on them."""

import pytest
from django.db import connection, transaction

from core.errors import FieldErrors
from forum.posts.models import Post
from tests.support.assertions import errors_of, read
from tests.support.factories import make_comment, make_post
from tests.support.settings import send
from tests.support.writing import comments

SECRET = "margin-of-forty-percent"


@pytest.fixture
def post(acme):
    """A post of carol with a public comment of carol and an internal comment of bob."""
    post = make_post(acme.carol, "Dark mode", content="For the night")
    make_comment(post, acme.carol, "Please")
    post.comment(by=acme.bob, text=SECRET, internal=True)
    return post


def row(post: Post) -> Post:
    return Post.objects.get(pk=post.pk)


# The responses that contain comments or depend on them, by name: functions that send the request.
# The addresses that show comments or depend on them. The Forum API and the similar posts need a user.
PAGES = [
    *("/app/posts/{post}", "/app/posts/{post}?page=last", "/", f"/?q={SECRET[:12]}", "/app/roadmap"),
    *("/app/feed.atom", "/sitemap.xml", f"/app/posts/similar?title={SECRET}"),
]
XML = ["/app/posts.xml", "/app/posts.xml?order=commented", "/app/posts/{post}.xml"]


def test_responses_to_others_do_not_depend_on_them(acme, post):
    """Writing, editing and deleting an internal comment changes no word that others read. The Forum API has none for the team either."""
    merged = make_post(acme.carol, "Black")
    merged.comment(by=acme.bob, text=f"{SECRET} too", internal=True)
    merged.merge_into(post, by=acme.bob)
    make_post(acme.alice, "A newer one")
    visitors, clients = [acme.page(), acme.page(acme.carol)], [acme.xml(acme.carol), acme.xml(acme.bob)]

    def read_all() -> list[tuple[str, str]]:
        responses = [
            (path, visitor.get(path.format(post=post.id), headers={"Accept": "text/html"}, status="*"))
            for visitor in visitors
            for path in PAGES
        ]
        responses += [(path, client.get(path.format(post=post.id))) for client in clients for path in XML]
        # Compare the text of pages only: CSRF tokens and the keys of forms differ in each response.
        return [
            (path, " ".join(page.html.get_text().split()) if "<html" in page.text else page.text)
            for path, page in responses
        ]

    before = read_all()
    assert [path for path, text in before if SECRET in text] == []
    comment = post.comment(by=acme.bob, text="Another", internal=True)
    assert read_all() == before
    post.edit_comment(comment, "Changed", by=acme.alice)
    assert read_all() == before
    post.erase_comment(comment)
    assert read_all() == before


def test_counts_and_order_stay_the_same(acme, post):
    before = row(post)
    assert (before.comments_cache, before.internal_comments_cache) == (1, 1)
    comment = post.comment(by=acme.bob, text="Another", internal=True)
    post.edit_comment(comment, "Changed", by=acme.bob)
    after = row(post)
    assert (after.comments_cache, after.internal_comments_cache) == (1, 2)
    assert after.updated_at == before.updated_at
    post.erase_comment(comment)
    assert (row(post).comments_cache, row(post).internal_comments_cache) == (1, 1)


def test_the_author_can_change_a_post_with_internal_comments(acme, post):
    assert row(post).may_be_changed_by(acme.carol)
    page = acme.page(acme.carol).get(f"/app/posts/{post.id}")
    assert page.html.find("a", href=f"/app/posts/{post.id}/edit") is not None
    assert acme.xml(acme.carol).delete(f"/app/posts/{post.id}.xml").status_code == 200


def test_the_team_reads_them_on_the_page(acme, post, monkeypatch):
    page = acme.page(acme.bob).get(f"/app/posts/{post.id}")
    assert SECRET in page
    assert " ".join(page.html.find(id="comments-title").get_text().split()) == "1 comment 1 not public"
    [internal] = page.html.select(".comment.internal")
    assert "Internal" in internal.select_one(".badge:last-of-type").get_text()
    # They are on the pages of comments for the team alone.
    monkeypatch.setattr("forum.posts.pages.COMMENTS_PER_PAGE", 1)
    assert SECRET in acme.page(acme.bob).get(f"/app/posts/{post.id}?page=2")
    acme.page(acme.carol).get(f"/app/posts/{post.id}?page=2", status=404)


def test_the_team_writes_them_on_the_page(acme, post):
    form = acme.page(acme.bob).get(f"/app/posts/{post.id}").forms["comment-form"]
    form["content"], form["internal"] = "Not yet", True
    form.submit(status=303)
    assert acme.account.comments.get(comment="Not yet").internal
    form = acme.page(acme.bob).get(f"/app/posts/{post.id}").forms["comment-form"]
    form["content"], form["internal"] = "Nor now", True
    fragment = form.submit(headers={"HX-Request": "true"})
    assert "2 comments" not in fragment
    assert fragment.html.select_one(".comment.internal") is not None


def test_a_submitted_choice_is_kept_when_the_session_has_ended(acme, post):
    """The text must not become public when a visitor, who has no such choice, submits the form again."""
    bob = acme.page(acme.bob)
    form = bob.get(f"/app/posts/{post.id}").forms["comment-form"]
    form["content"], form["internal"] = "Not yet", True
    acme.bob.sessions.all().delete()
    form = form.submit(status=403).forms["comment-form"]
    assert form["internal"].checked
    form["login"], form["password"] = "carol", "correct horse battery"
    response = form.submit(status=422)
    assert "Only the team can write internal comments" in response
    assert comments(post) == ["Please", SECRET]


def test_it_rejects_internal_comments_by_members(acme, post):
    page = acme.page(acme.carol)
    assert "internal" not in page.get(f"/app/posts/{post.id}").forms["comment-form"].fields
    send(page, f"/app/posts/{post.id}/comments", content="Mine", internal="on", status=422)
    assert comments(post) == ["Please", SECRET]
    with (
        pytest.raises(FieldErrors, check=lambda error: list(errors_of(error)) == ["internal"]),
        transaction.atomic(),
    ):
        post.comment(by=acme.carol, text="Mine", internal=True)


def test_others_cannot_find_them_by_id(acme, post):
    """Neither can their author who has left the team."""
    comment = acme.account.comments.get(internal=True)
    path = f"/app/posts/{post.id}/comments/{comment.id}"
    acme.bob.role = "member"
    acme.bob.save()
    assert not comment.may_be_changed_by(acme.bob)
    for user in (acme.carol, acme.bob):
        page = acme.page(user)
        assert SECRET not in page.get(f"/app/posts/{post.id}")
        page.get(f"{path}/edit", status=404)
        page.get(f"{path}/history", status=403)
        send(page, f"{path}/edit", content="x", status=404)
        # The same answer as for a comment that does not exist.
        for id in (comment.id, 10**9):
            answer = send(page, f"/app/posts/{post.id}/comments/{id}/delete").follow()
            assert "That comment is no longer here." in answer
    assert acme.account.comments.filter(internal=True).exists()


# The Account API, which only the team uses


def test_the_account_api_lists_them_only_on_request(acme, post):
    path = f"/app/posts/{post.id}/comments.json"
    for query, texts in (("", ["Please"]), ("?internal=false", ["Please"]), ("?internal=1", ["Please", SECRET])):
        listed = read(acme.json().get(path + query))
        assert [comment["comment"] for comment in listed] == texts
        assert [comment["internal"] for comment in listed] == [text == SECRET for text in texts]
    response = acme.json().get(f"{path}?internal=perhaps")
    assert read(response)["errors"] == {"internal": ["is not true or false"]}
    body = read(acme.json().get(f"/app/posts/{post.id}.json"))
    assert body["comments_cache"] == 1
    assert SECRET not in str(body)


def test_the_account_api_writes_them(acme, post):
    values = {"comment": {"comment": "By JSON", "internal": True}}
    body = read(acme.json().post(f"/app/posts/{post.id}/comments.json", json=values))
    assert body["internal"] is True
    values = {"post": {"task_kind": "comment", "post_id": post.id, "content": "As a post", "internal": "1"}}
    body = read(acme.json().post("/app/posts.json", json=values))
    assert body["internal"] is True
    # An internal comment is never published.
    body = read(acme.json().put(f"/app/posts/{body['id']}.json", json={"post": {"internal": False, "content": "a"}}))
    assert (body["internal"], body["content"]) == (True, "a")
    assert (row(post).comments_cache, row(post).internal_comments_cache) == (1, 3)


def test_the_change_feed_reports_them_as_a_change_of_the_post(acme, post):
    def changes() -> int:
        # Deferred triggers record the changes at the commit. Run them now.
        connection.check_constraints()
        return acme.account.changes.filter(resource="post", id=post.id).count()

    before = changes()
    comment = post.comment(by=acme.bob, text="Another", internal=True)
    assert changes() == before + 1
    post.edit_comment(comment, "Changed", by=acme.bob)
    assert changes() == before + 2


# Merging


def test_a_merge_moves_them_and_its_undo_returns_them(acme, post):
    original = make_post(acme.carol, "Themes")
    post.merge_into(original, by=acme.bob)
    assert (row(original).comments_cache, row(original).internal_comments_cache) == (1, 1)
    assert (row(post).comments_cache, row(post).internal_comments_cache) == (0, 0)
    assert SECRET in acme.page(acme.bob).get(f"/app/posts/{original.id}")
    row(post).undo_merge(by=acme.bob)
    assert (row(original).comments_cache, row(original).internal_comments_cache) == (0, 0)
    assert (row(post).comments_cache, row(post).internal_comments_cache) == (1, 1)
