"""Consent and "do not contact" of clients and contacts, with the time and the user of the last change."""

from datetime import UTC, datetime

import pytest

from tests.support.assertions import assert_refused, on_the_wire, read

LONG_AGO = datetime(2009, 1, 26, 17, 6, 53, tzinfo=UTC)
both_kinds = pytest.mark.parametrize("kind", ["client", "contact"])


def consent_of(body: dict) -> dict:
    return {name: value for name, value in body.items() if name.startswith(("consent", "do_not_contact"))}


@both_kinds
def test_it_works(acme, kind):
    response = acme.json().post(f"/app/{kind}s.json", json={kind: {"name": "Ann", "consent": "perhaps"}})
    assert_refused(response, 422, "validation_failed", {"consent": ["is not true or false"]})
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
    # The same answer again changes neither the time nor the user.
    rows = getattr(acme.account, f"{kind}s")
    rows.update(consent=True, consent_at=LONG_AGO, do_not_contact_at=LONG_AGO)
    before = consent_of(read(acme.json().get(path)))
    assert before["consent_at"] == before["do_not_contact_at"] == on_the_wire(LONG_AGO)
    sent = {"consent": "1", "consent_at": None, "consent_by_id": acme.bob.id, "do_not_contact": True, "note": "a"}
    assert consent_of(read(acme.json().put(path, json={kind: sent}))) == before
    # A null means that they may be contacted.
    assert read(acme.json().put(path, json={kind: {"do_not_contact": None}}))["do_not_contact"] is False
