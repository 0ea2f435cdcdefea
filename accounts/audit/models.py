"""The audit log of an account: who changed what, when and from where.

The database refuses to change entries, and to delete them before `KEPT_FOR` is over (`accounts/migrations/0003_audit.py`).
"""

from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Any, ClassVar, Self

from django.conf import settings
from django.core.serializers.json import DjangoJSONEncoder
from django.db import models, transaction
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.audit.actions import ACTIONS
from accounts.audit.origin import Interface, current_origin
from core.db.tenancy import StrictSave, TenantModel
from core.db.text import replace_non_xml

# The trigger of the table has this time as well.
KEPT_FOR = timedelta(days=400)
MAX_TEXT, MAX_VALUE, MAX_ITEMS = 255, 500, 100
# The value of a setting that may contain a secret.
HIDDEN = "…"


class AuditQuerySet(models.QuerySet["AuditEntry"]):
    def matching(
        self,
        *,
        actor_id: int | None = None,
        group: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        target: str | None = None,
        before: int | None = None,
    ) -> Self:
        """Return the entries that pass the filters, newest first. `before` is the id of the entry after which a page begins."""
        filters = {
            "actor_id": actor_id,
            "action_group": group or None,
            "at__gte": since,
            "at__lt": until,
            "target_label__icontains": target or None,
            "id__lt": before,
        }
        return self.filter(**{name: value for name, value in filters.items() if value is not None}).order_by("-id")

    def outdated(self) -> Self:
        """Return the entries that are older than `KEPT_FOR`."""
        return self.filter(at__lt=timezone.now() - KEPT_FOR)


class AuditEntry(TenantModel):
    """An act. The names are those at its time, because users and targets may be renamed or deleted."""

    class Actor(models.TextChoices):
        USER = "user"
        # A user's token.
        TOKEN = "token"  # noqa: S105  # the name of a kind
        VISITOR = "visitor", _("Somebody who was not signed in")
        SYSTEM = "system", _("The service")
        OPERATOR = "operator", _("An operator of the service")

    # The database deletes the entries of a deleted account.
    account = models.ForeignKey(settings.ACCOUNT_MODEL, models.DO_NOTHING, db_index=False, db_constraint=False)
    # A trigger sets the time, and the id to the time in microseconds. So ids are in the order of time, and other rows get the same ids
    # with and without entries.
    at = models.DateTimeField(db_default=Now(), editable=False)
    action = models.CharField(max_length=255)
    action_group = models.CharField(max_length=255)
    actor_kind = models.CharField(max_length=255, choices=Actor.choices)
    actor_id = models.BigIntegerField(null=True)
    actor_name = models.CharField(max_length=255)
    token_label = models.CharField(max_length=255, null=True)
    target_kind = models.CharField(max_length=255)
    target_id = models.BigIntegerField(null=True)
    target_label = models.CharField(max_length=255)
    details = models.JSONField(encoder=DjangoJSONEncoder)
    address = models.CharField(max_length=255)
    agent = models.CharField(max_length=255)
    interface = models.CharField(max_length=255, choices=Interface.choices)

    objects = AuditQuerySet.as_manager()

    class Meta:
        db_table = "accounts_auditentry"
        default_related_name = "audit_entries"
        verbose_name_plural = "audit entries"
        indexes = [
            models.Index(fields=["account", "actor_id", "id"], name="audit_of_actor"),
            models.Index(fields=["account", "action_group", "id"], name="audit_of_group"),
            models.Index(fields=["at"], name="audit_by_time"),
        ]

    def __str__(self) -> str:
        return f"{self.action} {self.target_label}"


def record(account_id: int, action: str, *, by: Any = None, target: Any = None, **details: object) -> None:
    """Record an act in the audit log, in the transaction of the act.

    `by` is the user who acts, by default that of the request. `target` is a row. `details` contain no secrets.
    """
    if action not in ACTIONS:
        raise LookupError(f"{action} is not registered (accounts/audit/actions.py)")
    origin, kinds = current_origin(), AuditEntry.Actor
    user = origin.user if by is None else by
    if user is not None and user.account_id != account_id:
        # A partner creates accounts for others, to whom its users are unknown.
        user, kind = None, kinds.SYSTEM
    elif user is not None:
        is_token = origin.token_label is not None and origin.user is not None and origin.user.id == user.id
        kind = kinds.TOKEN if is_token else kinds.USER
    else:
        kind = {"job": kinds.SYSTEM, "command": kinds.OPERATOR, "console": kinds.OPERATOR}.get(
            origin.interface, kinds.VISITOR
        )
    AuditEntry.objects.create(
        account_id=account_id,
        action=action,
        action_group=action.partition(".")[0],
        actor_kind=kind,
        actor_id=None if user is None else user.id,
        actor_name=label_of(user),
        token_label=origin.token_label if kind == kinds.TOKEN else None,
        target_kind=kind_of(target),
        target_id=getattr(target, "id", None),
        target_label=label_of(target),
        details={name: shorten(value) for name, value in details.items()},
        address=origin.address,
        agent=replace_non_xml(origin.agent)[:MAX_TEXT],
        interface=origin.interface,
    )


def kind_of(row: Any) -> str:
    return "" if row is None else getattr(row, "audit_group", None) or row._meta.model_name


def label_of(row: Any) -> str:
    return "" if row is None else (getattr(row, "name", "") or str(row))[:MAX_TEXT]


def shorten(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: shorten(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [shorten(each) for each in value[:MAX_ITEMS]]
    return f"{value[:MAX_VALUE]}…" if isinstance(value, str) and len(value) > MAX_VALUE else value


class Audited(StrictSave):
    """A mixin for settings: it records their inserts, their updates with the values before and after, and their deletions."""

    # The group of the actions.
    audit_group: ClassVar[str]
    # The recorded columns. The values of the hidden ones are not shown.
    audited: ClassVar[tuple[str, ...]]
    audit_hidden: ClassVar[tuple[str, ...]] = ()

    class Meta:
        abstract = True

    def save(self, *args: Any, **kwargs: Any) -> None:
        is_new = self._state.adding
        before: dict[str, Any] = {}
        written: Collection[str] | None = kwargs.get("update_fields")
        names = [name for name in self.audited if written is None or name in written]
        with transaction.atomic(savepoint=False):
            if names and not is_new:
                before = type(self)._base_manager.filter(pk=self.pk).values(*names).first() or {}
            super().save(*args, **kwargs)
            after = {name: getattr(self, name) for name in names}
            changes = {
                name: {"before": before.get(name), "after": value}
                if name not in self.audit_hidden
                else {"before": HIDDEN, "after": HIDDEN}
                for name, value in after.items()
                if value != before.get(name)
            }
            if is_new or changes:
                self.record("created" if is_new else "changed", changes=changes)

    def delete(self, *args: Any, **kwargs: Any) -> tuple[int, dict[str, int]]:
        with transaction.atomic(savepoint=False):
            # Afterwards the row has no primary key.
            self.record("deleted")
            return super().delete(*args, **kwargs)

    def record(self, act: str, **details: object) -> None:
        """Record an act in the group of the model."""
        record(getattr(self, "account_id", self.pk), f"{self.audit_group}.{act}", target=self, **details)
