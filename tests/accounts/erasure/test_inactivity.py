"""The erasure of members who no longer use an account."""

from datetime import timedelta

import pytest
from django.utils import timezone

from accounts.erasure.inactivity import NOTICE, erase_inactive_members, inactive_members
from accounts.sessions.models import Session
from accounts.users.models import User
from tests.support.factories import make_comment, make_post, make_token, make_user
from tests.support.jobs import run_housekeeping, run_jobs
from tests.support.letters import letter, link_in
from tests.support.tables import table

YEAR = timedelta(days=366)


@pytest.fixture
def olga(acme):
    """A member who has not used the account for a year."""
    acme.account.change(inactive_member_months=12)
    return make_old(make_user(acme.account, "olga", role="member"))


def make_old(user: User) -> User:
    User.objects.filter(pk=user.pk).update(created_at=timezone.now() - YEAR)
    user.refresh_from_db()
    return user


def pass_days(account, days: int) -> None:
    """Move the times of olga back."""
    for user in account.users.filter(login="olga"):
        for name in ("created_at", "last_login", "erasure_notice_at"):
            if (value := getattr(user, name)) is not None:
                User.objects.filter(pk=user.pk).update(**{name: value - timedelta(days=days)})


def run(account) -> list[str]:
    """Run the daily job. Return the logins of the users who are told or erased."""
    erase_inactive_members(account_id=account.id)
    found = account.users.exclude(erasure_notice_at=None) | account.users.exclude(erased_at=None)
    return sorted(login.split("-")[0] for login in found.values_list("login", flat=True))


def test_it_works(acme, olga):
    account = acme.account
    run_housekeeping()
    run_jobs()
    sent = letter(olga.email, about="Your user at")
    assert "olga" in sent.body
    assert link_in(sent, acme.host) == "/app/sign-in"
    # They are told once, and erased 30 days later.
    pass_days(account, 29)
    run_housekeeping()
    run_jobs()
    assert account.users.get(id=olga.id).erased_at is None
    pass_days(account, 1)
    assert run(account) == ["deleted"]
    assert run_jobs() == 0
    assert account.users.get(id=olga.id).erased_at is not None
    entry = account.audit_entries.get(action="user.erased")
    assert (entry.actor_kind, entry.target_label, entry.details["receipt"]["erased_by_id"]) == (
        "system",
        "Deleted user",
        None,
    )


def test_a_member_who_returns_stays_and_is_told_again(acme, olga):
    account = acme.account
    assert run(account) == ["olga"]
    session, _secret = Session.objects.start(olga)
    session.end()
    assert run(account) == []
    pass_days(account, 366)
    assert run(account) == ["olga"]
    pass_days(account, 10)
    assert run(account) == ["olga"]
    assert account.users.get(id=olga.id).erased_at is None


def use(acme, olga, act: str) -> None:
    match act:
        case "session":
            Session.objects.start(olga)
            User.objects.filter(pk=olga.pk).update(last_login=None)
        case "token":
            make_token(olga)
            olga.tokens.update(last_used_at=timezone.now())
        case "post":
            make_post(olga, "Dark mode")
        case "comment":
            make_comment(make_post(acme.bob, "Wood"), olga, "I agree")
        case "vote":
            make_post(acme.bob, "Wood").vote(by=olga)
        case "new":
            User.objects.filter(pk=olga.pk).update(created_at=timezone.now())
        case "team":
            User.objects.filter(pk=olga.pk).update(role="agent")
        case "deactivated":
            User.objects.filter(pk=olga.pk).update(is_active=False)


@table("act", ["session", "token", "post", "comment", "vote", "new", "team", "deactivated"])
def test_it_keeps_other_users(acme, olga, act):
    since = timezone.now() - timedelta(days=300)
    assert list(inactive_members(acme.account, since=since)) == [olga]
    use(acme, olga, act)
    assert not inactive_members(acme.account, since=since).exists()


def test_it_keeps_members_of_accounts_without_a_time(acme, other, olga):
    make_old(make_user(other.account, "ivan", role="member"))
    acme.account.change(inactive_member_months=None)
    for account in (acme.account, other.account):
        assert run(account) == []
    acme.account.change(inactive_member_months=13)
    assert NOTICE.days == 30
    # In the 13th month, they are told, but not erased.
    assert run(acme.account) == ["olga"]


def test_a_sign_in_is_stored_once_a_day(acme):
    Session.objects.start(acme.carol)
    first = User.objects.get(pk=acme.carol.pk).last_login
    assert first is not None
    Session.objects.start(User.objects.get(pk=acme.carol.pk))
    assert User.objects.get(pk=acme.carol.pk).last_login == first
