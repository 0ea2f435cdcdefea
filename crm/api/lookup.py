"""What the bodies of writes name besides ids of the account's things: who holds external ids, which client is meant."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from accounts.models import Account, User
from core.api.fields import ReferenceMixin
from core.db.tenancy import next_ids
from core.errors import ConcurrentUpdate
from crm.api.fields import ExternalIds
from crm.external_ids import ExternallyIdentified, Pair
from crm.models import Client, ClientQuerySet, Resource, email_key


class Lookup:
    """A lookup in the database. An `optimistic` one skips what an insert checks by itself, and sets `skipped_lookup`."""

    def __init__(self, account: Account, *, optimistic: bool = False):
        self.account = account
        self.optimistic = optimistic
        self.skipped_lookup = False

    def holders(self, model: type[ExternallyIdentified], pairs: Mapping[str, str]) -> dict[Pair, int]:
        return model.holders(self.account.id, pairs.items())

    def called(self, id: int) -> int | str:
        """What a refusal calls a holder by: its id."""
        return id

    def client(self, id: int) -> Client | None:
        """The client, locked; None if it went to the trash."""
        return self.account.clients.live().locked().filter(id=id).first()

    def new(self, model: type[Resource]) -> Resource:
        return model(account=self.account)


class Ahead(Lookup):
    """As it will be: what many bodies name is looked up once for all of them, and `assign` keeps it up to date.

    So each body is judged as if those before it had been sent alone and written. Raises ConcurrentUpdate where a row changed between
    being found and being locked.
    """

    def __init__(self, account: Account, *, most_new: int):
        super().__init__(account)
        # By field of the bodies: the ids that may be named there.
        self.found: dict[str, dict[int, int]] = {}
        self._ids = iter(next_ids(account.id, most_new))
        self._held: dict[type, dict[Pair, int]] = defaultdict(dict)
        # Whatever is locked or new; all resources of an account share their ids.
        self._rows: dict[int, Any] = {}
        # By key of an e-mail: who is the oldest to have it, and who had it before; and those that the oldest has given up,
        # so that the next one is still to be found.
        self._oldest: dict[str, int] = {}
        self._former: dict[str, set[int]] = defaultdict(set)
        self._unsure: set[str] = set()
        # By id of a row that may not be made after all: the position of its item.
        self._items: dict[int, int] = {}

    def look_up(self, fields: Mapping[str, Any], bodies: Collection[dict]) -> None:
        """Look up the ids that the bodies name."""
        for name, field in fields.items():
            if isinstance(field, ReferenceMixin):
                ids = set().union(*(field.ids_in(body.get(name)) for body in bodies))
                self.found[name] = field.look_up(self.account, ids)

    def look_up_holders(self, model: type[ExternallyIdentified], bodies: Iterable[dict]) -> None:
        pairs = {pair for body in bodies for pair in ExternalIds.readable(body.get("external_ids")).items()}
        self._held[model] |= model.holders(self.account.id, pairs)

    def lock_clients(self, rows: ClientQuerySet, bodies: Collection[dict], *, by_email: bool = False) -> None:
        """Lock those that hold an external id of the bodies, and the oldest ones that have their e-mails."""
        self._clients, held = rows, self._held[Client]
        pairs = [pair for body in bodies for pair in ExternalIds.readable(body.get("external_ids")).items()]
        holding = {pair: held[pair] for pair in pairs if pair in held}
        if by_email and (keys := {key for body in bodies if (key := email_key(body.get("email")))}):
            self._oldest = rows.oldest_by_email(self.account.id, keys)
        ids = {*holding.values(), *self._oldest.values()}
        locked = {row.id: row for row in rows.locked().filter(id__in=ids).order_by("id")} if ids else {}
        if (
            locked.keys() != ids
            or any(pair not in locked[id].external_ids.items() for pair, id in holding.items())
            or any(locked[id].email_key != key for key, id in self._oldest.items())
        ):
            raise ConcurrentUpdate("A client changed meanwhile")
        self._rows |= locked

    def find_existing(self, *, email: Any, external_ids: dict[str, str]) -> Client | None:
        """As `ClientQuerySet.find_existing`, after `lock_clients`."""
        holder_id = Client.only_one(self.holders(Client, external_ids).values(), self.called)
        if holder_id is None and (key := email_key(email)):
            if key in self._unsure:
                self._unsure.discard(key)
                others = self._clients.locked().filter(email_key=key).exclude(id__in=self._former[key])
                other = others.order_by("id").first()
                if other is not None:
                    self._rows.setdefault(other.id, other)
                    self._oldest[key] = min(other.id, self._oldest.get(key, other.id))
            holder_id = self._oldest.get(key)
        return self._rows.get(holder_id)

    def holders(self, model: type[ExternallyIdentified], pairs: Mapping[str, str]) -> dict[Pair, int]:
        held = self._held[model]
        return {pair: held[pair] for pair in pairs.items() if pair in held}

    def called(self, id):
        """Of one that is made only if none is refused: the item that it comes with."""
        return f"item {self._items[id]}" if id in self._items else id

    def client(self, id: int) -> Client | None:
        return self._rows.get(id)

    def new(self, model: type[Resource]) -> Resource:
        return model(account=self.account, id=next(self._ids))

    def assign(self, row: Resource, values: dict[str, Any], *, by: User, item: int | None = None) -> None:
        """Have the row take on the values, and those that come after it know. `item` says that what is new may not be made."""
        touched = [row, *(client for client, _ in filter(None, [values.get("client")]))]
        before = [(getattr(each, "external_ids", {}), email_key(getattr(each, "email", None))) for each in touched]
        row.assign(values, by=by)
        for each, (pairs, key) in zip(touched, before, strict=True):
            self._rows[each.id] = each
            if item is not None and each._state.adding:
                self._items.setdefault(each.id, item)
            if isinstance(each, ExternallyIdentified):
                held = self._held[type(each)]
                for pair in pairs.items() - each.external_ids.items():
                    held.pop(pair, None)
                held |= dict.fromkeys(each.external_ids.items(), each.id)
            if isinstance(each, Client) and (now := email_key(each.email)) != key:
                if key:
                    self._former[key].add(each.id)
                if key and self._oldest.get(key) == each.id:
                    del self._oldest[key]
                    self._unsure.add(key)
                if now:
                    self._oldest[now] = min(each.id, self._oldest.get(now, each.id))
