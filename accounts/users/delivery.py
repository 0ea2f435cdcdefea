"""The delivery of notifications by e-mail: at once, or in a digest at a chosen hour of the user's time zone."""

from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from django.db import models
from django.utils.translation import gettext_lazy as _

# Events on one suggestion within this time are combined into one e-mail.
COMBINING_DELAY = timedelta(minutes=5)
HOURS = range(24)


class NotificationDelivery(models.TextChoices):
    """When a user receives notifications by e-mail."""

    AT_ONCE = "at_once", _("At once")
    DAILY = "daily", _("Every day, in one e-mail")
    WEEKLY = "weekly", _("Every week, in one e-mail")
    NEVER = "never", _("Never: only on the page of notifications")


def delivery_time(now: datetime, delivery: str, *, hour: int, weekday: int, zone: ZoneInfo) -> datetime | None:
    """Return when an event that happens at `now` is sent to a user, or None if it is not sent by e-mail.

    `hour` is an hour of the user's clock, and `weekday` is 0 for Monday. When clocks change, an hour that does not exist is
    replaced by the next one, and the first of two equal hours is used.
    """
    if delivery == NotificationDelivery.NEVER:
        return None
    if delivery == NotificationDelivery.AT_ONCE:
        return now + COMBINING_DELAY
    local = now.astimezone(zone)
    day = local.date()
    if delivery == NotificationDelivery.WEEKLY:
        day += timedelta(days=(weekday - day.weekday()) % 7)
    period = timedelta(days=1 if delivery == NotificationDelivery.DAILY else 7)
    moment = _set_hour(day, hour, zone)
    return moment if moment > now else _set_hour(day + period, hour, zone)


def _set_hour(day: date, hour: int, zone: ZoneInfo) -> datetime:
    return datetime.combine(day, time(hour), zone).astimezone(UTC)
