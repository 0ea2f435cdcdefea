"""The recipients of notifications: who is notified of which activity, and why."""

from datetime import timedelta

import pytest

from accounts.users.models import User
from core.changes.followers import Follower
from forum.activities.models import Activity
from forum.follows.models import Follow
from forum.notifications import follower
from forum.notifications.models import Notification, NotificationReason
from tests.support.factories import make_comment, make_post, make_task, make_user
from tests.support.followers import run_followers
from tests.support.jobs import run_jobs


@pytest.fixture
def quiet(acme):
    """Notify the cast only of suggestions in which they take part: alice, as the owner, is notified of everything by default."""
    acme.account.users.update(notification="own", notify_new_posts=False)
    return acme


def received(account) -> list[tuple[str, str, str]]:
    """Return (login, kind, reason) of all notifications, in order, and delete them."""
    run_followers()
    logins = dict(account.users.values_list("id", "login"))
    rows = account.notifications.order_by("id").values_list("user_id", "activity__kind", "reason")
    result = [(logins[user_id], kind, NotificationReason(reason).name) for user_id, kind, reason in rows]
    account.notifications.all().delete()
    return result


def test_it_works(quiet):
    dora, eve = make_user(quiet.account, "dora"), make_user(quiet.account, "eve", role="agent")
    post = make_post(quiet.carol, "Dark mode")
    make_comment(post, dora)
    post.vote(by=quiet.alice)
    Follow.objects.choose(post, by=eve, follows=True)
    received(quiet.account)
    make_comment(post, quiet.bob)
    assert received(quiet.account) == [
        ("alice", "comment", "VOTER"),
        ("carol", "comment", "AUTHOR"),
        ("dora", "comment", "COMMENTER"),
        ("eve", "comment", "FOLLOWER"),
    ]
    run_followers()
    assert received(quiet.account) == []


def change_status(post, by):
    post.write({"status": post.account.statuses.get(kind="post", code="planned")}, by=by)


def merge(post, by):
    post.merge_into(make_post(by, "Another"), by=by)


def undo_merge(post, by):
    merge(post, by)
    post.undo_merge(by=by)


ACTS = [
    (change_status, ["status"]),
    (lambda post, by: post.write({"response": "Soon."}, by=by), ["response"]),
    (merge, ["merge"]),
    (undo_merge, ["merge", "unmerge"]),
    (lambda post, by: make_comment(post, by), ["comment"]),
    (lambda post, by: post.write({"title": "Other words"}, by=by), []),
    (lambda post, by: post.write({"tags": ["new"]}, by=by), []),
    (lambda post, by: post.vote(by=by), []),
]


def test_the_author_learns_of_each_kind_of_activity(quiet):
    for act, kinds in ACTS:
        post = make_post(quiet.carol)
        received(quiet.account)
        act(post, quiet.bob)
        assert received(quiet.account) == [("carol", kind, "AUTHOR") for kind in kinds], act


def test_a_response_with_a_status_is_one_activity(quiet):
    post = make_post(quiet.carol)
    planned = quiet.account.statuses.get(kind="post", code="planned")
    post.write({"response": "Soon.", "status": planned}, by=quiet.bob)
    assert received(quiet.account) == [("carol", "response", "AUTHOR")]
    assert list(quiet.account.activities.filter(kind="response").values_list("before", "after")) == [("New", "Planned")]


def test_nobody_is_notified_of_their_own_actions_and_of_tasks(quiet):
    post = make_post(quiet.bob)
    make_comment(post, quiet.bob)
    post.write({"response": "Done", "responsible_id": quiet.bob.id}, by=quiet.bob)
    assert received(quiet.account) == []
    Activity.objects.all().delete()
    task = make_task(quiet.alice)
    task.write({"responsible_id": quiet.bob.id}, by=quiet.alice)
    make_comment(task, quiet.bob)
    assert received(quiet.account) == []
    assert not Activity.objects.exists()


def test_the_responsible_user_learns_of_the_assignment_and_of_comments(quiet):
    post = make_post(quiet.carol)
    received(quiet.account)
    post.write({"responsible_id": quiet.bob.id}, by=quiet.alice)
    assert received(quiet.account) == [("bob", "assignment", "RESPONSIBLE")]
    make_comment(post, quiet.carol)
    assert received(quiet.account) == [("bob", "comment", "RESPONSIBLE")]


def test_the_team_learns_of_new_suggestions_if_it_wants_to(quiet):
    quiet.account.users.filter(login="bob").update(notify_new_posts=True)
    # The setting has no effect for members.
    dora = make_user(quiet.account, "dora", notify_new_posts=True)
    make_post(quiet.carol)
    assert received(quiet.account) == [("bob", "new_post", "TEAM")]
    make_post(dora, private=True)
    assert received(quiet.account) == [("bob", "new_post", "TEAM")]


def test_all_notifies_of_everything_and_none_of_nothing(quiet):
    make_user(quiet.account, "dora", notification="all")
    quiet.account.users.filter(login="carol").update(notification="none")
    post = make_post(quiet.carol)
    assert received(quiet.account) == [("dora", "new_post", "EVERYTHING")]
    make_comment(post, quiet.bob, "@carol, what do you think?")
    assert received(quiet.account) == [("dora", "comment", "EVERYTHING")]


def test_a_choice_takes_precedence(quiet):
    post = make_post(quiet.carol)
    Follow.objects.choose(post, by=quiet.carol, follows=False)
    make_comment(post, quiet.bob)
    assert received(quiet.account) == []
    make_comment(post, quiet.bob, "What do you think, @carol?")
    assert received(quiet.account) == [("carol", "comment", "MENTIONED")]
    Follow.objects.choose(post, by=quiet.carol, follows=True)
    make_comment(post, quiet.bob)
    assert received(quiet.account) == [("carol", "comment", "AUTHOR")]


def test_nobody_is_notified_of_what_they_may_not_see(quiet):
    make_user(quiet.account, "dora", notification="all")
    make_user(quiet.account, "left", notification="all", is_active=False)
    post = make_post(quiet.carol, private=True, content="@dora @bob")
    assert received(quiet.account) == [("bob", "new_post", "MENTIONED")]
    make_comment(post, quiet.bob)
    assert received(quiet.account) == [("carol", "comment", "AUTHOR")]
    make_comment(post, quiet.bob)
    post.trash(by=quiet.bob)
    assert received(quiet.account) == []


def test_approval_reaches_the_author_and_those_who_want_everything(quiet):
    make_user(quiet.account, "dora", notification="all")
    quiet.account.users.filter(login="bob").update(notify_new_posts=True)
    quiet.account.forums.update(approval=True)
    post = make_post(quiet.carol)
    assert received(quiet.account) == [("bob", "new_post", "TEAM")]
    post.approve(by=quiet.bob)
    assert received(quiet.account) == [("carol", "approval", "AUTHOR"), ("dora", "approval", "EVERYTHING")]


def test_authors_of_duplicates_follow_the_original(quiet):
    original, duplicate = make_post(quiet.bob), make_post(quiet.carol)
    duplicate.merge_into(original, by=quiet.bob)
    received(quiet.account)
    make_comment(original, quiet.alice)
    assert received(quiet.account) == [("bob", "comment", "AUTHOR"), ("carol", "comment", "AUTHOR")]


def test_it_ignores_old_changes(quiet, monkeypatch):
    monkeypatch.setattr(follower, "MAX_AGE", timedelta(0))
    make_comment(make_post(quiet.carol), quiet.bob)
    assert received(quiet.account) == []


def test_reading_the_changes_again_notifies_nobody_twice(quiet):
    quiet.account.users.update(notification="all")
    make_comment(make_post(quiet.carol), quiet.bob)
    run_followers()
    numbers = Notification.objects.count()
    assert numbers == 4
    assert Follower.objects.replay(quiet.account.id, "notifications", after=0)
    run_followers()
    assert Notification.objects.count() == numbers


def test_another_account_learns_nothing(quiet, other):
    User.objects.update(notification="all")
    make_post(quiet.carol)
    run_followers()
    assert not other.account.notifications.exists()


def test_each_notification_counts_as_unread(quiet):
    post = make_post(quiet.carol)
    for _ in range(3):
        make_comment(post, quiet.bob)
    run_followers()

    def unread() -> int:
        return quiet.account.users.get(login="carol").unread_notifications

    assert unread() == 3
    rows = quiet.account.notifications.of_user(quiet.carol)
    assert rows.filter(id=rows.first().id).mark_read() == 1
    assert unread() == 2
    quiet.account.comments.order_by("id").first().delete()
    assert unread() == 1
    assert rows.mark_read() == 1
    assert (unread(), rows.mark_read()) == (0, 0)


def test_many_activities_are_announced_in_several_transactions(quiet, monkeypatch):
    monkeypatch.setattr(follower, "MAX_ACTIVITIES", 2)
    post = make_post(quiet.carol)
    received(quiet.account)
    for _ in range(5):
        make_comment(post, quiet.bob)
    run_followers()
    assert quiet.account.notifications.count() == 2
    run_jobs()
    assert received(quiet.account) == [("carol", "comment", "AUTHOR")] * 5


def test_users_with_an_unknown_time_zone_are_notified(quiet):
    quiet.account.users.filter(id=quiet.carol.id).update(time_zone="Europe/Nowhere", delivery="daily")
    post = make_post(quiet.carol)
    received(quiet.account)
    make_comment(post, quiet.bob)
    assert received(quiet.account) == [("carol", "comment", "AUTHOR")]
