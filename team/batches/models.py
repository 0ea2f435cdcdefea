"""Batches: changes of many rows that run in the background and can be undone, such as a bulk change or an import.

A batch is carried out in parts, and each part is one transaction with the progress of the batch and with the values of its rows before and
after. So a part is carried out once, even if a worker is killed, and undo knows the previous values of every row.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, ClassVar, Self, cast

from django.contrib.postgres.fields import ArrayField
from django.db import connection, models, transaction
from django.db.models import Exists, OuterRef, Q
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from accounts.audit.models import record
from accounts.users.models import User
from core.db.tenancy import TenantModel
from core.db.transactions import in_transaction
from core.errors import Conflict
from core.jobs.registry import MAX_TIME_SLICE, RetryDelays, has_time_left, job, periodic_job, register_queue
from core.registry import registry
from core.rows.additional_fields import to_json
from core.rows.trash import Trashable
from core.rows.values import ValuesRow
from crm.contacts.models import Contact
from crm.resources.models import CRMResource
from team.batches.restoring import (
    ADDED_COMMENTS,
    ADDED_TO_POSTS,
    ADDED_VOTERS,
    Kept,
    RowChange,
    assign_restored,
    restorations,
    split_name,
    values_of,
)

# The maximum number of rows of a batch that is processed in the request that starts it. A longer one runs in a job.
MAX_IN_REQUEST = 500
# How long a batch, or a merge, can be undone, even if the trash of the account is emptied earlier.
UNDO_PERIOD = timedelta(days=30)
# A batch without progress for this time is continued: its job may have failed too often.
STALLED_AFTER = timedelta(minutes=15)
# The maximum number of stalled batches of a kind that are continued at a time.
MAX_CONTINUED = 100
# The maximum number of rows that the page and the JSON of a batch name among those that were left alone.
MAX_LEFT_ALONE = 100
# One batch of an account runs at a time. With two threads, it does not delay the first one of another account.
QUEUE = "batches"

register_queue(QUEUE, threads=2, max_running=1)

# A job that is interrupted, such as by an upgrade, goes on soon, even if that happens often. Its parts are written once.
RETRY = RetryDelays(*[2] * 100, 60, 600)

# The models of batches by the name of the model, which jobs have as an argument.
batch_models: dict[str, "type[Batch]"] = {}


class RowResult:
    """The results of a batch, or of its undo, for a row."""

    PENDING = ""
    CHANGED = "changed"
    CREATED = "created"
    # The row had the values already.
    UNCHANGED = "unchanged"
    # Undo gave the row its previous values back.
    RESTORED = "restored"
    # The other results leave the row, or some of its fields, alone.
    IN_TRASH = "in_trash"
    NOT_FOUND = "not_found"
    TOO_MANY_TAGS = Kept.TOO_MANY_TAGS.value
    CHANGED_SINCE = Kept.CHANGED_SINCE.value
    VALUE_GONE = Kept.VALUE_GONE.value

    LABELS: Mapping[str, str | Promise] = {
        IN_TRASH: _("is in the trash"),
        NOT_FOUND: _("no longer exists, or you may not see it"),
        **dict(Kept.choices),
    }
    DONE = (PENDING, CHANGED, CREATED, UNCHANGED, RESTORED)
    UNDONE = (CHANGED, CREATED)


@dataclass(slots=True)
class RecordedRow:
    """The record of a row in a batch, with the columns of `BatchRow`."""

    resource: str
    target: int
    result: str
    before: Mapping[str, Any] | None
    after: Mapping[str, Any] | None
    number: int = 0


class BatchQuerySet(models.QuerySet[Any]):
    def locked(self) -> Self:
        return self.select_for_update(no_key=True, of=("self",))

    def visible_to(self, user: User) -> Self:
        """Return the batches that the user may see: admins see all, agents their own."""
        return self if user.is_admin else self.filter(author_id=user.id)

    def active(self) -> Self:
        return self.filter(state__in=Batch.ACTIVE)

    def outdated(self) -> Self:
        """Return the batches whose rows are erased already (`BatchRowQuerySet.outdated`)."""
        rows = self.model.row_model()._default_manager.filter(
            account_id=OuterRef("account_id"), batch_id=OuterRef("id")
        )
        return self.filter(~Exists(rows), created_at__lt=timezone.now() - UNDO_PERIOD)


class Batch(TenantModel):
    """The base of batches: the author, the state and the numbers of rows.

    A subclass calls `apply` to process the next rows, and has the rows in a model based on `BatchRow`, whose `related_name` is `batch_rows`.
    """

    class State(models.TextChoices):
        DRAFT = "draft", _("Not started")
        RUNNING = "running", _("Running")
        DONE = "done", _("Done")
        CANCELLED = "cancelled", _("Cancelled")
        # The rest of the rows can't be changed. `failure` says why.
        FAILED = "failed", _("Failed")
        UNDOING = "undoing", _("Being undone")
        UNDONE = "undone", _("Undone")

    class Failure(models.TextChoices):
        NONE = "", ""
        VALUE = "value", _("The person, status or contact list that was chosen is no longer available.")
        USER = "user", _("The person who started it has left the team.")
        FAULT = "fault", _("A row has a fault, and it was to stop at the first one.")
        FILE = "file", _("The file is no longer available.")

    # The number of rows of a part.
    PART_SIZE: ClassVar[int] = 500
    ACTIVE = (State.RUNNING, State.UNDOING)
    FINISHED = (State.DONE, State.CANCELLED, State.FAILED)
    # The numbers of rows, which each part saves.
    COUNTS: ClassVar[tuple[str, ...]] = ("changed", "unchanged", "skipped", "restored", "kept")

    author_id = models.BigIntegerField(editable=False)
    state = models.CharField(max_length=255, choices=State.choices, default=State.RUNNING)
    failure = models.CharField(max_length=255, choices=Failure.choices, default=Failure.NONE)
    # The resource and the id of the last row of the last part. An import stores the place in its file instead.
    position_resource = models.CharField(max_length=255, default="")
    position = models.BigIntegerField(default=0)
    # Numbers of rows. `skipped` and `kept` rows were left alone by the batch and by its undo.
    total = models.IntegerField(default=0)
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

    objects = BatchQuerySet.as_manager()
    # The manager of the rows.
    batch_rows: Any

    class Meta:
        abstract = True

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        batch_models[cls.__name__] = cls

    @classmethod
    def row_model(cls) -> "type[BatchRow]":
        model: type[BatchRow] = cls._meta.get_field("batch_rows").related_model  # type: ignore[assignment]
        return model

    # What a subclass defines

    # The resource of the rows, if all are of one.
    resource: Any = ""

    # The group of the actions in the audit log.
    audit_group: ClassVar[str]

    def audit_details(self) -> dict[str, object]:
        """Return what the audit log records of the batch."""
        raise NotImplementedError

    def record_act(self, act: str, by: User | None = None) -> None:
        record(self.account_id, f"{self.audit_group}.{act}", by=by, target=self, **self.audit_details())

    def apply(self, user: User) -> bool:
        """Process the next rows, record them, and return whether more rows follow."""
        raise NotImplementedError

    @property
    def part_size(self) -> int:
        return self.PART_SIZE

    @property
    def to_process(self) -> int:
        """The number of rows that the batch, or its undo, has to process."""
        return self.changed if self.is_undo else self.total

    @property
    def processed(self) -> int:
        """The number of rows that the batch, or its undo, has processed."""
        return self.restored + self.kept if self.is_undo else self.changed + self.unchanged + self.skipped

    # Starting, cancelling, undoing

    @property
    def is_active(self) -> bool:
        return self.state in self.ACTIVE

    @property
    def is_undo(self) -> bool:
        return self.state in (self.State.UNDOING, self.State.UNDONE)

    def cancel(self) -> None:
        """Leave the rows alone that are not changed yet. The caller has locked the batch. Raise Conflict."""
        if self.state == self.State.DRAFT:
            raise Conflict(_("It is not started yet."))
        if self.state != self.State.RUNNING:
            raise Conflict(_("It is finished already."))
        self.state, self.finished_at = self.State.CANCELLED, timezone.now()
        self.save_progress("state", "finished_at")
        self.record_act("cancelled")

    @property
    def can_be_undone(self) -> bool:
        return self.state in self.FINISHED and self.changed > 0 and self.created_at > timezone.now() - UNDO_PERIOD

    @transaction.atomic(savepoint=False)
    def undo(self, *, by: User) -> None:
        """Give the changed rows their previous values back, or begin to in a job. The caller has locked the batch.

        Raise Conflict if the batch is not finished, or undone already. Every user who sees the batch may undo it (`visible_to`). So its
        author may restore the rows that it moved to the trash, as for a single row.
        """
        if not self.can_be_undone:
            raise Conflict(
                _("It is undone already, or being undone.")
                if self.is_undo
                else _("There is nothing that can be undone.")
            )
        self.state, self.undone_by_id, self.failure = self.State.UNDOING, by.id, self.Failure.NONE
        self.position_resource, self.position = self.resource, 0
        self.save_progress("state", "undone_by_id", "failure", "position_resource", "position")
        self.record_act("undone", by=by)
        self.run_or_defer(by)

    def run_or_defer(self, user: User) -> None:
        """Process the rows in the transaction of the request if they are few, or else in a job."""
        if self.to_process <= min(self.part_size, MAX_IN_REQUEST):
            while self.run_part(user):
                pass
        else:
            self.defer()

    def defer(self, *, key: str | None = None) -> None:
        run_batch.defer(kind=type(self).__name__, account_id=self.account_id, batch_id=self.id, _key=key)

    def run_part(self, user: User) -> bool:
        """Process the next rows, and return whether more rows follow. The caller has locked the batch."""
        return self._undo_part(user) if self.state == self.State.UNDOING else self.apply(user)

    def fail(self, failure: str) -> None:
        """End the batch, or its undo, because the rest of the rows can't be processed."""
        self.state, self.failure = (self.State.DONE if self.is_undo else self.State.FAILED), failure
        self.finished_at = self.finished_at or timezone.now()
        self.save_progress("state", "failure", "finished_at")

    def save_progress(self, *names: str) -> None:
        self.updated_at = timezone.now()
        self.save(update_fields=[*names, "updated_at"])

    def advance(self, *, is_last: bool) -> bool:
        """Save the progress after a part. Return whether more parts follow."""
        if is_last:
            end, time = (self.State.UNDONE, "undone_at") if self.is_undo else (self.State.DONE, "finished_at")
            self.state = end
            setattr(self, time, timezone.now())
        names = ("state", "position_resource", "position", "finished_at", "undone_at", *self.COUNTS)
        self.save_progress(*names)
        return not is_last

    # The rows

    def rows_of(self, resource: str, user: User) -> Any:
        """Return the rows of a resource that the user may access, also those in the trash."""
        return getattr(self.account, registry[resource].collection).accessible_to(user)

    def lock_rows(self, rows: Any, ids: Iterable[int]) -> list[Any]:
        """Return those of `rows` that have the ids, locked in the order of the ids."""
        if rows.model is Contact:
            rows = rows.with_list_ids()
        found = list(rows.filter(id__any=list(ids)).order_by("id").locked())
        for row in found:
            row.account = self.account
        return found

    def find_missing(self, resource: str, ids: Iterable[int], found: Iterable[Any], user: User) -> dict[int, str]:
        """Return the results of the rows that could not be locked."""
        missing = set(ids) - {row.id for row in found}
        if not missing:
            return {}
        rows = self.rows_of(resource, user).trashed()
        in_trash = set(rows.filter(id__in=missing).values_list("id", flat=True))
        return {id: RowResult.IN_TRASH if id in in_trash else RowResult.NOT_FOUND for id in missing}

    def _undo_part(self, user: User) -> bool:
        pending = self.batch_rows.to_undo()
        by_id = {row.target: row for row in pending.after(self.position_resource, self.position)[: self.part_size]}
        if not by_id:
            # Deals come before contacts, and contacts before clients, whose removal would change the links to them.
            further = pending.filter(resource__lt=self.position_resource) if self.position_resource else pending
            resource = further.order_by("-resource").values_list("resource", flat=True).first()
            if resource is None:
                return self.advance(is_last=True)
            self.position_resource, self.position = resource, 0
            return self._undo_part(user)
        resource = self.position_resource
        rows = self.rows_of(resource, user)
        if not any("trashed_at" in (row.after or {}) for row in by_id.values()):
            rows = rows.live()
        found = self.lock_rows(rows, by_id)
        results: dict[int, tuple[str, list[str]]] = {
            id: (result, []) for id, result in self.find_missing(resource, by_id, found, user).items()
        }
        results |= undo_rows([(row, by_id[row.id]) for row in found], by=user)
        self.batch_rows.record_undo(self, resource, results)
        restored = sum(result == RowResult.RESTORED for result, _fields in results.values())
        self.restored += restored
        self.kept += len(by_id) - restored
        self.position = max(by_id)
        return self.advance(is_last=self.processed >= self.to_process)

    def left_alone(self, user: User) -> list[ValuesRow]:
        """Return the resource, id, name, result and fields of rows that the batch or its undo left alone, at most `MAX_LEFT_ALONE`.

        The name is None for a row that the user may not access.
        """
        if not self.skipped + self.kept:
            return []
        rows = list(self.batch_rows.left_alone()[:MAX_LEFT_ALONE])
        names: dict[tuple[str, int], str] = {}
        for resource in {row.resource for row in rows}:
            collection = self.rows_of(resource, user).filter(id__in=[row.target for row in rows])
            name_field = cast(type[Trashable], registry[resource].model).DISPLAY_NAME_FIELD
            names |= {(resource, id): name for id, name in collection.values_list("id", name_field)}
        return [
            {
                "resource": row.resource,
                "id": row.target,
                "name": names.get((row.resource, row.target)),
                "result": row.undo_result or row.result,
                "fields": row.kept_fields or [],
            }
            for row in rows
        ]


def undo_rows(changes: "Sequence[tuple[Any, BatchRow]]", *, by: User) -> dict[int, tuple[str, list[str]]]:
    """Undo the changes of locked rows of one model. Return the result of each, and the names of the fields that were left alone, by id."""
    results: dict[int, tuple[str, list[str]]] = {}
    created, trashed, changed = [], [], []
    for row, stored in changes:
        before, after = stored.before or {}, stored.after or {}
        if stored.result == RowResult.CREATED:
            names = [name for name in after if split_name(name)[0] not in ADDED_TO_POSTS]
            kept = [name for name, value in values_of(row, names).items() if value != after[name]]
            results[row.id] = (RowResult.CHANGED_SINCE, [name for name in kept if name != "updated_at"] or kept)
            if not kept:
                created.append(row)
        elif "trashed_at" in after:
            results[row.id] = (RowResult.CHANGED_SINCE, [])
            if row.trashed_at == datetime.fromisoformat(after["trashed_at"]):
                trashed.append(row)
        else:
            changed.append(RowChange(row, before, after))
    if created:
        type(created[0]).trash_all(created, by=by)
    if trashed:
        type(trashed[0]).restore_all(trashed)
    results |= {row.id: (RowResult.RESTORED, []) for row in (*created, *trashed)}
    restored = restorations(changed[0].row.account, changed) if changed else []
    for restoration in restored:
        result = next(iter(restoration.kept.values()), RowResult.RESTORED)
        results[restoration.row.id] = (str(result), sorted(restoration.kept))
    write_restored([restoration for restoration in restored if restoration.values], by=by)
    return results


def write_restored(restored: Sequence[Any], *, by: User) -> None:
    if not restored:
        return
    model = type(restored[0].row)
    if issubclass(model, CRMResource):
        for restoration in restored:
            assign_restored(restoration, by=by)
        model.flush([restoration.row for restoration in restored])
    else:
        for restoration in restored:
            restore_post(restoration.row, dict(restoration.values), by=by)


def restore_post(post: Any, values: dict[str, Any], *, by: User) -> None:
    """Write the values to a post, and remove votes and comments that were added."""
    user_ids, comment_ids = values.pop(ADDED_VOTERS, ()), values.pop(ADDED_COMMENTS, ())
    if user_ids:
        post.account.votes.filter(post_id=post.id, user_id__in=user_ids).delete()
    for comment in post.account.comments.filter(post_id=post.id, id__in=comment_ids):
        post.erase_comment(comment)
    if values:
        post.write(values, by=by, is_silent=True)


class BatchRowQuerySet(models.QuerySet["BatchRow"]):
    def after(self, resource: str, target: int) -> Self:
        """Return the rows of a resource after one, in the order of their ids."""
        return self.filter(resource=resource, target__gt=target).order_by("target")

    def to_undo(self) -> Self:
        """Return the changed rows that undo has not processed."""
        return self.filter(result__in=RowResult.UNDONE, undo_result=RowResult.PENDING)

    def left_alone(self) -> Self:
        return self.filter(~Q(result__in=RowResult.DONE) | ~Q(undo_result__in=RowResult.DONE)).order_by(
            "resource", "target"
        )

    def record(self, batch: Batch, rows: "Sequence[RecordedRow]") -> None:
        """Insert rows of a batch, or set the results and values of those that exist.

        A row that the batch has changed before keeps its former values from before the first change. A created row stays one.
        """
        if not rows:
            return
        with connection.cursor() as cursor:
            cursor.execute(
                f"""
                INSERT INTO {self.model._meta.db_table} AS stored
                    (account_id, batch_id, resource, target, number, result, undo_result, before, after)
                SELECT %s, %s, resource, target, number, result, '', before, after
                FROM json_to_recordset(%s::json)
                    AS new (resource text, target bigint, number int, result text, before jsonb, after jsonb)
                ON CONFLICT (account_id, batch_id, resource, target) DO UPDATE SET
                    result = CASE WHEN stored.result = 'created' THEN stored.result ELSE excluded.result END,
                    before = excluded.before || coalesce(stored.before, '{{}}'),
                    after = coalesce(stored.after, '{{}}') || excluded.after
                """,  # noqa: S608
                [batch.account_id, batch.id, to_json(rows)],
            )

    def record_undo(self, batch: Batch, resource: str, results: Mapping[int, tuple[str, list[str]]]) -> None:
        """Set the result of the undo, and the fields that it left alone, by the ids of the rows."""
        ids = sorted(results)
        with connection.cursor() as cursor:
            cursor.execute(
                f"""
                UPDATE {self.model._meta.db_table} AS stored SET undo_result = new.result,
                    kept_fields = ARRAY(SELECT jsonb_array_elements_text(new.fields))
                FROM unnest(%s::bigint[], %s::text[], %s::jsonb[]) AS new (target, result, fields)
                WHERE account_id = %s AND batch_id = %s AND resource = %s AND stored.target = new.target
                """,  # noqa: S608
                [
                    ids,
                    [results[id][0] for id in ids],
                    [json.dumps(results[id][1]) for id in ids],
                    batch.account_id,
                    batch.id,
                    resource,
                ],
            )

    def batches(self) -> Any:
        model: Any = self.model
        return model._meta.get_field("batch").related_model._default_manager

    def trashed(self, resource: str) -> Self:
        """Return the rows that batches moved to the trash and can restore, as the subquery for a row of an outer query."""
        batches = self.batches()
        recent = batches.filter(
            account_id=OuterRef("account_id"), id=OuterRef("batch_id"), created_at__gt=timezone.now() - UNDO_PERIOD
        )
        rows = self.to_undo().filter(Exists(recent), resource=resource, after__has_key="trashed_at")
        return rows.filter(account_id=OuterRef("account_id"), target=OuterRef("id"))

    def outdated(self) -> Self:
        """Return the rows of batches that can't be undone any more."""
        batches = self.batches()
        old = batches.filter(created_at__lt=timezone.now() - UNDO_PERIOD)
        return self.filter(Exists(old.filter(account_id=OuterRef("account_id"), id=OuterRef("batch_id"))))


class BatchRow(models.Model):
    """A row of a batch, with the values of the changed fields before and after."""

    pk = models.CompositePrimaryKey("account_id", "batch_id", "resource", "target")
    account = models.ForeignKey("accounts.Account", models.CASCADE, related_name="+", db_index=False)
    batch_id = models.BigIntegerField()
    resource = models.CharField(max_length=255)
    # The id of the row. It is no foreign key, because the row may be erased.
    target = models.BigIntegerField()
    # The number of the row in the file of an import.
    number = models.IntegerField(default=0)
    result = models.CharField(max_length=255, default=RowResult.PENDING)
    undo_result = models.CharField(max_length=255, default=RowResult.PENDING)
    before = models.JSONField(null=True)
    after = models.JSONField(null=True)
    # The fields that the undo left alone.
    kept_fields = ArrayField(models.TextField(), null=True)

    objects = BatchRowQuerySet.as_manager()

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return f"{self.resource} {self.target} of batch {self.batch_id}"


# Jobs


def process_part(kind: str, account_id: int, batch_id: int) -> bool:
    """Process the next rows of a batch in one transaction. Return whether more rows follow."""

    def act() -> bool:
        rows = batch_models[kind].objects.locked().filter(account_id=account_id, id=batch_id)
        batch = rows.active().select_related("account").first()
        if batch is None:
            return False
        user_id = batch.undone_by_id if batch.state == Batch.State.UNDOING else batch.author_id
        user = batch.account.users.filter(id=user_id or 0, is_active=True, role__in=User.TEAM).first()
        if user is None:
            batch.fail(Batch.Failure.USER)
            return False
        user.account = batch.account
        return bool(batch.run_part(user))

    return in_transaction(act)


@job(time_limit=300, retry=RETRY, queue=QUEUE, time_slice=MAX_TIME_SLICE)
def run_batch(*, kind: str, account_id: int, batch_id: int) -> None:
    """Process the rows of a batch, or of its undo, for one time slice. Each part is one transaction. Add a job for the rest."""
    follows = True
    while follows and has_time_left():
        follows = process_part(kind, account_id, batch_id)
    if follows:
        run_batch.defer(kind=kind, account_id=account_id, batch_id=batch_id)


@periodic_job(minutes=15)
def continue_batches() -> None:
    """Continue batches without progress, such as those whose job failed during an outage of the database."""
    for kind, model in batch_models.items():
        stalled = model.objects.active().filter(updated_at__lt=timezone.now() - STALLED_AFTER).order_by("updated_at")
        for account_id, id in stalled.values_list("account_id", "id")[:MAX_CONTINUED]:
            # Another transaction may hold the batch. It is then in progress, and processing waits for the lock.
            run_batch.defer(kind=kind, account_id=account_id, batch_id=id, _key=f"{kind} {account_id}/{id}")
