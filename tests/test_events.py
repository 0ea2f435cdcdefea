"""Named events: every act has one, on every path, and the feed shows them when asked."""

import pytest
from django.db import connection

from accounts.audit import actions as audit
from accounts.users.models import User
from core.changes import events
from core.changes.events import record_event
from core.changes.models import Change
from core.registry import registry
from forum.activities.models import Activity
from forum.blocking.actions import block
from team.merges.models import Merge
from tests.support.assertions import assert_refused, read
from tests.support.factories import (
    PASSWORD,
    make_client,
    make_comment,
    make_deal,
    make_post,
    make_task,
)

PATH = "/app/changes.json"


def events_of(account) -> list[tuple[str, int, int | None, dict]]:
    """Return the type, the id, the id of the user and the data of all events, and delete the changes."""
    # Deferred triggers record the changes at the commit. Run them now.
    connection.check_constraints()
    rows = list(account.changes.filter(data__isnull=False).order_by("position"))
    account.changes.all().delete()
    return [(f"{row.resource}.{row.change}", row.id, row.actor_id, row.data) for row in rows]


def data(before=None, after=None, **ids) -> dict:
    return {"before": before, "after": after, **ids}


def status(row, name: str | None = None) -> dict:
    found = row.account.statuses.get(id=row.status_id)
    return {"status_id": found.id, "status": name or found.name}


def test_it_works(acme):
    """The events come after the changes of the rows, in the order of the acts."""
    client = acme.json()
    since = read(client.get(PATH, params={"since": "now"}))["cursor"]
    post = make_post(acme.carol)
    new, planned = status(post), acme.account.statuses.get(kind="post", code="planned")
    post.write({"status": planned, "responsible_id": acme.bob.id}, by=acme.bob)
    connection.check_constraints()
    found = read(client.get(PATH, params={"since": since, "events": "true"}))
    assert [(each["change"], each["actor_id"], each["data"]) for each in found["changes"]] == [
        ("created", None, None),
        ("updated", None, None),
        ("status_changed", acme.bob.id, data(new, {"status_id": planned.id, "status": planned.name})),
        ("assigned", acme.bob.id, data({"responsible_id": None}, {"responsible_id": acme.bob.id})),
    ]
    raw = read(client.get(PATH, params={"since": since}))
    assert [each["change"] for each in raw["changes"]] == ["created", "updated"]
    assert "data" not in raw["changes"][0]
    # A cursor of one kind of reading is one of the other, too.
    for cursor in (found["cursor"], raw["cursor"]):
        assert read(client.get(PATH, params={"since": cursor}))["changes"] == []
    assert len(read(client.get(PATH, params={"since": raw["cursor"], "events": "true"}))["changes"]) == 2
    assert "data" not in read(client.get(PATH))["changes"][0]


def test_it_rejects_values(acme):
    response = acme.json().get(PATH, params={"events": "some"})
    assert_refused(response, 422, "validation_failed", {"events": ["is not true or false"]})
    with pytest.raises(LookupError):
        record_event(make_post(acme.carol), "post.praised", actor=acme.bob)


def test_suggestions_have_events(acme):
    post, original = make_post(acme.carol, approved=False), make_post(acme.carol)
    first = status(post)
    events_of(acme.account)
    post.write({"approved": True, "response": "Soon"}, by=acme.bob)
    post.merge_into(original, by=acme.bob)
    merged = status(post)
    post.undo_merge(by=acme.bob)
    post.trash(by=acme.bob)
    by, alone, into = acme.bob.id, {"duplicate_from_id": None}, {"duplicate_from_id": original.id}
    assert events_of(acme.account) == [
        ("post.answered", post.id, by, data(after=first)),
        ("post.approved", post.id, by, data()),
        ("post.status_changed", post.id, by, data(first, merged)),
        ("post.merged", post.id, by, data(alone, into)),
        ("post.status_changed", post.id, by, data(merged, first)),
        ("post.unmerged", post.id, by, data(into, alone)),
    ]


def test_comments_have_events(acme):
    post = make_post(acme.carol)
    events_of(acme.account)
    comment = make_comment(post, acme.carol)
    post.edit_comment(comment, "Another text", by=acme.carol)
    block(acme.carol, by=acme.alice, takes_texts=True)
    acme.carol.unblock(by=acme.alice)
    comment.approved = False
    comment.save()
    post.lock()
    post.approve_comment(comment)
    post.erase_comment(comment)
    carol, of_post = acme.carol.id, data(post_id=post.id)
    assert events_of(acme.account) == [
        ("comment.created", comment.id, carol, of_post),
        ("comment.updated", comment.id, carol, of_post),
        ("comment.deleted", comment.id, acme.alice.id, of_post),
        ("comment.restored", comment.id, None, of_post),
        ("comment.approved", comment.id, None, of_post),
        ("comment.deleted", comment.id, None, of_post),
    ]


def test_votes_have_events(acme):
    post, client = make_post(acme.carol), make_client(acme.bob)
    events_of(acme.account)
    post.vote(by=acme.carol)
    post.vote(by=acme.carol)
    post.withdraw_vote(by=acme.carol)
    post.withdraw_vote(by=acme.carol)
    post.cast_proxy_vote(by=acme.bob, client_id=client.id)
    post.withdraw_proxy_vote(client_id=client.id)
    of_carol, of_client = data(user_id=acme.carol.id), data(client_id=client.id)
    assert events_of(acme.account) == [
        ("vote.created", post.id, acme.carol.id, of_carol),
        ("vote.deleted", post.id, acme.carol.id, of_carol),
        ("vote.created", post.id, acme.bob.id, of_client),
        ("vote.deleted", post.id, None, of_client),
    ]


def test_deals_have_events(acme):
    statuses = acme.account.statuses.filter(kind="deal").order_by("position")
    new, won, lost = (statuses.filter(outcome=outcome).first() for outcome in ("open", "won", "lost"))
    names = {row: {"status_id": row.id, "status": row.name} for row in (new, won, lost)}
    deal = make_deal(acme.bob, status_id=new.id)
    sold = make_deal(acme.bob, status_id=won.id)
    by = acme.bob.id
    assert events_of(acme.account) == [("deal.won", sold.id, by, data(after=names[won]))]
    for row in (won, lost, new):
        deal = acme.account.deals.get(id=deal.id)
        deal.assign({"status_id": row.id}, by=acme.bob)
        deal.flush([deal])
    assert events_of(acme.account) == [
        (f"deal.{name}", deal.id, by, data(names[before], names[after]))
        for before, after, outcome in ((new, won, "won"), (won, lost, "lost"), (lost, new, "reopened"))
        for name in ("stage_changed", outcome)
    ]


def test_other_rows_have_events(acme):
    task = make_task(acme.bob)
    task.write({"closed": True}, by=acme.bob)
    kept, merged = make_client(acme.bob), make_client(acme.bob)
    merge = Merge.objects.merge(acme.account, "client", kept.id, merged.id, {}, by=acme.bob)
    merge.undo(by=acme.alice)
    ids = {"merged_id": merged.id, "merge_id": merge.id}
    account = acme.account
    user = User.objects.sign_up(account, login="dora", email="dora@example.com", password=PASSWORD, name="Dora")
    assert events_of(acme.account) == [
        ("task.completed", task.id, acme.bob.id, data()),
        ("client.merged", kept.id, acme.bob.id, data(after=ids)),
        ("client.unmerged", kept.id, acme.alice.id, data(ids)),
        ("user.signed_up", user.id, user.id, data()),
    ]


# The event of each activity, or the reason why it has none.
OF_ACTIVITIES = {
    "new_post": "post.created",
    "comment": "comment.created",
    "response": "post.answered",
    "status": "post.status_changed",
    "merge": "post.merged",
    "unmerge": "post.unmerged",
    "approval": "post.approved",
    "assignment": "post.assigned",
    "reminder": "task.due",
    "sign_up": "user.signed_up",
    "note": "note.created",
}
# The events of audited acts with another name.
OF_ACTS = {
    "post.rejected": "post.deleted",
    "post.undone": "post.unmerged",
    "comment.rejected": "comment.deleted",
    "client.undone": "client.unmerged",
    "contact.undone": "contact.unmerged",
    # A mark on the page of the suggestion, which is a raw change of it.
    **dict.fromkeys(("comment.pinned", "comment.not_pinned", "comment.helpful", "comment.not_helpful"), "post.updated"),
    "message.sent": "message.updated",
    "message.cancelled": "message.updated",
}
# Changes of settings are raw changes.
SETTINGS = {"changed": "updated", "moved": "updated"}
# Only the audit log has what happens to the accounts of users, because webhooks and integrations must not see it.
WITHOUT_EVENTS = "user"


def test_no_act_is_without_an_event():
    raw = {f"{resource.key}.{kind}" for resource in registry for kind in Change.Kind.values}
    known = raw | events.kinds.keys()
    assert OF_ACTIVITIES.keys() == set(Activity.Kind.values)
    assert set(OF_ACTIVITIES.values()) <= known
    subjects = {resource.key for resource in registry} | events.subjects.keys()
    pairs = {action: action.split(".") for action in audit.ACTIONS}
    acts = {
        OF_ACTS.get(action, f"{group}.{SETTINGS.get(act, act)}")
        for action, (group, act) in pairs.items()
        if group in subjects and group != WITHOUT_EVENTS
    }
    assert acts <= known
    assert OF_ACTS.keys() <= pairs.keys()
    for kind in events.kinds.values():
        assert kind.subject in subjects
        assert kind.subject in events.urls
