"""The limits of new members."""

from datetime import timedelta

import pytest
from django.utils import timezone

from forum.forums import limits
from forum.forums.membership import TRUSTED_TEXTS
from tests.support.factories import PASSWORD, make_comment, make_post, make_user
from tests.support.membership import add
from tests.support.queries import capture_queries
from tests.support.settings import send

NEW_POST = "<post><title>a</title></post>"


@pytest.fixture(autouse=True)
def limited(settings):
    settings.RATE_LIMIT = 10_000


@pytest.fixture
def low_limits(monkeypatch):
    for kind, (_limit, message) in limits.LIMITS_OF_NEW_MEMBER.items():
        monkeypatch.setitem(limits.LIMITS_OF_NEW_MEMBER, kind, (2, message))


def create(acme, user, number: int) -> list[int]:
    """Create posts by XML, and return the statuses."""
    client = acme.xml(user)
    return [client.send_xml("POST", "/app/posts.xml", NEW_POST).status_code for _ in range(number)]


def age(user, **ago) -> None:
    user.account.users.filter(id=user.id).update(created_at=timezone.now() - timedelta(**ago))


def test_it_works(acme):
    assert [limit for limit, _message in limits.LIMITS_OF_NEW_MEMBER.values()] == [5, 20, 60]
    assert create(acme, acme.carol, 5) == [201] * 5
    response = acme.xml(acme.carol).send_xml("POST", "/app/posts.xml", NEW_POST)
    assert response.status_code == 429
    assert 80_000 < int(response.headers["Retry-After"]) <= 86_400
    message = "In the first 24 hours you can post 5 suggestions. Try again tomorrow."
    assert response.text == (
        f'<?xml version="1.0" encoding="UTF-8"?>\n<errors>\n  <error>{message}</error>\n</errors>\n'
    )
    assert acme.account.posts.count() == 5


def test_the_pages_count_too_and_keep_the_text(acme, low_limits):
    page = acme.page(acme.carol)
    post = make_post(acme.bob)
    for number, title in enumerate(("Dark colours", "Export of lists", "Telephone")):
        form = page.get("/app/posts/new").forms["post-form"]
        form["title"], form["content"] = title, "Long text"
        response = form.submit(status=303 if number < 2 else 429)
    response.mustcontain("In the first 24 hours you can post 2 suggestions. Try again tomorrow.", "Long text")
    assert int(response.headers["Retry-After"]) > 80_000
    for number in range(3):
        form = page.get(f"/app/posts/{post.id}").forms["comment-form"]
        form["content"] = f"Words {number}"
        response = form.submit(status=303 if number < 2 else 429)
    response.mustcontain("In the first 24 hours you can write 2 comments. Try again tomorrow.", "Words 2")
    for number in range(3):
        path = f"/app/posts/{make_post(acme.bob).id}/vote"
        response = send(page, path, vote="1", status=303 if number < 2 else 429)
    response.mustcontain("In the first 24 hours you can vote 2 times. Try again tomorrow.")
    assert send(page, path, vote="0").status_code == 303
    counts = [rows.filter(user_id=acme.carol.id).count() for rows in (acme.account.posts, acme.account.comments)]
    assert counts == [2, 2]


def test_a_form_that_is_sent_twice_counts_once(acme, low_limits):
    form = acme.page(acme.carol).get("/app/posts/new").forms["post-form"]
    form["title"] = "Dark colours"
    for _ in range(4):
        form.submit(status=303)
    assert create(acme, acme.carol, 2) == [201, 429]


def test_what_is_refused_does_not_count(acme, low_limits):
    client = acme.xml(acme.carol)
    for _ in range(3):
        assert client.send_xml("POST", "/app/posts.xml", "<post><title/></post>").status_code == 422
    assert create(acme, acme.carol, 3) == [201, 201, 429]


def test_deleting_a_text_does_not_reset_the_count(acme, low_limits):
    create(acme, acme.carol, 2)
    for post in acme.account.posts.all():
        assert acme.xml(acme.carol).delete(f"/app/posts/{post.id}.xml").status_code == 200
    assert create(acme, acme.carol, 1) == [429]


def make_old_posts(user, number: int = TRUSTED_TEXTS, **values) -> None:
    """Create posts that are old enough to speak for their author."""
    ids = [make_post(user).id for _ in range(number)]
    user.account.posts.filter(id__in=ids).update(created_at=timezone.now() - limits.TRUST_DELAY, **values)


def test_others_are_not_limited(acme, low_limits):
    """The team, members who are older, added, created by the team, or trusted for their posts or comments."""
    old, added, author, commenter = (make_user(acme.account) for _ in range(4))
    age(old, hours=25)
    add(acme.forum, added)
    make_old_posts(author)
    post = make_post(acme.bob)
    for _ in range(TRUSTED_TEXTS):
        make_comment(post, commenter)
    acme.account.comments.update(created_at=timezone.now() - limits.TRUST_DELAY)
    body = f"<user><login>erin</login><email>erin@acme.example</email><password>{PASSWORD}</password></user>"
    assert acme.xml(acme.bob).send_xml("POST", "/app/users.xml", body).status_code == 201
    erin = acme.account.users.get(login="erin")
    assert [create(acme, user, 3) for user in (acme.bob, old, added, author, commenter, erin)] == [[201] * 3] * 6


def test_new_texts_do_not_lift_the_limit(acme, low_limits):
    """Otherwise the third text of a stranger would lift it."""
    fresh, waiting, few = (make_user(acme.account) for _ in range(3))
    for _ in range(TRUSTED_TEXTS):
        make_post(fresh)
    make_old_posts(waiting, approved=False)
    make_old_posts(few, TRUSTED_TEXTS - 1)
    assert [create(acme, user, 3) for user in (fresh, waiting, few)] == [[201, 201, 429]] * 3


def test_members_who_are_older_take_no_statement(acme, low_limits):
    old = make_user(acme.account)
    age(old, hours=25)
    post = make_post(acme.bob)
    numbers = []
    for user in (acme.carol, old):
        page = acme.page(user)
        form = page.get(f"/app/posts/{post.id}").forms["comment-form"]
        form["content"] = "a"
        _response, statements = capture_queries(lambda form=form: form.submit())
        # The first one counts, and looks whether the form was sent before.
        numbers.append(len(statements))
    assert numbers[0] - numbers[1] == 2, numbers
