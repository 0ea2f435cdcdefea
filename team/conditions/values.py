"""The values of conditions, read from the texts of parameters: numbers, days, periods such as `last_7_days`, ids and tags."""

import re
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal

from django.utils import timezone
from django.utils.dateparse import parse_date, parse_datetime
from django.utils.translation import gettext_lazy as _

from accounts.account.models import Account
from accounts.statuses.models import Status
from accounts.users.models import User
from core.db.tenancy import fold
from core.errors import FieldError
from core.http.regions import first_weekday_of
from core.numbers import AmbiguousNumber, InvalidNumber, parse_number, to_decimal
from core.rows.declared import FieldType
from core.rows.trimmed import trim
from team.conditions.periods import find_period

# Values of a parameter that stand for the user who sends the request.
ME = "me"
BOOLEANS = {"true": True, "1": True, "false": False, "0": False}
# The digits of a number before the point, and the zeros after it.
MAX_DIGITS = 14
# A number in which the comma may be a decimal sign or a separator of thousands.
_TWO_READINGS = re.compile("-?[0-9]{1,3},[0-9]{3}")
IDS = (
    *(FieldType.USER, FieldType.STATUS, FieldType.CLIENT, FieldType.CONTACT, FieldType.DEAL),
    *(FieldType.CATEGORY, FieldType.FORUM),
)
# The fields that only filters have (`team.conditions.relations`). Their values are the ids of the statuses that they stand for.
OUTCOME, PIPELINE = "outcome", "pipeline_id"

# Readers of the texts of parameters


def read_text(name: str, text: str, account: Account, user: User | None) -> str:
    return text


def read_tags(texts: Sequence[str], account: Account) -> list[str]:
    """Return the names of the tags as they are stored. Names that differ only in case are the same tag."""
    keys = [fold(trim(text)) for text in texts]
    stored = dict(account.tags.filter(name_key__in=keys).values_list("name_key", "name"))
    return [stored.get(key, text) for key, text in zip(keys, texts, strict=True)]


def read_outcome(name: str, text: str, statuses: Sequence[Status]) -> frozenset[int]:
    """Return the ids of the statuses of deals with an outcome."""
    if text not in Status.Outcome.values:
        raise FieldError(name, _("is not open, won or lost"), "choice")
    return frozenset(status.id for status in statuses if status.outcome == text)


def read_pipeline(name: str, text: str, statuses: Sequence[Status]) -> frozenset[int]:
    """Return the ids of the statuses of a pipeline."""
    pipeline_id = parse_id(name, text)
    return frozenset(status.id for status in statuses if status.pipeline_id == pipeline_id)


def parse_id(name: str, text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,18}", text, re.ASCII):
        raise FieldError(name, _("is not an id"), "number")
    return int(text)


def read_id(name: str, text: str, account: Account, user: User | None) -> int:
    return user.id if text == ME and user is not None else parse_id(name, text)


def read_number(name: str, text: str, language: str | None, *, is_money: bool, currency: str = "") -> Decimal:
    """Return the number that a text means. Raise FieldError, with the code `ambiguous` for a text with two readings.

    An amount may have a currency: any, or only `currency`.
    """
    if language is None:
        number = to_decimal(text.replace(",", ".") if not _TWO_READINGS.fullmatch(text) else text)
    else:
        try:
            typed = parse_number(text, language, currency=currency)
        except AmbiguousNumber:
            raise FieldError(name, _("can be read in two ways: choose what you mean"), "ambiguous") from None
        except InvalidNumber:
            raise FieldError(name, _("is not a number"), "number") from None
        if typed.currency and currency and typed.currency != currency:
            raise FieldError(name, _("is an amount in {currency}"), "currency", {"currency": currency})
        number = typed.value if is_money or not typed.currency else None
    if number is None or (number and not -MAX_DIGITS < number.adjusted() < MAX_DIGITS):
        raise FieldError(name, _("is not a number"), "number")
    return number


def read_day(name: str, text: str, account: Account, user: User | None) -> tuple[date, date]:
    """Return the day and the day after it, or the first day of a period and the day after its last one."""
    try:
        today = timezone.now().astimezone(account.zone).date()
        if (period := find_period(text, today, first_weekday_of(account.country))) is not None:
            return period
        day = parse_date(text)
        if day is not None:
            return day, day + timedelta(days=1)
    except (ValueError, OverflowError):
        pass
    raise FieldError(name, _("is not a date such as 2026-01-31, or a period such as last_7_days"), "date")


def read_time(name: str, text: str, account: Account, user: User | None) -> tuple[datetime, datetime | None]:
    """Return the time, or the beginning and the end of a day or a period in the time zone of the account."""
    try:
        # A plus sign that is not escaped in a URL was decoded to a space.
        moment = parse_datetime(text.replace(" ", "+")) if "T" in text else None
    except ValueError:
        moment = None
    if moment is not None:
        return (moment if moment.tzinfo else moment.replace(tzinfo=account.zone)).astimezone(UTC), None
    first, end = read_day(name, text, account, user)
    try:
        begin, until = (datetime.combine(day, time(), tzinfo=account.zone).astimezone(UTC) for day in (first, end))
    except (ValueError, OverflowError):
        raise FieldError(name, _("is not a date such as 2026-01-31, or a period such as last_7_days"), "date") from None
    return begin, until


Reader = Callable[[str, str, Account, User | None], object]
READERS: dict[FieldType, Reader] = {
    **dict.fromkeys(IDS, read_id),
    FieldType.DATE: read_day,
    FieldType.TIME: read_time,
}
# The readers of the fields that only filters have. They take all statuses of deals.
FILTER_READERS: dict[str, Callable[[str, str, Sequence[Status]], frozenset[int]]] = {
    OUTCOME: read_outcome,
    PIPELINE: read_pipeline,
}
