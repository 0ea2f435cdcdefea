"""Unsubscribing by the link of an e-mail, without signing in."""

import pytest

from accounts.mail.sending import sign_link
from accounts.users.delivery import NotificationDelivery
from forum.forums.models import Forum
from forum.notifications.emails import Sender, unsubscribe_address
from forum.notifications.texts import UNSUBSCRIBE
from tests.support.factories import make_post, make_user
from tests.support.membership import add
from tests.support.pages import Visitor


@pytest.fixture
def post(acme):
    return make_post(acme.bob, "Dark mode")


def link(acme, post=None, user=None) -> str:
    url = unsubscribe_address(user or acme.carol, Sender("Acme", "acme"), post and post.id)
    return url.removeprefix("http://acme.example.test")


def delivery_of(acme) -> str:
    return acme.account.users.get(login="carol").delivery


def test_it_works(acme, post):
    """A mail program sends this request."""
    response = acme.page().post(link(acme, post), {"List-Unsubscribe": "One-Click"})
    assert response.status_code == 200
    assert delivery_of(acme) == NotificationDelivery.NEVER
    assert acme.page().post(link(acme, post), {"List-Unsubscribe": "One-Click"}).status_code == 200


def test_opening_the_link_changes_nothing(acme, post):
    for method in ("get", "head"):
        assert getattr(acme.page(), method)(link(acme, post)).status_code == 200
    assert delivery_of(acme) == NotificationDelivery.AT_ONCE
    assert not acme.account.follows.exists()


def test_the_page_stops_emails_about_the_suggestion_or_all_of_them(acme, post):
    page = acme.page().get(link(acme, post))
    form = next(form for form in page.forms.values() if "stop" in form.fields)
    shown = form.submit("stop", index=0)
    assert "You no longer follow “Dark mode”" in shown
    [choice] = acme.account.follows.all()
    assert (choice.user_id, choice.is_following, delivery_of(acme)) == (
        acme.carol.id,
        False,
        NotificationDelivery.AT_ONCE,
    )
    form = next(form for form in shown.forms.values() if "stop" in form.fields)
    assert "Nothing more is sent from Acme to carol@acme.example" in form.submit("stop")
    assert delivery_of(acme) == NotificationDelivery.NEVER


def test_it_works_at_a_private_forum_and_in_the_language_of_the_recipient(acme, post):
    acme.account.forums.update(access=Forum.Access.PRIVATE)
    add(acme.forum, acme.carol)
    acme.account.users.filter(login="carol").update(language="pl")
    page = acme.page().get(link(acme, post))
    assert "Które z nich chcesz wyłączyć?" in page


def test_a_suggestion_that_became_private_is_not_named(acme, post):
    path = link(acme, post)
    post.write({"private": True}, by=acme.bob)
    assert "Dark mode" not in acme.page().get(path)


def test_it_rejects_other_links(acme, other, post):
    path = link(acme, post)
    foreign = sign_link({"post": None}, UNSUBSCRIBE, other.account.id, other.mallory.id)
    sign_up = sign_link({"post": None}, "sign-up", acme.account.id, acme.carol.id)
    for wrong in (
        path.replace(f"user={acme.carol.id}", f"user={acme.bob.id}"),
        path.replace(f"user={acme.carol.id}", "user=999999"),
        path + "x",
        "/app/unsubscribe",
        "/app/unsubscribe?user=x&token=y",
        f"/app/unsubscribe?user={other.mallory.id}&token={foreign}",
        f"/app/unsubscribe?user={acme.carol.id}&token={sign_up}",
    ):
        for method in ("get", "post"):
            assert getattr(acme.page(), method)(wrong, expect_errors=True).status_code == 404, wrong
    assert Visitor(other.host).get(path, expect_errors=True).status_code == 404
    assert delivery_of(acme) == NotificationDelivery.AT_ONCE


def test_the_link_of_a_deactivated_user_works(acme, post):
    path = link(acme, post)
    acme.carol.deactivate(by=acme.alice)
    assert acme.page().post(path).status_code == 200
    assert delivery_of(acme) == NotificationDelivery.NEVER


def test_it_rejects_the_link_of_a_deleted_user(acme, post):
    user = make_user(acme.account, "dora")
    path = link(acme, post, user)
    assert acme.page().get(path).status_code == 200
    user.delete()
    for method in ("get", "post"):
        page = getattr(acme.page(), method)(path, status=404)
        assert "link" in page.html.find("main").get_text()
