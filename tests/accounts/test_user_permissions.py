"""Permissions between users: a table of actor role, action and target role, for every path."""

from functools import partial

import pytest
from django.core.exceptions import PermissionDenied
from django.db import transaction

from accounts.models import Invitation, User
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


def make_actor_and_target(acme, actor: str, target: str) -> tuple[User, User]:
    """Create the actor and the target. Alice remains another owner."""
    by = make_user(acme.account, "actor", role=actor)
    return by, make_user(acme.account, "target", role=target)


def state(user: User) -> tuple:
    """Return the state that a rejected action must leave unchanged."""
    user = User.objects.get(pk=user.pk)
    return user.role, user.is_active, list(user.tokens.values_list("id", "revoked_at")), user.sessions.count()


# The Forum API


@table(("actor", "action", "target", "allowed"), cases("create", rule="create"))
def test_who_may_create_users_by_xml(acme, actor, action, target, allowed):
    make_user(acme.account, "actor", role=actor)
    fields = "<login>dora</login><email>dora@acme.example</email><password>a very good secret</password>"
    body = f"<user>{fields}<role>{target}</role></user>"
    response = XMLClient(acme.host, auth=("actor", PASSWORD)).send_xml("POST", "/app/users.xml", body)
    assert response.status_code == (201 if allowed else 403)
    roles = acme.account.users.filter(login="dora").values_list("role", flat=True)
    assert list(roles) == ([target] if allowed else [])


@table("role", ROLES)
def test_it_rejects_inactive_users_by_xml(acme, role):
    make_user(acme.account, "actor", role=role, is_active=False)
    response = XMLClient(acme.host, auth=("actor", PASSWORD)).send_xml("POST", "/app/users.xml", "<user/>")
    assert response.status_code == 401


# Pages


@table(("actor", "action", "target", "allowed"), cases("invite", rule="invite"))
def test_who_may_invite_users(acme, actor, action, target, allowed):
    by = make_user(acme.account, "actor", role=actor)
    status = 303 if allowed else 403
    send(acme.page(by), PAGE, status=status, do="invite", email="new@example.com", role=target)
    assert list(acme.account.invitations.values_list("role", flat=True)) == ([target] if allowed else [])


# Owners cannot be invited.
@table(("actor", "action", "target", "allowed"), cases("resend", rule="invite", targets=["admin", "agent", "member"]))
def test_who_may_send_an_invitation_again(acme, actor, action, target, allowed):
    by = make_user(acme.account, "actor", role=actor)
    row, _secret = acme.account.invitations.invite(acme.account, email="new@example.com", role=target, by=acme.alice)
    send(acme.page(by), PAGE, status=303 if allowed else 403, do="resend", id=row.id)
    assert acme.account.invitations.get().invited_by_id == (by.id if allowed else acme.alice.id)


@table(("actor", "action", "target", "allowed"), cases(*MANAGE, rule="manage"))
def test_who_may_manage_users(acme, actor, action, target, allowed):
    by, user = make_actor_and_target(acme, actor, target)
    make_token(user)
    values = {"do": "role", "role": "member"}
    if action == "promote":
        # Only owners may appoint owners, from any role.
        values, allowed = {"do": "role", "role": "owner"}, actor == "owner"
    elif action != "demote":
        values = {"do": action, "token": user.tokens.get().id}
    if action == "reactivate":
        User.objects.filter(pk=user.pk).update(is_active=False)
    before = state(user)
    send(acme.page(by), f"{PAGE}/{user.id}", status=303 if allowed else 403, **values)
    changes = allowed and not (action == "demote" and target == "member") and (action, target) != ("promote", "owner")
    assert (state(user) != before) == changes


@table("actor", ROLES)
def test_users_may_end_their_own_tokens_and_sessions(acme, actor):
    """Members cannot open the page of tokens."""
    by = make_user(acme.account, "actor", role=actor)
    page, _other = acme.page(by), acme.page(by)
    send(page, "/app/profile/sessions", end="others")
    assert by.sessions.count() == 1
    make_token(by)
    token = by.tokens.get()
    send(page, f"/app/account/api/tokens/{token.id}/revoke", status=403 if actor == "member" else 303)
    assert (by.tokens.get().revoked_at is None) == (actor == "member")


@table("actor", ROLES)
@table("target", ROLES)
def test_it_rejects_tokens_and_sessions_of_other_users(acme, actor, target):
    by, user = make_actor_and_target(acme, actor, target)
    make_token(user)
    acme.page(user)
    page, before = acme.page(by), state(user)
    send(page, f"/app/account/api/tokens/{user.tokens.get().id}/revoke", status=403 if actor == "member" else 404)
    send(page, "/app/profile/sessions", end=str(user.sessions.get().id))
    assert state(user) == before


def test_the_page_of_an_owner_has_no_actions_for_admins(acme):
    page = acme.page(make_user(acme.account, "adam", role="admin")).get(f"{PAGE}/{acme.alice.id}")
    assert texts(page, "main form button") == []
    # The form does not offer the role of an owner to an admin.
    page = acme.page(User.objects.get(login="adam")).get(f"{PAGE}/{acme.bob.id}")
    assert [option for option, *_ in page.forms["role"]["role"].options] == ["admin", "agent", "member"]


# Rules of the model, which every path uses


@table("is_active", [True, False])
@table(("actor", "action", "target", "allowed"), cases("create", "invite", *MANAGE, rule="manage"))
def test_permissions_in_the_models(acme, actor, action, target, allowed, is_active):
    by, user = make_actor_and_target(acme, actor, target)
    make_token(user)
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
    User.objects.filter(pk=by.pk).update(is_active=is_active)
    by.refresh_from_db()
    if allowed and is_active:
        actions[action]()
    else:
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
