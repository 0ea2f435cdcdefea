"""Duplicates: clients, or contacts, that have a key in common.

A follower of the change feed (`team.duplicates.jobs`) keeps the keys of all live rows, so every way of writing counts, and only one
transaction at a time changes the keys of an account. It marks a key that another row has too. The index of the marked keys, which nobody
has dismissed, has the groups of duplicates in order, so a page of them takes the same time in a list of any length.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

from django.db import connection, models
from django.db.models import Q

from accounts.account.models import Account
from accounts.users.models import User
from core.db import locks
from core.db.tenancy import foreign_object
from crm.clients.models import Client
from crm.contacts.models import Contact
from team.duplicates.keys import KeyKind, keys_of

# The groups of a page, and the rows that a group shows.
PAGE_SIZE, MAX_ROWS = 25, 6
# The rows of which a dismissal marks the key.
MAX_DISMISSED = 1_000
# The rows of which one step of a fill writes the keys.
FILL_SIZE = 500

Key = tuple[str, int]


class DuplicateKeyQuerySet(models.QuerySet[Any]):
    def open(self) -> "DuplicateKeyQuerySet":
        return self.filter(is_shared=True, is_dismissed=False)


class DuplicateKey(models.Model):
    """A key of a row. It is shared if another row has it too."""

    account = models.ForeignKey(Account, models.CASCADE, db_index=False, db_constraint=False)
    kind = models.CharField(max_length=255, choices=KeyKind.choices)
    # 64 bits of a digest of the value, which stays in the row itself.
    key = models.BigIntegerField()
    is_shared = models.BooleanField(default=False)
    # Somebody said that these rows are no duplicates. A further row with the key is shown with them again.
    is_dismissed = models.BooleanField(default=False)

    objects = DuplicateKeyQuerySet.as_manager()

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return f"{self.kind} of {self.pk}"


def key_indexes(resource: str) -> list[models.Index]:
    column = f"{resource}_id"
    return [
        models.Index(fields=["account", "kind", "key", "is_shared", column], name=f"{resource}key_by_key"),
        models.Index(
            fields=["account", "kind", "key"],
            name=f"{resource}key_open",
            condition=Q(is_shared=True, is_dismissed=False),
        ),
    ]


class ClientKey(DuplicateKey):
    pk = models.CompositePrimaryKey("account_id", "client_id", "kind", "key")
    client_id = models.BigIntegerField()
    client = foreign_object(Client, "client_id")

    class Meta:
        default_related_name = "client_keys"
        indexes = key_indexes("client")


class ContactKey(DuplicateKey):
    pk = models.CompositePrimaryKey("account_id", "contact_id", "kind", "key")
    contact_id = models.BigIntegerField()
    contact = foreign_object(Contact, "contact_id")

    class Meta:
        default_related_name = "contact_keys"
        indexes = key_indexes("contact")


MODELS: dict[str, tuple[type[Client | Contact], type[DuplicateKey]]] = {
    "client": (Client, ClientKey),
    "contact": (Contact, ContactKey),
}

# A key with another row becomes shared.
MARK = """
UPDATE {table} AS own SET is_shared = true FROM unnest(%(kinds)s::text[], %(keys)s::bigint[]) AS changed (kind, key)
WHERE own.account_id = %(account_id)s AND own.kind = changed.kind AND own.key = changed.key AND NOT own.is_shared AND EXISTS (
    SELECT FROM {table} AS other WHERE other.account_id = %(account_id)s AND other.kind = own.kind AND other.key = own.key
        AND other.{column} <> own.{column}
)
"""
# The last row with a key is not a duplicate any more. No more than two rows of a key are read.
UNMARK = """
UPDATE {table} AS own SET is_shared = false, is_dismissed = false
FROM unnest(%(kinds)s::text[], %(keys)s::bigint[]) AS changed (kind, key) CROSS JOIN LATERAL (
    SELECT count(*) AS number FROM (
        SELECT FROM {table} WHERE account_id = %(account_id)s AND kind = changed.kind AND key = changed.key LIMIT 2
    ) AS found
) AS counted
WHERE counted.number = 1 AND own.account_id = %(account_id)s AND own.kind = changed.kind AND own.key = changed.key AND own.is_shared
"""
# Each step finds the next key in the index of open ones, however many rows have it.
GROUPS = """
WITH RECURSIVE found AS (
    (SELECT kind, key, 1 AS number FROM {table}
     WHERE account_id = %(account_id)s AND is_shared AND NOT is_dismissed AND (kind, key) > (%(kind)s::text, %(key)s::bigint)
     ORDER BY kind, key LIMIT 1)
    UNION ALL
    SELECT following.kind, following.key, found.number + 1 FROM found CROSS JOIN LATERAL (
        SELECT kind, key FROM {table}
        WHERE account_id = %(account_id)s AND is_shared AND NOT is_dismissed AND (kind, key) > (found.kind, found.key)
        ORDER BY kind, key LIMIT 1
    ) AS following WHERE found.number < %(limit)s
)
SELECT kind, key FROM found ORDER BY kind, key
"""


def update_keys(account_id: int, resource: str, ids: Collection[int]) -> None:
    """Compare the keys of these rows with the stored ones, and write what differs. A row in the trash has none."""
    locks.acquire(("duplicate keys", account_id))
    model, key_model = MODELS[resource]
    column, account = f"{resource}_id", Account.objects.get(id=account_id)
    rows = model._default_manager.filter(account_id=account_id, id__in=list(ids), trashed_at=None)
    wanted = {(row.id, *key) for row in rows for key in keys_of(row, account)}
    keys = key_model._default_manager.filter(account_id=account_id, **{f"{column}__in": list(ids)})
    stored = set(keys.values_list(column, "kind", "key"))
    added, removed = wanted - stored, stored - wanted
    for id in {id for id, _kind, _key in removed}:
        gone = [Q(kind=kind, key=key) for row_id, kind, key in removed if row_id == id]
        keys.filter(Q(*gone, _connector=Q.OR), **{column: id}).delete()
    key_model._default_manager.bulk_create(
        [key_model(account_id=account_id, kind=kind, key=key, **{column: id}) for id, kind, key in sorted(added)],
        batch_size=1_000,
    )
    execute(MARK, account_id, resource, {key[1:] for key in added})
    execute(UNMARK, account_id, resource, {key[1:] for key in removed})


def execute(statement: str, account_id: int, resource: str, keys: Iterable[Key]) -> None:
    pairs = sorted(keys)
    if pairs:
        values: dict[str, Any] = {
            "account_id": account_id,
            "kinds": [kind for kind, _key in pairs],
            "keys": [key for _kind, key in pairs],
        }
        with connection.cursor() as cursor:
            cursor.execute(of_resource(statement, resource), values)


def of_resource(statement: str, resource: str) -> str:
    return statement.format(table=MODELS[resource][1]._meta.db_table, column=f"{resource}_id")


@dataclass(frozen=True)
class DuplicateGroup:
    """Rows with the same keys, as far as the user may access them, with the kinds of these keys."""

    keys: list[Key]
    rows: list[Any]

    @property
    def reasons(self) -> list[str]:
        return [kind for kind in KeyKind.values if kind in {kind for kind, _key in self.keys}]


def find_groups(
    account: Account, user: User, resource: str, *, after: Key | None = None
) -> tuple[list[DuplicateGroup], Key | None]:
    """Return a page of groups, and the key after which the next page begins, in three statements.

    Groups of which the user may access fewer than two rows are left out.
    """
    _model, key_model = MODELS[resource]
    column = f"{resource}_id"
    kind, key = after or ("", 0)
    values: dict[str, Any] = {"account_id": account.id, "kind": kind, "key": key, "limit": PAGE_SIZE + 1}
    with connection.cursor() as cursor:
        cursor.execute(of_resource(GROUPS, resource), values)
        found: list[Key] = cursor.fetchall()
    keys = found[:PAGE_SIZE]
    if not keys:
        return [], None
    accessible = getattr(account, f"{resource}s").live().accessible_to(user)
    branches = [
        key_model._default_manager.filter(
            account_id=account.id, kind=kind, key=key, **{f"{column}__in": accessible.values("id")}
        )
        .order_by(column)
        .values_list("kind", "key", column)[:MAX_ROWS]
        for kind, key in keys
    ]
    members: dict[Key, list[int]] = {}
    for kind, key, id in branches[0].union(*branches[1:], all=True):
        members.setdefault((kind, key), []).append(id)
    rows = {row.id: row for row in accessible.filter(id__in={id for ids in members.values() for id in ids})}
    groups: dict[tuple[int, ...], list[Key]] = {}
    for pair in keys:
        ids = tuple(sorted(id for id in members.get(pair, ()) if id in rows))
        if len(ids) > 1:
            groups.setdefault(ids, []).append(pair)
    following = keys[-1] if len(found) > PAGE_SIZE else None
    return [DuplicateGroup(pairs, [rows[id] for id in ids]) for ids, pairs in groups.items()], following


def dismiss(account: Account, user: User, resource: str, keys: Iterable[Key]) -> int:
    """Remember that the rows with these keys are no duplicates, as far as the user may access them. Return the number of keys of rows."""
    _model, key_model = MODELS[resource]
    column = f"{resource}_id"
    accessible = getattr(account, f"{resource}s").live().accessible_to(user)
    number = 0
    for kind, key in keys:
        rows = key_model._default_manager.filter(
            account_id=account.id, kind=kind, key=key, **{f"{column}__in": accessible.values("id")}
        )
        ids = list(rows.values_list(column, flat=True)[:MAX_DISMISSED])
        number += rows.filter(**{f"{column}__in": ids}).update(is_dismissed=True)
    return number


def keys_in_common(account: Account, resource: str, ids: Collection[int]) -> list[Key]:
    """Return the keys that two or more of these rows have."""
    _model, key_model = MODELS[resource]
    rows = key_model._default_manager.filter(account_id=account.id, **{f"{resource}_id__in": list(ids)}).order_by()
    pairs = rows.values("kind", "key").annotate(number=models.Count("*")).filter(number__gt=1)
    return list(pairs.values_list("kind", "key"))


def fill(account_id: int, resource: str, *, after: int = 0) -> int | None:
    """Write the keys of the next rows of an account. Return the id of the last one, or None if there are no more."""
    model, _key_model = MODELS[resource]
    rows = model._default_manager.filter(account_id=account_id, id__gt=after).order_by("id")
    ids = list(rows.values_list("id", flat=True)[:FILL_SIZE])
    if ids:
        update_keys(account_id, resource, ids)
    return ids[-1] if len(ids) == FILL_SIZE else None


def fill_all(account_id: int) -> None:
    """Write the keys of all rows of an account."""
    for resource in MODELS:
        after: int | None = 0
        while after is not None:
            after = fill(account_id, resource, after=after)


def read_key(text: str) -> Key | None:
    """Return the key of an address or a form, such as `email:12`, or None."""
    kind, _separator, number = text.partition(":")
    try:
        key = int(number)
    except ValueError:
        return None
    is_number = -(2**63) <= key < 2**63 and len(number) <= 20
    return (kind, key) if kind in KeyKind.values and is_number else None


def key_text(key: Key) -> str:
    return f"{key[0]}:{key[1]}"
