"""The erasure of a person at once: a user, or a client or contact of the CRM.

A user stays as a row without personal data, so that the texts and votes of the account remain in order. Clients and contacts are deleted.
"""

from collections import Counter
from dataclasses import dataclass, field
from secrets import token_hex
from typing import Any

from django.core.exceptions import PermissionDenied
from django.core.signing import BadSignature, Signer
from django.db import transaction
from django.db.models import Q
from django.dispatch import Signal
from django.utils import timezone, translation
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from accounts.account.models import Account
from accounts.audit.models import KEPT_FOR, record
from accounts.erasure.personal_data import personal_data_of
from accounts.roles.models import ONLY_ADMINS, ONLY_OWNERS
from accounts.users.delivery import NotificationDelivery
from accounts.users.models import User
from core.errors import FieldError

# Sent in the transaction, while the user still has their name. Arguments: `user`, `by`, `receipt`, and `deletes_texts`.
user_erasing = Signal()
# Sent at the end of the transaction. Argument: `account_id`.
person_erased = Signal()
# The domain of the addresses of deleted users. RFC 2606 reserves it: nobody receives e-mails there.
ERASED_DOMAIN = "deleted.invalid"
# The deleted rows that a receipt names. Proxies and browsers limit the length of its address.
MAX_REPORTED = 100


@dataclass
class Receipt:
    """The result of an erasure, without personal data."""

    account_id: int
    resource: str
    id: int
    # None for a job.
    by_id: int | None
    at: str = ""
    # The numbers of rows by kind.
    erased: Counter[str] = field(default_factory=Counter)
    kept: Counter[str] = field(default_factory=Counter)
    # The changes that the change feed reports, and webhooks after it: their number, and the first of them.
    reported_count: int = 0
    reported: list[dict[str, object]] = field(default_factory=list)

    def report(self, resource: str, id: int) -> None:
        self.reported_count += 1
        if len(self.reported) < MAX_REPORTED:
            self.reported.append({"resource": resource, "id": id, "change": "deleted"})

    def as_dict(self) -> dict[str, Any]:
        return {
            "account_id": self.account_id,
            "resource": self.resource,
            "id": self.id,
            "erased_at": self.at,
            "erased_by_id": self.by_id,
            "erased": dict(sorted((+self.erased).items())),
            "kept": dict(sorted((+self.kept).items())),
            "reported_count": self.reported_count,
            "reported": self.reported,
            "audit_log_days": KEPT_FOR.days,
        }

    def signed(self) -> str:
        return _signer().sign_object(self.as_dict(), compress=True)


def _signer() -> Signer:
    return Signer(salt="erasure")


def read_receipt(account: Account, signed: str) -> dict[str, Any] | None:
    """Return the receipt of an erasure in the account, or None if its signature is wrong."""
    try:
        receipt: dict[str, Any] = _signer().unsign_object(signed)
    except (BadSignature, ValueError):
        return None
    return receipt if receipt["account_id"] == account.id else None


def deleted_name(account: Account) -> str:
    """Return the name of erased users, in the language of the account."""
    with translation.override(account.language):
        return gettext("Deleted user")


def mention_of_deleted(account: Account) -> str:
    """Return the text that replaces mentions of erased users."""
    return deleted_name(account).lower()


@transaction.atomic(savepoint=False)
def erase_user(user: User, *, by: User | None, deletes_texts: bool = False) -> Receipt:
    """Erase the personal data of a user. With `deletes_texts`, also delete their comments and their suggestions without other participants.

    `by` is None for a job. Raise PermissionDenied if it is neither the user nor may manage the user, and FieldError for the only owner.
    """
    _lock(user, by)
    receipt = Receipt(user.account_id, "user", user.id, None if by is None else by.id)
    user_erasing.send(User, user=user, by=by, receipt=receipt, deletes_texts=deletes_texts)
    _erase_rows(user, receipt)
    # The random part keeps the login free of those that others have chosen.
    login = f"deleted-{user.id}-{token_hex(6)}"
    user.set_unusable_password()
    user.change(
        login=login,
        email=f"{login}@{ERASED_DOMAIN}",
        name=deleted_name(user.account),
        password=user.password,
        group_id=None,
        notification=User.Notification.NONE,
        shows_votes=False,
        description="",
        www=None,
        language=None,
        preferences={},
        time_zone=None,
        delivery=NotificationDelivery.AT_ONCE,
        digest_hour=8,
        digest_weekday=0,
        shortcuts=True,
        bounces=0,
        bounced_at=None,
        last_login=None,
        is_active=False,
        blocked_at=None,
        erased_at=timezone.now(),
        erasure_notice_at=None,
    )
    _finish(receipt)
    # The entry has the name of a deleted user, also if they erased themselves.
    by = user if by is not None and by.id == user.id else by
    record(user.account_id, "user.erased", by=by, target=user, receipt=receipt.as_dict())
    return receipt


@transaction.atomic(savepoint=False)
def erase_row(row: Any, *, by: User) -> Receipt:
    """Erase a client or a contact, live or in the trash, which the caller has locked. Raise PermissionDenied unless `by` is an admin."""
    if not (by.is_admin and by.is_active):
        raise PermissionDenied(_("Only an admin or an owner can erase this."))
    resource = row.api_resource.key
    receipt = Receipt(row.account_id, resource, row.id, by.id)
    if row.trashed_at is None:
        row.trash(by=by)
        receipt.report(resource, row.id)
    _erase_rows(row, receipt)
    receipt.erased[resource] = type(row).objects.filter(account_id=row.account_id, id=row.id).erase_one()
    _finish(receipt)
    record(row.account_id, "trash.erased", by=by, resource=resource, rows=1, receipt=receipt.as_dict())
    return receipt


def _lock(user: User, by: User | None) -> None:
    """Lock both users and the owners, and check that `by` may erase the user."""
    people = [user] if by is None else [user, by]
    users = user.account.users.filter(Q(id__in=[row.id for row in people]) | Q(role=User.Role.OWNER)).order_by("id")
    locked = {row.id: row for row in users.select_for_update(no_key=True)}
    for row in people:
        row.role, row.is_active, row.erased_at = (
            getattr(locked[row.id], name) for name in ("role", "is_active", "erased_at")
        )
    if user.erased_at is not None:
        raise FieldError("user", _("is deleted already"), "erased")
    if by is not None and user.id != by.id and not by.may_manage(user):
        raise PermissionDenied(ONLY_OWNERS if by.assignable_roles else ONLY_ADMINS)
    owners = [row for row in locked.values() if row.role == User.Role.OWNER and row.is_active]
    if [row.id for row in owners] == [user.id]:
        raise FieldError("user", _("is the only owner: appoint another owner first"), "only_owner")


def _erase_rows(person: Any, receipt: Receipt) -> None:
    for data in personal_data_of(person):
        rows = data.rows(person)
        if data.is_erased:
            receipt.erased[data.key] += data.delete(rows)
        else:
            receipt.kept[data.key] += rows.order_by().count()


def _finish(receipt: Receipt) -> None:
    receipt.at = timezone.now().isoformat(timespec="seconds")
    person_erased.send(None, account_id=receipt.account_id)
