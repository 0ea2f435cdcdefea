"""The erasure of members who no longer use an account that keeps inactive members for a number of months only.

A member has used it who signed in, or whose rows (`register_activity`) are newer. They get an e-mail `NOTICE` before their erasure.
"""

from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.urls import reverse
from django.utils import timezone, translation

from accounts.account.models import Account
from accounts.erasure.erasing import erase_user
from accounts.hosts.names import public_url
from accounts.mail import sending as mail
from accounts.users.models import User
from core.db.transactions import in_transaction
from core.jobs.registry import MAX_TIME_SLICE, RetryDelays, has_time_left, job, periodic_job
from core.pages.formatting import date_text

NOTICE = timedelta(days=30)
# The members of an account who are told, and who are erased, on one day.
MAX_NOTICES, MAX_ERASED = 500, 100

_activities: list[tuple[Callable[[], "QuerySet[Any]"], str]] = []


def register_activity(rows: Callable[[], "QuerySet[Any]"], column: str = "created_at") -> None:
    """Register rows of users, with a column `user_id` and the column of their time, that show that the user uses the account."""
    _activities.append((rows, column))


def inactive_members(account: Account, *, since: datetime) -> "QuerySet[User]":
    """Return the active members who have not used the account since a time."""
    rows: QuerySet[User] = account.users.filter(role=User.Role.MEMBER, is_active=True, created_at__lt=since)
    rows = rows.filter(Q(last_login=None) | Q(last_login__lt=since))
    for activity, column in _activities:
        of_user = {"account_id": OuterRef("account_id"), "user_id": OuterRef("id"), f"{column}__gte": since}
        rows = rows.filter(~Exists(activity().filter(**of_user)))
    return rows.order_by("id")


@periodic_job(minutes=24 * 60, offset=2 * 60)
def find_accounts_with_inactive_members() -> None:
    """Have a job erase the inactive members of each account that keeps them for a number of months."""
    ids = Account.objects.filter(inactive_member_months__isnull=False).values_list("id", flat=True)
    for account_id in ids:
        erase_inactive_members.defer(account_id=account_id, _key=f"inactive members of account {account_id}")


# Without another attempt: the job of the next day does the rest.
@job(time_limit=300, retry=RetryDelays(), time_slice=MAX_TIME_SLICE)
def erase_inactive_members(*, account_id: int) -> None:
    """Tell the members of an account who will soon be inactive for too long, and erase those who were told 30 days ago.

    What does not fit into the time slice is left to the job of the next day.
    """
    account = Account.objects.filter(id=account_id).first()
    if account is None or account.inactive_member_months is None:
        return
    now = timezone.now()
    limit = now - timedelta(days=account.inactive_member_months * 365.25 / 12)
    soon = inactive_members(account, since=limit + NOTICE)
    account.users.exclude(erasure_notice_at=None).exclude(id__in=soon.order_by().values("id")).update(
        erasure_notice_at=None
    )
    for user in soon.filter(erasure_notice_at=None)[:MAX_NOTICES]:
        if has_time_left():
            user.account = account
            in_transaction(partial(send_notice, user))
    due = inactive_members(account, since=limit).filter(erasure_notice_at__lte=now - NOTICE)
    for id in due.values_list("id", flat=True)[:MAX_ERASED]:
        if has_time_left():
            in_transaction(partial(erase_if_due, due, id))


def send_notice(user: User) -> None:
    account, now = user.account, timezone.now()
    if not account.users.filter(id=user.id, erasure_notice_at=None).update(erasure_notice_at=now):
        return
    language = mail.supported_language(user.language or account.language)
    with translation.override(language), timezone.override(user.time_zone or account.time_zone):
        day = date_text(timezone.localdate(now + NOTICE))
    mail.send(
        user.email,
        "accounts/mail/inactive_member.txt",
        account_id=account.id,
        language=language,
        sender=account.name or account.prefix,
        urgent=False,
        login=user.login,
        date=day,
        url=public_url(account.prefix) + reverse("accounts-sign-in"),
    )


def erase_if_due(due: "QuerySet[User]", id: int) -> None:
    # A sign-in updates the row, so the lock makes the condition hold until the end of the transaction.
    user = due.filter(id=id).select_related("account").select_for_update(no_key=True, of=("self",)).first()
    if user is not None:
        erase_user(user, by=None)
