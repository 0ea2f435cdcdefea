"""Consent and "do not contact" of clients and contacts, with the time and the user of the last change."""

from datetime import timedelta

import pytest

from tests.support.assertions import assert_refused, on_the_wire, read
from tests.support.factories import make_client, make_contact

MAKE = {"client": make_client, "contact": make_contact}
both_kinds = pytest.mark.parametrize("kind", MAKE)


def consent_of(body: dict) -> dict:
    return {name: value for name, value in body.items() if name.startswith(("consent", "do_not_contact"))}


@both_kinds
def test_it_works(acme, kind):
    created = read(acme.json().post(f"/app/{kind}s.json", json={kind: {"name": "Ann", "consent": True}}))
    expected = {
        "consent": True,
        "consent_at": created["created_at"],
        "consent_by_id": acme.bob.id,
        "do_not_contact": False,
        "do_not_contact_at": None,
        "do_not_contact_by_id": None,
    }
    assert consent_of(created) == expected

    path = f"/app/{kind}s/{created['id']}.json"
    updated = read(acme.json(acme.alice_token).put(path, json={kind: {"consent": None, "do_not_contact": "yes"}}))
    assert consent_of(updated) == {
        "consent": None,
        "consent_at": updated["updated_at"],
        "consent_by_id": acme.alice.id,
        "do_not_contact": True,
        "do_not_contact_at": updated["updated_at"],
        "do_not_contact_by_id": acme.alice.id,
    }


@both_kinds
def test_the_same_answer_again_changes_neither_time_nor_user(acme, kind):
    row = MAKE[kind](acme.alice, consent=True, do_not_contact=True)
    row.consent_at = row.do_not_contact_at = row.consent_at - timedelta(days=1)
    row.save(update_fields=["consent_at", "do_not_contact_at"])
    path = f"/app/{kind}s/{row.id}.json"
    before = consent_of(read(acme.json().get(path)))
    assert before["consent_at"] == on_the_wire(row.consent_at)
    sent = {"consent": "1", "consent_at": None, "consent_by_id": acme.bob.id, "do_not_contact": True, "note": "a"}
    assert consent_of(read(acme.json().put(path, json={kind: sent}))) == before


@both_kinds
def test_a_null_means_that_they_may_be_contacted(acme, kind):
    row = MAKE[kind](acme.alice, do_not_contact=True)
    updated = read(acme.json().put(f"/app/{kind}s/{row.id}.json", json={kind: {"do_not_contact": None}}))
    assert updated["do_not_contact"] is False


@both_kinds
def test_it_rejects_other_answers(acme, kind):
    response = acme.json().post(f"/app/{kind}s.json", json={kind: {"name": "Ann", "consent": "perhaps"}})
    assert_refused(response, 422, "validation_failed", {"consent": ["is not true or false"]})
