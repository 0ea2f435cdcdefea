"""The lookup of clients that the input of a write names by external ids or an e-mail instead of an id."""

from collections import defaultdict
from collections.abc import Collection
from typing import Any

from accounts.account.models import Account
from accounts.users.models import User
from core.errors import ConcurrentUpdate, FieldErrors
from core.rows.access import Access
from crm.clients.models import Client, ClientQuerySet, email_key
from crm.resources.api.fields import ExternalIds
from crm.resources.api.lookup import BulkLookup, Lookup
from crm.resources.models import CRMResource


class ClientLookup(Lookup):
    """A lookup in the database for one client or deal."""

    def client(self, id: int) -> Client | None:
        """Lock and return the client. Return None if the client is in the trash."""
        return self.account.clients.live().limited_to(self.access).locked().filter(id=id).first()

    def only_client_with_email(self, email: object) -> Client | None:
        """Lock and return the client with the e-mail, or None if there is none or more than one."""
        return self.account.clients.live().limited_to(self.access).lock_only_by_email(self.account.id, email)


class BulkClientLookup(BulkLookup):
    """A lookup for the items of a bulk request with clients, or with deals and their nested clients."""

    def __init__(self, account: Account, access: Access, *, max_new: int):
        super().__init__(account, access, max_new=max_new)
        # By `email_key`: the oldest client with the e-mail, and the clients that had the e-mail before an item changed their e-mail.
        self._oldest_by_email: dict[str, int] = {}
        self._former_holders: dict[str, set[int]] = defaultdict(set)
        # By `email_key`: the ids of the clients to which nested clients may be linked.
        self._guests: dict[str, list[int]] = {}
        # The e-mails whose oldest client has another e-mail now. The next oldest client is looked up when an item needs it.
        self._stale_emails: set[str] = set()

    def lock_clients(
        self, rows: ClientQuerySet, bodies: Collection[dict[str, object]], *, by_email: bool = False
    ) -> None:
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
            raise ConcurrentUpdate("Another request changed a client that this request names")
        self._rows |= locked

    def lock_guests(self, bodies: Collection[dict[str, object]]) -> None:
        """Lock the only client with each e-mail of the bodies. Raise ConcurrentUpdate if a client changed before it was locked."""
        keys = {key for body in bodies if (key := email_key(body.get("email")))}
        if not keys:
            return
        rows = self.account.clients.live().limited_to(self.access)
        self._guests = rows.ids_by_email(self.account.id, keys)
        only_ids = {ids[0]: key for key, ids in self._guests.items() if len(ids) == 1 and ids[0] not in self._rows}
        locked = {row.id: row for row in rows.locked().filter(id__in=only_ids).order_by("id")} if only_ids else {}
        if locked.keys() != only_ids.keys() or any(row.email_key != only_ids[id] for id, row in locked.items()):
            raise ConcurrentUpdate("Another request changed a client that this request names")
        self._rows |= locked

    def only_client_with_email(self, email: object) -> Client | None:
        ids = self._guests.get(email_key(email) or "", [])
        return self._rows[ids[0]] if len(ids) == 1 else None

    def find_existing(self, *, email: object, external_ids: dict[str, str]) -> Client | None:
        """Return the client as `ClientQuerySet.find_existing` does. Call `lock_clients` first."""
        holders = self.holders(Client, external_ids)
        if errors := Client.hidden_errors(holders, self._hidden_ids):
            raise FieldErrors(error.move_into("external_ids") for error in errors)
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

    def client(self, id: int) -> Client | None:
        return self._rows.get(id)

    def assign(self, row: CRMResource, values: dict[str, Any], *, by: User, item: int | None = None) -> None:
        """Assign the values of an item to its row, and those of a nested client to the client."""
        rows = [row, *(client for client, _ in filter(None, [values.get("client")]))]
        before = [email_key(getattr(row, "email", None)) for row in rows]
        self.assign_all(rows, lambda: row.assign(values, by=by), item=item)
        for changed, old_key in zip(rows, before, strict=True):
            if isinstance(changed, Client) and (new_key := email_key(changed.email)) != old_key:
                if old_key:
                    self._former_holders[old_key].add(changed.id)
                if old_key and self._oldest_by_email.get(old_key) == changed.id:
                    del self._oldest_by_email[old_key]
                    self._stale_emails.add(old_key)
                if new_key:
                    self._guests.setdefault(new_key, []).append(changed.id)
                    self._oldest_by_email[new_key] = min(changed.id, self._oldest_by_email.get(new_key, changed.id))
