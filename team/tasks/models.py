"""The private addresses at which calendar programs read tasks."""

from django.db import models, transaction
from django.utils import timezone

from accounts.account.models import Account
from accounts.audit.models import record
from accounts.users.digests import MAX_SECRET_LENGTH, digest_of, new_secret
from accounts.users.models import User
from core.db.tenancy import TenantModel, foreign_object


class CalendarFeedQuerySet(models.QuerySet["CalendarFeed"]):
    @transaction.atomic(savepoint=False)
    def issue(self, user: User) -> str:
        """Return a new token of the user. Only its digest is stored. An earlier token of the user becomes invalid."""
        token, digest = new_secret()
        values = {"digest": digest, "created_at": timezone.now()}
        self.update_or_create(account_id=user.account_id, user_id=user.id, defaults=values)
        record(user.account_id, "calendar_feed.created", by=user)
        return token

    def find(self, account: Account, token: str) -> "CalendarFeed | None":
        """Return the feed of a token, with its user. The user must be active and on the team."""
        if not token or len(token) > MAX_SECRET_LENGTH:
            return None
        rows = self.select_related("user").filter(account_id=account.id, digest=digest_of(token))
        feed = rows.filter(user__is_active=True, user__role__in=User.TEAM).first()
        if feed is not None:
            feed.user.account = account
        return feed


class CalendarFeed(TenantModel):
    """The address at which calendar programs read the tasks of a user."""

    user_id = models.BigIntegerField()
    user = foreign_object(User, "user_id")
    digest = models.BinaryField(max_length=32)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    objects = CalendarFeedQuerySet.as_manager()

    class Meta:
        default_related_name = "calendar_feeds"
        constraints = [
            models.UniqueConstraint(fields=["account", "user_id"], name="calendarfeed_of_user"),
            models.UniqueConstraint(fields=["account", "digest"], name="calendarfeed_digest"),
        ]

    def __str__(self) -> str:
        return f"calendar of user {self.user_id}"
