from typing import Any, Self

from django.contrib.postgres.expressions import ArraySubquery
from django.db import models, transaction
from django.db.models import OuterRef, Q
from django.utils import timezone

from accounts.models import Tagged, User
from accounts.tenancy import FoldedField, TenantModel
from accounts.trash import Trashable, TrashableQuerySet
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

    objects = TrashableQuerySet.as_manager()

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
        ]

    def __str__(self) -> str:
        return self.name

    def let_go(self) -> None:
        self.count_tags(-1)
        self.account.clients.filter(contact_id=self.id).update(contact_id=None, trashed_contact_id=self.id)

    def take_back(self) -> None:
        self.count_tags(+1)
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
        places = ContactListMembership.objects.filter(account_id=self.account_id, contact_id=self.id)
        live = ContactList.objects.live().filter(account_id=self.account_id).values("id")
        places.filter(contact_list_id__in=live).exclude(contact_list_id__in=list_ids).delete()
        ContactListMembership.objects.bulk_create(
            [
                ContactListMembership(account_id=self.account_id, contact_id=self.id, contact_list_id=list_id)
                for list_id in sorted(set(list_ids))
            ],
            ignore_conflicts=True,
        )


class ContactList(Resource):
    name = models.CharField(max_length=255)

    objects = TrashableQuerySet.as_manager()

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


class ContactListMembership(models.Model):
    pk = models.CompositePrimaryKey("account_id", "contact_id", "contact_list_id")
    account = models.ForeignKey("accounts.Account", models.CASCADE, related_name="+", db_index=False)
    contact_id = models.BigIntegerField()
    contact_list_id = models.BigIntegerField()

    class Meta:
        indexes = [models.Index(fields=["account", "contact_list_id", "contact_id"], name="contacts_of_list")]


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
