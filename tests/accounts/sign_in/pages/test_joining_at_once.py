"""Simultaneous registrations on real threads and connections."""

from collections import Counter

import pytest

from accounts.users.invitations import Invitation
from tests.support.threads import at_once

pytestmark = pytest.mark.django_db(transaction=True)

SUBMISSIONS = 6
PASSWORD = "grasshopper lighthouse vinegar"


def invite(acme, email: str) -> str:
    _row, secret = Invitation.objects.invite(acme.account, email=email, role="agent", by=acme.alice)
    return f"/app/invitation?secret={secret}"


def fill_in_forms(acme, paths: list[str], login: str) -> list:
    forms = []
    for path in paths:
        form = acme.page().get(path).forms["join"]
        form["name"], form["login"], form["password"] = "Eve", login, PASSWORD
        forms.append(form)
    return forms


def submit_at_once(forms: list) -> list:
    return at_once(*(lambda form=form: form.submit(expect_errors=True) for form in forms))


def test_it_works(acme):
    """One invitation creates one user."""
    responses = submit_at_once(fill_in_forms(acme, [invite(acme, "eve@example.com")] * SUBMISSIONS, "eve"))
    assert sum(response.headers.get("Location") == "/app/home" for response in responses) == 1
    assert {response.status_code for response in responses} <= {303, 404}
    assert acme.account.users.filter(name="Eve").count() == 1


def test_a_login_can_be_taken_by_one_user_only(acme):
    responses = submit_at_once(
        fill_in_forms(acme, [invite(acme, f"eve{n}@example.com") for n in range(SUBMISSIONS)], "eve")
    )
    assert Counter(response.status_code for response in responses) == {303: 1, 422: SUBMISSIONS - 1}
    assert all("Is already taken" in response for response in responses if response.status_code == 422)
    assert acme.account.users.filter(login="eve").count() == 1
