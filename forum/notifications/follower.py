"""The follower of the change feed that creates notifications.

The methods that change posts only record activities. For a new post or a note, the follower itself records the activity from the change in
the feed, because creating a post should remain one statement, and because notes belong to another room.
"""

from collections.abc import Sequence
from datetime import timedelta

from django.db import transaction
from django.utils import timezone

from accounts.account.models import Account
from accounts.users.models import User
from core.changes.followers import ChangeFollower
from core.changes.models import Change
from core.jobs.registry import MAX_TIME_SLICE, RetryDelays, has_time_left, job
from core.registry import registry
from forum.activities.models import Activity
from forum.notifications.models import note_source
from forum.notifications.recipients import notify
from forum.posts.models import Post

# The number of activities that one transaction announces.
MAX_ACTIVITIES = 100
# Older activities create no notifications, for example after a replay of the feed, or if the workers did not run for a long time.
MAX_AGE = timedelta(days=7)


class NotificationFollower(ChangeFollower):
    name = "notifications"

    def handle(self, account_id: int, changes: Sequence[Change]) -> None:
        resources = {change.resource for change in changes}
        if not resources & {"post", note_source().resource}:
            return
        account = Account.objects.get(id=account_id)
        self.announce_mentions(account, changes)
        if "post" not in resources:
            return
        self.add_new_posts(account, changes)
        if self.announce_first(account):
            # A longer transaction could exceed the lease of the follower. It would then be rolled back and repeated.
            announce_rest.defer(account_id=account_id, _key=f"announce activities of {account_id}")

    def announce_first(self, account: Account) -> bool:
        """Announce the oldest pending activities. Return whether there are more."""
        activities = list(Activity.objects.filter(account_id=account.id).pending()[: MAX_ACTIVITIES + 1])
        if activities:
            self.announce(account, activities[:MAX_ACTIVITIES])
        return len(activities) > MAX_ACTIVITIES

    def add_new_posts(self, account: Account, changes: Sequence[Change]) -> None:
        """Record the activities of new posts, unless they exist already."""
        oldest = timezone.now() - MAX_AGE
        ids = {
            change.id
            for change in changes
            if change.resource == "post"
            and change.change == Change.Kind.CREATED
            and change.at > oldest
            and change.import_id is None
        }
        if not ids:
            return
        posts = account.posts.live().without_tasks().filter(id__in=ids).order_by("id")
        values = {"account_id": account.id, "kind": Activity.Kind.NEW_POST}
        activities = [
            Activity(post_id=id, user_id=user_id, created_at=created_at, **values)
            for id, user_id, created_at in posts.values_list("id", "user_id", "created_at")
        ]
        Activity.objects.bulk_create(activities, ignore_conflicts=True)

    def announce_mentions(self, account: Account, changes: Sequence[Change]) -> None:
        """Notify the users whom new and changed notes mention, unless they have been notified of the note before."""
        source, oldest = note_source(), timezone.now() - MAX_AGE
        ids = {change.id for change in changes if change.resource == source.resource and change.at > oldest}
        if not ids:
            return
        live_notes = registry[source.resource].rows_of(account).filter(trashed_at=None)
        notes = {note.id: note for note in live_notes.filter(id__in=ids).exclude(mentioned_user_ids=[])}
        if not notes:
            return
        mentioned = {id for note in notes.values() for id in note.mentioned_user_ids}
        readers: dict[int, list[int]] = {id: [] for id in notes}
        for user in account.users.filter(id__in=mentioned, is_active=True, role__in=User.TEAM):
            for id in source.visible_to(user).filter(id__in=notes).values_list("id", flat=True):
                if user.id in notes[id].mentioned_user_ids:
                    readers[id].append(user.id)
        values = {"account_id": account.id, "kind": Activity.Kind.NOTE, "internal": True, "announced": True}
        rows = [Activity(note_id=note.id, user_id=note.creator_id, **values) for note in notes.values()]
        Activity.objects.bulk_create(rows, ignore_conflicts=True)
        activities = {activity.note_id: activity for activity in account.activities.filter(note_id__in=notes)}
        for id, user_ids in readers.items():
            notify(activities[id], None, account, mentioned=user_ids)

    def announce(self, account: Account, activities: list[Activity]) -> None:
        """Create the notifications of activities, and mark the activities as announced."""
        oldest = timezone.now() - MAX_AGE
        post_ids = {activity.post_id for activity in activities}
        posts: dict[int, Post] = {post.id: post for post in account.posts.live().filter(id__in=post_ids)}
        comment_ids = [activity.comment_id for activity in activities if activity.comment_id is not None]
        comments = {comment.id: comment for comment in account.comments.filter(id__in=comment_ids)}
        for activity in activities:
            post = posts.get(activity.post_id or 0)
            comment = comments.get(activity.comment_id or 0)
            is_withdrawn = activity.comment_id is not None and comment is None
            if post is not None and activity.created_at > oldest and not is_withdrawn:
                activity.comment = comment
                notify(activity, post, account)
        ids = [activity.id for activity in activities]
        Activity.objects.filter(account_id=account.id, id__in=ids).update(announced=True)


@job(time_limit=300, retry=RetryDelays(10, 60, 600), time_slice=MAX_TIME_SLICE)
def announce_rest(*, account_id: int) -> None:
    """Announce the pending activities of an account, `MAX_ACTIVITIES` in each transaction."""
    account = Account.objects.filter(id=account_id).first()
    follower, has_more = NotificationFollower(), account is not None
    while account is not None and has_more and has_time_left(60):
        with transaction.atomic():
            has_more = follower.announce_first(account)
    if has_more:
        announce_rest.defer(account_id=account_id, _key=f"announce activities of {account_id}")
