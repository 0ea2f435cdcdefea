"""Drafts of visitors who have not signed in, until a code publishes them."""

from datetime import timedelta
from urllib.parse import quote

import pytest
from django.core import mail
from django.utils import timezone
from webtest import Upload

from accounts.factors.models import SecondFactor
from accounts.sessions.cookies import TEXT_COOKIE
from accounts.sign_in import drafts
from accounts.sign_in.drafts import StoredDraft
from forum.forums.limits import LIMITS_OF_NEW_MEMBER
from forum.forums.models import Forum
from tests.support.codes import code_in_letter, enter_code, wrong
from tests.support.factories import PASSWORD, make_forum, make_post, make_user
from tests.support.odd_values import odd_value
from tests.support.pages import Visitor, path_of_post
from tests.support.queries import capture_queries
from tests.support.tables import table
from tests.support.writing import sender

NEW = "/app/posts/new"


def write(visitor: Visitor, path: str = NEW, form_id: str = "post-form", **values):
    """Send the form as a visitor. Return the response."""
    form = visitor.get(path).forms[form_id]
    for name, value in values.items():
        form[name] = value
    return form.submit(expect_errors=True)


def ask(response, email: str = "dan@example.com"):
    """Enter the address on the page with the draft. Return the page for the code."""
    form = response.follow().forms["code-request"]
    form["email"] = email
    return form.submit(status=303).follow()


def test_it_works(acme):
    visitor = acme.page()
    response = write(visitor, title="Dark mode", content="**Please**", kind="question", private=True)
    assert (response.status_code, response.headers["Location"]) == (303, "/app/draft")
    page = response.follow()
    draft = page.html.find(id="draft")
    assert draft.find("strong").text == "Dark mode"
    assert draft.select_one(".prose strong").text == "Please"
    assert [cell.text for cell in draft.select("dt, dd")] == [
        *("Kind", "Question"),
        *("Only you and the team can see it", "Yes"),
    ]
    page = ask(response)
    assert "dan@example.com" in page.html.find("main").text
    # Until the code is entered, nothing is stored.
    assert not StoredDraft.objects.exists()
    assert not acme.account.users.filter(email="dan@example.com").exists()
    assert enter_code(page, wrong(code_in_letter())).status_code == 422
    assert not acme.account.posts.exists()
    response = enter_code(page, code_in_letter())
    [post] = acme.account.posts.all()
    assert (response.status_code, response.headers["Location"]) == (303, path_of_post(post))
    assert (post.title, post.content, post.kind, post.private) == ("Dark mode", "**Please**", "question", True)
    assert (post.user.email, post.votes_cache) == ("dan@example.com", 1)
    assert "Thank you! Your suggestion is posted." in response.follow()
    assert TEXT_COOKIE not in visitor.cookies


def test_a_comment(acme):
    post = make_post(acme.bob, "Dark mode")
    visitor = acme.page()
    response = write(visitor, f"/app/posts/{post.id}", "comment-form", content="*At last.*")
    assert response.headers["Location"] == "/app/draft"
    assert response.follow().html.select_one("#draft em").text == "At last."
    response = enter_code(ask(response), code_in_letter())
    [comment] = acme.account.comments.all()
    assert response.headers["Location"] == f"{path_of_post(post)}#comment-{comment.id}"
    assert (comment.comment, comment.user.email) == ("*At last.*", "dan@example.com")
    # htmx leads to the page that asks for the address.
    form = acme.page().get(f"/app/posts/{post.id}").forms["comment-form"]
    form["content"] = "Me too."
    response = form.submit(headers={"HX-Request": "true"})
    assert (response.status_code, response.headers["HX-Redirect"]) == (200, "/app/draft")


def test_a_long_text_is_stored_for_two_hours(acme):
    visitor, text = acme.page(), "ż" * 65536
    response = write(visitor, title="Dark mode", content=text)
    assert len(visitor.cookies[TEXT_COOKIE]) < 100
    [row] = StoredDraft.objects.all()
    assert (row.expires_at - timezone.now()).total_seconds() == pytest.approx(7200, abs=60)
    # Another one takes its place.
    form = visitor.get(f"{NEW}?draft=1").forms["post-form"]
    assert form["content"].value.strip() == text
    form.submit(status=303)
    assert StoredDraft.objects.count() == 1
    page = ask(response)
    StoredDraft.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert StoredDraft.objects.outdated().count() == 1
    assert "We keep what you write for two hours" in enter_code(page, code_in_letter()).follow()
    StoredDraft.objects.update(expires_at=timezone.now() + timedelta(hours=1))
    assert enter_code(page, code_in_letter()).status_code == 303
    assert acme.account.posts.get().content == text
    assert not StoredDraft.objects.exists()


def test_it_belongs_to_the_browser_and_the_forum(acme, other):
    visitor = acme.page()
    write(visitor, title="Dark mode")
    for page in (acme.page(), Visitor(other.host)):
        for path in ("/app/draft", "/app/draft/code"):
            assert "We keep what you write for two hours" in page.get(path).follow()
    # Neither a changed cookie nor that of another account is read, and no other site can send the form.
    stranger = Visitor(other.host)
    for value in (visitor.cookies[TEXT_COOKIE], "x", "x" * 5000, "é", "gAAAAA"):
        stranger.set_cookie("text", value)
        assert stranger.get("/app/draft").status_code == 303
        assert stranger.get(f"{NEW}?draft=1").forms["post-form"]["title"].value == ""
    response = acme.page().post(NEW, {"title": "Dark mode", "act": "draft"}, expect_errors=True)
    assert response.status_code == 403
    assert "Set-Cookie" not in response.headers or "text=" not in str(response.headers.getall("Set-Cookie"))


def test_it_expires(acme, monkeypatch):
    visitor = acme.page()
    write(visitor, title="Dark mode")
    monkeypatch.setattr(drafts, "LIFETIME", timedelta(seconds=-1))
    assert "We keep what you write for two hours" in visitor.get("/app/draft").follow()


@table(
    ("values", "error"),
    [
        ({"title": ""}, "Can't be blank"),
        ({"title": "x" * 256}, "at most 255"),
        ({"title": "Dark mode", "content": "a\u0001b"}, "Has characters that can't be stored"),
    ],
)
def test_it_rejects_invalid_values(acme, values, error):
    visitor = acme.page()
    form = visitor.get(NEW).forms["post-form"]
    for name, value in values.items():
        form[name].force_value(value)
    response = form.submit(status=422)
    assert error in response.html.get_text()
    # The form is still that of a visitor.
    assert response.forms["post-form"]["act"].value == "draft"
    assert TEXT_COOKIE not in visitor.cookies


def test_similar_suggestions_are_shown_first(acme):
    post = make_post(acme.bob, "Dark mode for the app")
    visitor = acme.page()
    assert f"/app/posts/{post.id}" in visitor.get("/app/posts/similar?title=dark+mode", headers={"HX-Request": "true"})
    response = write(visitor, title="dark mode")
    assert response.status_code == 200
    assert "there are suggestions like yours" in response
    assert response.forms["post-form"].submit().headers["Location"] == "/app/draft"


@table("change", ["blocked", "not a member", "approval", "required field", "throttle"])
def test_the_rules_are_those_of_the_form(acme, monkeypatch, settings, change):
    """Rules that fail after the code bring the form back, with the text and the error."""
    visitor = acme.page()
    page = ask(write(visitor, title="Dark mode", content="Please"), "carol@acme.example")
    code, status, expected = code_in_letter(), 303, ""
    if change == "blocked":
        acme.carol.deactivate(by=acme.alice)
    elif change == "not a member":
        # Carol may sign in, but not take part.
        acme.account.forums.update(access=Forum.Access.MEMBERS)
        status, expected = 403, "only its members can take part"
    elif change == "approval":
        acme.account.forums.update(approval=True)
    elif change == "required field":
        acme.account.categories.get().delete()
        status, expected = 422, "No longer exists"
    else:
        acme.account.users.filter(id=acme.carol.id).update(created_at=timezone.now())
        settings.RATE_LIMIT = 600
        _limit, message = LIMITS_OF_NEW_MEMBER["post"]
        monkeypatch.setitem(LIMITS_OF_NEW_MEMBER, "post", (0, message))
        status, expected = 429, "In the first 24 hours you can post 0 suggestions"
    before = acme.account.posts.count()
    response = enter_code(page, code)
    assert response.status_code == status
    if change == "blocked":
        assert response.headers["Location"] == "/app/draft"
        assert "You are signed in" not in response.follow()
    elif change == "approval":
        assert not acme.account.posts.get().approved
        assert "It is waiting for approval" in response.follow()
    else:
        assert expected in response.html.get_text()
        form = response.forms["post-form"]
        assert (form["title"].value, form["content"].value.strip()) == ("Dark mode", "Please")
        assert form.action == NEW
        assert response.html.select_one(".who .name").text == "Carol Member"
    assert acme.account.posts.count() == before + (change == "approval")


def test_a_suggestion_that_was_merged_meanwhile(acme):
    post, original = make_post(acme.bob, "Dark mode"), make_post(acme.bob, "Themes")
    page = ask(write(acme.page(), f"/app/posts/{post.id}", "comment-form", content="At last."))
    post.merge_into(original, by=acme.bob)
    response = enter_code(page, code_in_letter())
    assert response.status_code == 409
    assert response.forms["comment-form"]["content"].value.strip() == "At last."
    assert response.forms["comment-form"].submit().status_code == 303
    assert acme.account.comments.get().post_id == original.id


def test_users_with_another_way_to_sign_in_keep_the_draft(acme):
    visitor = acme.page()
    page = write(visitor, title="Dark mode").follow().click("Use a password instead")
    form = page.forms["sign-in"]
    form["login"], form["password"] = "carol", PASSWORD
    response = form.submit()
    assert response.headers["Location"] == f"{NEW}?draft=1"
    page = response.follow()
    assert "You are signed in. This is what you wrote" in page
    assert page.forms["post-form"]["title"].value == "Dark mode"
    # Opening the page publishes nothing.
    assert not acme.account.posts.exists()
    assert page.forms["post-form"].submit().status_code == 303
    assert acme.account.posts.get().user_id == acme.carol.id
    assert TEXT_COOKIE not in visitor.cookies
    assert visitor.get(f"{NEW}?draft=1").forms["post-form"]["title"].value == ""


def test_a_second_factor_is_asked_for_before_anything_is_published(acme):
    post = make_post(acme.bob, "Themes")
    acme.account.users.filter(id=acme.carol.id).update(second_factor_at=timezone.now())
    visitor = acme.page()
    response = enter_code(ask(write(visitor, title="Dark mode"), "carol@acme.example"), code_in_letter())
    assert response.headers["Location"] == "/app/sign-in/second"
    assert acme.account.posts.count() == 1
    [code] = SecondFactor.objects.make_recovery_codes(acme.carol)[:1]
    form = response.follow().forms["second-factor"]
    form["code"] = code
    response = form.submit(status=303)
    assert response.headers["Location"] == f"{NEW}?draft=1"
    assert response.follow().forms["post-form"]["title"].value == "Dark mode"
    # Neither does the code cast a vote.
    visitor = acme.page()
    response = enter_code(
        ask(visitor.get(f"/app/posts/{post.id}").forms[f"voting-{post.id}"].submit("vote"), "carol@acme.example"),
        code_in_letter(),
    )
    assert response.headers["Location"] == "/app/sign-in/second"
    assert not acme.account.votes.filter(user_id=acme.carol.id).exists()


def test_a_form_of_a_session_that_ended_asks_for_the_second_factor_too(acme):
    carol = acme.page(acme.carol)
    form = carol.get(NEW).forms["post-form"]
    form["title"] = "Dark mode"
    acme.account.users.filter(id=acme.carol.id).update(second_factor_at=timezone.now())
    acme.account.sessions.all().delete()
    form = form.submit(status=403).forms["post-form"]
    form["login"], form["password"] = "carol", PASSWORD
    assert "Your sign-in takes more steps" in form.submit(status=422)
    assert not acme.account.posts.exists()
    assert not acme.account.sessions.exists()


def test_a_form_of_a_session_that_ended_can_become_a_draft(acme):
    """The team's choice is kept, and is checked for the user who signs in."""
    post = make_post(acme.bob, "Dark mode")
    for email, status in (("bob@acme.example", 303), ("carol@acme.example", 422)):
        form = acme.page(acme.bob).get(f"/app/posts/{post.id}").forms["comment-form"]
        form["content"], form["internal"] = "Too much work.", True
        acme.account.sessions.all().delete()
        form = form.submit(status=403).forms["comment-form"]
        response = form.submit("act", value="draft")
        assert "Internal: only the team can see it" in response.follow().html.find(id="draft").text
        response = enter_code(ask(response, email), code_in_letter())
        assert response.status_code == status
    assert "Only the team can write internal comments" in response
    comment = acme.account.comments.get()
    assert (comment.user_id, comment.internal) == (acme.bob.id, True)


def test_it_rejects_what_visitors_may_not_do(acme):
    visitor = acme.page()
    form = visitor.get(NEW).forms["post-form"]
    assert "files" not in form.fields
    assert "You can add files once you are signed in." in visitor.get(NEW)
    # Files that are sent anyway are not stored.
    values = {
        **{name: form[name].value for name in ("csrfmiddlewaretoken", "category_id", "act")},
        "kind": "suggestion",
    }
    response = visitor.post(NEW, {**values, "title": "Mine", "files": Upload("a.txt", b"a")}, status=303)
    assert response.headers["Location"] == "/app/draft"
    assert not acme.account.attachments.exists()
    acme.account.forums.update(access=Forum.Access.PRIVATE)
    assert visitor.get(NEW).headers["Location"].startswith("/app/sign-in?next=")
    for path in ("/app/draft", "/app/draft/code"):
        assert visitor.get(path).headers["Location"].startswith("/app/sign-in?next=")
    # As after the end of a session, the form is shown again with a sign-in form.
    assert form.submit(status=403).forms["post-form"]["password"]


def test_the_response_is_the_same_for_every_address(acme):
    make_user(acme.account, "gone", is_active=False)
    pages, counts = set(), set()
    for email in ("carol@acme.example", "CAROL@acme.example", "gone@acme.example", "dan@example.com"):
        form = write(acme.page(), title="Dark mode").follow().forms["code-request"]
        form["email"] = email
        response, queries = capture_queries(form.submit)
        page = response.follow()
        token = page.forms["code"]["csrfmiddlewaretoken"].value
        pages.add((response.headers["Location"], page.text.replace(token, "").replace(email, "")))
        counts.add(len(queries))
    assert (len(pages), len(counts)) == (1, 1)


def test_a_custom_domain_keeps_a_draft_of_its_own(acme):
    forum = make_forum(acme.account, "ideas")
    visitor = Visitor("ideas.example.org")
    response = enter_code(ask(write(visitor, title="Dark mode", content="x" * 5000)), code_in_letter())
    post = acme.account.posts.get()
    assert (response.headers["Location"], post.forum_id) == (path_of_post(post), forum.id)


def test_a_signed_in_user_is_redirected_to_the_form(acme):
    visitor = acme.page()
    write(visitor, title="Dark mode")
    visitor.sign_in("carol")
    for path in ("/app/draft", "/app/draft/code"):
        assert visitor.get(path).headers["Location"] == f"{NEW}?draft=1"


def test_odd_values(acme):
    """What is kept is what the form allows, and no answer is a fault of the service."""
    post, visitor = make_post(acme.bob, "Dark mode"), acme.page()
    send = sender(visitor)
    text = {"content": "a", "act": "draft"}
    suggestion = {**text, "title": "Zebra", "kind": "suggestion", "category_id": acme.category.id}
    comments = f"/app/posts/{post.id}/comments"
    for path, base, more in (
        (NEW, suggestion, ("private", "seen", "form_key", "files", "next")),
        (comments, text, ("internal", "form_key")),
        ("/app/draft", {}, ("email", "next", "again", "homepage")),
        ("/app/draft/code", {}, ("code", "next")),
        ("/app/profile/name", {}, ("name", "later")),
    ):
        for name in (*base, *more):
            odd = odd_value(path, name).encode("utf-8", "surrogatepass")
            assert send(path, {**base, name: odd}, expect_errors=True).status_code < 500
            assert visitor.get("/app/draft", expect_errors=True).status_code in (200, 303)
    for path in (NEW, comments, "/app/draft", "/app/draft/code"):
        odd = quote(odd_value(path, "draft").encode("utf-8", "surrogatepass"))
        assert visitor.get(f"{path}?draft={odd}&password={odd}", expect_errors=True).status_code < 500


def test_drafts_are_limited(acme, monkeypatch, settings):
    settings.RATE_LIMIT = 600
    monkeypatch.setattr(drafts, "MAX_DRAFTS_PER_ADDRESS", 1)
    visitor = acme.page()
    assert write(visitor, title="Dark mode").status_code == 303
    response = write(visitor, title="Light mode")
    assert response.status_code == 429
    assert response.forms["post-form"]["title"].value == "Light mode"
    monkeypatch.setattr(drafts, "MAX_DRAFTS_PER_ADDRESS", 9)
    monkeypatch.setattr(drafts, "MAX_ROWS_PER_ACCOUNT", 0)
    assert write(visitor, title="Long", content="x" * 5000).status_code == 429
    assert not mail.outbox
