"""A stranger votes with a code, receives one e-mail about the response, unsubscribes, and receives nothing more."""

from datetime import timedelta

import pytest
from django.core import mail
from django.utils.translation import gettext, override
from playwright.sync_api import Page, expect

from accounts.users.models import User
from forum.follows.models import Follow
from forum.posts.models import Post
from tests.support.chromium import ORIGIN
from tests.support.codes import code_in_letter
from tests.support.factories import make_comment, make_post
from tests.support.letters import send_notifications
from tests.support.people import count_of, messages_on, vote_button

STRANGER = "dan@example.com"
# Events on one suggestion within this time are combined into one e-mail.
COMBINING = timedelta(minutes=5)


def vote_with_code(page: Page, post: Post, language: str) -> None:
    with override(language):
        email, code, vote = map(gettext, ("E-mail", "Code from the e-mail", "Vote"))
        send, voted = gettext("Send me a code"), gettext("You have voted for “%(title)s”.") % {"title": post.title}
    page.goto("/")
    expect(page.locator("html")).to_have_attribute("lang", language)
    vote_button(page, post).click()
    page.get_by_label(email).fill(STRANGER)
    page.get_by_role("button", name=send).click()
    page.get_by_label(code).fill(code_in_letter())
    page.locator("#code").get_by_role("button", name=vote).click()
    expect(messages_on(page)).to_have_text(voted)
    expect(count_of(page, post)).to_have_text("1")
    # Nobody is notified of the vote itself.
    mail.outbox.clear()
    assert sent_to_stranger() == []


def sent_to_stranger() -> list:
    """Return the e-mails to the stranger once the time of combining has passed."""
    return [email for email in send_notifications(later=COMBINING) if email.to == [STRANGER]]


def receive_response(acme, post: Post):
    """Answer the suggestion, and return the only e-mail to the stranger and its link to unsubscribe."""
    planned = acme.account.statuses.get(kind="post", code="planned")
    post.write({"response": "We begin **in May**.", "status": planned}, by=acme.bob)
    [email] = sent_to_stranger()
    assert email.subject == post.title
    assert "> We begin in May." in email.body
    assert f"{ORIGIN}/app/posts/{post.id}" in email.body
    headers = email.message()
    assert headers["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    link = headers["List-Unsubscribe"].replace("\n ", "").removeprefix("<").removesuffix(">")
    assert link in email.body
    return email, link


def choices_of(user: User) -> tuple:
    """Return the settings that a link to unsubscribe can change."""
    return User.objects.get(pk=user.pk).delivery, list(Follow.objects.filter(user_id=user.id).order_by("id").values())


def write_more(acme, post: Post) -> None:
    post.write({"response": "It is done."}, by=acme.bob)
    make_comment(post, acme.bob, "Have a look.")


@pytest.mark.parametrize(
    ("width", "language", "javascript", "button"),
    [
        (390, "pl", True, "All of them"),
        (1280, "en", False, "Those about this suggestion"),
    ],
)
def test_a_visitor_returns_and_unsubscribes(acme, browse, width, language, javascript, button):
    post = make_post(acme.bob, "A dark theme")
    page = browse(width=width, language=language, javascript=javascript)
    vote_with_code(page, post, language)
    email, link = receive_response(acme, post)
    with override(language):
        assert gettext("Unsubscribe, or choose fewer e-mails") in email.body

    # The e-mail leads to the response.
    page.goto(f"/app/posts/{post.id}")
    expect(page.locator("#response")).to_contain_text("We begin in May.")

    # Nobody is signed in in the second browser.
    stranger = acme.account.users.get(email=STRANGER)
    before = choices_of(stranger)
    page = browse(width=width, language=language, javascript=javascript)
    page.goto(link)
    expect(page.locator("html")).to_have_attribute("lang", language)
    assert choices_of(stranger) == before
    with override(language):
        page.get_by_role("button", name=gettext(button)).click()
    stopped = STRANGER if button == "All of them" else post.title
    expect(page.get_by_role("status").filter(has_text=stopped)).to_be_visible()
    write_more(acme, post)
    assert sent_to_stranger() == []


def test_a_mail_program_unsubscribes_with_one_click(acme, browse):
    post, other_post = make_post(acme.bob, "A dark theme"), make_post(acme.bob, "Invoices in one file")
    vote_with_code(browse(), post, "en")
    other_post.vote(by=acme.account.users.get(email=STRANGER))
    _email, link = receive_response(acme, post)
    # RFC 8058: a POST without cookies, with this body.
    response = acme.page().post(link.removeprefix(ORIGIN), {"List-Unsubscribe": "One-Click"})
    assert response.status_code == 200
    write_more(acme, post)
    write_more(acme, other_post)
    assert sent_to_stranger() == []
