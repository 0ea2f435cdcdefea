"""The lookup of rows that the input of a write names by external ids or an e-mail instead of an id."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from typing import Any, TypeVar

from accounts.models import Account, User
from core.api.fields import ReferenceMixin
from core.db.access import Access
from core.db.tenancy import next_ids
from core.errors import ConcurrentUpdate, FieldErrors
from crm.api.fields import ExternalIds
from crm.base import Resource
from crm.external_ids import ExternallyIdentified, Pair
from crm.field_definitions import FieldDefinition, definitions_of
from crm.models import Client, ClientQuerySet, email_key

ResourceT = TypeVar("ResourceT", bound=Resource)


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

    def client(self, id: int) -> Client | None:
        """Lock and return the client. Return None if the client is in the trash."""
        return self.account.clients.live().limited_to(self.access).locked().filter(id=id).first()

    def only_client_with_email(self, email: Any) -> Client | None:
        """Lock and return the client with the e-mail, or None if there is none or more than one."""
        return self.account.clients.live().limited_to(self.access).lock_only_by_email(self.account.id, email)

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
        # By `email_key`: the oldest client with the e-mail, and the clients that had the e-mail before an item changed their e-mail.
        self._oldest_by_email: dict[str, int] = {}
        self._former_holders: dict[str, set[int]] = defaultdict(set)
        # By `email_key`: the ids of the clients to which nested clients may be linked.
        self._guests: dict[str, list[int]] = {}
        # The e-mails whose oldest client has another e-mail now. The next oldest client is looked up when an item needs it.
        self._stale_emails: set[str] = set()
        # The positions of the items that create a row, by the row's id. Empty if items are created in spite of errors in other items.
        self._item_positions: dict[int, int] = {}

    def look_up_links(self, fields: Mapping[str, Any], bodies: Collection[dict[str, Any]]) -> None:
        """Look up the ids that the bodies name."""
        for name, field in fields.items():
            if isinstance(field, ReferenceMixin):
                ids: set[int] = set().union(*(field.ids_in(body.get(name)) for body in bodies))
                self.existing_ids[name] = field.look_up(self.account, ids, self.access)

    def look_up_holders(self, model: type[ExternallyIdentified], bodies: Iterable[dict[str, Any]]) -> None:
        """Look up the holders of the external ids that the bodies name."""
        pairs = {pair for body in bodies for pair in ExternalIds.valid_pairs(body.get("external_ids")).items()}
        self._holders[model] |= model.holders(self.account.id, pairs)
        self._hidden_ids |= model.hidden_ids(self.account.id, self._holders[model].values(), self.access)

    def check_accessible(self, model: type[ExternallyIdentified], holders: Mapping[Pair, int]) -> None:
        if errors := model.hidden_errors(holders, self._hidden_ids):
            raise FieldErrors(errors)

    def lock_clients(self, rows: ClientQuerySet, bodies: Collection[dict[str, Any]], *, by_email: bool = False) -> None:
        """Lock the clients that hold an external id of the bodies. With `by_email`, also lock the oldest client with each e-mail.

        Call `look_up_holders` first. Raise ConcurrentUpdate if a client changed between its lookup and its lock.
        """
        self._clients, holders = rows, self._holders[Client]
        pairs = [pair for body in bodies for pair in ExternalIds.valid_pairs(body.get("external_ids")).items()]
        holder_ids = {
            pair: holders[pair] for pair in pairs if pair in holders and holders[pair] not in self._hidden_ids
        }
        if by_email and (keys := {key for body in bodies if (key := email_key(body.get("email")))}):
            self._oldest_by_email = rows.oldest_by_email(self.account.id, keys)
        ids = {*holder_ids.values(), *self._oldest_by_email.values()}
        locked = {row.id: row for row in rows.locked().filter(id__in=ids).order_by("id")} if ids else {}
        if (
            locked.keys() != ids
            or any(pair not in locked[id].held_pairs for pair, id in holder_ids.items())
            or any(locked[id].email_key != key for key, id in self._oldest_by_email.items())
        ):
            raise ConcurrentUpdate("A client changed meanwhile")
        self._rows |= locked

    def lock_guests(self, bodies: Collection[dict[str, Any]]) -> None:
        """Lock the only client with each e-mail of the bodies. Raise ConcurrentUpdate if a client changed before it was locked."""
        keys = {key for body in bodies if (key := email_key(body.get("email")))}
        if not keys:
            return
        rows = self.account.clients.live().limited_to(self.access)
        self._guests = rows.ids_by_email(self.account.id, keys)
        only_ids = {ids[0]: key for key, ids in self._guests.items() if len(ids) == 1 and ids[0] not in self._rows}
        locked = {row.id: row for row in rows.locked().filter(id__in=only_ids).order_by("id")} if only_ids else {}
        if locked.keys() != only_ids.keys() or any(row.email_key != only_ids[id] for id, row in locked.items()):
            raise ConcurrentUpdate("A client changed meanwhile")
        self._rows |= locked

    def only_client_with_email(self, email: Any) -> Client | None:
        ids = self._guests.get(email_key(email) or "", [])
        return self._rows[ids[0]] if len(ids) == 1 else None

    def find_existing(self, *, email: Any, external_ids: dict[str, str]) -> Client | None:
        """Return the client as `ClientQuerySet.find_existing` does. Call `lock_clients` first."""
        holders = self.holders(Client, external_ids)
        if errors := Client.hidden_errors(holders, self._hidden_ids):
            raise FieldErrors(error.within("external_ids") for error in errors)
        holder_id = Client.single_holder(holders.values(), self.label_of)
        if holder_id is None and (key := email_key(email)):
            if key in self._stale_emails:
                self._stale_emails.discard(key)
                others = self._clients.locked().filter(email_key=key).exclude(id__in=self._former_holders[key])
                other = others.order_by("id").first()
                if other is not None:
                    self._rows.setdefault(other.id, other)
                    self._oldest_by_email[key] = min(other.id, self._oldest_by_email.get(key, other.id))
            row = self._rows.get(self._oldest_by_email.get(key, 0))
            return row if row is not None and row.may_have(external_ids) else None
        return None if holder_id is None else self._rows.get(holder_id)

    def holders(self, model: type[ExternallyIdentified], pairs: Mapping[str, str]) -> dict[Pair, int]:
        holders = self._holders[model]
        return {pair: holders[pair] for pair in pairs.items() if pair in holders}

    def label_of(self, id: int) -> int | str:
        """Return the label of a holder in error messages: its id, or its item if one error keeps all rows from being created."""
        return f"item {self._item_positions[id]}" if id in self._item_positions else id

    def client(self, id: int) -> Client | None:
        return self._rows.get(id)

    def new(self, model: type[ResourceT]) -> ResourceT:
        return model(account=self.account, id=next(self._ids))

    def assign(self, row: Resource, values: dict[str, Any], *, by: User, item: int | None = None) -> None:
        """Assign the values of an item to its row. Later items are validated with these values.

        `item` is the position of the item, if one error keeps all rows from being created, else None.
        """
        changed_rows: list[Any] = [row, *(client for client, _ in filter(None, [values.get("client")]))]
        before = [(getattr(row, "external_ids", {}), email_key(getattr(row, "email", None))) for row in changed_rows]
        row.assign(values, by=by)
        for changed, (old_pairs, old_key) in zip(changed_rows, before, strict=True):
            self._rows[changed.id] = changed
            if item is not None and changed._state.adding:
                self._item_positions.setdefault(changed.id, item)
            if isinstance(changed, ExternallyIdentified):
                holders = self._holders[type(changed)]
                for pair in old_pairs.items() - changed.external_ids.items():
                    holders.pop(pair, None)
                holders |= dict.fromkeys(changed.external_ids.items(), changed.id)
            if isinstance(changed, Client) and (new_key := email_key(changed.email)) != old_key:
                if old_key:
                    self._former_holders[old_key].add(changed.id)
                if old_key and self._oldest_by_email.get(old_key) == changed.id:
                    del self._oldest_by_email[old_key]
                    self._stale_emails.add(old_key)
                if new_key:
                    self._guests.setdefault(new_key, []).append(changed.id)
                    self._oldest_by_email[new_key] = min(changed.id, self._oldest_by_email.get(new_key, changed.id))
