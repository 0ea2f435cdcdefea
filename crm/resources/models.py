"""The bases of the CRM's models: authors and times, consent, external ids."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any, Self

from django.db import models, transaction
from django.db.models import Exists, F, Func, IntegerField, OuterRef, Q
from django.db.models.lookups import Exact
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from psycopg.types.numeric import Int8

from accounts.account.models import Account
from accounts.users.models import User
from core.db.prepared import array_literal, fetch, insert, insert_many, update, update_many
from core.db.tenancy import TenantModel, folded_fields, next_ids
from core.errors import ConcurrentUpdate, FieldError, FieldErrors
from core.rows.access import Access
from core.rows.additional_fields import merge
from core.rows.declared import FieldType, Moment, RowId, YesOrNo
from core.rows.trash import LimitedQuerySet, Trashable, TrashableQuerySet, assign_links, trash_index
from core.rows.trimmed import fold_email, trim
from core.search.declaration import additional_fields_index


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


def record_indexes(name: str, *, has_email: bool = False) -> list[models.Index]:
    """Return the indexes for lists, for the trash, for conditions on additional fields, and for rows with an e-mail, oldest first."""
    condition = Q(email_key__isnull=False, trashed_at=None)
    by_email = models.Index(fields=["account", "email_key", "id"], name=f"{name}_by_email", condition=condition)
    indexes = [trash_index(name), *list_indexes(name), additional_fields_index(name)]
    return [*indexes, by_email] if has_email else indexes


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


MAX_EXTERNAL_IDS = 50
MAX_VALUE_LENGTH = 255

# A key and its value.
Pair = tuple[str, str]


def normalize_value(value: str | int | Decimal) -> str:
    """Return the value of an external id as it is stored: a text without blanks at its ends. The numbers 17 and 17.0 are one value."""
    if isinstance(value, Decimal) and value.adjusted() < MAX_VALUE_LENGTH and value == value.to_integral_value():
        value = f"{value:.0f}"
    return trim(str(value))


class ExternalIdHolder(models.Model):
    """A pair and the resource that holds it. A resource in the trash holds no pair.

    The row of a resource has the pairs of the resource as well, and responses read them there. The primary key of this table makes a pair
    unique in the account, and finds its holder.
    """

    pk = models.CompositePrimaryKey("account_id", "key", "value")
    account = models.ForeignKey("accounts.Account", models.CASCADE, related_name="+", db_index=False)
    key = models.CharField(max_length=64)
    value = models.CharField(max_length=MAX_VALUE_LENGTH)
    holder_id = models.BigIntegerField()

    class Meta:
        abstract = True


class ExternallyIdentified(CRMResource):
    """A resource with external ids: identifiers that it has in other applications, each a pair of a key and a value."""

    external_ids = models.JSONField(default=dict)
    # Pairs of rows that were merged into this one, whose keys this row has with other values. The row holds these pairs too, so that
    # requests with them find it. Null if there are none.
    further_external_ids = models.JSONField(null=True, editable=False)

    HOLDER_MODEL: type[ExternalIdHolder]

    class Meta:
        abstract = True

    @property
    def further_pairs(self) -> set[Pair]:
        return {(key, value) for key, value in self.further_external_ids or ()}

    @property
    def held_pairs(self) -> set[Pair]:
        """The pairs that the row holds, unless it is in the trash."""
        return {*self.external_ids.items(), *self.further_pairs}

    @classmethod
    def holders(cls, account_id: int, pairs: Collection[Pair]) -> dict[Pair, int]:
        """Return the ids of the holders, by pair. A pair without a holder is left out."""
        if not pairs:
            return {}
        values: list[object]
        if len(pairs) == 1:
            # The usual case. For an array parameter PostgreSQL would assume 10 elements, and plan each execution with fewer anew.
            condition, values = "key = %s AND value = %s", [*next(iter(pairs))]
        else:
            condition = "(key, value) IN (SELECT * FROM unnest(%s::text[], %s::text[]))"
            values = [list(column) for column in zip(*pairs, strict=True)]
        rows = fetch(
            f"SELECT key, value, holder_id FROM {cls.HOLDER_MODEL._meta.db_table} WHERE account_id = %s AND {condition}",  # noqa: S608
            [Int8(account_id), *values],
        )
        holder_ids = {(key, value): holder_id for key, value, holder_id in rows}
        return {pair: holder_ids[pair] for pair in pairs if pair in holder_ids}

    @classmethod
    def holder_of_all(cls, account_id: int, pairs: dict[str, str]) -> int | None:
        """Return the id of the resource that holds all of the pairs, or None."""
        holder_ids = cls.holders(account_id, pairs.items())
        if len(holder_ids) < len(pairs) or len(set(holder_ids.values())) != 1:
            return None
        return next(iter(holder_ids.values()))

    @classmethod
    def lock_holder(
        cls, rows: TrashableQuerySet[Self], account_id: int, pairs: dict[str, str], access: Access
    ) -> Self | None:
        """Lock and return the row that holds any of the pairs.

        Raise FieldError if the pairs have different holders, and FieldErrors if the user may not access a holder.
        """
        holders = cls.holders(account_id, pairs.items())
        if errors := cls.hidden_errors(holders, cls.hidden_ids(account_id, holders.values(), access)):
            raise FieldErrors(error.move_into("external_ids") for error in errors)
        holder_id = cls.single_holder(holders.values())
        if holder_id is None:
            return None
        row = rows.locked().filter(id=holder_id).first()
        if row is None or not pairs.items() & row.held_pairs:
            raise ConcurrentUpdate(f"{str(cls._meta.verbose_name).capitalize()} {holder_id} has released it meanwhile")
        return row

    @classmethod
    def hidden_ids(cls, account_id: int, holder_ids: Iterable[int], access: Access) -> set[int]:
        """Return the ids of those holders that the user may not access."""
        ids = set(holder_ids)
        if not ids or not access.is_limited:
            return set()
        rows: LimitedQuerySet[Any] = cls._default_manager.filter(account_id=account_id, id__in=ids)  # type: ignore[assignment]
        return ids - set(rows.limited_to(access).values_list("id", flat=True))

    @classmethod
    def hidden_errors(cls, holders: Mapping[Pair, int], hidden_ids: Collection[int]) -> list[FieldError]:
        """Return the errors of the pairs whose holder the user may not access. They do not name the holder."""
        return [
            FieldError("", "{key} {value} is already taken", "taken", {"key": key, "value": value})
            for (key, value), holder_id in holders.items()
            if holder_id in hidden_ids
        ]

    @classmethod
    def single_holder(cls, holder_ids: Iterable[int], label_of: Callable[[int], int | str] = int) -> int | None:
        """Return the only id in `holder_ids`, or None if it is empty. Raise FieldError with the labels of the ids if they differ."""
        distinct_ids = sorted(set(holder_ids))
        if len(distinct_ids) > 1:
            params = {"kind": cls._meta.verbose_name_plural, "ids": ", ".join(str(label_of(id)) for id in distinct_ids)}
            raise FieldError("external_ids", "belong to different {kind} ({ids})", "several", params)
        return distinct_ids[0] if distinct_ids else None

    @classmethod
    def taken_error(cls, pair: Pair, holder: int | str) -> FieldError:
        """Return the error of a pair that another resource holds. `holder` is its id or its label."""
        name = f"{cls._meta.model_name} {holder}" if isinstance(holder, int) else holder
        params = {"key": pair[0], "value": pair[1], "holder": name}
        return FieldError("", "{key} {value} belongs to {holder}", "taken", params)

    def may_have(self, pairs: dict[str, str]) -> bool:
        """Return whether the resource has no other values for the keys of the pairs."""
        return all(self.external_ids.get(key, value) == value for key, value in pairs.items())

    def merged_external_ids(self, changes: dict[str, str | None]) -> dict[str, str]:
        """Return the external ids after the changes. Keys that are not in `changes` stay, and a null removes its key.

        A pair of a merged row does not replace the row's own value. Otherwise two applications, which know the customer by different
        values, would replace each other's value in turn.
        """
        known = {
            key for key, value in changes.items() if key in self.external_ids and (key, value) in self.further_pairs
        }
        changes = {key: value for key, value in changes.items() if key not in known}
        return {key: value for key, value in {**self.external_ids, **changes}.items() if value is not None}

    @classmethod
    def sync_holders(cls, rows: Sequence[Self], *, new_ids: Collection[int] = ()) -> None:
        """Insert and delete holders, so that each row holds exactly its pairs. `new_ids` are the ids of new rows.

        Raise ConcurrentUpdate, with the holders, if other resources hold some of the pairs. Pairs are inserted in a fixed order, so
        that transactions with the same pairs wait for each other and do not deadlock.
        """
        account_id = rows[0].account_id
        existing_ids = [row.id for row in rows if row.id not in new_ids]
        holders = cls.HOLDER_MODEL._default_manager.filter(account_id=account_id)
        holder_ids = {pair: row.id for row in rows for pair in row.held_pairs}
        before: set[tuple[str, str, int]] = set()
        if existing_ids:
            before = set(holders.filter(holder_id__in=existing_ids).values_list("key", "value", "holder_id"))
        after = {(*pair, holder_id) for pair, holder_id in holder_ids.items()}
        if removed := before - after:
            holders.filter(pk__in=[(account_id, key, value) for key, value, _ in removed]).delete()
        if not (added := sorted(after - before)):
            return
        keys, values, added_ids = zip(*added, strict=True)
        inserted = fetch(
            f"""
            INSERT INTO {cls.HOLDER_MODEL._meta.db_table} (account_id, key, value, holder_id)
            SELECT %s, * FROM unnest(%s::text[], %s::text[], %s::bigint[]) AS taken (key, value, holder_id)
            ORDER BY key, value ON CONFLICT DO NOTHING RETURNING true
            """,  # noqa: S608
            [Int8(account_id), list(keys), list(values), array_literal(added_ids)],
        )
        if len(inserted) == len(added):
            return
        current = cls.holders(account_id, list(zip(keys, values, strict=True)))
        errors = [cls.taken_error(pair, id).text for pair, id in current.items() if id != holder_ids[pair]]
        raise ConcurrentUpdate("; ".join(errors))

    @classmethod
    def detach(cls, rows: Sequence[Self]) -> None:
        """Delete the holders of the rows. The rows keep their external ids for a restore."""
        holders = cls.HOLDER_MODEL._default_manager.filter(account_id=rows[0].account_id)
        holders.filter(holder_id__in=[row.id for row in rows]).delete()
        super().detach(rows)

    @classmethod
    def reattach(cls, rows: Sequence[Self]) -> None:
        """Insert the holders again. External ids that another resource holds now are removed from the row."""
        taken = set(cls.holders(rows[0].account_id, {pair for row in rows for pair in row.held_pairs}))
        changed = []
        for row in rows:
            if taken & row.held_pairs:
                row.external_ids = {key: value for key, value in row.external_ids.items() if (key, value) not in taken}
                row.further_external_ids = sorted(row.further_pairs - taken) or None
                changed.append(row)
            taken |= row.held_pairs
        cls.sync_holders(rows)
        if changed:
            update_many(changed, {"external_ids", "further_external_ids"})
        super().reattach(rows)
