"""The lookup of rows that the input of a write names by something other than an id of the account: by external ids or an e-mail."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from typing import Any, TypeVar

from accounts.models import Account, User
from core.api.fields import ReferenceMixin
from core.db.tenancy import next_ids
from core.errors import ConcurrentUpdate
from crm.api.fields import ExternalIds
from crm.base import Resource
from crm.external_ids import ExternallyIdentified, Pair
from crm.models import Client, ClientQuerySet, email_key

ResourceT = TypeVar("ResourceT", bound=Resource)


class Lookup:
    """A lookup in the database.

    An `optimistic` one skips the holders of a new row's external ids, which the insert checks, and sets `skipped_lookup`.
    """

    def __init__(self, account: Account, *, optimistic: bool = False):
        self.account = account
        self.optimistic = optimistic
        self.skipped_lookup = False

    def holders(self, model: type[ExternallyIdentified], pairs: Mapping[str, str]) -> dict[Pair, int]:
        """Return the ids of the holders, by pair."""
        return model.holders(self.account.id, pairs.items())

    def label_of(self, id: int) -> int | str:
        """Return the label of a holder in error messages: its id."""
        return id

    def client(self, id: int) -> Client | None:
        """Return the client, locked; None if it is in the trash."""
        return self.account.clients.live().locked().filter(id=id).first()

    def new(self, model: type[ResourceT]) -> ResourceT:
        return model(account=self.account)


class BulkLookup(Lookup):
    """A lookup for the items of a bulk request: the database is read once for all items.

    `assign` updates it with the values of each item. So each item is validated as if the items before it had been written already.
    """

    def __init__(self, account: Account, *, max_new: int):
        super().__init__(account)
        # The ids that the items name and that exist, by field.
        self.found: dict[str, Mapping[int, int]] = {}
        self._ids = iter(next_ids(account.id, max_new))
        self._holders: dict[type[ExternallyIdentified], dict[Pair, int]] = defaultdict(dict)
        # The locked and the new rows of all kinds: the resources of an account share one sequence of ids.
        self._rows: dict[int, Any] = {}
        # By `email_key`: the oldest client with the e-mail, and the clients that had it before an item changed theirs.
        self._oldest_by_email: dict[str, int] = {}
        self._former_holders: dict[str, set[int]] = defaultdict(set)
        # The e-mails whose oldest client gave them up. The next oldest is looked up when an item needs it.
        self._stale_emails: set[str] = set()
        # The positions of the items that create a row, by its id, where one error keeps all rows from being created.
        self._item_positions: dict[int, int] = {}

    def look_up_links(self, fields: Mapping[str, Any], bodies: Collection[dict[str, Any]]) -> None:
        """Look up the ids that the bodies name."""
        for name, field in fields.items():
            if isinstance(field, ReferenceMixin):
                ids: set[int] = set().union(*(field.ids_in(body.get(name)) for body in bodies))
                self.found[name] = field.look_up(self.account, ids)

    def look_up_holders(self, model: type[ExternallyIdentified], bodies: Iterable[dict[str, Any]]) -> None:
        """Look up the holders of the external ids that the bodies name."""
        pairs = {pair for body in bodies for pair in ExternalIds.valid_pairs(body.get("external_ids")).items()}
        self._holders[model] |= model.holders(self.account.id, pairs)

    def lock_clients(self, rows: ClientQuerySet, bodies: Collection[dict[str, Any]], *, by_email: bool = False) -> None:
        """Lock the clients that hold an external id of the bodies and, `by_email`, the oldest ones with their e-mails.

        Call `look_up_holders` first. Raise ConcurrentUpdate if a client changed between its lookup and its lock.
        """
        self._clients, held = rows, self._holders[Client]
        pairs = [pair for body in bodies for pair in ExternalIds.valid_pairs(body.get("external_ids")).items()]
        holding = {pair: held[pair] for pair in pairs if pair in held}
        if by_email and (keys := {key for body in bodies if (key := email_key(body.get("email")))}):
            self._oldest_by_email = rows.oldest_by_email(self.account.id, keys)
        ids = {*holding.values(), *self._oldest_by_email.values()}
        locked = {row.id: row for row in rows.locked().filter(id__in=ids).order_by("id")} if ids else {}
        if (
            locked.keys() != ids
            or any(pair not in locked[id].external_ids.items() for pair, id in holding.items())
            or any(locked[id].email_key != key for key, id in self._oldest_by_email.items())
        ):
            raise ConcurrentUpdate("A client changed meanwhile")
        self._rows |= locked

    def find_existing(self, *, email: Any, external_ids: dict[str, str]) -> Client | None:
        """Return the client as `ClientQuerySet.find_existing` does. Call `lock_clients` first."""
        holder_id = Client.single_holder(self.holders(Client, external_ids).values(), self.label_of)
        if holder_id is None and (key := email_key(email)):
            if key in self._stale_emails:
                self._stale_emails.discard(key)
                others = self._clients.locked().filter(email_key=key).exclude(id__in=self._former_holders[key])
                other = others.order_by("id").first()
                if other is not None:
                    self._rows.setdefault(other.id, other)
                    self._oldest_by_email[key] = min(other.id, self._oldest_by_email.get(key, other.id))
            holder_id = self._oldest_by_email.get(key)
        return None if holder_id is None else self._rows.get(holder_id)

    def holders(self, model: type[ExternallyIdentified], pairs: Mapping[str, str]) -> dict[Pair, int]:
        held = self._holders[model]
        return {pair: held[pair] for pair in pairs.items() if pair in held}

    def label_of(self, id: int) -> int | str:
        """Return the label of a holder in error messages: its id, or the item if the row is created only without errors."""
        return f"item {self._item_positions[id]}" if id in self._item_positions else id

    def client(self, id: int) -> Client | None:
        return self._rows.get(id)

    def new(self, model: type[ResourceT]) -> ResourceT:
        return model(account=self.account, id=next(self._ids))

    def assign(self, row: Resource, values: dict[str, Any], *, by: User, item: int | None = None) -> None:
        """Assign the values of an item to its row, for the items after it to see.

        `item` is the position of the item, where one error keeps all rows from being created.
        """
        touched: list[Any] = [row, *(client for client, _ in filter(None, [values.get("client")]))]
        before = [(getattr(each, "external_ids", {}), email_key(getattr(each, "email", None))) for each in touched]
        row.assign(values, by=by)
        for each, (old_pairs, old_key) in zip(touched, before, strict=True):
            self._rows[each.id] = each
            if item is not None and each._state.adding:
                self._item_positions.setdefault(each.id, item)
            if isinstance(each, ExternallyIdentified):
                held = self._holders[type(each)]
                for pair in old_pairs.items() - each.external_ids.items():
                    held.pop(pair, None)
                held |= dict.fromkeys(each.external_ids.items(), each.id)
            if isinstance(each, Client) and (new_key := email_key(each.email)) != old_key:
                if old_key:
                    self._former_holders[old_key].add(each.id)
                if old_key and self._oldest_by_email.get(old_key) == each.id:
                    del self._oldest_by_email[old_key]
                    self._stale_emails.add(old_key)
                if new_key:
                    self._oldest_by_email[new_key] = min(each.id, self._oldest_by_email.get(new_key, each.id))
