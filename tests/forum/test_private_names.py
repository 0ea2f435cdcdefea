"""Logins and e-mails of users, which members and visitors see nowhere."""

from datetime import timedelta

import pytest
from django.core import mail

from accounts.users.models import User
from tests.support.factories import make_comment, make_post, make_user
from tests.support.letters import send_notifications

PATHS = [
    "/",
    "/app/roadmap",
    "/app/feed.atom",
    "/app/posts/{id}",
    "/app/posts/{id}.xml",
    "/app/posts/{id}/mentions?q=",
    "/app/users/team.xml",
    "/app/notifications",
    "/app/suggestions?q=quiet",
]


@pytest.fixture
def post(acme):
    """A suggestion by a user without a name, with a comment and an answer by another one."""
    author = make_user(acme.account, "hidden-author", email="private-1@mail.example", name="")
    agent = make_user(acme.account, "hidden-agent", email="private-2@mail.example", name="", role=User.Role.AGENT)
    post = make_post(author, title="A quiet suggestion")
    post.vote(by=acme.carol)
    make_comment(post, author)
    make_comment(post, agent)
    post.write({"response": "Done", "status": acme.account.statuses.get(kind="post", code="planned")}, by=agent)
    return post


def test_they_are_on_no_page_of_the_forum(acme, post):
    visitors = [acme.page(), acme.page(acme.carol)]
    for path in PATHS:
        address = path.format(id=post.id)
        is_xml = path.endswith(".xml")
        for reader in [acme.xml(acme.carol)] if is_xml else visitors:
            response = reader.get(address) if is_xml else reader.get(address, status="*")
            assert response.status_code in (200, 303), address
            for secret in ("hidden-", "private-", "mail.example", "bob@", "alice@"):
                assert secret not in response.text, address


def test_they_are_in_no_email_to_a_member(acme, post):
    sent = [email for email in send_notifications(later=timedelta(hours=1)) if email.to == [acme.carol.email]]
    assert sent
    for email in sent:
        text = f"{email.subject} {email.body} {email.alternatives}"
        assert "hidden-" not in text
        assert "private-" not in text
    assert not mail.outbox


def test_they_are_in_no_invitation(acme):
    User.objects.filter(id=acme.alice.id).update(name="")
    form = acme.page(acme.alice).get("/app/account/users?tab=invitations").forms["invite"]
    form["email"] = "dan@example.com"
    form.submit()
    [email] = mail.outbox
    assert "alice" not in email.subject + email.body
