"""Merges of two clients or two contacts, and their undo.

A merge keeps one row and moves the other, the merged row, to the trash. Rows that were linked to the merged row are linked to the kept
row, and the kept row gets the chosen values of the merged one, its tags, external ids and contact lists. A `Merge` records the changes,
and a `MergedRow` each row that was moved. With them, `Merge.undo` restores what nobody has changed since, for as long as the trash keeps
the merged row. The row of a merge is erased with the merged row.

A customer has at most one vote for a post. If both rows have voted for the same post, one vote is deleted, and its values are recorded.

The external ids of the merged row belong to the kept row afterwards, so that requests with them find it. If the kept row has another
value for a key, the value of the merged row is one of its `further_external_ids`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, Self, cast

from django.db import connection, models, transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.models import Account, User
from core.db.access import Access
from core.db.additional_fields import additional_fields
from core.db.limited_rows import LimitedQuerySet
from core.db.tenancy import TenantModel, foreign_object
from core.db.trash import TrashedId
from core.errors import FieldError
from crm.api.writing import key_in
from crm.external_ids import MAX_EXTERNAL_IDS, ExternallyIdentified, Pair
from crm.models import Client, Contact, ContactListCount, ContactListMembership, Deal, Note
from forum.models import Post, ProxyVote
from workspace.comparison import Choice, chosen_values, compared_fields

# The maximum number of rows that a merge moves. Triggers run for each of them within one transaction.
MAX_MOVED_ROWS = 20_000

MODELS: dict[str, type[ExternallyIdentified]] = {"client": Client, "contact": Contact}


@dataclass(frozen=True)
class Link:
    """A column with the id of a client or contact. A merge updates it."""

    model: type[models.Model]
    column: str

    @property
    def name(self) -> str:
        """The name in `MergedRow.link`."""
        return f"{self.model._meta.model_name}.{self.column}"

    @property
    def table(self) -> str:
        return self.model._meta.db_table


VOTES = {"client": Link(ProxyVote, "client_id"), "contact": Link(ProxyVote, "contact_id")}
LINKS: dict[str, tuple[Link, ...]] = {
    "client": (
        Link(Contact, "client_id"),
        Link(Deal, "client_id"),
        Link(Note, "client_id"),
        Link(Post, "client_id"),
        VOTES["client"],
    ),
    "contact": (
        Link(Client, "contact_id"),
        Link(Deal, "contact_id"),
        Link(Note, "contact_id"),
        Link(Post, "contact_id"),
        VOTES["contact"],
    ),
}
# The contact lists that the kept contact was added to. The memberships of the merged contact stay, as for every contact in the trash.
MEMBERSHIP = "contactlistmembership.contact_id"

# Fields that describe the change of another one, and move with its value.
COMPANIONS = {
    "consent": ("consent_at", "consent_by_id"),
    "do_not_contact": ("do_not_contact_at", "do_not_contact_by_id"),
}
# The related names of the rows to which fields link.
TARGETS = {
    "status_id": "statuses",
    "responsible_id": "users",
    "consent_by_id": "users",
    "do_not_contact_by_id": "users",
    "contact_id": "contacts",
    "client_id": "clients",
}
VOTE_COLUMNS = "account_id, id, post_id, client_id, contact_id, user_id, from_post_id, created_at"


class MergeQuerySet(LimitedQuerySet[Any]):
    def limited_to(self, access: Access) -> Self:
        """Return the merges of which the user may access both rows."""
        if not access.is_limited:
            return self
        conditions = Q()
        for resource, model in MODELS.items():
            rows: LimitedQuerySet[Any] = model._default_manager.filter(account_id=OuterRef("account_id"))  # type: ignore[assignment]
            accessible = rows.limited_to(access)
            kept, merged = (f"{resource}_id", f"merged_{resource}_id")
            conditions |= Q(
                Exists(accessible.filter(id=OuterRef(kept))), Exists(accessible.filter(id=OuterRef(merged)))
            )
        return self.filter(conditions)

    def accessible_to(self, user: User) -> Self:
        return self.limited_to(user.access)

    def active(self) -> Self:
        """Return the merges that were not undone."""
        return self.filter(undone_at=None)

    def of_kept(self, row: ExternallyIdentified) -> Self:
        """Return the merges of other rows into a row."""
        return self.filter(**{"account_id": row.account_id, f"{row._meta.model_name}_id": row.id})

    def of_merged(self, row: ExternallyIdentified) -> Self:
        """Return the merges of a row into other rows."""
        return self.filter(**{"account_id": row.account_id, f"merged_{row._meta.model_name}_id": row.id})

    @transaction.atomic(savepoint=False)
    def merge(
        self, account: Account, resource: str, kept_id: int, merged_id: int, choices: Mapping[str, Choice], *, by: User
    ) -> "Merge":
        """Merge one client or contact into another.

        `choices` tells, by the name of a field, whose value the kept row gets. Other fields keep their values, get the value of the merged
        row if they are blank, or get both values if those can be joined (`workspace.comparison`).

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
        values = chosen_values(kept, merged, fields, dict(choices))

        merge = self.model(account=account, user_id=by.id, **{f"{resource}_id": kept_id, field: merged_id})
        merge.save(force_insert=True)
        merge.move_rows()
        if isinstance(merged, Contact):
            merge.add_to_lists()
        merge.external_ids = sorted(merged.held_pairs)
        merged.trash(by=by)
        merge.write_values(kept, merged, values, by=by)
        merge.save(update_fields=["changes", "external_ids"])
        return cast(Merge, merge)

    def _check_live(
        self, account: Account, resource: str, id: int, row: ExternallyIdentified | None, field: str
    ) -> None:
        """Raise FieldError if there is no such row, or if it is in the trash."""
        if row is None:
            raise FieldError(field, _("can't be found"), "missing")
        if row.trashed_at is None:
            return
        merge = self.of_merged(row).active().first()
        if merge is not None:
            params = {"id": merge.kept_id}
            raise FieldError(field, ALREADY_MERGED[resource], "merged", params)
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

    @property
    def rows(self) -> "QuerySet[MergedRow]":
        return MergedRow.objects.filter(account_id=self.account_id, merge_id=self.id)

    # Merging

    def move_rows(self) -> None:
        """Link the rows of the merged row to the kept row, and record them."""
        votes = VOTES[self.resource]
        parameters = self._parameters | {"votes": votes.name}
        with connection.cursor() as cursor:
            # Of two votes for one post, keep the one that is not a copy: undoing the merge of the posts deletes copies.
            cursor.execute(
                f"""
                WITH pair AS (
                    SELECT CASE WHEN kept.from_post_id IS NOT NULL AND merged.from_post_id IS NULL THEN kept.id
                        ELSE merged.id END AS id
                    FROM {votes.table} AS kept JOIN {votes.table} AS merged USING (account_id, post_id)
                    WHERE account_id = %(account)s AND kept.{votes.column} = %(kept)s
                        AND merged.{votes.column} = %(merged)s
                ), deleted AS (
                    DELETE FROM {votes.table} AS vote USING pair
                    WHERE vote.account_id = %(account)s AND vote.id = pair.id RETURNING vote.*
                )
                INSERT INTO workspace_mergedrow (account_id, merge_id, link, row_id, deleted)
                SELECT %(account)s, %(merge)s, %(votes)s, id, to_jsonb(deleted) FROM deleted
                """,  # noqa: S608
                parameters,
            )
            for link in LINKS[self.resource]:
                cursor.execute(
                    f"""
                    WITH moved AS (
                        UPDATE {link.table} SET {link.column} = %(kept)s
                        WHERE account_id = %(account)s AND {link.column} = %(merged)s RETURNING id
                    )
                    INSERT INTO workspace_mergedrow (account_id, merge_id, link, row_id)
                    SELECT %(account)s, %(merge)s, %(link)s, id FROM moved
                    """,  # noqa: S608
                    parameters | {"link": link.name},
                )

    def add_to_lists(self) -> None:
        """Add the kept contact to the contact lists of the merged one."""
        with connection.cursor() as cursor:
            cursor.execute(
                """
                WITH added AS (
                    INSERT INTO crm_contactlistmembership (account_id, contact_id, contact_list_id)
                    SELECT account_id, %(kept)s, contact_list_id FROM crm_contactlistmembership
                    WHERE account_id = %(account)s AND contact_id = %(merged)s
                    ON CONFLICT DO NOTHING RETURNING contact_list_id
                )
                INSERT INTO workspace_mergedrow (account_id, merge_id, link, row_id)
                SELECT %(account)s, %(merge)s, %(link)s, contact_list_id FROM added RETURNING row_id
                """,
                self._parameters | {"link": MEMBERSHIP},
            )
            list_ids = [list_id for (list_id,) in cursor.fetchall()]
        ContactListCount.change(self.account_id, dict.fromkeys(list_ids, 1))

    def write_values(
        self, kept: ExternallyIdentified, merged: ExternallyIdentified, values: Mapping[str, Any], *, by: User
    ) -> None:
        """Write the chosen values and the external ids to the kept row, and record the changes."""
        companions = [(name, each) for name in COMPANIONS if name in values for each in COMPANIONS[name]]
        before = {name: stored(field.value_of(kept)) for name, (field, _value) in values.items()}
        before |= {each: stored(getattr(kept, each)) for _name, each in companions}
        assigned: dict[str, Any] = {}
        for name, (field, value) in values.items():
            if field.key:
                assigned.setdefault("additional_fields", {})[field.key] = value
            else:
                assigned[name] = value if field.name != "tags" else value or []
        kept.assign(assigned, by=by)
        for _name, each in companions:
            # The answer was recorded when the merged row got it.
            setattr(kept, each, getattr(merged, each))
        add_pairs(kept, [(key, value) for key, value in self.external_ids])
        type(kept).flush([kept])
        for name, (field, _value) in values.items():
            self.changes[name] = {"before": before[name], "after": stored(field.value_of(kept))}
        for _name, each in companions:
            self.changes[each] = {"before": before[each], "after": stored(getattr(kept, each))}

    # Undoing

    @transaction.atomic(savepoint=False)
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
            further = Merge.objects.of_merged(kept).active().first()
            if further is not None:
                params = {"id": further.kept_id}
                raise FieldError(self.resource, MERGED_FURTHER[self.resource], "merged_further", params)
            raise FieldError(self.resource, _("is in the trash: restore it first"), "gone")
        others = list(Merge.objects.of_kept(kept).active().exclude(id=self.id).order_by("id"))
        self._move_back(others)
        if isinstance(kept, Contact):
            self._leave_lists(others)
        self._restore_values(kept, others, by=by)
        remove_pairs(kept, [(key, value) for key, value in self.external_ids])
        type(kept).flush([kept])
        self.undone_at = self.updated_at = timezone.now()
        self.undone_by_id = by.id
        self.save(update_fields=["undone_at", "undone_by_id", "updated_at", "unrestored_fields"])
        merged.restore()

    def _move_back(self, others: "list[Merge]") -> None:
        """Link the rows that are still linked to the kept row to the merged row again."""
        votes = VOTES[self.resource]
        with connection.cursor() as cursor:
            for link in LINKS[self.resource]:
                returned = "linked.post_id" if link == votes else "NULL"
                cursor.execute(
                    f"""
                    UPDATE {link.table} AS linked SET {link.column} = %(merged)s FROM workspace_mergedrow AS moved
                    WHERE moved.account_id = %(account)s AND moved.merge_id = %(merge)s AND moved.link = %(link)s
                        AND moved.deleted IS NULL AND linked.account_id = moved.account_id
                        AND linked.id = moved.row_id AND linked.{link.column} = %(kept)s
                    RETURNING {returned}
                    """,  # noqa: S608
                    self._parameters | {"link": link.name},
                )
                if link == votes:
                    post_ids = [post_id for (post_id,) in cursor.fetchall()]
            self._insert_votes(cursor, "rows.merge_id = %(merge)s", {"merge": self.id})
            if post_ids and others:
                # The vote of the kept row for such a post was that of the merged row. Another merged row may have voted for it too.
                inserted = self._insert_votes(
                    cursor,
                    "rows.merge_id = ANY(%(others)s) AND vote.post_id = ANY(%(posts)s)",
                    {"others": [merge.id for merge in others], "posts": post_ids},
                    voter_id=self.kept_id,
                )
                MergedRow.objects.filter(
                    account_id=self.account_id, merge_id__in=[merge.id for merge in others], row_id__in=inserted
                ).filter(link=votes.name).update(deleted=None)
            if post_ids:
                self._move_copies(cursor, post_ids)

    def _insert_votes(
        self, cursor: Any, condition: str, parameters: dict[str, Any], *, voter_id: int | None = None
    ) -> list[int]:
        """Insert recorded votes again, and return their ids.

        `voter_id` replaces the voter. A vote is left out if its post was erased, or if it was the copy of a vote for a post that is not
        merged any more.
        """
        votes = VOTES[self.resource]
        columns = ", ".join(
            f"coalesce(%(voter)s, vote.{name})" if name == votes.column else f"vote.{name}"
            for name in VOTE_COLUMNS.split(", ")
        )
        cursor.execute(
            f"""
            INSERT INTO {votes.table} ({VOTE_COLUMNS})
            SELECT {columns} FROM workspace_mergedrow AS rows
            CROSS JOIN LATERAL jsonb_populate_record(NULL::{votes.table}, rows.deleted) AS vote
            JOIN forum_post AS post ON post.account_id = vote.account_id AND post.id = vote.post_id
            LEFT JOIN forum_post AS source ON source.account_id = vote.account_id AND source.id = vote.from_post_id
            WHERE rows.account_id = %(account)s AND rows.link = %(link)s AND rows.deleted IS NOT NULL AND {condition}
                AND (vote.from_post_id IS NULL OR source.duplicate_from_id = vote.post_id)
            ORDER BY rows.merge_id, rows.row_id
            ON CONFLICT DO NOTHING RETURNING id
            """,  # noqa: S608
            self._parameters | {"link": votes.name, "voter": voter_id} | parameters,
        )
        return [id for (id,) in cursor.fetchall()]

    def _move_copies(self, cursor: Any, post_ids: list[int]) -> None:
        """Give the merged row the copies of its votes, which were made when the posts were merged after this merge."""
        votes = VOTES[self.resource]
        cursor.execute(
            f"""
            WITH RECURSIVE copies AS (
                SELECT id, post_id FROM {votes.table} AS vote
                WHERE account_id = %(account)s AND {votes.column} = %(kept)s AND from_post_id = ANY(%(posts)s)
                    AND NOT EXISTS (
                        SELECT FROM {votes.table} AS own WHERE own.account_id = vote.account_id
                            AND own.{votes.column} = %(kept)s AND own.post_id = vote.from_post_id
                    )
                UNION
                SELECT vote.id, vote.post_id FROM copies JOIN {votes.table} AS vote ON vote.from_post_id = copies.post_id
                WHERE vote.account_id = %(account)s AND vote.{votes.column} = %(kept)s
            )
            UPDATE {votes.table} AS vote SET {votes.column} = %(merged)s FROM copies
            WHERE vote.account_id = %(account)s AND vote.id = copies.id AND NOT EXISTS (
                SELECT FROM {votes.table} AS own WHERE own.account_id = %(account)s
                    AND own.{votes.column} = %(merged)s AND own.post_id = vote.post_id
            )
            """,  # noqa: S608
            self._parameters | {"posts": post_ids},
        )

    def _leave_lists(self, others: "list[Merge]") -> None:
        """Take the kept contact off the lists that it got with the merge.

        The merged contact stays only in lists in which the kept contact still is: taking the kept contact off a list was meant for both.
        A list of another merged contact passes to the record of that merge.
        """
        memberships = ContactListMembership.objects.filter(account_id=self.account_id)
        own = memberships.filter(contact_id=self.kept_id)
        memberships.filter(contact_id=self.merged_id).exclude(
            contact_list_id__in=own.values("contact_list_id")
        ).delete()
        added = set(self.rows.filter(link=MEMBERSHIP).values_list("row_id", flat=True))
        added &= set(own.filter(contact_list_id__in=added).values_list("contact_list_id", flat=True))
        if added and others:
            merges = {merge.merged_id: merge for merge in others}
            pairs = memberships.filter(contact_id__in=merges, contact_list_id__in=added).order_by("contact_id")
            owners = {list_id: merges[id] for id, list_id in pairs.values_list("contact_id", "contact_list_id")}
            MergedRow.objects.bulk_create(
                MergedRow(account_id=self.account_id, merge_id=merge.id, link=MEMBERSHIP, row_id=list_id)
                for list_id, merge in owners.items()
            )
            added -= owners.keys()
        if added:
            own.filter(contact_list_id__in=added).delete()
            ContactListCount.change(self.account_id, dict.fromkeys(added, -1))

    def _restore_values(self, kept: ExternallyIdentified, others: "list[Merge]", *, by: User) -> None:
        """Assign the former values of the fields that nobody has changed since."""
        columns: dict[str, Any] = {}
        fields: dict[str, Any] = {}
        self.unrestored_fields, rewritten = [], set()
        for name, change in self.changes.items():
            key = key_in(name)
            current = kept.additional_fields.get(key) if key is not None else getattr(kept, name)  # type: ignore[attr-defined]
            if name == "tags":
                columns["tags"] = without_added(kept.tags, change)  # type: ignore[attr-defined]
                continue
            later = next((m for m in others if m.id > self.id and name in m.changes), None)
            if later is not None and later.changes[name]["before"] == change["after"]:
                # The value belongs to a later merge now, whose undo restores the value from before both merges.
                later.changes[name] = {**later.changes[name], "before": change["before"]}
                rewritten.add(later)
                continue
            if stored(current) != change["after"]:
                self.unrestored_fields.append(name)
            elif key is not None:
                fields[key] = change["before"]
            else:
                columns[name] = kept._meta.get_field(name).to_python(change["before"])
        for name in TARGETS.keys() & columns.keys():
            self._check_target(name, columns)
        for merge in rewritten:
            merge.save(update_fields=["changes"])
        companions = {name: columns.pop(name) for names in COMPANIONS.values() for name in names if name in columns}
        kept.assign({**columns, **({"additional_fields": fields} if fields else {})}, by=by)
        for name, value in companions.items():
            setattr(kept, name, value)
        kept.unsaved_fields |= companions.keys()

    def _check_target(self, name: str, columns: dict[str, Any]) -> None:
        """Leave the field out if the row to which it linked was erased. The link to a row in the trash is pending."""
        id = columns[name]
        if id is None:
            return
        rows: QuerySet[Any] = getattr(self.account, TARGETS[name]).filter(id=id)
        is_trashable = name in ("client_id", "contact_id")
        found = rows.values_list("trashed_at" if is_trashable else "id", flat=True)[:1]
        if not found:
            self.unrestored_fields.append(name)
            del columns[name]
        elif is_trashable and found[0] is not None:
            columns[name] = TrashedId(id)

    @property
    def _parameters(self) -> dict[str, Any]:
        return {"account": self.account_id, "merge": self.id, "kept": self.kept_id, "merged": self.merged_id}


class MergedRow(models.Model):
    """A row that a merge moved from the merged row to the kept one."""

    pk = models.CompositePrimaryKey("account_id", "merge_id", "link", "row_id")
    account = models.ForeignKey(Account, models.CASCADE, related_name="+", db_index=False)
    merge_id = models.BigIntegerField()
    # The table and the column, as `Link.name`; or `MEMBERSHIP`.
    link = models.CharField(max_length=255)
    # The id of the row, or of the contact list. The row may have been erased since.
    row_id = models.BigIntegerField()
    # The values of a vote that was deleted because both rows had voted for the post.
    deleted = models.JSONField(null=True)


def lock_rows(account: Account, resource: str, *ids: int, access: Access | None = None) -> list[ExternallyIdentified]:
    """Lock and return the rows with these ids, in the order of their ids. With an access, only accessible rows are returned."""
    rows: LimitedQuerySet[Any] = MODELS[resource]._default_manager.filter(account_id=account.id, id__in=ids)  # type: ignore[assignment]
    if access is not None:
        rows = rows.limited_to(access)
    return list(rows.order_by("id").locked())


def check_number(account: Account, resource: str, merged: ExternallyIdentified) -> None:
    """Raise FieldError if more than `MAX_MOVED_ROWS` rows are linked to the row."""
    limit = MAX_MOVED_ROWS + 1
    parts = " UNION ALL ".join(
        f"(SELECT FROM {link.table} WHERE account_id = %(account)s AND {link.column} = %(id)s LIMIT {limit})"
        for link in LINKS[resource]
    )
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT count(*) FROM ({parts}) AS linked", {"account": account.id, "id": merged.id})
        [number] = cursor.fetchone()
    if number > MAX_MOVED_ROWS:
        message = _("has too many linked rows to be merged (maximum is {most}): merge the other way round")
        raise FieldError(f"merged_{resource}_id", message, "too_many", {"most": MAX_MOVED_ROWS})


def stored(value: Any) -> Any:
    """Return the form in which a value is recorded in `Merge.changes`."""
    return value.isoformat() if isinstance(value, datetime | date) else value


def without_added(tags: list[str], change: dict[str, Any]) -> list[str]:
    """Return the tags without those that the merge added, and with those that it removed."""
    added = set(change["after"]).difference(change["before"])
    removed = [tag for tag in change["before"] if tag not in change["after"]]
    return list(dict.fromkeys([*(tag for tag in tags if tag not in added), *removed]))


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


def refuse_restore(*, row: ExternallyIdentified, **_options: object) -> None:
    """Raise FieldError if the row is in the trash because it was merged: undoing the merge restores it with its linked rows."""
    merge = Merge.objects.of_merged(row).active().first()
    if merge is not None:
        resource = merge.resource
        raise FieldError(resource, NOT_RESTORABLE[resource], "merged", {"id": merge.kept_id})
