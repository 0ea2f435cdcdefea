"""The first vote of a visitor, by a code from an e-mail."""

import pytest
from django.core import mail

from forum.forums.membership import ForumMember
from forum.forums.models import Forum
from tests.support.codes import code_in_letter, enter_code, request_code, sign_in_with_code, wrong
from tests.support.factories import make_post
from tests.support.writing import votes


@pytest.fixture
def post(acme):
    return make_post(acme.bob, "Dark mode")


def path_of(post) -> str:
    return f"/app/posts/{post.id}/vote/first"


def test_it_works(acme, post):
    visitor = acme.page()
    response = visitor.get(f"/app/posts/{post.id}").forms[f"voting-{post.id}"].submit("vote")
    assert (response.status_code, response.headers["Location"]) == (303, path_of(post))
    page = response.follow()
    assert "We ask for your e-mail so that everyone has one vote" in page
    assert "Dark mode" in page.html.find("main").text
    page.forms["code-request"]["email"] = "dan@example.com"
    page = page.forms["code-request"].submit().follow()
    assert "Dark mode" in page.html.find("main").text
    assert votes(post) == 0
    response = enter_code(page, code_in_letter())
    assert (response.status_code, response.headers["Location"]) == (303, f"/app/posts/{post.id}")
    page = response.follow()
    assert "You have voted for “Dark mode”." in page
    assert votes(post) == 1
    assert page.html.select_one(".vote button")["aria-pressed"] == "true"
    assert page.html.select_one(".who .name").text.startswith("Guest ")


def test_a_known_user_votes_once(acme, post):
    post.vote(by=acme.carol)
    page = sign_in_with_code(acme.page(), "carol@acme.example", path_of(post)).follow()
    assert "You have already voted for this." in page
    assert votes(post) == 1


def test_a_wrong_code_casts_no_vote(acme, post):
    assert request_code(acme.page(), "dan", path_of(post)).status_code == 422
    assert not mail.outbox
    page = request_code(acme.page(), "dan@example.com", path_of(post)).follow()
    page = enter_code(page, wrong(code_in_letter()))
    assert page.status_code == 422
    assert "Dark mode" in page.html.find("main").text
    for _ in range(4):
        page = enter_code(page, wrong(code_in_letter()))
    assert page.headers["Location"] == path_of(post)
    assert votes(post) == 0
    assert not acme.account.users.filter(email="dan@example.com").exists()


def test_it_rejects_a_suggestion_that_was_deleted_meanwhile(acme, post):
    page = request_code(acme.page(), "dan@example.com", path_of(post)).follow()
    post.trash(by=acme.bob)
    response = enter_code(page, code_in_letter())
    assert response.status_code == 404
    assert "was deleted in the meantime" in response
    assert not acme.account.users.filter(email="dan@example.com").exists()


def test_the_code_is_valid_for_the_original_of_a_merged_suggestion(acme, post):
    original = make_post(acme.bob, "Themes")
    page = request_code(acme.page(), "dan@example.com", path_of(post)).follow()
    post.merge_into(original, by=acme.bob)
    response = enter_code(page, code_in_letter())
    assert response.headers["Location"] == f"/app/posts/{original.id}/vote/code"
    assert enter_code(response.follow(), code_in_letter()).headers["Location"] == f"/app/posts/{original.id}"
    assert votes(original) == 1


def test_a_signed_in_user_is_redirected_to_the_vote_button(acme, post):
    carol = acme.page(acme.carol)
    for page in ("first", "code"):
        response = carol.get(f"/app/posts/{post.id}/vote/{page}")
        assert response.headers["Location"] == f"/app/posts/{post.id}/vote"


def test_visitors_of_a_private_forum_sign_in(acme, post):
    private = make_post(acme.bob, "Secret", private=True)
    assert "Secret" not in acme.page().get(path_of(private), status=404)
    acme.account.forums.update(access=Forum.Access.PRIVATE)
    assert acme.page().get(path_of(post)).headers["Location"].startswith("/app/sign-in?next=")
    location = acme.page().get(f"/app/posts/{post.id}/vote").headers["Location"]
    assert location == f"/app/sign-in?next=%2Fapp%2Fposts%2F{post.id}%2Fvote"


def test_a_forum_without_sign_ups_says_so(acme, post):
    acme.account.forums.update(access=Forum.Access.MEMBERS)
    assert "New members join by invitation." in acme.page().get(path_of(post))
    request_code(acme.page(), "dan@example.com", path_of(post))
    assert not mail.outbox
    ForumMember.objects.add(acme.account, [post.forum_id], [acme.carol.id])
    response = sign_in_with_code(acme.page(), "carol@acme.example", path_of(post))
    assert response.headers["Location"] == f"/app/posts/{post.id}"
    assert votes(post) == 1
