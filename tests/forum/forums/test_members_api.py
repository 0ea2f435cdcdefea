"""The members of a forum as JSON."""

from tests.support.assertions import assert_answered, assert_refused, on_the_wire, read
from tests.support.factories import make_forum


def test_it_works(acme):
    forum = make_forum(acme.account, access="private")
    path, admin, id = f"/app/forums/{forum.id}/members.json", acme.json(acme.alice_token), acme.carol.id
    for _ in range(2):
        assert_answered(admin.post(path, json={"member": {"user_id": id}}), 201, {"user_id": id})
    row = acme.account.forum_members.get()
    assert read(acme.json().get(path)) == [
        {"user_id": id, "name": "Carol Member", "state": "member", "created_at": on_the_wire(row.created_at)}
    ]
    assert forum.may_be_read_by(acme.carol)
    for _ in range(2):
        assert_answered(admin.delete(path, params={"user_id": id}), 200, "ok")
    assert read(admin.get(path)) == []
    acts = acme.account.audit_entries.filter(action_group="forum").order_by("id").values_list("action", flat=True)
    assert list(acts)[-2:] == ["forum.members_added", "forum.members_removed"]


def test_it_rejects_values(acme, other):
    path, admin = f"/app/forums/{make_forum(acme.account).id}/members.json", acme.json(acme.alice_token)
    for values, rule in (
        ({}, "can't be blank"),
        ({"user_id": 10**9}, "can't be found"),
        # The team belongs to all forums.
        ({"user_id": acme.bob.id}, "can't be found"),
    ):
        errors = {"user_id": [rule]}
        assert_refused(admin.post(path, json={"member": values}), 422, "validation_failed", errors)
        assert_refused(admin.delete(path, params=values), 422, "validation_failed", errors)
    foreign = f"/app/forums/{make_forum(other.account).id}/members.json"
    assert_refused(admin.get(foreign), 404, "not_found")
    assert not acme.account.forum_members.exists()
