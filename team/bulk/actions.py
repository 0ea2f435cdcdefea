"""The actions of bulk changes: what each does to rows, and how it is undone.

An action gets locked rows of one account. The number of statements does not depend on the number of rows, except for the trash.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from accounts.access.models import AccessQuerySet
from accounts.account.models import Account
from accounts.users.models import User
from core.api.fields import MISSING, TagsField
from core.db.tenancy import fold
from core.errors import FieldError, FieldErrors
from core.registry import registry
from core.rows.trash import TrashedId
from crm.clients.models import Client
from crm.contacts.models import Contact
from crm.deals.models import Deal
from crm.resources.api.views import read_values


class BulkResult:
    """The results of a bulk change, or of its undo, for a row."""

    PENDING = ""
    CHANGED = "changed"
    # The row had the value already.
    UNCHANGED = "unchanged"
    # Undo gave the row its previous value back.
    RESTORED = "restored"
    # The other results leave the row alone.
    IN_TRASH = "in_trash"
    NOT_FOUND = "not_found"
    TOO_MANY_TAGS = "too_many_tags"
    CHANGED_SINCE = "changed_since"
    VALUE_GONE = "value_gone"

    LABELS: Mapping[str, str | Promise] = {
        IN_TRASH: _("is in the trash"),
        NOT_FOUND: _("no longer exists, or you may not see it"),
        TOO_MANY_TAGS: _("would have too many tags"),
        CHANGED_SINCE: _("was changed by somebody since"),
        VALUE_GONE: _("had a value that no longer exists"),
    }


@dataclass(frozen=True)
class Outcome:
    """The result for a row, with the values of the changed field before and after."""

    result: str
    before: object = None
    after: object = None


# The resources of which rows can be changed together, and their rows.
RESOURCES = ("client", "contact", "deal")
BulkRow = Client | Contact | Deal

# The stored outcome of a row, for undo: the row, and its values before and after the change.
Change = tuple[Any, Any, Any]


@dataclass(frozen=True)
class Action(ABC):
    """An action on the rows of these resources. `field` is the name of its value, or empty."""

    key: str
    label: str | Promise
    resources: tuple[str, ...]
    # The question whether to change `rows`, such as "5,000 clients", to `value`.
    question: str | Promise
    field: str = ""
    # True if the rows that undo finds are in the trash.
    is_trash: bool = False

    def read(self, data: Mapping[str, object], resource: str, account: Account, user: User) -> Any:
        """Return the valid value of `field` in `data`. Raise FieldErrors."""
        return read_value(self.field, data.get(self.field), resource, account, user)

    def prepare(self, rows: AccessQuerySet[BulkRow]) -> AccessQuerySet[BulkRow]:
        """Return the queryset with the annotations that the action needs."""
        return rows

    @abstractmethod
    def apply(self, rows: list[BulkRow], value: Any, *, by: User) -> dict[int, Outcome]:
        """Change the rows. Return the outcomes by the ids of the rows."""

    def undo(self, changes: list[Change], *, by: User) -> dict[int, str]:
        """Give rows their previous values back. Return the results by the ids of the rows."""
        results, restored, known = {}, [], self.find_known(changes) if changes else set()
        for change in changes:
            row, values = change[0], self.previous_values(change, known)
            if isinstance(values, str):
                results[row.id] = values
            else:
                row.assign(values, by=by)
                restored.append(row)
                results[row.id] = BulkResult.RESTORED
        flush(restored)
        return results

    def find_known(self, changes: list[Change]) -> set[int | None]:
        """Return which of the ids that undo assigns still exist."""
        return set()

    def previous_values(self, change: Change, known: set[int | None]) -> dict[str, object] | str:
        """Return what undo assigns to a row, or the result if it leaves the row alone."""
        raise NotImplementedError


def read_value(name: str, value: object, resource: str, account: Account, user: User) -> Any:
    """Return the value of a field as the JSON API reads it."""
    row: Any = registry[resource].model(account=account)
    return read_values(row, {name: value}, by=user, is_new=False)[name]


def flush(rows: list[Any]) -> None:
    if rows:
        type(rows[0]).flush(rows)


@dataclass(frozen=True)
class SetLink(Action):
    """An action that sets the id of a linked row, or null."""

    # The related name of the linked rows on the account.
    relation: str = ""

    def apply(self, rows: list[BulkRow], value: Any, *, by: User) -> dict[int, Outcome]:
        before = {row.id: getattr(row, self.field) for row in rows}
        changed = [row for row in rows if before[row.id] != value]
        for row in changed:
            row.assign({self.field: value}, by=by)
        flush(changed)
        outcomes = {row.id: Outcome(BulkResult.UNCHANGED) for row in rows}
        for row in changed:
            outcomes[row.id] = Outcome(BulkResult.CHANGED, before[row.id], getattr(row, self.field))
        return outcomes

    def find_known(self, changes: list[Change]) -> set[int | None]:
        ids = {before for _row, before, _after in changes if before is not None}
        rows = getattr(changes[0][0].account, self.relation).filter(id__in=ids) if ids else None
        return {None, *(rows.values_list("id", flat=True) if rows is not None else ())}

    def previous_values(self, change: Change, known: set[int | None]) -> dict[str, object] | str:
        row, before, after = change
        if getattr(row, self.field) != after:
            return BulkResult.CHANGED_SINCE
        return {self.field: before} if before in known else BulkResult.VALUE_GONE


def has_tag(names: Iterable[str], name: str) -> bool:
    return fold(name) in map(fold, names)


def has_too_many(names: Iterable[str]) -> bool:
    return len({fold(name) for name in names}) > TagsField.MAX_TAGS


@dataclass(frozen=True)
class ChangeTags(Action):
    """An action that adds tags to the rows, or removes tags from them."""

    removes: bool = False

    def read(self, data: Mapping[str, object], resource: str, account: Account, user: User) -> list[str]:
        names: list[str] = super().read(data, resource, account, user)
        if not names:
            raise FieldError(self.field, MISSING, "required")
        return names

    def apply(self, rows: list[BulkRow], value: list[str], *, by: User) -> dict[int, Outcome]:
        outcomes: dict[int, Outcome] = {}
        before, changed = {row.id: list(row.tags) for row in rows}, []
        for row in rows:
            if self.removes:
                names = [name for name in row.tags if not has_tag(value, name)]
            else:
                names = row.tags + [name for name in value if not has_tag(row.tags, name)]
            if names == row.tags:
                outcomes[row.id] = Outcome(BulkResult.UNCHANGED)
            elif has_too_many(names):
                outcomes[row.id] = Outcome(BulkResult.TOO_MANY_TAGS)
            else:
                row.assign({"tags": names}, by=by)
                changed.append(row)
        flush(changed)
        return outcomes | {row.id: Outcome(BulkResult.CHANGED, before[row.id], list(row.tags)) for row in changed}

    def previous_values(self, change: Change, known: set[int | None]) -> dict[str, object] | str:
        """Remove the tags that were added, and add those that were removed. Tags that others changed since stay as they are."""
        row, before, after = change
        names = before
        if row.tags != after:
            added = [name for name in after if not has_tag(before, name)]
            missing = [name for name in before if not has_tag([*after, *row.tags], name)]
            names = [name for name in row.tags if not has_tag(added, name)] + missing
        if names == row.tags:
            return BulkResult.CHANGED_SINCE
        return BulkResult.TOO_MANY_TAGS if has_too_many(names) else {"tags": names}


def memberships(row: Contact, list_id: int, removes: bool) -> dict[str, object]:
    others = [id for id in row.contact_list_ids if id != list_id]
    return {"contact_list_ids": others if removes else [*others, list_id]}


@dataclass(frozen=True)
class ChangeContactList(Action):
    """An action that adds contacts to a contact list, or takes them off it."""

    removes: bool = False

    def read(self, data: Mapping[str, object], resource: str, account: Account, user: User) -> int:
        id = data.get(self.field)
        if id is None or id == "":
            raise FieldError(self.field, MISSING, "required")
        try:
            [list_id] = read_value("contact_list_ids", [id], resource, account, user)
        except FieldErrors:
            list_id = None
        if list_id is None or isinstance(list_id, TrashedId):
            raise FieldError(self.field, _("can't be found"), "missing")
        return int(list_id)

    def prepare(self, rows: Any) -> AccessQuerySet[BulkRow]:
        found: AccessQuerySet[BulkRow] = rows.with_list_ids()
        return found

    def apply(self, rows: list[Any], value: int, *, by: User) -> dict[int, Outcome]:
        outcomes = {row.id: Outcome(BulkResult.UNCHANGED) for row in rows}
        changed = [row for row in rows if (value in row.contact_list_ids) == self.removes]
        for row in changed:
            row.assign(memberships(row, value, self.removes), by=by)
            outcomes[row.id] = Outcome(BulkResult.CHANGED, None, value)
        flush(changed)
        return outcomes

    def find_known(self, changes: list[Change]) -> set[int | None]:
        if not self.removes:
            return set()
        ids = {list_id for _row, _before, list_id in changes}
        lists = changes[0][0].account.contact_lists.live().filter(id__in=ids)
        return set(lists.values_list("id", flat=True))

    def previous_values(self, change: Change, known: set[int | None]) -> dict[str, object] | str:
        row, _before, after = change
        if (after in row.contact_list_ids) == self.removes:
            return BulkResult.CHANGED_SINCE
        if self.removes and after not in known:
            return BulkResult.VALUE_GONE
        return memberships(row, after, not self.removes)


@dataclass(frozen=True)
class Trash(Action):
    """The action that moves rows to the trash. Each row takes several statements."""

    is_trash: bool = True

    def read(self, data: Mapping[str, object], resource: str, account: Account, user: User) -> None:
        return None

    def apply(self, rows: list[Any], value: None, *, by: User) -> dict[int, Outcome]:
        if rows:
            type(rows[0]).trash_all(rows, by=by)
        return {row.id: Outcome(BulkResult.CHANGED, None, row.trashed_at.isoformat()) for row in rows}

    def undo(self, changes: list[Change], *, by: User) -> dict[int, str]:
        same = [row for row, _before, trashed_at in changes if row.trashed_at == datetime.fromisoformat(trashed_at)]
        if same:
            type(same[0]).restore_all(same)
        results = {row.id: BulkResult.CHANGED_SINCE for row, _before, _trashed_at in changes}
        return results | {row.id: BulkResult.RESTORED for row in same}


ACTIONS: dict[str, Action] = {
    action.key: action
    for action in (
        SetLink(
            "set_responsible",
            _("Change responsible"),
            RESOURCES,
            _("Change the responsible of %(rows)s to %(value)s?"),
            "responsible_id",
            relation="users",
        ),
        SetLink(
            "set_status",
            _("Change status"),
            ("client", "deal"),
            _("Change the status of %(rows)s to %(value)s?"),
            "status_id",
            relation="statuses",
        ),
        ChangeTags("add_tags", _("Add tags"), RESOURCES, _("Add the tags %(value)s to %(rows)s?"), "tags"),
        ChangeTags(
            "remove_tags",
            _("Remove tags"),
            RESOURCES,
            _("Remove the tags %(value)s from %(rows)s?"),
            "tags",
            removes=True,
        ),
        ChangeContactList(
            "add_to_contact_list",
            _("Add to a contact list"),
            ("contact",),
            _("Add %(rows)s to the contact list %(value)s?"),
            "contact_list_id",
        ),
        ChangeContactList(
            "remove_from_contact_list",
            _("Take off a contact list"),
            ("contact",),
            _("Take %(rows)s off the contact list %(value)s?"),
            "contact_list_id",
            removes=True,
        ),
        Trash("trash", _("Move to trash"), RESOURCES, _("Move %(rows)s to the trash?")),
    )
}
