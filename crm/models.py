from typing import Any, Self

from django.contrib.postgres.expressions import ArraySubquery
from django.db import models, transaction
from django.db.models import Count, F, Max, OuterRef, Q, Subquery, Sum
from django.db.models.functions import Coalesce, Greatest
from django.utils import timezone
from rest_framework.exceptions import ValidationError

from accounts import locks
from accounts.models import Account, ShardedCount, Tagged, User
from accounts.tenancy import FoldedField, TenantModel, fold
from accounts.text import is_carriable
from accounts.trash import Trashable, TrashableQuerySet
from crm.additional_fields import additional_fields, merged
from crm.external_ids import ExternalIdHolder, ExternallyIdentified


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
    """One for each order of the list, read in either direction; by name, and to find by anything: `accounts.search`."""
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

    class Meta:
        abstract = True

    @transaction.atomic
    def write(self, values: dict[str, Any], *, by: User) -> None:
        """Insert it, or update what `values` names; the caller holds the row (`locked`). Raises ValidationError."""
        adding = self._state.adding
        tags = values.pop("tags", None)
        pairs = values.pop("external_ids", None)
        # A null that it has already, sent back with the rest, does not undo the link to the one in the trash.
        if values.get("client_id"):
            values["trashed_client_id"] = None
        if values.get("contact_id"):
            values["trashed_contact_id"] = None
        for name, value in values.items():
            setattr(self, name, value)
        self.updater_id, self.updated_at = by.id, timezone.now()
        changed = {*values, "updater_id", "updated_at"}
        if hasattr(self, "email_key"):
            changed.add("email_key")
        if tags is not None:
            self.tag(tags)
            changed.add("tags")
        if pairs is not None:
            self.external_ids = self.merged_external_ids(pairs)
            changed.add("external_ids")
        if adding:
            self.creator_id, self.created_at = by.id, self.updated_at
            self.save(force_insert=True)
        else:
            self.save(update_fields=changed)
        if pairs is not None and (self.external_ids or not adding):
            self.hold(self.external_ids)


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

    def meant_by(self, account_id: int, *, email: Any, external_ids: dict[str, str]) -> "Client | None":
        """The client, locked, that has any of the external ids or else the e-mail, in any case; the oldest of several.

        Of two that look for the same e-mail at the same time, the second waits until the first has made its client.
        Raises ValidationError where the external ids belong to different clients.
        """
        key = fold(email) if isinstance(email, str) and is_carriable(email) else ""
        if key.strip():
            locks.hold("client by e-mail", account_id, key)
        if (holder := Client.holding(self, account_id, external_ids)) or not key.strip():
            return holder
        return self.locked().filter(email_key=key).order_by("id").first()


class Client(ExternallyIdentified, Tagged, Resource):
    """A customer of the account: a person or a company."""

    HOLDERS = ClientExternalId

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
            models.Index(
                fields=["account", "contact_id"], name="client_of_contact", condition=Q(contact_id__isnull=False)
            ),
            models.Index(
                fields=["account", "trashed_contact_id"],
                name="client_of_trashed_contact",
                condition=Q(trashed_contact_id__isnull=False),
            ),
            models.Index(
                fields=["account", "trashed_at", "id"], name="client_trash", condition=Q(trashed_at__isnull=False)
            ),
            *orders_of_list("client"),
        ]

    def __str__(self) -> str:
        return self.name

    def let_go(self) -> None:
        self.hold_none()
        self.count_tags(-1)
        for things in (self.account.contacts, self.account.deals, self.account.posts):
            things.filter(client_id=self.id).update(client_id=None, trashed_client_id=self.id)

    def take_back(self) -> None:
        self.hold_what_is_free()
        self.count_tags(+1)
        for things in (self.account.contacts, self.account.deals, self.account.posts):
            # Whoever was given another client meanwhile no longer names this one.
            things.filter(trashed_client_id=self.id).update(client_id=self.id, trashed_client_id=None)

    @transaction.atomic
    def write(self, values: dict[str, Any], *, by: User) -> None:
        """As of any resource; `additional_fields` are merged into what it has, and a null removes its key."""
        if changes := values.pop("additional_fields", None):
            values["additional_fields"] = merged(self.additional_fields, changes)
        super().write(values, by=by)
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

    objects = ContactQuerySet.as_manager()

    class Meta:
        default_related_name = "contacts"
        indexes = [
            models.Index(
                fields=["account", "client_id", "id"], name="contact_of_client", condition=Q(client_id__isnull=False)
            ),
            models.Index(
                fields=["account", "trashed_client_id"],
                name="contact_of_trashed_client",
                condition=Q(trashed_client_id__isnull=False),
            ),
            models.Index(
                fields=["account", "trashed_at", "id"], name="contact_trash", condition=Q(trashed_at__isnull=False)
            ),
            *orders_of_list("contact"),
        ]

    def __str__(self) -> str:
        return self.name

    def let_go(self) -> None:
        self.count_tags(-1)
        self._count_places(-1)
        self.account.clients.filter(contact_id=self.id).update(contact_id=None, trashed_contact_id=self.id)

    def take_back(self) -> None:
        self.count_tags(+1)
        self._count_places(+1)
        self.account.clients.filter(trashed_contact_id=self.id).update(contact_id=self.id, trashed_contact_id=None)

    @transaction.atomic
    def write(self, values: dict[str, Any], *, by: User) -> None:
        list_ids = values.pop("contact_list_ids", None)
        if self._state.adding:
            self.contact_list_ids = []
        super().write(values, by=by)
        if list_ids is not None:
            self.assign(list_ids)
            self.contact_list_ids = sorted(list_ids)

    def assign(self, list_ids: list[int]) -> None:
        """Be in exactly these contact lists of the account; its places in lists that are in the trash stay."""
        before, after = set(self._places().values_list("contact_list_id", flat=True)), set(list_ids)
        gone = before - after
        if gone:
            live = self.account.contact_lists.live().filter(id__in=gone)
            gone = set(live.values_list("id", flat=True))
            self._places().filter(contact_list_id__in=gone).delete()
        if new := after - before:
            ContactListMembership.objects.bulk_create(
                ContactListMembership(account_id=self.account_id, contact_id=self.id, contact_list_id=list_id)
                for list_id in sorted(new)
            )
        ContactListCount.change(self.account_id, dict.fromkeys(gone, -1) | dict.fromkeys(new, +1))

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
            models.Index(
                fields=["account", "trashed_at", "id"], name="contact_list_trash", condition=Q(trashed_at__isnull=False)
            ),
        ]

    def __str__(self) -> str:
        return self.name

    def restore(self) -> None:
        """As of any resource. Raises ValidationError if its name was given to another list meanwhile."""
        other = self.account.contact_lists.live().filter(name=self.name).first()
        if other is not None:
            raise ValidationError({"name": [f"was given to contact list {other.id} meanwhile; rename that one first"]})
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

    objects = TrashableQuerySet.as_manager()

    class Meta:
        default_related_name = "deals"
        indexes = [
            models.Index(
                fields=["account", "client_id", "id"], name="deal_of_client", condition=Q(client_id__isnull=False)
            ),
            models.Index(
                fields=["account", "trashed_client_id"],
                name="deal_of_trashed_client",
                condition=Q(trashed_client_id__isnull=False),
            ),
            models.Index(
                fields=["account", "trashed_at", "id"], name="deal_trash", condition=Q(trashed_at__isnull=False)
            ),
            *orders_of_list("deal"),
        ]

    def __str__(self) -> str:
        return self.name

    def let_go(self) -> None:
        self.hold_none()
        self.count_tags(-1)

    def take_back(self) -> None:
        self.hold_what_is_free()
        self.count_tags(+1)

    @transaction.atomic
    def write(self, values: dict[str, Any], *, by: User) -> None:
        """As of any resource; `client`, if it is among the values, is a client and what to write to it first."""
        if given := values.pop("client", None):
            client, client_values = given
            client.write(client_values, by=by)
            values["client_id"] = client.id
        super().write(values, by=by)
