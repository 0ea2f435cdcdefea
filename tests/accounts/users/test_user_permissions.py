"""Permissions between users: a table of actor role, action and target role, for every path."""

import contextlib
from functools import partial

import pytest
from django.core.exceptions import PermissionDenied
from django.db import transaction

from accounts.users.invitations import Invitation
from accounts.users.models import User
from tests.support.client import XMLClient
from tests.support.factories import PASSWORD, make_token, make_user
from tests.support.settings import send, texts
from tests.support.tables import table

ROLES = ["owner", "admin", "agent", "member"]
NOBODY: set[str] = set()
ALL_EXCEPT_OWNER = {"admin", "agent", "member"}

# The target roles for each actor role and action.
TABLE = {
    ("owner", "create"): {*ROLES},
    ("owner", "invite"): ALL_EXCEPT_OWNER,
    ("owner", "manage"): {*ROLES},
    ("admin", "create"): ALL_EXCEPT_OWNER,
    ("admin", "invite"): ALL_EXCEPT_OWNER,
    ("admin", "manage"): ALL_EXCEPT_OWNER,
    ("agent", "create"): {"member"},
    # Invitations are sent in the settings, which are for admins.
    ("agent", "invite"): NOBODY,
    ("agent", "manage"): NOBODY,
    ("member", "create"): NOBODY,
    ("member", "invite"): NOBODY,
    ("member", "manage"): NOBODY,
}
# Actions on the page of a user.
MANAGE = ["demote", "promote", "deactivate", "reactivate", "revoke"]
PAGE = "/app/account/users"


def cases(*actions: str, rule: str, targets: list[str] = ROLES) -> list:
    return [
        pytest.param(actor, action, target, target in TABLE[actor, rule], id=f"{actor}-{action}-{target}")
        for actor in ROLES
        for action in actions
        for target in targets
    ]


@pytest.fixture
def people(acme) -> tuple[dict[str, User], dict[str, User]]:
    """Create an actor and a target of each role, by role. Each target has a token. Alice remains another owner."""
    actors = {role: make_user(acme.account, f"acting-{role}", role=role) for role in ROLES}
    targets = {role: make_user(acme.account, f"target-{role}", role=role) for role in ROLES}
    for user in targets.values():
        make_token(user)
    return actors, targets


def state(user: User) -> tuple:
    """Return the state that a rejected action must leave unchanged."""
    user = User.objects.get(pk=user.pk)
    return user.role, user.is_active, list(user.tokens.values_list("id", "revoked_at")), user.sessions.count()


# The Forum API


@table(("actor", "action", "target", "allowed"), cases("create", rule="create"))
def test_who_may_create_users_by_xml(acme, people, actor, action, target, allowed):
    fields = "<login>dora</login><email>dora@acme.example</email><password>a very good secret</password>"
    body = f"<user>{fields}<role>{target}</role></user>"
    response = acme.xml(people[0][actor]).send_xml("POST", "/app/users.xml", body)
    assert response.status_code == (201 if allowed else 403)
    roles = acme.account.users.filter(login="dora").values_list("role", flat=True)
    assert list(roles) == ([target] if allowed else [])


def test_it_rejects_inactive_users_by_xml(acme):
    make_user(acme.account, "actor", role="owner", is_active=False)
    response = XMLClient(acme.host, auth=("actor", PASSWORD)).send_xml("POST", "/app/users.xml", "<user/>")
    assert response.status_code == 401


# Pages


@table(("actor", "action", "target", "allowed"), cases("invite", rule="invite"))
def test_who_may_invite_users(acme, people, actor, action, target, allowed):
    status = 303 if allowed else 403
    send(acme.page(people[0][actor]), PAGE, status=status, do="invite", email="new@example.com", role=target)
    assert list(acme.account.invitations.values_list("role", flat=True)) == ([target] if allowed else [])


# Owners cannot be invited.
@table(("actor", "action", "target", "allowed"), cases("resend", rule="invite", targets=["admin", "agent", "member"]))
def test_who_may_send_an_invitation_again(acme, people, actor, action, target, allowed):
    by = people[0][actor]
    row, _secret = acme.account.invitations.invite(acme.account, email="new@example.com", role=target, by=acme.alice)
    send(acme.page(by), PAGE, status=303 if allowed else 403, do="resend", id=row.id)
    assert acme.account.invitations.get().invited_by_id == (by.id if allowed else acme.alice.id)


# An agent and a member cannot open the page. The models have the rule for each pair of roles.
@table(
    ("actor", "action", "target", "allowed"),
    [
        case
        for case in cases(*MANAGE, rule="manage")
        if case.values[0] in ("owner", "admin") or case.values[2] == "member"
    ],
)
def test_who_may_manage_users(acme, people, actor, action, target, allowed):
    user = people[1][target]
    values = {"do": "role", "role": "member"}
    if action == "promote":
        # Only owners may appoint owners, from any role.
        values, allowed = {"do": "role", "role": "owner"}, actor == "owner"
    elif action != "demote":
        values = {"do": action, "token": user.tokens.get().id}
    if action == "reactivate":
        User.objects.filter(pk=user.pk).update(is_active=False)
    before = state(user)
    send(acme.page(people[0][actor]), f"{PAGE}/{user.id}", status=303 if allowed else 403, **values)
    changes = allowed and not (action == "demote" and target == "member") and (action, target) != ("promote", "owner")
    assert (state(user) != before) == changes


@table("actor", ROLES)
def test_users_may_end_only_their_own_tokens_and_sessions(acme, people, actor):
    """Members cannot open the page of tokens."""
    by, user = people[0][actor], people[1]["member"]
    page, _other, _session_of_user = acme.page(by), acme.page(by), acme.page(user)
    before = state(user)
    send(page, f"/app/account/api/tokens/{user.tokens.get().id}/revoke", status=403 if actor == "member" else 404)
    send(page, "/app/profile/sessions", end=str(user.sessions.get().id))
    assert state(user) == before
    send(page, "/app/profile/sessions", end="others")
    assert by.sessions.count() == 1
    make_token(by)
    token = by.tokens.get()
    send(page, f"/app/account/api/tokens/{token.id}/revoke", status=403 if actor == "member" else 303)
    assert (by.tokens.get().revoked_at is None) == (actor == "member")


def test_the_page_of_an_owner_has_no_actions_for_admins(acme):
    page = acme.page(make_user(acme.account, "adam", role="admin")).get(f"{PAGE}/{acme.alice.id}")
    assert texts(page, "main form button") == []
    # The form does not offer the role of an owner to an admin.
    page = acme.page(User.objects.get(login="adam")).get(f"{PAGE}/{acme.bob.id}")
    assert [option for option, *_ in page.forms["role"]["role"].options] == ["admin", "agent", "member"]


# Rules of the model, which every path uses


@table(("actor", "action", "target", "allowed"), cases("create", "invite", *MANAGE, rule="manage"))
def test_permissions_in_the_models(acme, people, actor, action, target, allowed):
    """An actor who has been deactivated may do nothing."""
    by, user = people[0][actor], people[1][target]
    token = user.tokens.get()
    actions = {
        "create": lambda: by.check_may_create(target),
        "invite": lambda: Invitation.objects.invite(acme.account, email="new@example.com", role=target, by=by),
        "demote": lambda: user.change_role("member", by=by),
        "promote": lambda: user.change_role("owner", by=by),
        "deactivate": lambda: user.deactivate(by=by),
        "reactivate": lambda: user.reactivate(by=by),
        "revoke": lambda: user.revoke_token(token.id, by=by),
    }
    if action == "create" or (action == "invite" and actor in ("owner", "admin")):
        allowed = target in TABLE[actor, action]
    elif action == "invite":
        # The model lets agents invite members, as they may create them.
        allowed = target in TABLE[actor, "create"]
    elif action == "promote":
        allowed = actor == "owner"
    with contextlib.nullcontext() if allowed else pytest.raises(PermissionDenied), transaction.atomic():
        actions[action]()
    if allowed:
        User.objects.filter(pk=by.pk).update(is_active=False)
        by.refresh_from_db()
        with pytest.raises(PermissionDenied), transaction.atomic():
            actions[action]()


@table("change", ["deactivated", "agent", "member"])
@table("role", ["admin", "agent", "member"])
def test_an_invitation_is_void_if_the_sender_lost_the_permission(acme, role, change):
    """The permission of the sender is checked on acceptance, as the invitation may still exist after a demotion."""
    by = make_user(acme.account, "adam", role="admin")
    row, secret = acme.account.invitations.invite(acme.account, email="new@example.com", role=role, by=by)
    accept = partial(User.objects.accept, row, login="new", password=PASSWORD, name="New")
    values = {"is_active": False} if change == "deactivated" else {"role": change}
    User.objects.filter(pk=by.pk).update(**values)
    if role == "member":
        assert Invitation.objects.find_by_secret(acme.account.id, secret) == row
        assert accept().role == "member"
    else:
        assert Invitation.objects.find_by_secret(acme.account.id, secret) is None
        acme.page().get(f"/app/invitation?secret={secret}", status=404)
        assert accept() is None
        assert not acme.account.users.filter(login="new").exists()


def test_a_sender_who_was_demoted_meanwhile_cannot_invite(acme):
    by = make_user(acme.account, "adam", role="admin")
    User.objects.filter(pk=by.pk).update(role="agent")
    with pytest.raises(PermissionDenied), transaction.atomic():
        Invitation.objects.invite(acme.account, email="new@example.com", role="admin", by=by)
