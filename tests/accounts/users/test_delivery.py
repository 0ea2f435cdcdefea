"""The times of digests, in the time zone of the user."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from accounts.users.delivery import NotificationDelivery, delivery_time
from tests.support.tables import table

WARSAW = ZoneInfo("Europe/Warsaw")


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@table(
    ("now", "delivery", "hour", "weekday", "expected"),
    [
        ("2026-11-23 10:00", NotificationDelivery.AT_ONCE, 8, 0, "2026-11-23 10:05"),
        # Monday, 11:00 in Warsaw.
        ("2026-11-23 10:00", NotificationDelivery.DAILY, 12, 0, "2026-11-23 11:00"),
        ("2026-11-23 10:00", NotificationDelivery.DAILY, 11, 0, "2026-11-24 10:00"),
        ("2026-11-23 10:00", NotificationDelivery.DAILY, 8, 0, "2026-11-24 07:00"),
        ("2026-11-23 10:00", NotificationDelivery.WEEKLY, 12, 0, "2026-11-23 11:00"),
        ("2026-11-23 10:00", NotificationDelivery.WEEKLY, 8, 0, "2026-11-30 07:00"),
        ("2026-11-23 10:00", NotificationDelivery.WEEKLY, 8, 6, "2026-11-29 07:00"),
        # Late on Sunday in UTC it is Monday in Warsaw.
        ("2026-11-22 23:30", NotificationDelivery.WEEKLY, 8, 0, "2026-11-23 07:00"),
        # The clocks change: 08:00 in Warsaw is 07:00 in winter and 06:00 in summer.
        ("2026-03-28 12:00", NotificationDelivery.DAILY, 8, 0, "2026-03-29 06:00"),
        ("2026-10-24 12:00", NotificationDelivery.DAILY, 8, 0, "2026-10-25 07:00"),
        # 02:00 does not exist on this night in spring, and exists twice on a night in autumn.
        ("2026-03-28 12:00", NotificationDelivery.DAILY, 2, 0, "2026-03-29 01:00"),
        ("2026-10-24 12:00", NotificationDelivery.DAILY, 2, 0, "2026-10-25 00:00"),
    ],
)
def test_it_works(now, delivery, hour, weekday, expected):
    assert delivery_time(at(now), delivery, hour=hour, weekday=weekday, zone=WARSAW) == at(expected)


def test_never_has_no_time():
    assert delivery_time(at("2026-11-23 10:00"), NotificationDelivery.NEVER, hour=8, weekday=0, zone=WARSAW) is None
