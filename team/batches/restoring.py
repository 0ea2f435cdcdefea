"""Giving rows the values back that they had before a change.

Bulk changes, imports and merges record the values of the changed fields before and after, by name. A field is given its former value only if
it still has the value after the change. Of tags and contact lists, those that the change added are removed and those that it removed
are added, and others stay.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import Any, NamedTuple

from django.db.models import Field, Model, TextChoices
from django.utils.translation import gettext_lazy as _

from accounts.account.models import Account
from accounts.users.models import User
from core.api.fields import TagsField
from core.db.tenancy import fold
from core.rows.additional_fields import to_json_value
from core.rows.declared import RowId, declared_columns
from core.rows.trash import Trashable, TrashedId
from crm.resources.models import CRMResource

# Fields that describe the change of another one, and are restored with it.
COMPANIONS = {
    "consent": ("consent_at", "consent_by_id"),
    "do_not_contact": ("do_not_contact_at", "do_not_contact_by_id"),
}
# The columns of posts that are restored, besides `POST_LINKS`. Other models declare theirs.
POST_COLUMNS = frozenset(
    [
        "title",
        "content",
        "kind",
        "task_kind",
        "private",
        "approved",
        "closed",
        "priority",
        "scheduled_at",
        "tags",
        "response",
        "additional_fields",
        "forum_id",
    ]
)
# The related names of the rows to which the columns of posts link.
POST_LINKS = {
    "status_id": "statuses",
    "category_id": "categories",
    "responsible_id": "users",
    "client_id": "clients",
    "contact_id": "contacts",
    "deal_id": "deals",
}
CONTACT_LISTS = "contact_list_ids"
# Votes and comments that were added to a post: `added_voters[12]` is the vote of a user, `added_comments[34]` a comment.
ADDED_VOTERS, ADDED_COMMENTS = ADDED_TO_POSTS = ("added_voters", "added_comments")


class Kept(TextChoices):
    """The reason why a field keeps its value."""

    CHANGED_SINCE = "changed_since", _("was changed by somebody since")
    VALUE_GONE = "value_gone", _("had a value that no longer exists")
    TOO_MANY_TAGS = "too_many_tags", _("would have too many tags")


class RowChange(NamedTuple):
    """A locked row with the values of the changed fields before and after the change, as `values_of` returns them."""

    row: Any
    before: Mapping[str, Any]
    after: Mapping[str, Any]


@dataclass
class Restoration:
    """The values to assign to a row, and the reasons for the fields that keep their value, by name."""

    row: Any
    values: dict[str, Any] = field(default_factory=dict)
    kept: dict[str, Kept] = field(default_factory=dict)


@lru_cache(maxsize=1000)
def split_name(name: str) -> tuple[str, str]:
    """Return the column and the key of a name such as `additional_fields[size]`. Other names have no key."""
    column, bracket, key = name.partition("[")
    return (column, key[:-1]) if bracket else (name, "")


def values_of(row: object, names: Iterable[str]) -> dict[str, Any]:
    """Return the values of fields as they are recorded. A name such as `additional_fields[size]` is that of a key."""
    return {name: _value_of(row, name) for name in names}


def _value_of(row: object, name: str) -> Any:
    column, key = split_name(name)
    value = getattr(row, column)
    if key:
        return value.get(key)
    return list(value) if isinstance(value, list) else to_json_value(value)


def restorations(account: Account, changes: Sequence[RowChange]) -> list[Restoration]:
    """Return what gives the rows, which are of one model, their former values. It takes one statement for each kind of linked rows."""
    links = _links_of(type(changes[0].row)) if changes else {}
    known = _find_linked(account, changes, links)
    found = []
    for change in changes:
        restoration = Restoration(change.row)
        for name in change.before:
            _restore(restoration, name, change, links, known)
        for name, companions in COMPANIONS.items():
            if name not in restoration.values:
                for companion in companions:
                    restoration.values.pop(companion, None)
                    restoration.kept.pop(companion, None)
        found.append(restoration)
    return found


def _restore(
    restoration: Restoration,
    name: str,
    change: RowChange,
    links: Mapping[str, str],
    known: Mapping[str, dict[int, bool]],
) -> None:
    row, before, after = change.row, change.before[name], change.after[name]
    column, key = split_name(name)
    model: type[Model] = type(row)
    if column not in restorable_columns(model):
        # The rows of a batch may come from an archive of another installation.
        restoration.kept[name] = Kept.VALUE_GONE
        return
    if column in ADDED_TO_POSTS:
        restoration.values.setdefault(column, []).append(int(key))
        return
    current = _value_of(row, name)
    if name == "tags":
        value = _restored_tags(current, before, after)
        if value == current:
            restoration.kept[name] = Kept.CHANGED_SINCE
        elif has_too_many_tags(value):
            restoration.kept[name] = Kept.TOO_MANY_TAGS
        else:
            restoration.values[name] = value
    elif name == CONTACT_LISTS:
        removed = set(before).difference(after)
        ids = {*current}.difference(set(after).difference(before)) | {
            id for id in removed if id in known["contact_lists"]
        }
        if ids == {*current}:
            restoration.kept[name] = Kept.VALUE_GONE if removed - {*current} else Kept.CHANGED_SINCE
        else:
            restoration.values[name] = sorted(ids)
    elif current != after:
        restoration.kept[name] = Kept.CHANGED_SINCE
    elif name in links and before is not None and before not in known[links[name]]:
        restoration.kept[name] = Kept.VALUE_GONE
    elif key:
        restoration.values.setdefault(column, {})[key] = before
    elif name in links:
        # The link to a row in the trash is pending.
        restoration.values[name] = TrashedId(before) if before is not None and known[links[name]][before] else before
    else:
        column_field: Field[Any, Any] = row._meta.get_field(name)
        restoration.values[name] = column_field.to_python(before)


@cache
def restorable_columns(model: type[Model]) -> frozenset[str]:
    """Return the columns that a batch can change, and so restore."""
    if not issubclass(model, CRMResource):
        return POST_COLUMNS | POST_LINKS.keys() | set(ADDED_TO_POSTS)
    declared = {column.name for columns in declared_columns(model) for column in columns if column.editable}
    companions = {name for names in COMPANIONS.values() for name in names}
    return frozenset({*declared, *companions, CONTACT_LISTS, "additional_fields", "external_ids"})


def _links_of(model: type[Any]) -> dict[str, str]:
    """Return the related names of the rows to which the columns of a model link."""
    declared = {
        column.name: column.relation for column in model._meta.fields if isinstance(column, RowId) and column.relation
    }
    return declared if issubclass(model, CRMResource) else POST_LINKS


def _find_linked(
    account: Account, changes: Sequence[RowChange], links: Mapping[str, str]
) -> dict[str, dict[int, bool]]:
    """Return, by related name, the former links that still exist, each with whether the row is in the trash."""
    ids: dict[str, set[int]] = defaultdict(set)
    for change in changes:
        for name in links.keys() & change.before.keys():
            if change.before[name] is not None:
                ids[links[name]].add(change.before[name])
        if CONTACT_LISTS in change.before:
            ids["contact_lists"].update(set(change.before[CONTACT_LISTS]).difference(change.after[CONTACT_LISTS]))
    known: dict[str, dict[int, bool]] = {relation: {} for relation in (*links.values(), "contact_lists")}
    for relation, wanted in ids.items():
        rows = getattr(account, relation).filter(id__in=wanted)
        if not issubclass(rows.model, Trashable):
            known[relation] = dict.fromkeys(rows.values_list("id", flat=True), False)
        elif relation == "contact_lists":
            known[relation] = dict.fromkeys(rows.live().values_list("id", flat=True), False)
        else:
            known[relation] = {id: at is not None for id, at in rows.values_list("id", "trashed_at")}
    return known


def has_tag(names: Iterable[str], name: str) -> bool:
    return fold(name) in map(fold, names)


def has_too_many_tags(names: Iterable[str]) -> bool:
    return len({fold(name) for name in names}) > TagsField.MAX_TAGS


def _restored_tags(current: list[str], before: list[str], after: list[str]) -> list[str]:
    """Return the tags without those that the change added, and with those that it removed."""
    if current == after:
        return before
    added = [name for name in after if not has_tag(before, name)]
    missing = [name for name in before if not has_tag([*after, *current], name)]
    return [name for name in current if not has_tag(added, name)] + missing


def assign_restored(restoration: Restoration, *, by: User) -> None:
    """Assign the values to a row of the CRM, without writing them."""
    row, values = restoration.row, dict(restoration.values)
    companions = {name: values.pop(name) for names in COMPANIONS.values() for name in names if name in values}
    row.assign(values, by=by)
    for name, value in companions.items():
        setattr(row, name, value)
    row.unsaved_fields |= companions.keys()
