"""The lookup of rows that the input of a write names by external ids instead of an id."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, TypeVar

from accounts.account.models import Account
from accounts.users.models import User
from core.api.fields import ReferenceMixin
from core.db.tenancy import next_ids
from core.errors import FieldErrors
from core.rows.access import Access
from crm.fields.models import FieldDefinition, definitions_of
from crm.resources.api.fields import ExternalIds
from crm.resources.external_ids import ExternallyIdentified, Pair
from crm.resources.models import CRMResource

ResourceT = TypeVar("ResourceT", bound=CRMResource)


class Lookup:
    """A lookup in the database.

    An `optimistic` lookup leaves out the holders of a new row's external ids, because the insert checks them, and sets `skipped_lookup`.
    """

    def __init__(self, account: Account, access: Access, *, optimistic: bool = False):
        self.account, self.access = account, access
        self.optimistic = optimistic
        self.skipped_lookup = False
        self._definitions: dict[str, dict[str, FieldDefinition]] = {}

    def definitions(self, resource: str) -> dict[str, FieldDefinition]:
        """Return the field definitions of a resource by key, in their order."""
        if resource not in self._definitions:
            rows = definitions_of(self.account, resource)
            self._definitions[resource] = {row.key: row for row in rows}
        return self._definitions[resource]

    def holders(self, model: type[ExternallyIdentified], pairs: Mapping[str, str]) -> dict[Pair, int]:
        """Return the ids of the holders, by pair."""
        return model.holders(self.account.id, pairs.items())

    def label_of(self, id: int) -> int | str:
        """Return the label of a holder in error messages: its id."""
        return id

    def check_accessible(self, model: type[ExternallyIdentified], holders: Mapping[Pair, int]) -> None:
        """Raise FieldErrors for the pairs whose holder the user may not access."""
        hidden_ids = model.hidden_ids(self.account.id, holders.values(), self.access)
        if errors := model.hidden_errors(holders, hidden_ids):
            raise FieldErrors(errors)

    def new(self, model: type[ResourceT]) -> ResourceT:
        return model(account=self.account)


class BulkLookup(Lookup):
    """A lookup for the items of a bulk request. It reads the database once for all items.

    `assign` adds the values of each item to the lookup. So each item is validated as if the items before it had been written already.
    """

    def __init__(self, account: Account, access: Access, *, max_new: int):
        super().__init__(account, access)
        # Those ids in the items that exist, by field.
        self.existing_ids: dict[str, Mapping[int, int]] = {}
        self._ids = iter(next_ids(account.id, max_new))
        # The ids of the holders that the user may not access.
        self._hidden_ids: set[int] = set()
        self._holders: dict[type[ExternallyIdentified], dict[Pair, int]] = defaultdict(dict)
        # The locked and the new rows of all kinds: the resources of an account share one sequence of ids.
        self._rows: dict[int, Any] = {}
        # The positions of the items that create a row, by the row's id. Empty if items are created in spite of errors in other items.
        self._item_positions: dict[int, int] = {}

    def look_up_links(self, fields: Mapping[str, Any], bodies: Collection[dict[str, object]]) -> None:
        """Look up the ids that the bodies name."""
        for name, field in fields.items():
            if isinstance(field, ReferenceMixin):
                ids: set[int] = set().union(*(field.ids_in(body.get(name)) for body in bodies))
                self.existing_ids[name] = field.look_up(self.account, ids, self.access)

    def look_up_holders(self, model: type[ExternallyIdentified], bodies: Iterable[dict[str, object]]) -> None:
        """Look up the holders of the external ids that the bodies name."""
        pairs = {pair for body in bodies for pair in ExternalIds.valid_pairs(body.get("external_ids")).items()}
        self._holders[model] |= model.holders(self.account.id, pairs)
        self._hidden_ids |= model.hidden_ids(self.account.id, self._holders[model].values(), self.access)

    def check_accessible(self, model: type[ExternallyIdentified], holders: Mapping[Pair, int]) -> None:
        if errors := model.hidden_errors(holders, self._hidden_ids):
            raise FieldErrors(errors)

    def holders(self, model: type[ExternallyIdentified], pairs: Mapping[str, str]) -> dict[Pair, int]:
        holders = self._holders[model]
        return {pair: holders[pair] for pair in pairs.items() if pair in holders}

    def label_of(self, id: int) -> int | str:
        """Return the label of a holder in error messages: its id, or its item if one error keeps all rows from being created."""
        return f"item {self._item_positions[id]}" if id in self._item_positions else id

    def new(self, model: type[ResourceT]) -> ResourceT:
        return model(account=self.account, id=next(self._ids))

    def assign(self, row: CRMResource, values: dict[str, Any], *, by: User, item: int | None = None) -> None:
        """Assign the values of an item to its row. Later items are validated with these values.

        `item` is the position of the item, if one error keeps all rows from being created, else None.
        """
        self.assign_all([row], lambda: row.assign(values, by=by), item=item)

    def assign_all(self, rows: list[Any], assign: Callable[[], None], *, item: int | None) -> None:
        """Call `assign`, which changes these rows, and add their new values to the lookup."""
        before = [getattr(row, "external_ids", {}) for row in rows]
        assign()
        for row, old_pairs in zip(rows, before, strict=True):
            self._rows[row.id] = row
            if item is not None and row._state.adding:
                self._item_positions.setdefault(row.id, item)
            if isinstance(row, ExternallyIdentified):
                holders = self._holders[type(row)]
                for pair in old_pairs.items() - row.external_ids.items():
                    holders.pop(pair, None)
                holders |= dict.fromkeys(row.external_ids.items(), row.id)
