"""Statuses of posts, deals and clients. Each account has its own."""

from typing import TYPE_CHECKING, Any, Self

from django.db import IntegrityError, models, transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.utils.translation import gettext_noop
from psycopg.errors import ForeignKeyViolation

from core.db.ordering import MAX_POSITION, Ordered
from core.db.tenancy import TenantModel
from core.errors import FieldError
from core.search.declaration import Search

if TYPE_CHECKING:
    from django.utils.functional import _StrPromise as StrPromise

    from accounts.account import Account


class StatusQuerySet(models.QuerySet["Status"]):
    def locked(self) -> Self:
        return self.select_for_update(no_key=True, of=("self",))


class Status(Ordered, TenantModel):
    """A status of posts, deals or clients. Its code and its name are unique within the account and the kind."""

    class Kind(models.TextChoices):
        POST = "post"
        DEAL = "deal"
        CLIENT = "client"

    # (kind, code, name, color, closed). Pages translate the names (`status_name`).
    DEFAULTS = (
        (Kind.POST, "new", gettext_noop("New"), "#6b7280", False),
        (Kind.POST, "accepted", gettext_noop("Accepted"), "#2563eb", False),
        (Kind.POST, "planned", gettext_noop("Planned"), "#7c3aed", False),
        (Kind.POST, "started", gettext_noop("Started"), "#d97706", False),
        # Not "Completed": a shop plug-in identifies a status by name with the shop's own status "Completed".
        (Kind.POST, "completed", gettext_noop("Done"), "#16a34a", True),
        (Kind.POST, "rejected", gettext_noop("Rejected"), "#dc2626", True),
        (Kind.POST, "duplicate", gettext_noop("Duplicate"), "#4b5563", True),
        (Kind.DEAL, "new", gettext_noop("New"), "#6b7280", False),
        (Kind.DEAL, "qualified", gettext_noop("Qualified"), "#2563eb", False),
        (Kind.DEAL, "proposal", gettext_noop("Proposal"), "#7c3aed", False),
        (Kind.DEAL, "won", gettext_noop("Won"), "#16a34a", True),
        (Kind.DEAL, "lost", gettext_noop("Lost"), "#dc2626", True),
    )

    # New statuses of posts with these codes are on the roadmap, unless the request sets `on_roadmap`.
    ROADMAP = ("planned", "started", "completed")

    IN_USE: "dict[str, StrPromise]" = {
        Kind.POST: _("is in use by a post, perhaps one in the trash"),
        Kind.DEAL: _("is in use by a deal, perhaps one in the trash"),
        Kind.CLIENT: _("is in use by a client, perhaps one in the trash"),
    }

    kind = models.CharField(max_length=255, choices=Kind.choices)
    code = models.CharField(max_length=255)
    name = models.CharField(max_length=255)
    color = models.CharField(max_length=255, blank=True, null=True)
    position = models.IntegerField(default=0)
    closed = models.BooleanField(default=False)
    on_roadmap = models.BooleanField(default=False, db_default=False)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    updated_at = models.DateTimeField(auto_now=True)

    search = Search(short=("code",), condition=Q(), not_searched={"color": "a colour code"})

    objects = StatusQuerySet.as_manager()

    class Meta:
        default_related_name = "statuses"
        verbose_name_plural = "statuses"
        constraints = [
            models.UniqueConstraint(fields=["account", "kind", "code"], name="status_code_unique"),
            models.UniqueConstraint(fields=["account", "kind", "name"], name="status_name_unique"),
        ]

    def __str__(self) -> str:
        return self.code

    @classmethod
    def defaults(cls, account: "Account") -> list["Status"]:
        return [
            cls(
                account=account,
                kind=kind,
                code=code,
                name=name,
                color=color,
                closed=closed,
                on_roadmap=cls.is_on_roadmap_by_default(kind, code),
                position=position,
            )
            for position, (kind, code, name, color, closed) in enumerate(cls.DEFAULTS, start=1)
        ]

    @classmethod
    def is_on_roadmap_by_default(cls, kind: str, code: str) -> bool:
        return kind == cls.Kind.POST and code in cls.ROADMAP

    def siblings(self) -> "models.QuerySet[Status]":
        return self.account.statuses.filter(kind=self.kind)

    def write(self, values: dict[str, Any]) -> None:
        """Insert the status with the values, or update the fields in `values`. Without a position, a new status comes last."""
        for name, value in values.items():
            setattr(self, name, value)
        if self._state.adding:
            if "on_roadmap" not in values:
                self.on_roadmap = self.is_on_roadmap_by_default(self.kind, self.code)
            if "position" not in values:
                last = self.siblings().aggregate(last=models.Max("position"))["last"] or 0
                self.position = min(last + 1, MAX_POSITION)
            self.save(force_insert=True)
        else:
            self.save(update_fields={*values, "updated_at"})

    def erase(self) -> None:
        """Delete the status. The caller must lock all statuses of the account before (`locked`).

        Raise FieldError if the status is in use, or if it is the last status for posts, because every post has a status.
        """
        others = self.siblings().exclude(id=self.id)
        if self.kind == self.Kind.POST and not others.exists():
            raise FieldError("status", _("is the last one for posts, and every post has one"))
        try:
            with transaction.atomic():
                self.delete()
        except IntegrityError as error:
            if not isinstance(error.__cause__, ForeignKeyViolation):
                raise
            raise FieldError("status", self.IN_USE[self.kind], "in_use") from None
