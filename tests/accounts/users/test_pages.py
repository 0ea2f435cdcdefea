"""The pages of the team, the members and one user, for admins."""

import pytest
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.utils import timezone

from accounts.users.models import User
from core.errors import FieldError
from tests.support.factories import make_user
from tests.support.settings import button_of, send, texts
from tests.support.tables import table

PATH = "/app/account/users"


def path_of(user) -> str:
    return f"{PATH}/{user.id}"


@pytest.fixture
def admin(acme):
    return make_user(acme.account, "adam", role="admin", name="Adam Admin")


def test_it_works(acme):
    page = acme.page(acme.alice)
    response = page.get(PATH)
    assert texts(response, ".list strong") == ["Bob Nowak", "alice"]
    assert texts(response, ".list .badge") == ["Agent", "Owner"]
    assert texts(page.get(f"{PATH}?tab=members"), ".list strong") == ["Carol Member"]

    shown = page.get(path_of(acme.bob))
    form = shown.forms["role"]
    assert form["role"].value == "agent"
    form["role"] = "admin"
    response = form.submit("do").follow()
    assert "Bob Nowak has another role now: Admin." in response
    acme.bob.refresh_from_db()
    assert acme.bob.role == "admin"


@table("query", ["tab=all", "page=0", "page=x", "per_page=101"])
def test_it_rejects_invalid_parameters(acme, query):
    acme.page(acme.alice).get(f"{PATH}?{query}", status=404)


@table("tab", ["team", "members"])
def test_search_and_pages(acme, tab):
    role = "agent" if tab == "team" else "member"
    for number in range(27):
        make_user(acme.account, f"u{number:02}", role=role, name=f"Person {number:02}", email=f"p{number}@x.example")
    make_user(acme.account, "zenon", role=role, name="Żółw Zenon", email="zenon@elsewhere.example")
    page = acme.page(acme.alice)
    first = page.get(f"{PATH}?tab={tab}")
    assert len(texts(first, ".list li")) == 25
    assert len(texts(first.click("Next"), ".list li")) == (5 if tab == "team" else 4)
    for q in ("zolw", "ZENON", "elsewhere"):
        assert texts(page.get(f"{PATH}?tab={tab}&q={q}"), ".list strong") == ["Żółw Zenon"]
    assert "Nobody matches that search." in page.get(f"{PATH}?tab={tab}&q=nobodyatall")
    assert "Nobody matches that search." in page.get(f"{PATH}?tab={tab}&q=%00")
    assert len(texts(page.get(f"{PATH}?tab={tab}&q=person&page=2"), ".list li")) == 2


def test_deactivation_ends_sessions_and_tokens(acme):
    bob = acme.page(acme.bob)
    alice = acme.page(acme.alice)
    response = button_of(alice.get(path_of(acme.bob)), "deactivate").submit().follow()
    assert texts(response, ".notice") == ["Bob Nowak is signed out, and can't sign in any more."]
    assert "Deactivated" in texts(response, ".head .badge")
    assert "nowhere at the moment" in texts(response, "dd")
    assert "Bob Nowak" not in bob.get("/")
    assert acme.json().get("/app/tasks.json").status_code == 401
    assert acme.xml(acme.bob).get("/app/users/me.xml").status_code == 401

    response = button_of(response, "reactivate").submit("do").follow()
    assert "Bob Nowak can sign in again." in response
    assert acme.json().get("/app/tasks.json").status_code == 200
    # Reactivation does not restore sessions.
    assert "Bob Nowak" not in bob.get("/")


def test_users_cannot_deactivate_themselves(acme):
    page = acme.page(acme.alice)
    assert "deactivate" not in page.get(path_of(acme.alice))
    response = send(page, path_of(acme.alice), do="deactivate").follow()
    assert "be yourself: somebody else has to do this" in response
    acme.alice.refresh_from_db()
    assert acme.alice.is_active


def test_tokens_are_shown_and_revoked(acme):
    acme.bob.tokens.update(created_at=timezone.now())
    page = acme.page(acme.alice)
    response = page.get(path_of(acme.bob))
    [shown] = texts(response, ".list li")
    assert shown.startswith(f"test {acme.bob_token[:3]}… Created just now")
    token = acme.bob.tokens.get()
    response = button_of(response, "revoke", token=token.id).submit().follow()
    assert "The token is revoked." in response
    assert "This user has no tokens." in response
    assert acme.json().get("/app/tasks.json").status_code == 401
    # The token of another user.
    token_of_alice = acme.alice.tokens.get()
    send(page, path_of(acme.bob), status=404, do="revoke", token=token_of_alice.id)
    token_of_alice.refresh_from_db()
    assert token_of_alice.revoked_at is None


def test_it_rejects_invalid_roles(acme, admin):
    response = send(acme.page(acme.alice), path_of(acme.bob), status=422, do="role", role="king")
    assert texts(response, ".field-error") == ["Select a valid choice. king is not one of the available choices."]
    # Admins cannot appoint an owner, and cannot change one.
    page = acme.page(admin)
    assert "Everything" not in page.get(path_of(acme.bob))
    send(page, path_of(acme.bob), status=403, do="role", role="owner")
    assert "Only an owner can change an owner." in page.get(path_of(acme.alice))
    send(page, path_of(acme.alice), status=403, do="role", role="member")
    send(page, path_of(acme.alice), status=403, do="deactivate")
    acme.alice.refresh_from_db()
    assert (acme.alice.role, acme.alice.is_active) == ("owner", True)


@table("login", ["alice", "adam"])
def test_users_cannot_change_their_own_role(acme, admin, login):
    acme.bob.change_role("owner", by=acme.alice)
    user = User.objects.get(account=acme.account, login=login)
    page = acme.page(user)
    assert "role" not in page.get(path_of(user)).forms
    response = send(page, path_of(user), do="role", role="member").follow()
    assert texts(response, ".notice") == ["User can't be yourself: somebody else has to do this"]
    assert User.objects.get(pk=user.pk).role == user.role


# Rules of the model


@table("action", ["change_role", "deactivate"])
def test_it_rejects_removing_the_last_owner(acme, action):
    """A deactivated owner does not count as another owner."""
    acme.bob.change_role("owner", by=acme.alice)
    acme.bob.deactivate(by=acme.alice)
    actions = {"change_role": lambda by: acme.alice.change_role("admin", by=by), "deactivate": acme.alice.deactivate}
    change = actions[action]
    with pytest.raises(PermissionDenied), transaction.atomic():
        change(by=acme.bob)
    with pytest.raises(FieldError), transaction.atomic():
        change(by=acme.alice)
    assert User.objects.get(pk=acme.alice.pk).role == "owner"


def test_a_user_demoted_meanwhile_cannot_change_roles(acme, admin):
    stale = User.objects.get(pk=admin.pk)
    admin.change_role("member", by=acme.alice)
    with pytest.raises(PermissionDenied), transaction.atomic():
        acme.bob.change_role("admin", by=stale)


def test_the_group_can_be_changed(acme):
    page = acme.page(acme.alice)
    sales, support = (acme.account.user_groups.create(name=name) for name in ("Sales", "Support"))

    def save(group_id):
        form = page.get(path_of(acme.bob)).forms["group"]
        form["group_id"] = group_id
        response = form.submit("do", value="group").follow()
        assert "The group is saved." in response
        acme.bob.refresh_from_db()
        assert response.forms["group"]["group_id"].value == group_id
        return acme.bob.group_id

    assert save(str(sales.id)) == sales.id
    assert save(str(support.id)) == support.id
    assert save("") is None


def test_it_rejects_a_group_of_a_member_and_one_that_was_deleted(acme, other):
    page = acme.page(acme.alice)
    assert "group" not in page.get(path_of(acme.carol)).forms
    group, foreign = acme.account.user_groups.create(name="Sales"), other.account.user_groups.create(name="Theirs")
    send(page, path_of(acme.carol), status=422, do="group", group_id=group.id)
    send(page, path_of(acme.bob), status=422, do="group", group_id=foreign.id)
    form = page.get(path_of(acme.bob)).forms["group"]
    form["group_id"] = str(group.id)
    group.delete()
    form.submit("do", value="group", status=422)
    assert not acme.account.users.exclude(group_id=None).exists()
