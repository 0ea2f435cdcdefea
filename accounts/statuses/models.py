"""Statuses of posts, deals and clients. Each account has its own."""

from typing import TYPE_CHECKING, Any, Self

from django.db import IntegrityError, models, transaction
from django.db.models import Q
from django.dispatch import Signal
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.utils.translation import gettext_noop
from psycopg.errors import ForeignKeyViolation

from accounts.statuses.pipelines import Pipeline
from core.db.ordering import MAX_POSITION, Ordered
from core.db.tenancy import TenantModel, folded_fields
from core.errors import FieldError
from core.registry import Resource
from core.rows.trimmed import NameKeyField, TrimmedCharField
from core.search.declaration import Search

if TYPE_CHECKING:
    from django.utils.functional import _StrPromise as StrPromise

    from accounts.account.models import Account

# Sent in the transaction that changes the outcome of a status of deals. Arguments: `status`.
outcome_changed = Signal()

STATUS_OF_DEAL = (
    # Without these tests for null, the condition would be null, which PostgreSQL accepts.
    Q(kind="deal", outcome__isnull=False, probability__isnull=False, pipeline_id__isnull=False)
    & Q(probability__range=(0, 100))
    & (Q(outcome="open", closed=False) | Q(outcome__in=("won", "lost"), closed=True))
) | (~Q(kind="deal") & Q(outcome=None, probability=None, pipeline_id=None, rot_days=None))


class StatusQuerySet(models.QuerySet["Status"]):
    def locked(self) -> Self:
        return self.select_for_update(no_key=True, of=("self",))


class Status(Ordered, TenantModel):
    """A status of posts, deals or clients.

    Its code and its name are unique within the account and the kind, without regard to case and to the number of blanks.
    """

    api_resource = Resource(
        "status",
        _("Status"),
        _("Statuses"),
        icon="list-checks",
        collection="statuses",
        viewset_path="accounts.statuses.api.statuses.StatusViewSet",
    )

    class Kind(models.TextChoices):
        POST = "post"
        DEAL = "deal"
        CLIENT = "client"

    class Outcome(models.TextChoices):
        OPEN = "open"
        WON = "won"
        LOST = "lost"

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

    # The outcomes, probabilities and days to rot of the default statuses of deals, by code.
    DEAL_DEFAULTS: "dict[str, tuple[str, int, int | None]]" = {
        "new": (Outcome.OPEN, 10, 7),
        "qualified": (Outcome.OPEN, 30, 14),
        "proposal": (Outcome.OPEN, 60, 14),
        "won": (Outcome.WON, 100, None),
        "lost": (Outcome.LOST, 0, None),
    }
    # The probability of a new open status of deals.
    DEFAULT_PROBABILITY = 50
    MAX_ROT_DAYS = 3650

    # The id and the name of what stands for the missing status of a deal (`make_placeholder`).
    NONE_ID = 0
    NONE_NAME = gettext_noop("No status")

    # New statuses of posts with these codes are on the roadmap, unless the request sets `on_roadmap`.
    ROADMAP = ("planned", "started", "completed")

    IN_USE: "dict[str, StrPromise]" = {
        Kind.POST: _("is in use by a post, perhaps one in the trash"),
        Kind.DEAL: _("is in use by a deal, perhaps one in the trash"),
        Kind.CLIENT: _("is in use by a client, perhaps one in the trash"),
    }

    kind = models.CharField(max_length=255, choices=Kind.choices)
    code = TrimmedCharField(max_length=255)
    name = TrimmedCharField(max_length=255)
    code_key = NameKeyField(source="code", null=True)
    name_key = NameKeyField(source="name", null=True)
    color = models.CharField(max_length=255, blank=True, null=True)
    position = models.IntegerField(default=0)
    closed = models.BooleanField(default=False)
    on_roadmap = models.BooleanField(default=False, db_default=False)
    # These are null, except for statuses of deals. Such a status is closed unless its outcome is open. The probability is the percentage
    # of deals in the status that are expected to be won: 100 for won, 0 for lost.
    outcome = models.CharField(max_length=255, choices=Outcome.choices, null=True)
    probability = models.SmallIntegerField(null=True)
    pipeline_id = models.BigIntegerField(null=True)
    # After this number of days in the status, pages mark a deal without a planned task as rotting. Null means never.
    rot_days = models.SmallIntegerField(null=True)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    updated_at = models.DateTimeField(auto_now=True)

    search = Search(short=("code",), condition=Q(), not_searched={"color": "a colour code"})

    objects = StatusQuerySet.as_manager()

    class Meta:
        default_related_name = "statuses"
        verbose_name_plural = "statuses"
        constraints = [
            models.UniqueConstraint(fields=["account", "kind", "code_key"], name="status_code_key_unique"),
            models.UniqueConstraint(
                fields=["account", "kind", "name_key"], name="status_name_key_unique", condition=~Q(kind="deal")
            ),
            models.UniqueConstraint(
                fields=["account", "pipeline_id", "name_key"],
                name="deal_status_name_key_unique",
                condition=Q(kind="deal"),
            ),
            models.CheckConstraint(name="status_of_deal", condition=STATUS_OF_DEAL),
        ]

    def __str__(self) -> str:
        return self.code

    @classmethod
    def defaults(cls, account: "Account", pipeline: Pipeline) -> list["Status"]:
        """Return the statuses of a new account. Those of deals belong to the pipeline."""

        def deal_defaults(code: str) -> dict[str, Any]:
            outcome, probability, rot_days = cls.DEAL_DEFAULTS[code]
            return {
                "outcome": outcome,
                "probability": probability,
                "rot_days": rot_days,
                "pipeline_id": pipeline.id,
            }

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
                **(deal_defaults(code) if kind == cls.Kind.DEAL else {}),
            )
            for position, (kind, code, name, color, closed) in enumerate(cls.DEFAULTS, start=1)
        ]

    @classmethod
    def make_placeholder(cls, pipeline_id: int | None = None) -> "Status":
        """Return what stands for the missing status of a deal. It is never saved.

        A deal without a status is open, has no probability, and belongs to the first pipeline, whose id is `pipeline_id`.
        """
        return cls(
            id=cls.NONE_ID,
            kind=cls.Kind.DEAL,
            name=cls.NONE_NAME,
            outcome=cls.Outcome.OPEN,
            probability=0,
            pipeline_id=pipeline_id,
        )

    @classmethod
    def is_on_roadmap_by_default(cls, kind: str, code: str) -> bool:
        return kind == cls.Kind.POST and code in cls.ROADMAP

    def siblings(self) -> "models.QuerySet[Status]":
        return self.account.statuses.filter(kind=self.kind)

    def is_listed_with(self, other: "Status") -> bool:
        return other.pipeline_id == self.pipeline_id

    def save(self, *args: Any, **kwargs: Any) -> None:
        if self._state.adding and self.kind == self.Kind.DEAL:
            if self.pipeline_id is None:
                self.pipeline_id = self.account.default_pipeline_id()
            self._settle_outcome({name: getattr(self, name) for name in ("outcome", "closed", "probability")})
        super().save(*args, **kwargs)

    def write(self, values: dict[str, Any]) -> None:
        """Insert the status with the values, or update the fields in `values`. Without a position, a new status comes last.

        `closed` and `outcome` of a status of deals say the same, so a change of one changes the other. A status that is closed without
        an outcome is lost. If both change, the outcome decides.
        """
        changed, former_outcome = {*values, "updated_at"}, self.outcome
        settled = {"outcome", "closed", "probability"}
        if not self._state.adding and self.kind == self.Kind.DEAL and not settled.isdisjoint(values):
            self._settle_outcome(values, former=self.outcome)
            values = {name: value for name, value in values.items() if name not in settled}
            changed |= settled
        for name, value in values.items():
            setattr(self, name, value)
        changed |= folded_fields(Status, values)
        if self._state.adding:
            if "on_roadmap" not in values:
                self.on_roadmap = self.is_on_roadmap_by_default(self.kind, self.code)
            if "position" not in values:
                last = self.siblings().aggregate(last=models.Max("position"))["last"] or 0
                self.position = min(last + 1, MAX_POSITION)
            self.save(force_insert=True)
        else:
            self.save(update_fields=changed)
            if self.outcome != former_outcome:
                outcome_changed.send(Status, status=self)

    def _settle_outcome(self, values: dict[str, Any], *, former: str | None = None) -> None:
        """Set `outcome`, `closed` and `probability` of a status of deals. `former` is the outcome before, None for a new status."""
        outcome, closed = values.get("outcome"), values.get("closed")
        was_closed = former not in (None, self.Outcome.OPEN)
        if outcome is None or outcome == former:
            if closed is None or closed == was_closed:
                outcome = former or self.Outcome.OPEN
            else:
                outcome = self.Outcome.LOST if closed else self.Outcome.OPEN
        self.outcome, self.closed = outcome, outcome != self.Outcome.OPEN
        if self.closed:
            self.probability = 100 if outcome == self.Outcome.WON else 0
        elif (probability := values.get("probability")) is not None:
            self.probability = probability
        elif former != self.Outcome.OPEN:
            self.probability = self.DEFAULT_PROBABILITY

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
