"""Bulk changes: one action on many clients, contacts or deals, which can be undone.

A change is a batch (`team.batches`) that begins with the list of its rows. They are changed in the order of their ids.
"""

from collections import Counter
from functools import cached_property
from typing import Self

from django.db import connection, models, transaction
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from accounts.account.models import Account
from accounts.users.models import User
from core.db.tenancy import foreign_object
from core.errors import FieldError, FieldErrors
from core.rows.values import ValuesRow
from team.batches.models import Batch, BatchRow, BatchRowQuerySet, RecordedRow, RowResult
from team.bulk.actions import ACTIONS, RESOURCES, Action, Outcome
from team.list_queries.declarations import LISTS, RecordList

# The maximum number of rows of a change.
MAX_ROWS = 100_000


class BulkChange(Batch):
    """One action on many rows of a resource, by a user."""

    author = foreign_object(User, "author_id")
    resource = models.CharField(max_length=255)
    action = models.CharField(max_length=255)
    # The value of the action, such as the id of a user.
    value = models.JSONField(null=True)
    # The parameters of the list whose rows were selected, or empty if the rows were selected one by one.
    query = models.TextField(default="")

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
        change.batch_rows.insert_pending(change, ids)
        change.record_act("started", by=by)
        change.run_or_defer(by)
        return change

    audit_group = "bulk_change"

    def audit_details(self) -> dict[str, object]:
        return {"resource": self.resource, "change": self.action, "value": self.value, "rows": self.total}

    @property
    def known_action(self) -> Action:
        return ACTIONS[self.action]

    @cached_property
    def declaration(self) -> RecordList:
        return LISTS[self.resource]

    def apply(self, user: User) -> bool:
        ids = list(
            self.batch_rows.after(self.resource, self.position).values_list("target", flat=True)[: self.PART_SIZE]
        )
        try:
            value = self.known_action.read({self.known_action.field: self.value}, self.resource, self.account, user)
        except FieldErrors:
            self.fail(self.Failure.VALUE)
            return False
        found = self.lock_rows(self.declaration.rows_of(self.account, user), ids)
        outcomes = self.known_action.apply(found, value, by=user)
        results = self.find_missing(self.resource, ids, found, user)
        results |= {id: outcome.result for id, outcome in outcomes.items()}
        rows = [
            RecordedRow(self.resource, id, result, outcome.before, outcome.after)
            for id, result in results.items()
            for outcome in [outcomes.get(id, Outcome(result))]
        ]
        self.batch_rows.record(self, rows)
        counts = Counter(results.values())
        self.changed += counts[RowResult.CHANGED]
        self.unchanged += counts[RowResult.UNCHANGED]
        self.skipped += len(ids) - counts[RowResult.CHANGED] - counts[RowResult.UNCHANGED]
        if ids:
            self.position = ids[-1]
        return self.advance(is_last=len(ids) < self.PART_SIZE or self.processed >= self.total)


class BulkChangeRowQuerySet(BatchRowQuerySet):
    def insert_pending(self, change: BulkChange, ids: list[int]) -> None:
        """Insert the rows that the change will process."""
        with connection.cursor() as cursor:
            cursor.execute(
                "INSERT INTO team_bulkchangerow (account_id, batch_id, resource, target, number, result, undo_result)"
                " SELECT %s, %s, %s, unnest(%s::bigint[]), 0, '', ''",
                [change.account_id, change.id, change.resource, ids],
            )


class BulkChangeRow(BatchRow):
    """A row of a bulk change."""

    batch = foreign_object(BulkChange, "batch_id", related_name="batch_rows")

    objects = BulkChangeRowQuerySet.as_manager()  # type: ignore[misc]  # the base has another manager


def check_action(resource: str, action: str) -> None:
    """Raise FieldError for an unknown resource or action, or an action that the resource does not have."""
    if resource not in RESOURCES:
        raise FieldError("resource", _("is not one of {choices}"), "choice", {"choices": ", ".join(RESOURCES)})
    choices = actions_of(resource)
    if action not in choices:
        raise FieldError("action", _("is not one of {choices}"), "choice", {"choices": ", ".join(choices)})


def actions_of(resource: str) -> dict[str, Action]:
    return {key: action for key, action in ACTIONS.items() if resource in action.resources}
