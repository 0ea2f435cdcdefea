"""A new suggestion."""

from accounts.sessions.models import Session
from tests.support.factories import PASSWORD, make_category, make_forum, make_post
from tests.support.pages import Visitor, path_of_post
from tests.support.queries import capture_queries
from tests.support.writing import sender

PATH = "/app/posts/new"


def fill_in(visitor: Visitor, path: str = PATH, **values):
    form = visitor.get(path).forms["post-form"]
    for name, value in values.items():
        form[name] = value
    return form


def test_it_works(acme):
    carol = acme.page(acme.carol)
    form = fill_in(carol, title="  Dark mode ", content="**Please**\r\n\r\n- a", kind="question", private=True)
    response = form.submit(headers={"User-Agent": "Browser/1"})
    [post] = acme.account.posts.all()
    assert (response.status_code, response.headers["Location"]) == (303, path_of_post(post))
    assert (post.title, post.content, post.kind, post.private) == ("Dark mode", "**Please**\n\n- a", "question", True)
    assert "<strong>Please</strong>" in post.content_html
    assert (post.forum_id, post.category_id, post.user_id) == (acme.forum.id, acme.category.id, acme.carol.id)
    assert (post.agent, post.approved, post.status_id) == ("Browser/1", True, acme.account.default_status("post").id)
    page = response.follow()
    assert "Thank you! Your suggestion is posted." in page
    # The vote of the author counts, and can be taken back.
    assert list(acme.account.votes.values_list("post_id", "user_id")) == [(post.id, acme.carol.id)]
    assert post.votes_cache == 1
    page.forms[f"voting-{post.id}"].submit("vote")
    post.refresh_from_db()
    assert (post.votes_cache, acme.account.votes.count()) == (0, 0)
    assert "Dark mode" in page


def test_the_link_may_fill_in_the_form(acme, other):
    category = make_category(acme.account, "Ideas")
    carol = acme.page(acme.carol)
    form = fill_in(carol, f"{PATH}?category={category.id}&title=Dark+mode")
    assert (form["title"].value, form["category_id"].value) == ("Dark mode", str(category.id))
    form.submit()
    assert acme.account.posts.get().category_id == category.id
    # Invalid values are ignored.
    for query in ("category=x", f"category={other.account.categories.get().id}", "category=999", f"title={'x' * 500}"):
        form = fill_in(carol, f"{PATH}?{query}")
        assert form["category_id"].value in (str(acme.category.id), "")
        assert len(form["title"].value) <= 255


def test_a_visitor_writes_first(acme):
    """`tests/forum/texts/test_drafts.py` has the rest."""
    form = acme.page().get(f"{PATH}?category={acme.category.id}&title=Dark+mode").forms["post-form"]
    assert (form["title"].value, form["category_id"].value) == ("Dark mode", str(acme.category.id))


def test_it_rejects_invalid_values(acme):
    make_category(acme.account, "Ideas")
    carol = acme.page(acme.carol)
    for name, value, error in (
        ("title", " ", "Can't be blank"),
        ("title", "x" * 256, "at most 255"),
        ("content", "x" * 65537, "at most 65536"),
        ("content", "a\u0001b", "Has characters that can't be stored"),
        ("kind", "private", "Select a valid choice"),
        ("category_id", "999999", "No longer exists"),
    ):
        form = fill_in(carol, title="Dark mode", content="Please")
        form[name].force_value(value)
        response = form.submit(status=422)
        assert error in response.html.get_text()
        returned_form = response.forms["post-form"]
        for kept, usual in (("title", "Dark mode"), ("content", "Please")):
            assert returned_form[kept].value.lstrip("\n") == (value if kept == name else usual)
    assert not acme.account.posts.exists()


def test_it_rejects_a_deleted_category_and_one_of_another_forum(acme):
    elsewhere = acme.account.categories.of_forum(make_forum(acme.account).id).get()
    category = make_category(acme.account, "Ideas")
    form = fill_in(acme.page(acme.carol), title="Dark mode", category_id=str(category.id))
    category.delete()
    for id in (category.id, elsewhere.id):
        form["category_id"].force_value(str(id))
        response = form.submit(status=422)
        assert "No longer exists" in response
        assert response.forms["post-form"]["title"].value == "Dark mode"


def test_a_new_post_may_wait_for_approval(acme):
    forum = acme.forum
    forum.approval = True
    forum.save()
    response = fill_in(acme.page(acme.carol), title="Dark mode").submit()
    post = acme.account.posts.get()
    assert not post.approved
    assert "It is waiting for approval" in response.follow()
    assert acme.page().get(f"/app/posts/{post.id}", status=404)
    assert "Your suggestion is posted." in fill_in(acme.page(acme.bob), title="Light mode").submit().follow()


def test_similar_posts_are_shown_first(acme):
    post = make_post(acme.bob, "Dark mode for the app")
    carol = acme.page(acme.carol)
    response = fill_in(carol, title="dark mode", content="Please").submit()
    assert response.status_code == 200
    assert "there are suggestions like yours" in response
    assert "Dark mode for the app" in response
    assert acme.account.posts.count() == 1
    form = response.forms["post-form"]
    assert form["content"].value.strip() == "Please"
    # The user can vote for the existing one ...
    vote = response.forms[f"voting-{post.id}"]
    vote_response = vote.submit("vote", headers={"Referer": f"http://{acme.host}{PATH}"})
    assert vote_response.headers["Location"] == path_of_post(post)
    assert acme.account.votes.filter(post_id=post.id, user_id=acme.carol.id).exists()
    # ... or post their own.
    assert form.submit().status_code == 303
    assert acme.account.posts.count() == 2


def test_similar_posts_are_shown_while_typing_the_title(acme, other):
    post = make_post(acme.bob, "Dark mode")
    make_post(acme.bob, "Secret dark mode", private=True)
    make_post(other.mallory, "Dark mode elsewhere")
    carol = acme.page(acme.carol)
    fragment = carol.get("/app/posts/similar?title=dark+mod", headers={"HX-Request": "true"})
    assert "<html" not in fragment
    assert [link.get("href") for link in fragment.html.find_all("a")] == [path_of_post(post)]
    for title in ("", "da", "zebra", "x" * 5000, "%00", "'"):
        fragment = carol.get("/app/posts/similar", {"title": title})
        assert fragment.text.strip() == ""
    fragment = acme.page().get("/app/posts/similar?title=dark+mod", headers={"HX-Request": "true"})
    assert [link.get("href") for link in fragment.html.find_all("a")] == [path_of_post(post)]
    # In a private forum, the response to a visitor is empty. A redirect would lose the text in the form.
    acme.account.forums.update(access="private")
    assert acme.page().get("/app/posts/similar?title=dark", headers={"HX-Request": "true"}).status_code == 204


def test_htmx_shows_a_preview(acme):
    """A preview of a visitor would not be limited."""
    carol, visitor = acme.page(acme.carol), acme.page()
    for page, expected in ((carol, "<em>a</em>"), (visitor, "You are signed out")):
        fragment = sender(page)("/app/posts/preview", {"content": "*a*"})
        assert expected in fragment
        assert "<html" not in fragment


def test_a_form_may_still_be_invalid_after_signing_in_again(acme):
    carol = acme.page(acme.carol)
    form = fill_in(carol, title="")
    Session.objects.all().delete()
    form = form.submit(status=403).forms["post-form"]
    form["login"], form["password"] = "carol", PASSWORD
    form = form.submit(status=422).forms["post-form"]
    assert "password" not in form.fields
    form["title"] = "Dark mode"
    assert form.submit().status_code == 303


def test_it_rejects_requests_over_the_limit(acme, settings):
    carol = acme.page(acme.carol)
    settings.RATE_LIMIT = 1
    form = fill_in(carol, title="Dark mode")
    assert form.submit().status_code == 303
    assert form.submit(status=429)


def test_it_takes_few_statements(acme):
    make_post(acme.bob, "Dark mode")
    form = fill_in(acme.page(acme.carol), title="Something else")
    # The session with its user; the forum with its account; the categories; the search for similar posts, here without result; the
    # stored response of the form, twice; its lock; the post, its status, its vote and the event of
    # the vote; storing the response.
    response, queries = capture_queries(form.submit)
    assert response.status_code == 303
    assert len(queries) <= 18, queries


def test_the_text_of_a_visitor_is_kept_but_not_rendered(acme):
    """Rendering takes time, and the requests of a visitor are not limited here."""
    visitor = acme.page()
    visitor.get("/app/sign-in")
    values = {"title": "Mine", "content": "*mine*", "act": "preview", "csrfmiddlewaretoken": visitor.cookies["csrf"]}
    response = visitor.post(PATH, values, status=403)
    assert response.forms["post-form"]["content"].value == "*mine*"
    assert "<em>mine</em>" not in response
