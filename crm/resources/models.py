"""The base of the CRM's models."""

from typing import Any, Self

from django.contrib.postgres.indexes import GinIndex
from django.db import models, transaction
from django.db.models import Exists, F, Func, IntegerField, OuterRef, Q
from django.db.models.lookups import Exact
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.account.models import Account
from accounts.users.models import User
from core.db.prepared import insert, insert_many, update, update_many
from core.db.tenancy import TenantModel, folded_fields, next_ids
from core.rows.access import Access
from core.rows.additional_fields import merge
from core.rows.declared import FieldType, Moment, RowId, YesOrNo
from core.rows.trash import Trashable, assign_links
from core.rows.trimmed import fold_email
from core.search.declaration import PENDING_LIST_LIMIT


def list_indexes(name: str) -> list[models.Index]:
    """Return the indexes for the orders of a list. The indexes by name and for filters are declared by `Search`.

    The order by `updated_at` has the index `change_index`, or a table of its own (`core.rows.last_changes`).
    """
    return [_order_index(name, "id", ["id"]), _order_index(name, "creation", ["created_at", "id"])]


def change_index(name: str) -> models.Index:
    """Return the index for the order of a list by `updated_at`. With it, no update of the table is HOT."""
    return _order_index(name, "change", ["updated_at", "id"])


def _order_index(name: str, order: str, fields: list[str]) -> models.Index:
    return models.Index(fields=["account", *fields], name=f"{name}_by_{order}", condition=Q(trashed_at=None))


def additional_fields_index(name: str) -> GinIndex:
    """Return the index for the conditions of lists on the values of additional fields. Rows without any are not in it."""
    return GinIndex(
        fields=["account", "additional_fields"],
        name=f"{name}_by_additional_fields",
        opclasses=["int8_ops", "jsonb_path_ops"],
        gin_pending_list_limit=PENDING_LIST_LIMIT,
        condition=Q(trashed_at=None) & ~Q(additional_fields={}),
    )


def exactly_one(columns: list[str], name: str) -> models.CheckConstraint:
    """Return the constraint that exactly one of the columns has a value."""
    number = Func(*map(F, columns), function="num_nonnulls", output_field=IntegerField())
    return models.CheckConstraint(condition=Exact(number, 1), name=name)


def links_to_accessible(access: Access, *targets: type[models.Model]) -> Q:
    """Return the condition of rows that link to an accessible row of one of the models."""
    condition = Q()
    for model in targets:
        ids = {"account_id": OuterRef("account_id"), "id": OuterRef(f"{model._meta.model_name}_id")}
        condition |= Q(Exists(model._default_manager.filter(access.condition(), **ids)))
    return condition


class CRMResource(TenantModel, Trashable):
    """The base of the models of the CRM: a row with its creator, its last updater, and the times of creation and update.

    `assign` sets attributes, and `flush` writes the changes of any number of rows.
    """

    creator_id = RowId(_("Created by"), "users", type=FieldType.USER, null=False, editable=False)
    created_at = Moment(_("Created"), default=timezone.now, editable=False)
    updater_id = RowId(_("Changed by"), "users", type=FieldType.USER, null=False, editable=False)
    updated_at = Moment(_("Changed"), default=timezone.now, editable=False)

    # The fields that `assign` has changed and `flush` has not written yet. The tags have an attribute of their own, because `flush`
    # normalizes their names.
    unsaved_fields: frozenset[str] = frozenset()
    unsaved_tags: list[str] | None = None

    class Meta:
        abstract = True

    def write(self, values: dict[str, object], *, by: User) -> None:
        """Insert the row, or update the fields that `values` names. To update, the caller must have locked the row (`locked`)."""
        self.assign(values, by=by)
        self.flush([self])

    def assign(self, values: dict[str, Any], *, by: User) -> None:
        """Set attributes from the validated values, without writing them. The tags are set by `flush`."""
        values = dict(values)
        changed = {"updater_id", "updated_at"}
        if (tags := values.pop("tags", None)) is not None:
            self.unsaved_tags = tags
            changed.add("tags")
        if (pairs := values.pop("external_ids", None)) is not None:
            # Only the values for an `ExternallyIdentified` row have external ids.
            values["external_ids"] = self.merged_external_ids(pairs)  # type: ignore[attr-defined]
        if (fields := values.get("additional_fields")) is not None:
            # Only the values for a model with this column have additional fields.
            values["additional_fields"] = merge(self.additional_fields, fields)  # type: ignore[attr-defined]
        sets_responsible = hasattr(self, "responsible_id") and (self._state.adding or "responsible_id" in values)
        if sets_responsible and values.get("responsible_id") is None and by.access.is_limited:
            # Without a responsible user, the agent could not access the row.
            values["responsible_id"] = by.id
        assign_links(values, "client_id", "contact_id", "deal_id")
        for name, value in values.items():
            setattr(self, name, value)
        self.updater_id, self.updated_at = by.id, timezone.now()
        if self._state.adding:
            self.creator_id, self.created_at = by.id, self.updated_at
        self.unsaved_fields |= changed | values.keys() | folded_fields(type(self), values)

    @classmethod
    @transaction.atomic(savepoint=False)
    def flush(cls, rows: list[Self]) -> None:
        """Write the unsaved changes of rows of one account. The number of statements does not depend on the number of rows."""
        if retagged := [(row, row.unsaved_tags) for row in rows if row.unsaved_tags is not None]:
            # Only the values for a `Tagged` row have tags.
            cls.tag_all(rows[0].account, retagged)  # type: ignore[attr-defined]
        new = [row for row in rows if row._state.adding]
        changed = [row for row in rows if not row._state.adding]
        if len(new) == 1:
            insert(new[0])
        elif new:
            without_id = [row for row in new if row.id is None]
            for row, id in zip(without_id, next_ids(new[0].account_id, len(without_id)), strict=True):
                row.id = id
            insert_many(new)
        if len(changed) == 1:
            update(changed[0], changed[0].unsaved_fields)
        elif changed:
            update_many(changed, frozenset[str]().union(*(row.unsaved_fields for row in changed)))
        if identified := [row for row in rows if "external_ids" in row.unsaved_fields]:
            # Only an `ExternallyIdentified` row has this field.
            cls.sync_holders(identified, new_ids={row.id for row in new})  # type: ignore[attr-defined]
        for row in rows:
            row.unsaved_fields, row.unsaved_tags = frozenset(), None


class Contactable(CRMResource):
    """A person or company that may have agreed to be contacted, or asked not to be.

    `consent` is null until somebody records an answer. `do_not_contact` excludes the row from messages, whatever the consent says.
    """

    consent = YesOrNo(_("Agrees to be contacted"))
    consent_at = Moment(_("Answer recorded"), editable=False)
    consent_by_id = RowId(_("Answer recorded by"), "users", type=FieldType.USER, editable=False)
    do_not_contact = YesOrNo(_("Do not contact"), default=False, db_default=False)
    do_not_contact_at = Moment(_("“Do not contact” changed"), editable=False)
    do_not_contact_by_id = RowId(_("“Do not contact” changed by"), "users", type=FieldType.USER, editable=False)

    class Meta:
        abstract = True

    def assign(self, values: dict[str, object], *, by: User) -> None:
        """Set attributes from the validated values. A changed answer gets the time and the author of the change."""
        values = dict(values)
        if "do_not_contact" in values:
            values["do_not_contact"] = bool(values["do_not_contact"])
        changed = [
            name
            for name in ("consent", "do_not_contact")
            if values.get(name, getattr(self, name)) != getattr(self, name)
        ]
        super().assign(values, by=by)
        for name in changed:
            setattr(self, f"{name}_at", self.updated_at)
            setattr(self, f"{name}_by_id", by.id)
            self.unsaved_fields |= {f"{name}_at", f"{name}_by_id"}


def blocked_addresses(account: Account, keys: set[str]) -> set[str]:
    """Return those of the e-mails (`email_key`) of which a client or contact refused consent or asked not to be contacted.

    They are looked up in the whole account, with one statement: a person may be stored more than once.
    """
    if not keys:
        return set()
    refused = Q(do_not_contact=True) | Q(consent=False)
    clients, contacts = (
        rows.live().filter(refused, email_key__in=keys).order_by().values_list("email_key", flat=True)
        for rows in (account.clients, account.contacts)
    )
    return {key for key in clients.union(contacts) if key}


def stop_contact(account: Account, email: str, ids: dict[str, set[int]]) -> list[Any]:
    """Record that a person asked not to be contacted. Return the rows that did not say so before.

    This holds for all clients and contacts with the e-mail, and for those with the ids, by resource, also in the trash.
    """
    changed: list[object] = []
    now, email_key = timezone.now(), fold_email(email)
    for resource, rows in (("client", account.clients), ("contact", account.contacts)):
        people = rows.filter(Q(email_key=email_key, trashed_at=None) | Q(id__in=ids.get(resource, ())))
        found = list(people.filter(do_not_contact=False).order_by("id").locked())
        if not found:
            continue
        written = rows.filter(id__in=[row.id for row in found])
        # The time of the last change is written apart: otherwise the timeline would name the last updater as the author.
        written.update(do_not_contact=True, do_not_contact_at=now, do_not_contact_by_id=None)
        written.update(updated_at=now)
        changed += found
    return changed
