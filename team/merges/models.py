"""Merges of two clients or two contacts, and their undo.

A merge keeps one row and moves the other, the merged row, to the trash. Rows that were linked to the merged row are linked to the kept
row, and the kept row gets the chosen values of the merged one, its tags, external ids and contact lists. A `Merge` records the changes,
and a `MergedRow` each row that was moved. With them, `Merge.undo` restores what nobody has changed since, for as long as the trash keeps
the merged row. The row of a merge is erased with the merged row.

A customer has at most one vote for a post. If both rows have voted for the same post, one vote is deleted, and its values are recorded.

The external ids of the merged row belong to the kept row afterwards, so that requests with them find it. If the kept row has another
value for a key, the value of the merged row is one of its `further_external_ids`.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Self, cast

from django.db import models, transaction
from django.db.models import Exists, OuterRef, Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.access.models import AccessQuerySet
from accounts.account.models import Account
from accounts.audit.models import record
from accounts.users.models import User
from core.changes.events import record_event
from core.db.derived import compute_at_end
from core.db.tenancy import TenantModel, foreign_object
from core.errors import FieldError
from core.rows.access import Access
from core.rows.additional_fields import additional_fields
from crm.clients.models import Client
from crm.contacts.models import Contact
from crm.resources.models import MAX_EXTERNAL_IDS, ExternallyIdentified, Pair
from team.batches.models import UNDO_PERIOD
from team.batches.restoring import COMPANIONS, RowChange, assign_restored, restorations, values_of
from team.merges.comparison import Choice, ChosenValues, chosen_values, compared_fields
from team.merges.merged_rows import MergedRow, add_to_lists, check_number, leave_lists, move_back, move_rows
from team.timeline.models import TimelineEntry

MODELS: dict[str, type[ExternallyIdentified]] = {"client": Client, "contact": Contact}


class MergeQuerySet(AccessQuerySet[Any]):
    def limited_to(self, access: Access) -> Self:
        """Return the merges of which the user may access both rows."""
        if not access.is_limited:
            return self
        conditions = Q()
        for resource, model in MODELS.items():
            rows: Any = model._default_manager.filter(account_id=OuterRef("account_id"))
            kept, merged = (
                Exists(rows.limited_to(access).filter(id=OuterRef(column)))
                for column in (f"{resource}_id", f"merged_{resource}_id")
            )
            conditions |= Q(kept, merged)
        return self.filter(conditions)

    def active(self) -> Self:
        """Return the merges that were not undone."""
        return self.filter(undone_at=None)

    def undoable(self) -> Self:
        """Return the merges that are not undone, and whose `UNDO_PERIOD` is not over."""
        return self.active().filter(created_at__gt=timezone.now() - UNDO_PERIOD)

    def of_kept(self, row: ExternallyIdentified) -> Self:
        """Return the merges of other rows into a row."""
        return self.filter(**{"account_id": row.account_id, f"{row._meta.model_name}_id": row.id})

    def of_merged(self, rows: Sequence[ExternallyIdentified]) -> Self:
        """Return the merges of these rows, which are of one model and account, into other rows."""
        column = f"merged_{rows[0]._meta.model_name}_id"
        return self.filter(**{"account_id": rows[0].account_id, f"{column}__in": [row.id for row in rows]})

    @transaction.atomic(savepoint=False)
    @compute_at_end()
    def merge(
        self, account: Account, resource: str, kept_id: int, merged_id: int, choices: Mapping[str, Choice], *, by: User
    ) -> "Merge":
        """Merge one client or contact into another.

        `choices` tells, by the name of a field, whose value the kept row gets. Other fields keep their values, get the value of the merged
        row if they are blank, or get both values if those can be joined (`team.merges.comparison`).

        Raise FieldErrors if the user may not access a row, if a row is in the trash, or if too many rows are linked to the merged row.
        """
        field = f"merged_{resource}_id"
        if kept_id == merged_id:
            raise FieldError(field, _("is the same row"), "itself")
        rows = {row.id: row for row in lock_rows(account, resource, kept_id, merged_id, access=by.access)}
        for id, name in ((kept_id, f"{resource}_id"), (merged_id, field)):
            self._check_live(account, resource, id, rows.get(id), name)
        kept, merged = rows[kept_id], rows[merged_id]
        kept.account = merged.account = account
        check_number(account, resource, merged)
        fields = compared_fields(account, resource, (kept, merged))
        values = chosen_values(kept, merged, fields, choices)

        merge: Merge = self.model(account=account, user_id=by.id, **{f"{resource}_id": kept_id, field: merged_id})
        merge.save(force_insert=True)
        move_rows(merge)
        if isinstance(merged, Contact):
            add_to_lists(merge)
        merge.external_ids = sorted(merged.held_pairs)
        merged.trash(by=by)
        merge.write_values(kept, merged, values, by=by)
        merge.save(update_fields=["changes", "external_ids"])
        record(account.id, f"{resource}.merged", by=by, target=merged, into=kept.id, merge=merge.id)
        record_event(kept, f"{resource}.merged", actor=by, after={"merged_id": merged.id, "merge_id": merge.id})
        TimelineEntry.objects.append("merge", [kept], by=by, data={"name": merged.name, "merge_id": merge.id})  # type: ignore[attr-defined]
        return merge

    def _check_live(
        self, account: Account, resource: str, id: int, row: ExternallyIdentified | None, field: str
    ) -> None:
        if row is None:
            raise FieldError(field, _("can't be found"), "missing")
        if row.trashed_at is None:
            return
        if (merge := self.of_merged([row]).active().first()) is not None:
            raise FieldError(field, ALREADY_MERGED[resource], "merged", {"id": merge.kept_id})
        raise FieldError(field, _("is in the trash"), "gone")


ALREADY_MERGED = {
    "client": _("is already merged into client {id}"),
    "contact": _("is already merged into contact {id}"),
}
MERGED_FURTHER = {
    "client": _("was itself merged into client {id}: undo that first"),
    "contact": _("was itself merged into contact {id}: undo that first"),
}
NOT_RESTORABLE = {
    "client": _("was merged into client {id}: undo the merge on the page of that client"),
    "contact": _("was merged into contact {id}: undo the merge on the page of that contact"),
}


class Merge(TenantModel):
    """A merge of one client into another, or of one contact into another."""

    client_id = models.BigIntegerField(null=True)
    merged_client_id = models.BigIntegerField(null=True)
    merged_client = foreign_object(Client, "merged_client_id", null=True)
    contact_id = models.BigIntegerField(null=True)
    merged_contact_id = models.BigIntegerField(null=True)
    merged_contact = foreign_object(Contact, "merged_contact_id", null=True)
    user_id = models.BigIntegerField()
    # The fields of the kept row that the merge changed: by name, an object with the values `before` and `after`.
    changes = additional_fields()
    # The external ids that the kept row got: pairs of key and value.
    external_ids = models.JSONField(default=list)
    undone_at = models.DateTimeField(null=True)
    undone_by_id = models.BigIntegerField(null=True)
    # The changed fields that the undo did not restore, because they were changed after the merge.
    unrestored_fields = models.JSONField(default=list)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    updated_at = models.DateTimeField(default=timezone.now, editable=False)

    objects = MergeQuerySet.as_manager()

    class Meta:
        default_related_name = "merges"
        constraints = [
            models.CheckConstraint(
                condition=Q(
                    client_id__isnull=False, merged_client_id__isnull=False, contact_id=None, merged_contact_id=None
                )
                | Q(client_id=None, merged_client_id=None, contact_id__isnull=False, merged_contact_id__isnull=False),
                name="merge_of_clients_or_contacts",
            ),
            *(
                models.UniqueConstraint(
                    fields=["account", f"merged_{resource}_id"],
                    condition=Q(undone_at=None),
                    name=f"merge_of_{resource}_once",
                )
                for resource in MODELS
            ),
        ]
        indexes = [
            models.Index(fields=["account", "updated_at", "id"], name="merge_by_change"),
            models.Index(fields=["account", "created_at", "id"], name="merge_by_creation"),
            *(
                models.Index(
                    fields=["account", f"{link}_id", "id"],
                    name=f"merge_of_{link}",
                    condition=Q(**{f"{link}_id__isnull": False}),
                )
                for link in ("client", "contact", "merged_client", "merged_contact")
            ),
        ]

    def __str__(self) -> str:
        return f"{self.resource} {self.merged_id} into {self.kept_id}"

    @property
    def resource(self) -> str:
        return "client" if self.contact_id is None else "contact"

    @property
    def kept_id(self) -> int:
        return cast(int, self.client_id if self.contact_id is None else self.contact_id)

    @property
    def merged_id(self) -> int:
        return cast(int, self.merged_client_id if self.contact_id is None else self.merged_contact_id)

    # Merging

    def write_values(
        self, kept: ExternallyIdentified, merged: ExternallyIdentified, values: ChosenValues, *, by: User
    ) -> None:
        """Write the chosen values and the external ids to the kept row, and record the changes."""
        names = [*values, *(companion for name in COMPANIONS if name in values for companion in COMPANIONS[name])]
        before = values_of(kept, names)
        assigned: dict[str, Any] = {}
        for name, (field, value) in values.items():
            if field.key:
                assigned.setdefault("additional_fields", {})[field.key] = value
            else:
                assigned[name] = value if field.name != "tags" else value or []
        kept.assign(assigned, by=by)
        for name in names[len(values) :]:
            # The answer was recorded when the merged row got it.
            setattr(kept, name, getattr(merged, name))
        add_pairs(kept, [(key, value) for key, value in self.external_ids])
        type(kept).flush([kept])
        after = values_of(kept, names)
        self.changes = {name: {"before": before[name], "after": after[name]} for name in names}

    # Undoing

    @transaction.atomic(savepoint=False)
    @compute_at_end()
    def undo(self, *, by: User) -> None:
        """Undo the merge. Raise FieldError if that is not possible.

        Rows that are still linked to the kept row are linked to the merged row again. A field that still has the value of the merge gets
        its former value. The names of the other changed fields are in `unrestored_fields` afterwards.
        """
        rows = {row.id: row for row in lock_rows(self.account, self.resource, self.kept_id, self.merged_id)}
        # The locks of the rows serialize merges of them, so the values are final now.
        self.refresh_from_db(fields=["changes", "external_ids", "undone_at"])
        kept, merged = rows[self.kept_id], rows[self.merged_id]
        kept.account = merged.account = self.account
        if self.undone_at is not None:
            raise FieldError("merge", _("is already undone"), "undone")
        if kept.trashed_at is not None:
            if (further := Merge.objects.of_merged([kept]).active().first()) is not None:
                params = {"id": further.kept_id}
                raise FieldError(self.resource, MERGED_FURTHER[self.resource], "merged_further", params)
            raise FieldError(self.resource, _("is in the trash: restore it first"), "gone")
        others = list(Merge.objects.of_kept(kept).active().exclude(id=self.id).order_by("id"))
        move_back(self, others)
        if isinstance(kept, Contact):
            leave_lists(self, others)
        self._restore_values(kept, others, by=by)
        remove_pairs(kept, [(key, value) for key, value in self.external_ids])
        type(kept).flush([kept])
        self.undone_at = self.updated_at = timezone.now()
        self.undone_by_id = by.id
        self.save(update_fields=["undone_at", "undone_by_id", "updated_at", "unrestored_fields"])
        merged.restore()
        record(self.account_id, f"{self.resource}.undone", by=by, target=merged, merged_into=kept.id, merge=self.id)
        record_event(kept, f"{self.resource}.unmerged", actor=by, before={"merged_id": merged.id, "merge_id": self.id})
        TimelineEntry.objects.append("merge_undone", [kept], by=by, data={"name": merged.name, "merge_id": self.id})  # type: ignore[attr-defined]
        MergedRow.objects.filter(account_id=self.account_id, merge_id=self.id).delete()

    def _restore_values(self, kept: ExternallyIdentified, others: "list[Merge]", *, by: User) -> None:
        """Assign the former values of the fields that nobody has changed since."""
        restored, rewritten = dict(self.changes), set()
        for name, change in self.changes.items():
            later = next((m for m in others if m.id > self.id and name in m.changes), None)
            if name != "tags" and later is not None and later.changes[name]["before"] == change["after"]:
                # The value belongs to a later merge now, whose undo restores the value from before both merges.
                later.changes[name] = {**later.changes[name], "before": change["before"]}
                rewritten.add(later)
                del restored[name]
        for merge in rewritten:
            merge.save(update_fields=["changes"])
        before, after = ({name: change[key] for name, change in restored.items()} for key in ("before", "after"))
        [restoration] = restorations(self.account, [RowChange(kept, before, after)])
        self.unrestored_fields = list(restoration.kept)
        assign_restored(restoration, by=by)


def lock_rows(account: Account, resource: str, *ids: int, access: Access | None = None) -> list[ExternallyIdentified]:
    """Lock and return the rows with these ids, in the order of their ids. With an access, only accessible rows are returned."""
    rows: Any = MODELS[resource]._default_manager.filter(account_id=account.id, id__in=ids)
    if access is not None:
        rows = rows.limited_to(access)
    return list(rows.order_by("id").locked())


def add_pairs(row: ExternallyIdentified, pairs: list[Pair]) -> None:
    """Add external ids to a row. A pair whose key the row has with another value becomes one of its further pairs."""
    if not pairs:
        return
    own, further = dict(row.external_ids), row.further_pairs
    for key, value in pairs:
        if own.get(key) == value:
            continue
        if key in own or len(own) >= MAX_EXTERNAL_IDS:
            further.add((key, value))
        else:
            own[key] = value
    set_pairs(row, own, further)


def remove_pairs(row: ExternallyIdentified, pairs: list[Pair]) -> None:
    """Remove external ids from a row, if it still has them."""
    if not pairs:
        return
    removed = set(pairs)
    own = {key: value for key, value in row.external_ids.items() if (key, value) not in removed}
    set_pairs(row, own, row.further_pairs - removed)


def set_pairs(row: ExternallyIdentified, own: dict[str, str], further: set[Pair]) -> None:
    row.external_ids, row.further_external_ids = own, sorted(further) or None
    row.unsaved_fields |= {"external_ids", "further_external_ids"}
