"""Clients, contacts, contact lists and deals."""

from collections import Counter
from typing import Any, Self
from zlib import crc32

from django.contrib.postgres.expressions import ArraySubquery
from django.db import models, transaction
from django.db.models import Count, F, Max, OuterRef, Q, Subquery, Sum
from django.db.models.functions import Coalesce, Greatest
from django.utils.translation import gettext_lazy as _

from accounts.models import Account, User
from accounts.tags import ShardedCount, Tagged
from core.db import locks
from core.db.additional_fields import NOT_SEARCHED, additional_fields
from core.db.tenancy import FoldedField, fold
from core.db.text import is_xml_text
from core.db.trash import TrashableQuerySet, TrashedId, link_indexes, trash_index
from core.errors import FieldError
from core.search.declaration import Search
from crm.base import Resource
from crm.external_ids import ExternalIdHolder, ExternallyIdentified

# The number of advisory locks per account that all e-mails share.
EMAIL_LOCK_COUNT = 128


class ClientExternalId(ExternalIdHolder):
    class Meta:
        indexes = [models.Index(fields=["account", "holder_id"], name="client_external_ids")]


class DealExternalId(ExternalIdHolder):
    class Meta:
        indexes = [models.Index(fields=["account", "holder_id"], name="deal_external_ids")]


def optional_text(max_length: int = 255) -> models.CharField:
    """Return a text column in which null means that no value was given."""
    return models.CharField(max_length=max_length, null=True, blank=True)


def optional_long_text() -> models.CharField:
    return optional_text(65_536)


def list_indexes(name: str) -> list[models.Index]:
    """Return the indexes for the orders of a list. The indexes by name and for filters are declared by `Search`."""
    return [
        models.Index(fields=["account", *fields], name=f"{name}_by_{order}", condition=Q(trashed_at=None))
        for order, fields in (("id", ["id"]), ("creation", ["created_at", "id"]), ("change", ["updated_at", "id"]))
    ]


def email_key(email: Any) -> str | None:
    """Return the value of the column `email_key` for an e-mail; None for a blank or invalid value."""
    return (fold(email) if isinstance(email, str) and email.strip() and is_xml_text(email) else None) or None


def lock_emails(account_id: int, keys: set[str]) -> None:
    """Lock these e-mails (`email_key`) until the transaction ends. Only one transaction at a time looks for the clients of an e-mail.

    The e-mails share `EMAIL_LOCK_COUNT` locks, which limits the number of locks that a bulk request takes.
    """
    locks.acquire(*{("client by e-mail", account_id, crc32(key.encode()) % EMAIL_LOCK_COUNT) for key in keys})


class ClientQuerySet(TrashableQuerySet):
    def with_counts(self, account: Account) -> Self:
        """Annotate each client with the numbers of its contacts, posts and deals, and with the time of the last change to any of them.

        The rows are counted whenever the numbers are read. A stored counter would make concurrent writes of a client's rows wait for
        each other.
        """

        def of_client(rows: TrashableQuerySet, aggregate: models.Aggregate) -> Subquery:
            groups = rows.filter(client_id=OuterRef("id")).order_by().values("client_id")
            return Subquery(groups.annotate(figure=aggregate).values("figure"))

        related: dict[str, TrashableQuerySet] = {
            "contacts": account.contacts.live(),
            "posts": account.posts.live(),
            "deals": account.deals.live(),
        }
        return self.annotate(
            **{f"{name}_count": Coalesce(of_client(rows, Count("*")), 0) for name, rows in related.items()},
            last_activity=Greatest(F("updated_at"), *(of_client(rows, Max("updated_at")) for rows in related.values())),
        )

    def find_existing(self, account_id: int, *, email: Any, external_ids: dict[str, str]) -> "Client | None":
        """Lock and return the client that has any of the external ids, or else the oldest client with the e-mail, ignoring case.

        The e-mail is locked too, so that two concurrent requests do not both create a client for it. Raise FieldError if the external
        ids belong to different clients.
        """
        key = email_key(email)
        if key:
            lock_emails(account_id, {key})
        if (holder := Client.lock_holder(self, account_id, external_ids)) or not key:
            return holder
        client: Any = self.locked().filter(email_key=key).order_by("id").first()
        return client

    def oldest_by_email(self, account_id: int, keys: set[str]) -> dict[str, int]:
        """Lock these e-mails (`email_key`), and return the id of the oldest client with each e-mail."""
        lock_emails(account_id, keys)
        rows = self.filter(email_key__in=keys).order_by("email_key", "id").distinct("email_key")
        return dict(rows.values_list("email_key", "id"))


class Client(ExternallyIdentified, Tagged, Resource):
    """A customer of the account: a person or a company."""

    HOLDER_MODEL = ClientExternalId
    REFERRERS = ("contacts", "deals", "posts")

    name = models.CharField(max_length=255)
    email = optional_text()
    email_key = FoldedField(source="email", null=True)
    note = optional_long_text()
    first_name = optional_text()
    last_name = optional_text()
    shortcut = optional_text()
    kind = optional_text()
    company = models.BooleanField(null=True)
    tax_no = optional_text()
    register_number = optional_text()
    phone = optional_text()
    mobile_phone = optional_text()
    fax = optional_text()
    www = optional_text()
    street = optional_text()
    street_no = optional_text()
    post_code = optional_text()
    city = optional_text()
    province = optional_text()
    country = optional_text()
    delivery_address = optional_long_text()
    use_delivery_address = models.BooleanField(null=True)
    bank = optional_text()
    bank_account = optional_text()
    discount = models.DecimalField(null=True, max_digits=20, decimal_places=6)
    description = optional_long_text()
    status_id = models.BigIntegerField(null=True)
    responsible_id = models.BigIntegerField(null=True)
    contact_id = models.BigIntegerField(null=True)
    # The main contact while it is in the trash. Restoring the contact moves the id back to `contact_id`.
    trashed_contact_id = models.BigIntegerField(null=True, editable=False)
    url = optional_text()
    origin = optional_text()
    additional_fields = additional_fields()

    # The values of a new row; other rows are read `with_counts`.
    contacts_count = posts_count = deals_count = 0

    search = Search(
        short=("first_name", "last_name", "email", "shortcut", "city", "www"),
        numbers=("phone", "mobile_phone", "fax", "tax_no", "register_number"),
        words=("street", "street_no", "post_code"),
        json_values=("external_ids",),
        long=("note", "description"),
        filters=("status_id", "responsible_id", "creator_id", "updater_id", "tags"),
        not_searched={
            "kind": "a category that many clients share",
            "province": "shared by many clients",
            "country": "shared by many clients",
            "delivery_address": "mostly repeats the address",
            "bank": "shared by many clients",
            "bank_account": "confidential",
            "url": "the address of the client in another system",
            "origin": "the name of another system, shared by many clients",
            "additional_fields": NOT_SEARCHED,
        },
    )
    objects = ClientQuerySet.as_manager()

    class Meta:
        default_related_name = "clients"
        indexes = [
            # The clients with an e-mail, oldest first.
            models.Index(
                fields=["account", "email_key", "id"],
                name="client_by_email",
                condition=Q(email_key__isnull=False, trashed_at=None),
            ),
            *link_indexes("client", "contact"),
            trash_index("client"),
            *list_indexes("client"),
        ]

    def __str__(self) -> str:
        return self.name

    def assign(self, values: dict[str, Any], *, by: User) -> None:
        super().assign(values, by=by)
        self.last_activity = self.updated_at


class LinkedToClient(models.Model):
    """A row that may belong to a client. It stays when the client is moved to the trash."""

    client_id = models.BigIntegerField(null=True)
    # The client while it is in the trash. Restoring the client moves the id back to `client_id`.
    trashed_client_id = models.BigIntegerField(null=True, editable=False)

    class Meta:
        abstract = True


class ContactQuerySet(TrashableQuerySet):
    def with_list_ids(self) -> Self:
        lists = ContactList.objects.live().filter(account_id=OuterRef("account_id"), id=OuterRef("contact_list_id"))
        memberships = ContactListMembership.objects.filter(
            models.Exists(lists), account_id=OuterRef("account_id"), contact_id=OuterRef("id")
        )
        return self.annotate(
            contact_list_ids=ArraySubquery(memberships.order_by("contact_list_id").values("contact_list_id"))
        )


class Contact(LinkedToClient, Tagged, Resource):
    """A person, usually one who works for a client."""

    REFERRERS = ("clients", "posts")

    name = models.CharField(max_length=255)
    email = optional_text()
    email_key = FoldedField(source="email", null=True)
    note = optional_long_text()
    first_name = optional_text()
    last_name = optional_text()
    phone = optional_text()
    mobile_phone = optional_text()
    position = optional_text()
    description = optional_long_text()
    responsible_id = models.BigIntegerField(null=True)
    additional_fields = additional_fields()

    # The value of a new row; other rows are read `with_list_ids`.
    contact_list_ids: list[int] = []
    # The ids of lists in the trash that the contact is added to as well.
    pending_list_ids: list[int] = []

    search = Search(
        short=("first_name", "last_name", "email", "position"),
        numbers=("phone", "mobile_phone"),
        long=("note", "description"),
        filters=("responsible_id", "creator_id", "updater_id", "tags"),
        not_searched={"additional_fields": NOT_SEARCHED},
    )
    objects = ContactQuerySet.as_manager()

    class Meta:
        default_related_name = "contacts"
        indexes = [
            models.Index(
                fields=["account", "email_key", "id"],
                name="contact_by_email",
                condition=Q(email_key__isnull=False, trashed_at=None),
            ),
            *link_indexes("contact", "client", "id"),
            trash_index("contact"),
            *list_indexes("contact"),
        ]

    def __str__(self) -> str:
        return self.name

    def detach(self) -> None:
        super().detach()
        self._change_list_counts(-1)

    def reattach(self) -> None:
        super().reattach()
        self._change_list_counts(+1)

    def assign(self, values: dict[str, Any], *, by: User) -> None:
        values = dict(values)
        list_ids = values.pop("contact_list_ids", None)
        super().assign(values, by=by)
        if list_ids is not None:
            self.contact_list_ids = sorted(id for id in list_ids if not isinstance(id, TrashedId))
            self.pending_list_ids = sorted(id for id in list_ids if isinstance(id, TrashedId))
            self.unsaved_fields |= {"contact_list_ids"}

    @classmethod
    @transaction.atomic(savepoint=False)
    def flush(cls, rows: list[Self], *, single_statement: bool = False) -> None:
        new = {id(row) for row in rows if row._state.adding}
        relisted = [row for row in rows if "contact_list_ids" in row.unsaved_fields]
        for row in relisted:
            row.unsaved_fields -= {"contact_list_ids"}
        super().flush(rows, single_statement=single_statement and not relisted)
        if relisted:
            cls._sync_memberships(relisted, existing_ids=[row.id for row in relisted if id(row) not in new])

    @classmethod
    def _sync_memberships(cls, rows: list[Self], *, existing_ids: list[int]) -> None:
        """Insert and delete memberships, so that each contact is in exactly its contact lists.

        Memberships of lists in the trash stay. `existing_ids` are the ids of the contacts that may have memberships already.
        """
        account = rows[0].account
        memberships = ContactListMembership.objects.filter(account=account)
        before = (
            set(memberships.filter(contact_id__in=existing_ids).values_list("contact_id", "contact_list_id"))
            if existing_ids
            else set()
        )
        after = {(row.id, list_id) for row in rows for list_id in (*row.contact_list_ids, *row.pending_list_ids)}
        removed, added = before - after, after - before
        if removed:
            live = account.contact_lists.live().filter(id__in={list_id for _, list_id in removed})
            live_ids = set(live.values_list("id", flat=True))
            removed = {pair for pair in removed if pair[1] in live_ids}
            memberships.filter(pk__in=[(account.id, *pair) for pair in removed]).delete()
        ContactListMembership.objects.bulk_create(
            ContactListMembership(account=account, contact_id=contact_id, contact_list_id=list_id)
            for contact_id, list_id in sorted(added)
        )
        changes = Counter(list_id for _, list_id in added)
        changes.subtract(list_id for _, list_id in removed)
        ContactListCount.change(account.id, changes)

    def _memberships(self) -> models.QuerySet:
        return ContactListMembership.objects.filter(account_id=self.account_id, contact_id=self.id)

    def _change_list_counts(self, difference: int) -> None:
        """Change the counts of the contact's lists, which leave out contacts in the trash."""
        ids = self._memberships().values_list("contact_list_id", flat=True)
        ContactListCount.change(self.account_id, dict.fromkeys(ids, difference))


class ContactListQuerySet(TrashableQuerySet):
    def with_counts(self) -> Self:
        counts = ContactListCount.objects.filter(account_id=OuterRef("account_id"), contact_list_id=OuterRef("id"))
        total = counts.order_by().values("contact_list_id").annotate(total=Sum("uses")).values("total")
        return self.annotate(contacts_count=Coalesce(Subquery(total, output_field=models.BigIntegerField()), 0))


class ContactList(Resource):
    """A named list of contacts, such as the readers of a newsletter."""

    name = models.CharField(max_length=255)

    # The value of a new row; other rows are read `with_counts`.
    contacts_count = 0

    search = Search()
    objects = ContactListQuerySet.as_manager()

    class Meta:
        default_related_name = "contact_lists"
        constraints = [
            # A list in the trash does not reserve its name.
            models.UniqueConstraint(
                fields=["account", "name"], condition=Q(trashed_at=None), name="contact_list_name_unique"
            ),
        ]
        indexes = [
            trash_index("contact_list"),
        ]

    def __str__(self) -> str:
        return self.name

    def restore(self) -> None:
        """Take the list out of the trash. Raise FieldError if another list has its name."""
        other = self.account.contact_lists.live().filter(name=self.name).first()
        if other is not None:
            message = _("was given to contact list {id} meanwhile; rename that one first")
            raise FieldError("name", message, "taken", {"id": other.id})
        super().restore()


class ContactListMembership(models.Model):
    """A contact in a contact list."""

    pk = models.CompositePrimaryKey("account_id", "contact_id", "contact_list_id")
    account = models.ForeignKey("accounts.Account", models.CASCADE, related_name="+", db_index=False)
    contact_id = models.BigIntegerField()
    contact_list_id = models.BigIntegerField()

    class Meta:
        indexes = [models.Index(fields=["account", "contact_list_id", "contact_id"], name="contacts_of_list")]


class ContactListCount(ShardedCount):
    """The number of contacts of a list, without those in the trash. The number is sharded, because an import uses a single list."""

    pk = models.CompositePrimaryKey("account_id", "contact_list_id", "shard")
    contact_list_id = models.BigIntegerField()

    @classmethod
    def change(cls, account_id: int, changes: dict[int, int]) -> None:
        """Add to the counts of the lists (id to difference)."""
        cls.add(account_id, "contact_list_id", changes)


class Deal(ExternallyIdentified, LinkedToClient, Tagged, Resource):
    """A sale, expected or closed."""

    HOLDER_MODEL = DealExternalId

    name = models.CharField(max_length=255)
    description = optional_long_text()
    price = models.DecimalField(null=True, max_digits=20, decimal_places=6)
    currency = models.CharField(max_length=255)
    status_id = models.BigIntegerField(null=True)
    responsible_id = models.BigIntegerField(null=True)
    url = optional_text()
    origin = optional_text()
    expected_close_date = models.DateField(null=True)
    additional_fields = additional_fields()

    # A client from the input of the deal that is not written yet.
    nested_client: Client | None = None

    search = Search(
        json_values=("external_ids",),
        long=("description",),
        filters=("status_id", "responsible_id", "creator_id", "updater_id", "tags"),
        not_searched={
            "currency": "a code that most deals share",
            "url": "the address of the deal in another system",
            "origin": "the name of another system, shared by many deals",
            "additional_fields": NOT_SEARCHED,
        },
    )
    objects = TrashableQuerySet.as_manager()

    class Meta:
        default_related_name = "deals"
        indexes = [
            *link_indexes("deal", "client", "id"),
            trash_index("deal"),
            *list_indexes("deal"),
        ]

    def __str__(self) -> str:
        return self.name

    def assign(self, values: dict[str, Any], *, by: User) -> None:
        """Set attributes from the validated values. `client` is a pair: a client and the values for it."""
        values = dict(values)
        if pair := values.pop("client", None):
            self.nested_client, client_values = pair
            self.nested_client.assign(client_values, by=by)
        if self._state.adding:
            values.setdefault("currency", self.account.currency)
        super().assign(values, by=by)

    @classmethod
    @transaction.atomic(savepoint=False)
    def flush(cls, rows: list[Self], *, single_statement: bool = False) -> None:
        """Write the clients from the input of the deals, then the deals."""
        linked = [(row, row.nested_client) for row in rows if row.nested_client]
        if clients := {id(client): client for _, client in linked}:
            Client.flush(list(clients.values()))
        for row, client in linked:
            row.client_id, row.trashed_client_id, row.nested_client = client.id, None, None
            row.unsaved_fields |= {"client_id", "trashed_client_id"}
        super().flush(rows, single_statement=single_statement and not linked)
