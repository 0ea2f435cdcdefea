"""Bulk changes: one action on many clients, contacts or deals, which can be undone.

A change begins with the list of its rows. They are changed in batches, in the order of their ids, and each batch is one transaction with
the outcomes of its rows. So a batch is carried out once, even if a worker is killed, and undo knows the previous value of every row.
"""

import json
from collections import Counter
from datetime import timedelta
from functools import cached_property
from typing import Any, Self

from django.db import connection, models, transaction
from django.db.models import Exists, OuterRef, Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.account.models import Account
from accounts.audit.models import record
from accounts.users.models import User
from core.db.tenancy import TenantModel, foreign_object
from core.db.transactions import in_transaction
from core.errors import Conflict, FieldError, FieldErrors
from core.jobs.registry import MAX_TIME_SLICE, has_time_left, job, periodic_job, register_queue
from core.rows.values import ValuesRow
from team.bulk.actions import ACTIONS, RESOURCES, Action, BulkResult, BulkRow, Outcome
from team.lists.declarations import LISTS, RecordList
from team.merges.models import UNDO_PERIOD

# The maximum number of rows of a change.
MAX_ROWS = 100_000
# The number of rows that a transaction changes. A change of more rows runs in a job. Each row that is moved to the trash takes several
# statements, so its batches are smaller.
BATCH_SIZE, TRASH_BATCH_SIZE, MAX_TRASHED_IN_REQUEST = 500, 100, 25
# A change without progress for this time is continued: its job may have failed too often.
STALLED_AFTER = timedelta(minutes=15)
# The maximum number of stalled changes that are continued at a time.
MAX_CONTINUED = 100
# The maximum number of rows that the page and the JSON of a change name among those that were left alone.
MAX_LEFT_ALONE = 100
# One bulk change of an account runs at a time. With two threads, it does not delay the first one of another account.
QUEUE = "bulk changes"

register_queue(QUEUE, threads=2, max_running=1)


class BulkChangeQuerySet(models.QuerySet["BulkChange"]):
    def locked(self) -> Self:
        return self.select_for_update(no_key=True, of=("self",))

    def visible_to(self, user: User) -> Self:
        """Return the changes that the user may see: admins see all, agents their own."""
        return self if user.is_admin else self.filter(author_id=user.id)

    def active(self) -> Self:
        return self.filter(state__in=BulkChange.ACTIVE)

    def outdated(self) -> Self:
        """Return the changes whose rows are erased already (`BulkChangeRowQuerySet.outdated`)."""
        rows = BulkChangeRow.objects.filter(account_id=OuterRef("account_id"), bulk_change_id=OuterRef("id"))
        return self.filter(~Exists(rows), created_at__lt=timezone.now() - UNDO_PERIOD)


class BulkChange(TenantModel):
    """One action on many rows of a resource, by a user."""

    class State(models.TextChoices):
        RUNNING = "running", _("Running")
        DONE = "done", _("Done")
        CANCELLED = "cancelled", _("Cancelled")
        # The rest of the rows can't be changed. `failure` says why.
        FAILED = "failed", _("Failed")
        UNDOING = "undoing", _("Being undone")
        UNDONE = "undone", _("Undone")

    ACTIVE = (State.RUNNING, State.UNDOING)

    class Failure(models.TextChoices):
        NONE = "", ""
        VALUE = "value", _("The person, status or contact list that was chosen is no longer available.")
        USER = "user", _("The person who started it has left the team.")

    author_id = models.BigIntegerField(editable=False)
    author = foreign_object(User, "author_id")
    resource = models.CharField(max_length=255)
    action = models.CharField(max_length=255)
    # The value of the action, such as the id of a user.
    value = models.JSONField(null=True)
    # The parameters of the list whose rows were selected, or empty if the rows were selected one by one.
    query = models.TextField(default="")
    state = models.CharField(max_length=255, choices=State.choices, default=State.RUNNING)
    failure = models.CharField(max_length=255, choices=Failure.choices, default=Failure.NONE)
    # The id of the last row of the last batch.
    position = models.BigIntegerField(default=0)
    # Numbers of rows. `skipped` and `kept` rows were left alone by the change and by its undo.
    total = models.IntegerField()
    changed = models.IntegerField(default=0)
    unchanged = models.IntegerField(default=0)
    skipped = models.IntegerField(default=0)
    restored = models.IntegerField(default=0)
    kept = models.IntegerField(default=0)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    updated_at = models.DateTimeField(default=timezone.now, editable=False)
    finished_at = models.DateTimeField(null=True)
    undone_by_id = models.BigIntegerField(null=True, editable=False)
    undone_at = models.DateTimeField(null=True)

    objects = BulkChangeQuerySet.as_manager()

    class Meta:
        default_related_name = "bulk_changes"
        indexes = [
            models.Index(fields=["account", "author_id", "id"], name="bulk_change_of_author"),
            # The two conditions of housekeeping, which reads the changes of all accounts.
            models.Index(fields=["created_at"], name="bulk_change_by_creation"),
            models.Index(
                fields=["updated_at"], name="bulk_change_active", condition=Q(state__in=("running", "undoing"))
            ),
        ]

    def __str__(self) -> str:
        return f"{self.action} of {self.total} rows of {self.resource}"

    # Starting, cancelling, undoing

    @classmethod
    @transaction.atomic(savepoint=False)
    def start(
        cls, account: Account, *, by: User, resource: str, action: str, data: ValuesRow, ids: list[int], query: str
    ) -> Self:
        """Change rows, or begin to change them in a job. Raise FieldErrors.

        `data` has the value of the action under the name of its field. `ids` may contain ids of rows that do not exist.
        """
        check_action(resource, action)
        ids = sorted(set(ids))
        if not ids:
            raise FieldError("ids", _("can't be blank"), "required")
        if len(ids) > MAX_ROWS:
            raise FieldError("ids", _("are too many (maximum is {most})"), "too_many", {"most": MAX_ROWS})
        change = cls(account=account, author_id=by.id, resource=resource, action=action, query=query, total=len(ids))
        change.value = change.known_action.read(data, resource, account, by)
        change.save(force_insert=True)
        BulkChangeRow.objects.add(change, ids)
        change._record("started", by=by)
        change.run_or_defer(by)
        return change

    def cancel(self) -> None:
        """Leave the rows alone that are not changed yet. The caller has locked the change. Raise Conflict."""
        if self.state != self.State.RUNNING:
            raise Conflict(_("It is finished already."))
        self.state, self.finished_at = self.State.CANCELLED, timezone.now()
        self._save("state", "finished_at")
        self._record("cancelled")

    @transaction.atomic(savepoint=False)
    def undo(self, *, by: User) -> None:
        """Give the changed rows their previous values back, or begin to in a job. The caller has locked the change.

        Raise Conflict if the change is not finished, or undone already. Every user who sees the change may undo it (`visible_to`). So its
        author may restore the rows that it moved to the trash, as for a single row.
        """
        if not self.can_be_undone:
            raise Conflict(
                _("It is undone already, or being undone.")
                if self.state in (self.State.UNDOING, self.State.UNDONE)
                else _("There is nothing that can be undone.")
            )
        self.state, self.position, self.undone_by_id = self.State.UNDOING, 0, by.id
        self.failure = self.Failure.NONE
        self._save("state", "position", "undone_by_id", "failure")
        self._record("undone", by=by)
        self.run_or_defer(by)

    def _record(self, act: str, by: User | None = None) -> None:
        details = {"resource": self.resource, "change": self.action, "value": self.value, "rows": self.total}
        record(self.account_id, f"bulk_change.{act}", by=by, target=self, **details)

    @property
    def can_be_undone(self) -> bool:
        is_finished = self.state in (self.State.DONE, self.State.CANCELLED, self.State.FAILED)
        return is_finished and self.changed > 0 and self.created_at > timezone.now() - UNDO_PERIOD

    # Progress

    @property
    def known_action(self) -> Action:
        return ACTIONS[self.action]

    @cached_property
    def declaration(self) -> RecordList:
        return LISTS[self.resource]

    @property
    def is_active(self) -> bool:
        return self.state in self.ACTIVE

    @property
    def processed(self) -> int:
        """The number of rows that the change, or its undo, has processed."""
        if self.state in (self.State.UNDOING, self.State.UNDONE):
            return self.restored + self.kept
        return self.changed + self.unchanged + self.skipped

    @property
    def to_process(self) -> int:
        """The number of rows that the change, or its undo, has to process."""
        return self.changed if self.state in (self.State.UNDOING, self.State.UNDONE) else self.total

    @property
    def batch_size(self) -> int:
        return TRASH_BATCH_SIZE if self.known_action.is_trash else BATCH_SIZE

    def run_or_defer(self, user: User) -> None:
        """Process the rows in the transaction of the request if they are few, or else in a job."""
        if self.to_process <= (MAX_TRASHED_IN_REQUEST if self.known_action.is_trash else BATCH_SIZE):
            while self.run_batch(user):
                pass
        else:
            run_bulk_change.defer(account_id=self.account_id, bulk_change_id=self.id)

    def run_batch(self, user: User) -> bool:
        """Process the next rows, and return whether more rows follow. The caller has locked the change."""
        return self._undo_batch(user) if self.state == self.State.UNDOING else self._apply_batch(user)

    def _apply_batch(self, user: User) -> bool:
        rows = self.bulk_rows.after(self.position)[: self.batch_size]
        ids = [row.target for row in rows]
        try:
            value = self.known_action.read({self.known_action.field: self.value}, self.resource, self.account, user)
        except FieldErrors:
            self.fail(self.Failure.VALUE)
            return False
        found = self._lock(self.declaration.rows_of(self.account, user), ids)
        outcomes = self.known_action.apply(found, value, by=user)
        results = self._missing(ids, found, user) | {id: outcome.result for id, outcome in outcomes.items()}
        BulkChangeRow.objects.record(self, "result", results, outcomes)
        counts = Counter(results.values())
        self.changed += counts[BulkResult.CHANGED]
        self.unchanged += counts[BulkResult.UNCHANGED]
        self.skipped += len(ids) - counts[BulkResult.CHANGED] - counts[BulkResult.UNCHANGED]
        return self._advance(ids, self.State.DONE)

    def _undo_batch(self, user: User) -> bool:
        stored = {row.target: row for row in self.bulk_rows.to_undo(self.position)[: self.batch_size]}
        ids = list(stored)
        rows = getattr(self.account, self.declaration.collection).accessible_to(user)
        if not self.known_action.is_trash:
            rows = rows.live()
        found = self._lock(rows, ids)
        changes = [(row, stored[row.id].before, stored[row.id].after) for row in found]
        results = self._missing(ids, found, user) | self.known_action.undo(changes, by=user)
        BulkChangeRow.objects.record(self, "undo_result", results)
        restored = list(results.values()).count(BulkResult.RESTORED)
        self.restored += restored
        self.kept += len(ids) - restored
        return self._advance(ids, self.State.UNDONE)

    def _lock(self, rows: Any, ids: list[int]) -> list[BulkRow]:
        """Return those of `rows` that have the ids, locked in the order of the ids."""
        found = list(self.known_action.prepare(rows.filter(id__any=ids)).order_by("id").locked())
        for row in found:
            row.account = self.account
        return found

    def _missing(self, ids: list[int], found: list[BulkRow], user: User) -> dict[int, str]:
        missing = set(ids) - {row.id for row in found}
        if not missing:
            return {}
        rows = getattr(self.account, self.declaration.collection).accessible_to(user).trashed()
        in_trash = set(rows.filter(id__in=missing).values_list("id", flat=True))
        return {id: BulkResult.IN_TRASH if id in in_trash else BulkResult.NOT_FOUND for id in missing}

    def _advance(self, ids: list[int], end: str) -> bool:
        """Store the progress. At the end, set the state `end` and return False."""
        is_last = len(ids) < self.batch_size or (self.processed >= self.to_process)
        if ids:
            self.position = ids[-1]
        if is_last:
            self.state = end
            setattr(self, "undone_at" if end == self.State.UNDONE else "finished_at", timezone.now())
        counts = ("changed", "unchanged", "skipped", "restored", "kept")
        self._save("state", "position", "finished_at", "undone_at", *counts)
        return not is_last

    def fail(self, failure: str) -> None:
        """End the change, or its undo, because the rest of the rows can't be processed."""
        is_undo = self.state == self.State.UNDOING
        self.state, self.failure = (self.State.DONE if is_undo else self.State.FAILED), failure
        self.finished_at = self.finished_at or timezone.now()
        self._save("state", "failure", "finished_at")

    def _save(self, *names: str) -> None:
        self.updated_at = timezone.now()
        self.save(update_fields=[*names, "updated_at"])

    # The rows that were left alone

    def left_alone(self, user: User) -> list[ValuesRow]:
        """Return the id, name and result of rows that the change or its undo left alone, at most `MAX_LEFT_ALONE`.

        The name is None for a row that the user may not access.
        """
        if not self.skipped + self.kept:
            return []
        rows = list(self.bulk_rows.left_alone()[:MAX_LEFT_ALONE])
        collection = getattr(self.account, self.declaration.collection).accessible_to(user)
        names = dict(collection.filter(id__in=[row.target for row in rows]).values_list("id", "name"))
        pairs = [(row.target, row.undo_result or row.result) for row in rows]
        return [{"id": id, "name": names.get(id), "result": result} for id, result in pairs]


class BulkChangeRowQuerySet(models.QuerySet["BulkChangeRow"]):
    def add(self, change: BulkChange, ids: list[int]) -> None:
        with connection.cursor() as cursor:
            cursor.execute(
                "INSERT INTO team_bulkchangerow (account_id, bulk_change_id, target, result, undo_result)"
                " SELECT %s, %s, unnest(%s::bigint[]), '', ''",
                [change.account_id, change.id, ids],
            )

    def after(self, target: int) -> Self:
        return self.filter(target__gt=target).order_by("target")

    def to_undo(self, target: int) -> Self:
        """Return the changed rows after an id that undo has not processed."""
        return self.after(target).filter(result=BulkResult.CHANGED, undo_result=BulkResult.PENDING)

    def trashed(self, resource: str) -> Self:
        """Return the rows that changes moved to the trash and can restore, as the subquery for a row of an outer query."""
        actions = [key for key, action in ACTIONS.items() if action.is_trash]
        changes = BulkChange.objects.filter(
            account_id=OuterRef("account_id"),
            id=OuterRef("bulk_change_id"),
            resource=resource,
            action__in=actions,
            created_at__gt=timezone.now() - UNDO_PERIOD,
        )
        rows = self.filter(Exists(changes), result=BulkResult.CHANGED, undo_result=BulkResult.PENDING)
        return rows.filter(account_id=OuterRef("account_id"), target=OuterRef("id"))

    def left_alone(self) -> Self:
        done = (BulkResult.PENDING, BulkResult.CHANGED, BulkResult.UNCHANGED, BulkResult.RESTORED)
        return self.filter(~Q(result__in=done) | ~Q(undo_result__in=done)).order_by("target")

    def record(
        self, change: BulkChange, column: str, results: dict[int, str], outcomes: dict[int, Outcome] | None = None
    ) -> None:
        """Set the column `result` or `undo_result` of rows of a change, and the values of their outcomes."""
        if not results:
            return
        ids = sorted(results)
        values = ", before = new.before, after = new.after" if outcomes is not None else ""
        found = [(outcomes or {}).get(id, Outcome("")) for id in ids]
        before, after = ([encoded(getattr(outcome, name)) for outcome in found] for name in ("before", "after"))
        with connection.cursor() as cursor:
            cursor.execute(
                f"""
                UPDATE team_bulkchangerow AS row SET {column} = new.result{values}
                FROM unnest(%s::bigint[], %s::text[], %s::jsonb[], %s::jsonb[]) AS new (target, result, before, after)
                WHERE row.account_id = %s AND row.bulk_change_id = %s AND row.target = new.target
                """,  # noqa: S608
                [ids, [results[id] for id in ids], before, after, change.account_id, change.id],
            )

    def outdated(self) -> Self:
        """Return the rows of changes that can't be undone any more."""
        old = BulkChange.objects.filter(created_at__lt=timezone.now() - UNDO_PERIOD)
        return self.filter(Exists(old.filter(account_id=OuterRef("account_id"), id=OuterRef("bulk_change_id"))))


def encoded(value: object) -> str | None:
    return None if value is None else json.dumps(value)


class BulkChangeRow(models.Model):
    """A row of a bulk change, with the values of the changed field before and after."""

    pk = models.CompositePrimaryKey("account_id", "bulk_change_id", "target")
    account = models.ForeignKey("accounts.Account", models.CASCADE, related_name="+", db_index=False)
    bulk_change_id = models.BigIntegerField()
    bulk_change = foreign_object(BulkChange, "bulk_change_id", related_name="bulk_rows")
    # The id of the client, contact or deal. It is no foreign key, because the row may be erased.
    target = models.BigIntegerField()
    result = models.CharField(max_length=255, default=BulkResult.PENDING)
    undo_result = models.CharField(max_length=255, default=BulkResult.PENDING)
    before = models.JSONField(null=True)
    after = models.JSONField(null=True)

    objects = BulkChangeRowQuerySet.as_manager()

    def __str__(self) -> str:
        return f"row {self.target} of bulk change {self.bulk_change_id}"


def check_action(resource: str, action: str) -> None:
    """Raise FieldError for an unknown resource or action, or an action that the resource does not have."""
    if resource not in RESOURCES:
        raise FieldError("resource", _("is not one of {choices}"), "choice", {"choices": ", ".join(RESOURCES)})
    choices = actions_of(resource)
    if action not in choices:
        raise FieldError("action", _("is not one of {choices}"), "choice", {"choices": ", ".join(choices)})


def actions_of(resource: str) -> dict[str, Action]:
    return {key: action for key, action in ACTIONS.items() if resource in action.resources}


def process_batch(account_id: int, bulk_change_id: int) -> bool:
    """Process the next rows of a change in one transaction. Return whether more rows follow."""

    def act() -> bool:
        rows = BulkChange.objects.locked().filter(account_id=account_id, id=bulk_change_id)
        change = rows.active().select_related("account").first()
        if change is None:
            return False
        user_id = change.undone_by_id if change.state == BulkChange.State.UNDOING else change.author_id
        user = change.account.users.filter(id=user_id or 0, is_active=True, role__in=User.TEAM).first()
        if user is None:
            change.fail(BulkChange.Failure.USER)
            return False
        user.account = change.account
        return change.run_batch(user)

    return in_transaction(act)


# Jobs


@job(time_limit=300, queue=QUEUE, time_slice=MAX_TIME_SLICE)
def run_bulk_change(*, account_id: int, bulk_change_id: int) -> None:
    """Process the rows of a bulk change, or of its undo, for one time slice. Each batch is one transaction. Add a job for the rest."""
    follows = True
    while follows and has_time_left():
        follows = process_batch(account_id, bulk_change_id)
    if follows:
        run_bulk_change.defer(account_id=account_id, bulk_change_id=bulk_change_id)


@periodic_job(minutes=15)
def continue_bulk_changes() -> None:
    """Continue changes without progress, such as those whose job failed during an outage of the database."""
    stalled = BulkChange.objects.active().filter(updated_at__lt=timezone.now() - STALLED_AFTER).order_by("updated_at")
    for account_id, id in stalled.values_list("account_id", "id")[:MAX_CONTINUED]:
        # Another transaction may hold the change. It is then in progress, and processing waits for the lock.
        run_bulk_change.defer(account_id=account_id, bulk_change_id=id, _key=f"bulk change {account_id}/{id}")
