from collections import Counter
from typing import Any, Self
from zlib import crc32

from django.contrib.postgres.expressions import ArraySubquery
from django.db import models, transaction
from django.db.models import Count, F, Max, OuterRef, Q, Subquery, Sum
from django.db.models.functions import Coalesce, Greatest
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.models import Account, User
from accounts.tags import ShardedCount, Tagged
from core.db import locks
from core.db.additional_fields import NOT_SEARCHED, additional_fields, merge
from core.db.prepared import insert, update
from core.db.tenancy import FoldedField, TenantModel, fold
from core.db.text import is_xml_text
from core.db.trash import Trashable, TrashableQuerySet, TrashedId, assign_links, link_indexes, trash_index
from core.errors import FieldError
from core.search.declaration import Search
from crm.external_ids import ExternalIdHolder, ExternallyIdentified

EMAIL_LOCKS = 128


class ClientExternalId(ExternalIdHolder):
    class Meta:
        indexes = [models.Index(fields=["account", "holder_id"], name="client_external_ids")]


class DealExternalId(ExternalIdHolder):
    class Meta:
        indexes = [models.Index(fields=["account", "holder_id"], name="deal_external_ids")]


def optional_text(max_length: int = 255) -> models.CharField:
    """Text that is null until it is given; an empty one was given empty."""
    return models.CharField(max_length=max_length, null=True, blank=True)


def optional_long_text() -> models.CharField:
    return optional_text(65_536)


def orders_of_list(name: str) -> list[models.Index]:
    """Return an index for each order of a list, read in either direction. `Search` has those by name and for all filters."""
    return [
        models.Index(fields=["account", *fields], name=f"{name}_by_{order}", condition=Q(trashed_at=None))
        for order, fields in (("id", ["id"]), ("creation", ["created_at", "id"]), ("change", ["updated_at", "id"]))
    ]


class Resource(TenantModel, Trashable):
    """What the CRM's resources share: who made and changed them when, and one way to write them."""

    creator_id = models.BigIntegerField(editable=False)
    updater_id = models.BigIntegerField(editable=False)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    updated_at = models.DateTimeField(default=timezone.now, editable=False)

    # What `assign` changed and `flush` has not written yet; the tags are the row's when they are written.
    unwritten: frozenset[str] = frozenset()
    wanted_tags: list[str] | None = None

    class Meta:
        abstract = True

    def write(self, values: dict[str, Any], *, by: User, single_statement: bool = False) -> None:
        """Insert it, or update what `values` names; the caller holds the row (`locked`).

        `alone` says that nothing else is written in the transaction, and that it is tried again if it fails.
        """
        self.assign(values, by=by)
        self.flush([self], single_statement=single_statement)

    def insert(self, *, single_statement: bool) -> None:
        insert(self, single_statement=single_statement)

    def assign(self, values: dict[str, Any], *, by: User) -> None:
        """Take the values on. What can be seen of it is there at once, but for the tags' own spelling; nothing is written."""
        values = dict(values)
        changed = {"updater_id", "updated_at"}
        if (tags := values.pop("tags", None)) is not None:
            self.wanted_tags = tags
            changed.add("tags")
        if (pairs := values.pop("external_ids", None)) is not None:
            values["external_ids"] = self.merged_external_ids(pairs)
        if (fields := values.get("additional_fields")) is not None:
            values["additional_fields"] = merge(self.additional_fields, fields)
        if "email" in values:
            changed.add("email_key")
        assign_links(values, "client_id", "contact_id")
        for name, value in values.items():
            setattr(self, name, value)
        self.updater_id, self.updated_at = by.id, timezone.now()
        if self._state.adding:
            self.creator_id, self.created_at = by.id, self.updated_at
        self.unwritten |= changed | values.keys()

    @classmethod
    @transaction.atomic(savepoint=False)
    def flush(cls, rows: list[Self], *, single_statement: bool = False) -> None:
        """Write what the rows, all of one account, have taken on: as many statements for a thousand as for two."""
        if retagged := [(row, row.wanted_tags) for row in rows if row.wanted_tags is not None]:
            cls.tag_all(rows[0].account, retagged)
        new = [row for row in rows if row._state.adding]
        changed = [row for row in rows if not row._state.adding]
        if len(new) == 1:
            new[0].insert(single_statement=single_statement)
        elif new:
            cls.objects.bulk_create(new)
        if len(changed) == 1:
            update(changed[0], changed[0].unwritten)
        elif changed:
            # They are all there and locked, so each conflicts, and its update needs no CASE for every row and column.
            names = frozenset().union(*(row.unwritten for row in changed))
            cls.objects.bulk_create(
                changed, update_conflicts=True, unique_fields=["account", "id"], update_fields=sorted(names)
            )
        if identified := [row for row in rows if "external_ids" in row.unwritten]:
            cls.hold_all(identified, new={row.id for row in new})
        for row in rows:
            row.unwritten, row.wanted_tags = frozenset(), None


def email_key(email: Any) -> str | None:
    """What a client with this e-mail is found by, if it is one."""
    return (fold(email) if isinstance(email, str) and email.strip() and is_xml_text(email) else None) or None


def hold_emails(account_id: int, keys: set[str]) -> None:
    """Wait for whoever looks for a client by one of these e-mails, and hold off others until the transaction ends.

    E-mails share a few locks, so that looking for a thousand of them at once takes no more.
    """
    locks.acquire(*{("client by e-mail", account_id, crc32(key.encode()) % EMAIL_LOCKS) for key in keys})


class ClientQuerySet(TrashableQuerySet):
    def with_counts(self, account: Account) -> Self:
        """With what belongs to each client, counted, and with when anything last happened to it or to that.

        Nothing is kept for it, so that no write to a client's things waits for another: it costs what one client has.
        """

        def of_client(things: models.Manager, figure: models.Aggregate) -> Subquery:
            rows = things.live().filter(client_id=OuterRef("id")).order_by().values("client_id")
            return Subquery(rows.annotate(figure=figure).values("figure"))

        everything = {"contacts": account.contacts, "posts": account.posts, "deals": account.deals}
        return self.annotate(
            **{f"{name}_count": Coalesce(of_client(things, Count("*")), 0) for name, things in everything.items()},
            last_activity=Greatest(
                F("updated_at"), *(of_client(things, Max("updated_at")) for things in everything.values())
            ),
        )

    def find_existing(self, account_id: int, *, email: Any, external_ids: dict[str, str]) -> "Client | None":
        """The client, locked, that has any of the external ids or else the e-mail, in any case; the oldest of several.

        Of two that look for the same e-mail at the same time, the second waits until the first has made its client.
        Raises FieldError where the external ids belong to different clients.
        """
        key = email_key(email)
        if key:
            hold_emails(account_id, {key})
        if (holder := Client.holding(self, account_id, external_ids)) or not key:
            return holder
        return self.locked().filter(email_key=key).order_by("id").first()

    def oldest_by_email(self, account_id: int, keys: set[str]) -> dict[str, int]:
        """The ids of the oldest clients that have these e-mails (`email_key`), which nobody else looks for meanwhile."""
        hold_emails(account_id, keys)
        rows = self.filter(email_key__in=keys).order_by("email_key", "id").distinct("email_key")
        return dict(rows.values_list("email_key", "id"))


class Client(ExternallyIdentified, Tagged, Resource):
    """A customer of the account: a person or a company."""

    HOLDERS = ClientExternalId
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
    # Its main contact that is in the trash, to be linked again when that is restored.
    trashed_contact_id = models.BigIntegerField(null=True, editable=False)
    url = optional_text()
    origin = optional_text()
    additional_fields = additional_fields()

    # A new one has nothing yet; others are read `with_counts`.
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
            # The client with an e-mail, the oldest of several.
            models.Index(
                fields=["account", "email_key", "id"],
                name="client_by_email",
                condition=Q(email_key__isnull=False, trashed_at=None),
            ),
            *link_indexes("client", "contact"),
            trash_index("client"),
            *orders_of_list("client"),
        ]

    def __str__(self) -> str:
        return self.name

    def assign(self, values: dict[str, Any], *, by: User) -> None:
        super().assign(values, by=by)
        self.last_activity = self.updated_at


class OfClient(models.Model):
    """Something that may belong to a client, and is kept when that goes to the trash."""

    client_id = models.BigIntegerField(null=True)
    # The client of it that is in the trash, to be linked again when that is restored.
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


class Contact(OfClient, Tagged, Resource):
    """A person, mostly at a client."""

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

    # A new one is in none; others are read `with_list_ids`.
    contact_list_ids: list[int] = []
    # Lists in the trash that it is to be put in, too.
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
            *orders_of_list("contact"),
        ]

    def __str__(self) -> str:
        return self.name

    def detach(self) -> None:
        super().detach()
        self._count_places(-1)

    def reattach(self) -> None:
        super().reattach()
        self._count_places(+1)

    def assign(self, values: dict[str, Any], *, by: User) -> None:
        values = dict(values)
        list_ids = values.pop("contact_list_ids", None)
        super().assign(values, by=by)
        if list_ids is not None:
            self.contact_list_ids = sorted(id for id in list_ids if not isinstance(id, TrashedId))
            self.pending_list_ids = sorted(id for id in list_ids if isinstance(id, TrashedId))
            self.unwritten |= {"contact_list_ids"}

    @classmethod
    @transaction.atomic(savepoint=False)
    def flush(cls, rows: list[Self], *, single_statement: bool = False) -> None:
        new = {id(row) for row in rows if row._state.adding}
        placed = [row for row in rows if "contact_list_ids" in row.unwritten]
        for row in placed:
            row.unwritten -= {"contact_list_ids"}
        super().flush(rows, single_statement=single_statement and not placed)
        if placed:
            cls._place_all(placed, known=[row.id for row in placed if id(row) not in new])

    @classmethod
    def _place_all(cls, rows: list[Self], *, known: list[int]) -> None:
        """Put each in exactly its contact lists; places in lists that are in the trash stay. Only the `known` have places."""
        account = rows[0].account
        places = ContactListMembership.objects.filter(account=account)
        before = (
            set(places.filter(contact_id__in=known).values_list("contact_id", "contact_list_id")) if known else set()
        )
        after = {(row.id, list_id) for row in rows for list_id in (*row.contact_list_ids, *row.pending_list_ids)}
        gone, new = before - after, after - before
        if gone:
            live = account.contact_lists.live().filter(id__in={list_id for _, list_id in gone})
            live_ids = set(live.values_list("id", flat=True))
            gone = {place for place in gone if place[1] in live_ids}
            places.filter(pk__in=[(account.id, *place) for place in gone]).delete()
        ContactListMembership.objects.bulk_create(
            ContactListMembership(account=account, contact_id=contact_id, contact_list_id=list_id)
            for contact_id, list_id in sorted(new)
        )
        changes = Counter(list_id for _, list_id in new)
        changes.subtract(list_id for _, list_id in gone)
        ContactListCount.change(account.id, changes)

    def _places(self) -> models.QuerySet:
        return ContactListMembership.objects.filter(account_id=self.account_id, contact_id=self.id)

    def _count_places(self, by: int) -> None:
        """A list counts the contacts that are not in the trash."""
        ids = self._places().values_list("contact_list_id", flat=True)
        ContactListCount.change(self.account_id, dict.fromkeys(ids, by))


class ContactListQuerySet(TrashableQuerySet):
    def with_counts(self) -> Self:
        counts = ContactListCount.objects.filter(account_id=OuterRef("account_id"), contact_list_id=OuterRef("id"))
        total = counts.order_by().values("contact_list_id").annotate(total=Sum("uses")).values("total")
        return self.annotate(contacts_count=Coalesce(Subquery(total, output_field=models.BigIntegerField()), 0))


class ContactList(Resource):
    name = models.CharField(max_length=255)

    # A new one is empty; others are read `with_counts`.
    contacts_count = 0

    search = Search()
    objects = ContactListQuerySet.as_manager()

    class Meta:
        default_related_name = "contact_lists"
        constraints = [
            # The name of one in the trash is free again.
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
        """As of any resource. Raises FieldError if its name was given to another list meanwhile."""
        other = self.account.contact_lists.live().filter(name=self.name).first()
        if other is not None:
            message = _("was given to contact list {id} meanwhile; rename that one first")
            raise FieldError("name", message, "taken", {"id": other.id})
        super().restore()


class ContactListMembership(models.Model):
    pk = models.CompositePrimaryKey("account_id", "contact_id", "contact_list_id")
    account = models.ForeignKey("accounts.Account", models.CASCADE, related_name="+", db_index=False)
    contact_id = models.BigIntegerField()
    contact_list_id = models.BigIntegerField()

    class Meta:
        indexes = [models.Index(fields=["account", "contact_list_id", "contact_id"], name="contacts_of_list")]


class ContactListCount(ShardedCount):
    """How many contacts a list has; one that is in the trash is not counted. An import puts all of its contacts in one."""

    pk = models.CompositePrimaryKey("account_id", "contact_list_id", "shard")
    contact_list_id = models.BigIntegerField()

    @classmethod
    def change(cls, account_id: int, changes: dict[int, int]) -> None:
        """Add to the counts of the lists (id to difference)."""
        cls.add(account_id, "contact_list_id", changes)


class Deal(ExternallyIdentified, OfClient, Tagged, Resource):
    """A sale, possible or made."""

    HOLDERS = DealExternalId

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

    # The client that it came with, not written yet.
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
            *orders_of_list("deal"),
        ]

    def __str__(self) -> str:
        return self.name

    def assign(self, values: dict[str, Any], *, by: User) -> None:
        """As of any resource; `client`, if it is among the values, is a client and what that takes on."""
        values = dict(values)
        if given := values.pop("client", None):
            self.nested_client, client_values = given
            self.nested_client.assign(client_values, by=by)
        if self._state.adding:
            values.setdefault("currency", self.account.currency)
        super().assign(values, by=by)

    @classmethod
    @transaction.atomic(savepoint=False)
    def flush(cls, rows: list[Self], *, single_statement: bool = False) -> None:
        """Write the rows, and before them the clients that they came with."""
        linked = [row for row in rows if row.nested_client]
        if clients := {id(row.nested_client): row.nested_client for row in linked}:
            Client.flush(list(clients.values()))
        for row in linked:
            row.client_id, row.trashed_client_id, row.nested_client = row.nested_client.id, None, None
            row.unwritten |= {"client_id", "trashed_client_id"}
        super().flush(rows, single_statement=single_statement and not linked)
