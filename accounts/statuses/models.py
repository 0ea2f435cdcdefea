"""Statuses of posts, deals and clients, and the pipelines of deals. Each account has its own."""

from collections.abc import Callable, Collection, Mapping
from itertools import count
from typing import Any, Self

from django.db import IntegrityError, models, transaction
from django.db.models import Q
from django.dispatch import Signal
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext, gettext_noop
from django.utils.translation import gettext_lazy as _
from psycopg.errors import ForeignKeyViolation

from accounts.account.models import DEFAULT_LOST_REASONS, DEFAULT_WON_REASONS, Account
from accounts.audit.models import Audited
from core.db.locks import LockableQuerySet
from core.db.ordering import MAX_POSITION, Ordered
from core.db.tenancy import TenantModel, folded_fields
from core.errors import FieldError
from core.registry import Resource
from core.rows.trimmed import NameKeyField, TrimmedCharField, name_key
from core.search.declaration import Search

MAX_NAME = 255
# The maximum length of the addition to the name of a moved status.
MAX_SUFFIX = 100


class Pipeline(Ordered, Audited, TenantModel):
    """A way that deals take. Its stages are the statuses of deals that belong to it. Every account has at least one pipeline."""

    api_resource = Resource("pipeline", _("Pipeline"), _("Pipelines"), icon="git-branch")
    audit_group, audited = "pipeline", ("name", "position")

    # The id of the pipeline that is created with an account. It is not taken from the account's counter, so accounts of all versions
    # give the same ids to their other rows. The counter never gives it, because the account's host has it.
    FIRST_ID = 1
    # Pages translate this name (`pipeline_name`).
    DEFAULT_NAME = gettext_noop("Sales")

    name = TrimmedCharField(max_length=MAX_NAME)
    name_key = NameKeyField(source="name", null=True)
    position = models.IntegerField(default=0)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    updated_at = models.DateTimeField(auto_now=True)

    search = Search(condition=Q())

    objects = LockableQuerySet.as_manager()

    class Meta:
        default_related_name = "pipelines"
        constraints = [models.UniqueConstraint(fields=["account", "name_key"], name="pipeline_name_key_unique")]

    def __str__(self) -> str:
        return self.name

    @classmethod
    def create_first(cls, account: Account) -> "Pipeline":
        """Create the pipeline of a new account."""
        return cls.objects.create(account=account, id=cls.FIRST_ID, name=cls.DEFAULT_NAME, position=1)

    def siblings(self) -> "models.QuerySet[Pipeline]":
        return self.account.pipelines.all()

    def write(self, values: Mapping[str, object]) -> None:
        """Insert the pipeline with the values, or update the fields in `values`. Without a position, a new pipeline comes last."""
        for name, value in values.items():
            setattr(self, name, value)
        if self._state.adding:
            if "position" not in values:
                last = self.siblings().aggregate(last=models.Max("position"))["last"] or 0
                self.position = min(last + 1, MAX_POSITION)
            self.save(force_insert=True)
        else:
            self.save(update_fields={*values, *folded_fields(Pipeline, values), "updated_at"})

    def copy_statuses(self, source: "Pipeline", *, name_of: Callable[[Any], str]) -> None:
        """Create the statuses of another pipeline in this one. `name_of` returns the name of a copy. Each copy gets a code of its own."""
        statuses = self.account.statuses_of_kind("deal")
        codes = {name_key(code) for code in statuses.values_list("code", flat=True)}
        for status in statuses.filter(pipeline_id=source.id):
            code = first_free(codes, status.code, lambda base, number: f"{base[: MAX_NAME - 10]}-{number}")
            codes.add(name_key(code))
            values = {name: getattr(status, name) for name in ("color", "outcome", "probability", "rot_days")}
            copy = type(status)(account=self.account, kind=status.kind)
            copy.write({**values, "code": code, "name": name_of(status), "pipeline_id": self.id})

    def erase(self, *, move_to: "Pipeline | None" = None) -> None:
        """Delete the pipeline. The caller must lock all pipelines of the account before (`locked`).

        With `move_to`, the statuses that deals have move to that pipeline, with their deals, and the other statuses are deleted. A moved
        status whose name exists there gets the name of this pipeline in parentheses, and a number if needed.

        Raise FieldError if the pipeline has statuses and `move_to` is None, or if it is the last one.
        """
        if not self.siblings().exclude(id=self.id).exists():
            raise FieldError("pipeline", _("is the last one, and every account has one"))
        if move_to is not None:
            self._move_statuses(move_to)
        try:
            with transaction.atomic():
                self.delete()
        except IntegrityError as error:
            if not isinstance(error.__cause__, ForeignKeyViolation):
                raise
            raise FieldError(
                "pipeline", _("has statuses; move them to another one or delete them first"), "in_use"
            ) from None

    def _move_statuses(self, target: "Pipeline") -> None:
        statuses = {status.id: status for status in self.account.statuses.filter(kind="deal").order_by("id").locked()}
        names = {name_key(status.name) for status in statuses.values() if status.pipeline_id == target.id}
        for status in statuses.values():
            if status.pipeline_id != self.id:
                continue
            try:
                status.erase()
            except FieldError:
                name = first_free(names, status.name, self._name_of_moved)
                names.add(name_key(name))
                status.write({"pipeline_id": target.id, "name": name})

    def _name_of_moved(self, name: str, number: int) -> str:
        suffix = f" ({self.name})" if number == 2 else f" ({self.name} {number - 1})"
        # Both names may have 255 characters, the limit of the result.
        suffix = suffix if len(suffix) <= MAX_SUFFIX else f" ({number - 1})"
        return name[: MAX_NAME - len(suffix)] + suffix


def list_pipelines(account: Account) -> list[Pipeline]:
    """Return the pipelines of the account in their order."""
    return list(account.pipelines.order_by("position", "id"))


def first_free(taken: Collection[str], text: str, numbered: Callable[[str, int], str]) -> str:
    """Return the text if it is not taken, else the first of `numbered(text, 2)`, `numbered(text, 3)`, … that is not taken.

    `taken` has the keys of the other texts (`name_key`).
    """
    if name_key(text) not in taken:
        return text
    return next(candidate for number in count(2) if name_key(candidate := numbered(text, number)) not in taken)


# Sent in the transaction that changes the outcome of a status of deals. Arguments: `status`.
outcome_changed = Signal()

STATUS_OF_DEAL = (
    # Without these tests for null, the condition would be null, which PostgreSQL accepts.
    Q(kind="deal", outcome__isnull=False, probability__isnull=False, pipeline_id__isnull=False)
    & Q(probability__range=(0, 100))
    & (Q(outcome="open", closed=False) | Q(outcome__in=("won", "lost"), closed=True))
) | (~Q(kind="deal") & Q(outcome=None, probability=None, pipeline_id=None, rot_days=None))


class Status(Ordered, Audited, TenantModel):
    """A status of posts, deals or clients.

    Its code and its name are unique within the account and the kind, without regard to case and to the number of blanks.
    """

    api_resource = Resource("status", _("Status"), _("Statuses"), icon="list-checks", collection="statuses")
    audit_group = "status"
    audited = (
        *("kind", "code", "name", "color", "position", "closed", "on_roadmap"),
        *("outcome", "probability", "pipeline_id", "rot_days"),
    )

    class Kind(models.TextChoices):
        POST = "post"
        DEAL = "deal"
        CLIENT = "client"

    class Outcome(models.TextChoices):
        OPEN = "open"
        WON = "won"
        LOST = "lost"

    # The kind, code, name, colour, and whether the status is closed. Statuses of deals also have the outcome, the probability and the days
    # to rot. Pages translate the names (`status_name`).
    DEFAULTS: tuple[tuple[Any, ...], ...] = (
        (Kind.POST, "new", gettext_noop("New"), "#6b7280", False),
        (Kind.POST, "accepted", gettext_noop("Accepted"), "#2563eb", False),
        (Kind.POST, "planned", gettext_noop("Planned"), "#7c3aed", False),
        (Kind.POST, "started", gettext_noop("Started"), "#d97706", False),
        # Not "Completed": a shop plug-in identifies a status by name with the shop's own status "Completed".
        (Kind.POST, "completed", gettext_noop("Done"), "#16a34a", True),
        (Kind.POST, "rejected", gettext_noop("Rejected"), "#dc2626", True),
        (Kind.POST, "duplicate", gettext_noop("Duplicate"), "#4b5563", True),
        (Kind.DEAL, "new", gettext_noop("New"), "#6b7280", False, Outcome.OPEN, 10, 7),
        (Kind.DEAL, "qualified", gettext_noop("Qualified"), "#2563eb", False, Outcome.OPEN, 30, 14),
        (Kind.DEAL, "proposal", gettext_noop("Proposal"), "#7c3aed", False, Outcome.OPEN, 60, 14),
        (Kind.DEAL, "won", gettext_noop("Won"), "#16a34a", True, Outcome.WON, 100, None),
        (Kind.DEAL, "lost", gettext_noop("Lost"), "#dc2626", True, Outcome.LOST, 0, None),
    )
    # Of clients, in an account that somebody creates on the pages. Partners send their own.
    DEFAULTS_OF_CLIENTS: tuple[tuple[Any, ...], ...] = (
        (Kind.CLIENT, "lead", gettext_noop("Lead"), "#2563eb", False),
        (Kind.CLIENT, "customer", gettext_noop("Customer"), "#16a34a", False),
        (Kind.CLIENT, "former", gettext_noop("Former customer"), "#6b7280", True),
    )
    # The probability of a new open status of deals.
    DEFAULT_PROBABILITY = 50
    MAX_ROT_DAYS = 3650

    # The id and the name of what stands for the missing status of a deal (`make_placeholder`).
    NONE_ID = 0
    NONE_NAME = gettext_noop("No status")

    # New statuses of posts with these codes are on the roadmap, unless the request sets `on_roadmap`.
    ROADMAP = ("planned", "started", "completed")

    IN_USE: dict[str, Promise] = {
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

    objects = LockableQuerySet.as_manager()

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
    def defaults(
        cls, account: Account, pipeline: Pipeline | None = None, rows: tuple[tuple[Any, ...], ...] = DEFAULTS
    ) -> list["Status"]:
        """Return the statuses of a new account. Those of deals belong to the pipeline."""
        statuses = []
        for position, (kind, code, name, color, closed, *deal) in enumerate(rows, start=1):
            status = cls(
                account=account, kind=kind, code=code, name=name, color=color, closed=closed, position=position
            )
            status.on_roadmap = cls.is_on_roadmap_by_default(kind, code)
            if deal and pipeline:
                status.pipeline_id = pipeline.id
                status.outcome, status.probability, status.rot_days = deal
            statuses.append(status)
        return statuses

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

    def is_listed_with(self, other: Self) -> bool:
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


# Names on pages, and the reasons for winning and losing deals

# Default names are translated, and names that a team has chosen are not.
DEFAULT_NAMES: dict[tuple[str, str], str] = {
    (kind, code): name for kind, code, name, *_ in (*Status.DEFAULTS, *Status.DEFAULTS_OF_CLIENTS)
}
DEFAULT_NAMES[Status.Kind.DEAL, ""] = Status.NONE_NAME
TRANSLATABLE_NAMES = frozenset(DEFAULT_NAMES.values())
DEFAULT_REASONS = (*DEFAULT_WON_REASONS, *DEFAULT_LOST_REASONS)


def status_name(status: Status | str) -> str:
    """Return the name of a status, translated if it is a default name.

    The value is a `Status`, or the former name of one as a string.
    """
    if isinstance(status, str):
        return gettext(status) if status in TRANSLATABLE_NAMES else status
    return gettext(status.name) if DEFAULT_NAMES.get((status.kind, status.code)) == status.name else status.name


def pipeline_name(pipeline: Pipeline) -> str:
    """Return the name of a pipeline, translated if it is the default name."""
    return gettext(pipeline.name) if pipeline.name == Pipeline.DEFAULT_NAME else pipeline.name


def reason_text(reason: str) -> str:
    """Return a reason for winning or losing a deal, translated if it is a default one."""
    return gettext(reason) if reason in DEFAULT_REASONS else reason


def stored_reason(text: str) -> str:
    """Return the default reason with this `reason_text`, or the text if there is none."""
    return next((reason for reason in DEFAULT_REASONS if gettext(reason) == text), text)
