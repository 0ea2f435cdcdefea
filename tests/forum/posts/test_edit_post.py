"""Editing and deleting one's own posts."""

import pytest

from forum.posts.models import Post
from tests.support.factories import make_category, make_post
from tests.support.pages import Visitor, path_of_post
from tests.support.queries import capture_queries
from tests.support.writing import sender


@pytest.fixture
def post(acme):
    return make_post(acme.carol, "Dark mode", content="Please")


def fresh(post: Post) -> Post:
    return Post.objects.get(pk=post.pk)


def fill_in(visitor: Visitor, post, **values):
    form = visitor.get(f"/app/posts/{post.id}/edit").forms["post-form"]
    for name, value in values.items():
        form[name] = value
    return form


def test_it_works(acme, post):
    ideas = make_category(acme.account, "Ideas")
    carol = acme.page(acme.carol)
    page = carol.get(f"/app/posts/{post.id}").click(href="/edit$")
    form = page.forms["post-form"]
    assert (form["title"].value, form["content"].value.strip(), form["kind"].value) == (
        "Dark mode",
        "Please",
        "suggestion",
    )
    form["title"], form["content"], form["kind"], form["private"] = "Themes", "*Now*", "error", True
    form["category_id"] = str(ideas.id)
    response = form.submit()
    post = fresh(post)
    assert (response.status_code, response.headers["Location"]) == (303, path_of_post(post))
    assert (post.title, post.content, post.kind, post.private, post.category_id) == (
        "Themes",
        "*Now*",
        "error",
        True,
        ideas.id,
    )
    assert "<em>Now</em>" in post.content_html
    page = response.follow()
    assert "Saved." in page
    assert "Themes" in page


def test_unchanged_privacy_is_kept(acme):
    post = make_post(acme.carol, "Secret", kind="private")
    carol = acme.page(acme.carol)
    fill_in(carol, post, title="Still secret").submit()
    assert (fresh(post).kind, fresh(post).private) == ("private", False)
    fill_in(carol, post, kind="error").submit()
    assert (fresh(post).kind, fresh(post).private) == ("error", True)
    post = make_post(acme.carol, "Secret", kind="private")
    fill_in(carol, post, private=False).submit()
    assert (fresh(post).kind, fresh(post).private) == ("suggestion", False)


def test_it_rejects_invalid_values(acme, post):
    carol = acme.page(acme.carol)
    for name, value, error in (
        ("title", " ", "Can't be blank"),
        ("title", "x" * 256, "at most 255"),
        ("content", "x" * 65537, "at most 65536"),
        ("kind", "private", "Select a valid choice"),
    ):
        form = fill_in(carol, post)
        form[name].force_value(value)
        assert error in form.submit(status=422).html.get_text()
    assert fresh(post).title == "Dark mode"


def test_it_rejects_a_form_older_than_another_change(acme, post):
    carol, bob = acme.page(acme.carol), acme.page(acme.bob)
    form, form_of_bob = fill_in(carol, post, title="Mine", content="Text of carol"), fill_in(bob, post, title="Of bob")
    form_of_bob["content"] = "Text of bob"
    # Comments and votes do not count as changes. A second click is accepted.
    comment = post.comment(by=acme.alice, text="Yes")
    post.vote(by=acme.alice)
    for _ in range(2):
        assert form_of_bob.submit().status_code == 303
    post.erase_comment(comment)
    post.withdraw_vote(by=acme.alice)
    response = form.submit(status=409)
    assert "Somebody changed it after you opened it" in response
    assert "Text of bob" in response
    form = response.forms["post-form"]
    assert (form["title"].value, form["content"].value.strip()) == ("Mine", "Text of carol")
    assert fresh(post).title == "Of bob"
    assert form.submit().status_code == 303
    assert (fresh(post).title, fresh(post).content) == ("Mine", "Text of carol")


def test_changed_texts_wait_for_approval_again(acme, post):
    acme.account.forums.update(approval=True)
    notice = "it waits for approval again"
    carol, bob = acme.page(acme.carol), acme.page(acme.bob)
    assert notice in carol.get(f"/app/posts/{post.id}/edit")
    assert notice not in bob.get(f"/app/posts/{post.id}/edit")
    page = fill_in(carol, post, kind="error").submit().follow()
    assert "Saved." in page
    assert fresh(post).approved
    page = fill_in(carol, post, title="Buy here").submit().follow()
    assert "Saved. It is waiting for approval: until then, only you and the team can see it." in page
    assert not fresh(post).approved
    acme.page().get(f"/app/posts/{post.id}", status=404)
    assert "Buy here" in bob.get("/app/moderation")
    page = fill_in(bob, post, content="Please, again").submit().follow()
    assert "It is waiting" not in page.html.find(id="messages").get_text()


def test_it_rejects_authors_after_others_have_participated(acme, post):
    carol = acme.page(acme.carol)
    form = fill_in(carol, post, title="Mine")
    delete = carol.get(f"/app/posts/{post.id}").forms["delete-post"]
    post.vote(by=acme.bob)
    response = form.submit(status=409)
    assert "only the team can change it now" in response
    assert response.forms["post-form"]["title"].value == "Mine"
    assert "only the team can change it now" in delete.submit(status=403)
    assert "only the team can change it now" in carol.get(f"/app/posts/{post.id}/edit", status=403)
    page = carol.get(f"/app/posts/{post.id}")
    assert "delete-post" not in page.forms
    assert fresh(post).title == "Dark mode"
    assert fresh(post).trashed_at is None


def test_a_post_that_was_deleted_meanwhile(acme, post):
    carol = acme.page(acme.carol)
    form = fill_in(carol, post, content="Text of carol")
    delete = carol.get(f"/app/posts/{post.id}").forms["delete-post"]
    post.trash(by=acme.bob)
    response = form.submit(status=404)
    assert "Your text is below, so that you can copy it." in response
    assert response.forms["post-form"]["content"].value.strip() == "Text of carol"
    assert "was deleted in the meantime" in delete.submit(status=404)


def test_who_may_edit_and_delete(acme, post):
    post_of_bob = make_post(acme.bob, "Ours")
    carol, bob, alice = (acme.page(user) for user in (acme.carol, acme.bob, acme.alice))
    for path in ("edit", "delete"):
        method = carol.get if path == "edit" else sender(carol)
        method(f"/app/posts/{post_of_bob.id}/{path}", status=403)
        method(f"/app/posts/999999/{path}", status=404)
    values = {"title": "x", "kind": "error", "category_id": post_of_bob.category_id}
    sender(carol)(f"/app/posts/{post_of_bob.id}/edit", values, status=403)
    for page, title in ((bob, "By bob"), (alice, "By alice")):
        assert fill_in(page, post, title=title).submit().status_code == 303
        assert fresh(post).title == title
    assert sender(alice)(f"/app/posts/{post_of_bob.id}/delete").status_code == 303
    response = carol.get(f"/app/posts/{post.id}").forms["delete-post"].submit()
    assert (response.status_code, response.headers["Location"]) == (303, "/app/suggestions")
    assert "“By alice” is deleted." in response.follow()
    assert [fresh(row).trashed_by_id for row in (post, post_of_bob)] == [acme.carol.id, acme.alice.id]


def test_it_takes_few_statements(acme, post):
    form = fill_in(acme.page(acme.carol), post, title="Mine")
    response, queries = capture_queries(form.submit)
    assert response.status_code == 303
    assert len(queries) == 6, queries
