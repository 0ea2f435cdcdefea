"""Inviting a user by e-mail."""

import re
from datetime import timedelta

from django.core import mail
from django.utils import timezone

from accounts.account.models import Account
from accounts.users.invitations import Invitation
from core.limits.rate_limits import increment
from tests.support.factories import make_user
from tests.support.settings import button_of, send, texts
from tests.support.tables import table

PATH = "/app/account/users?tab=invitations"


def invite(acme, email="new@example.com", role="agent", status=303):
    return send(acme.page(acme.alice), PATH, status=status, do="invite", email=email, role=role)


def secret_in(letter) -> str:
    return re.search(r"http://acme\.example\.test/app/invitation\?secret=([\w-]+)", letter.body)[1]


def test_it_works(acme):
    form = acme.page(acme.alice).get(PATH).forms["invite"]
    form["email"], form["role"] = "new@example.com", "agent"
    response = form.submit("do").follow()
    assert "An invitation is on its way to new@example.com." in response
    [row] = acme.account.invitations.all()
    assert (row.email, row.role, row.invited_by_id) == ("new@example.com", "agent", acme.alice.id)
    [letter] = mail.outbox
    assert letter.to == ["new@example.com"]
    assert Invitation.objects.find_by_secret(acme.account.id, secret_in(letter)) == row
    [shown] = texts(response, ".list li .grow")
    assert shown == "new@example.com Agent Invited by alice, just now"


@table(
    ("email", "role", "error"),
    [
        ("", "agent", "Can't be blank"),
        ("nobody", "agent", "Enter a valid email address."),
        ("BOB@acme.example", "admin", "Is of somebody who is a user here already"),
        ("new@example.com", "king", "Select a valid choice. king is not one of the available choices."),
    ],
)
def test_it_rejects_invalid_values(acme, email, role, error):
    response = invite(acme, email, role, status=422)
    assert texts(response, ".field .field-error") == [error]
    assert response.forms["invite"]["email"].value == email
    assert not acme.account.invitations.exists()
    assert mail.outbox == []


def test_it_rejects_too_many_invitations(acme, monkeypatch):
    invite(acme)
    monkeypatch.setattr(Invitation, "MAX_PER_ACCOUNT", 1)
    response = invite(acme, "another@example.com", status=422)
    assert texts(response, ".field .field-error") == ["Is one too many: revoke some invitations first"]


def test_sending_again_replaces_the_link(acme):
    invite(acme)
    page = acme.page(acme.alice)
    Invitation.objects.update(expires_at=timezone.now() - timedelta(days=1))
    response = page.get(PATH)
    assert "The link has expired" in response
    button_of(response, "resend").submit("do")
    first, second = (secret_in(letter) for letter in mail.outbox)
    assert Invitation.objects.find_by_secret(acme.account.id, first) is None
    assert Invitation.objects.find_by_secret(acme.account.id, second).email == "new@example.com"


def test_an_invitation_can_be_revoked(acme):
    invite(acme)
    page = acme.page(acme.alice)
    form = button_of(page.get(PATH), "revoke")
    response = form.submit().follow()
    assert "new@example.com is no longer invited." in response
    assert "Nobody is invited at the moment." in response
    assert not acme.account.invitations.exists()
    # The same action from another tab.
    assert "That invitation is gone: it was accepted or revoked in the meantime." in form.submit().follow()


def test_it_rejects_invitations_of_another_account(acme, other):
    row, _secret = other.account.invitations.invite(other.account, email="a@b.example", role="agent", by=other.mallory)
    page = acme.page(acme.alice)
    for do in ("resend", "revoke"):
        assert "That invitation is gone" in send(page, PATH, do=do, id=row.id).follow()
    assert other.account.invitations.get() == row
    assert mail.outbox == []


def test_it_rejects_many_emails_to_one_address(acme, settings):
    settings.FAILED_LOGIN_LIMIT = 60
    for _ in range(5):
        invite(acme)
    error = "This address was invited several times just now. Try again in an hour."
    assert error in invite(acme, email="NEW@example.com", status=422)
    [row] = acme.account.invitations.all()
    assert error in send(acme.page(acme.alice), PATH, do="resend", id=str(row.id)).follow()
    assert len(mail.outbox) == 5
    # The link of the last e-mail is valid.
    assert Invitation.objects.find_by_secret(acme.account.id, secret_in(mail.outbox[-1]))
    assert invite(acme, email="another@example.com").status_code == 303


@table(("age", "limit"), [(timedelta(days=6), 20), (timedelta(days=8), 100)])
def test_it_rejects_many_invitations_of_one_account(acme, age, limit):
    Account.objects.filter(id=acme.account.id).update(created_at=timezone.now() - age)
    increment(f"invitations:{acme.account.id}", limit - 1, 3600)
    invite(acme, email="last@example.com")
    error = f"Is one too many: your account may send {limit} invitations an hour; try again later"
    assert error in invite(acme, email="next@example.com", status=422)
    assert [row.email for row in acme.account.invitations.all()] == ["last@example.com"]


@table("action", ["deactivate", "demote"])
def test_invitations_end_when_their_sender_loses_the_permission(acme, action):
    """Invitations of admins and agents end with the permission of their sender. Those of members remain."""
    admin = make_user(acme.account, "admin", role="admin")
    for role in ("admin", "agent", "member"):
        acme.account.invitations.invite(acme.account, email=f"{role}@new.example", role=role, by=admin)
    acme.account.invitations.invite(acme.account, email="other@new.example", role="admin", by=acme.alice)
    if action == "deactivate":
        admin.deactivate(by=acme.alice)
    else:
        admin.change_role("agent", by=acme.alice)
    remaining = set(acme.account.invitations.values_list("email", flat=True))
    assert remaining == {"member@new.example", "other@new.example"}


def test_the_name_of_the_sender_cannot_add_a_link(acme):
    acme.alice.name = "Alice\n\nhttp://evil.example/\n\n"
    acme.alice.save()
    invite(acme)
    [letter] = mail.outbox
    assert "Alice http://evil.example/ invites you" in letter.body
    assert 'href="http://evil' not in letter.alternatives[0][0]
