"""The sessions of a user, which admins end."""

import pytest

from accounts.sessions.models import Session
from accounts.users.models import User
from tests.support.assertions import assert_answered
from tests.support.factories import make_token, make_user
from tests.support.settings import send
from tests.support.tables import table


def path_of(user: User) -> str:
    return f"/app/users/{user.id}/sessions.json"


@pytest.fixture
def people(acme) -> dict[str, User]:
    roles = {"owner": acme.alice, "agent": acme.bob, "member": acme.carol}
    people = {**roles, "admin": make_user(acme.account, "dora", role="admin")}
    for user in people.values():
        for _ in range(2):
            Session.objects.start(user)
    return people


def test_it_works(acme, people):
    assert_answered(acme.json(acme.alice_token).delete(path_of(acme.carol)), 200, "ok")
    assert not acme.carol.sessions.exists()
    assert acme.bob.sessions.count() == 2


@table(
    ("by", "ends"),
    [
        ("owner", ["owner", "admin", "agent", "member"]),
        ("admin", ["admin", "agent", "member"]),
        ("agent", []),
    ],
)
def test_who_may_end_sessions(acme, people, by, ends):
    client = acme.json(make_token(people[by]))
    for role, user in people.items():
        status = client.delete(path_of(user)).status_code
        assert status == (200 if role in ends else 403), role
        assert user.sessions.exists() == (role not in ends), role


@table(("by", "user", "ends"), [("admin", "member", True), ("admin", "owner", False)])
def test_the_page_of_a_user(acme, people, by, user, ends):
    path = f"/app/account/users/{people[user].id}"
    page = acme.page(people[by])
    assert ("Sign out everywhere" in page.get(path)) == ends
    response = send(page, path, status=303 if ends else 403, do="end_sessions")
    if ends:
        assert "is signed out everywhere." in response.follow()
    assert people[user].sessions.exists() != ends
