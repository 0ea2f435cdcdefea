"""Clients: the customers of an account."""

from typing import Any, Self
from zlib import crc32

from django.db import models
from django.db.models import Count, F, Func, OuterRef, Subquery, Window
from django.db.models.functions import Coalesce, RowNumber
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from accounts.access.models import AccessQuerySet
from accounts.account.models import Account
from accounts.roles.models import ASSIGNABLE
from accounts.tags.models import Tagged
from accounts.users.models import User
from core.db import locks
from core.db.tenancy import foreign_object
from core.db.text import is_xml_text
from core.registry import Resource
from core.rows.access import ALL_ROWS, Access
from core.rows.additional_fields import NOT_SEARCHED, additional_fields
from core.rows.declared import FieldType, LongText, Number, RowId, Text, TrimmedText, YesOrNo
from core.rows.last_changes import LastChange, last_change_index
from core.rows.trash import TrashableQuerySet, link_indexes
from core.rows.trimmed import EmailKeyField, fold_email
from core.search.declaration import Search
from crm.resources.models import Contactable, CRMResource, ExternalIdHolder, ExternallyIdentified, record_indexes

# The number of advisory locks per account that all e-mails share.
EMAIL_LOCK_COUNT = 128


class ClientExternalId(ExternalIdHolder):
    class Meta:
        indexes = [models.Index(fields=["account", "holder_id"], name="client_external_ids")]


def email_key(email: object) -> str | None:
    """Return the value of the column `email_key` for an e-mail; None for a blank or invalid value."""
    return (fold_email(email) if isinstance(email, str) and is_xml_text(email) else None) or None


def lock_emails(account_id: int, keys: set[str]) -> None:
    """Lock these e-mails (`email_key`) until the transaction ends. Only one transaction at a time looks for the clients of an e-mail.

    The e-mails share `EMAIL_LOCK_COUNT` locks, which limits the number of locks that a bulk request takes.
    """
    locks.acquire(*{("client by e-mail", account_id, crc32(key.encode()) % EMAIL_LOCK_COUNT) for key in keys})


# The expression for the last activity of a client. The room that stores the value registers it.
LAST_ACTIVITY: list[Subquery] = []


class ClientQuerySet(AccessQuerySet[Any]):
    def with_counts(self, account: Account, access: Access = ALL_ROWS) -> Self:
        """Annotate each client with the numbers of its contacts, posts and deals, and with the time of the last activity.

        Only the rows of the access are counted.

        The rows are counted whenever the numbers are read. A stored counter would make concurrent writes of a client's rows wait for
        each other.
        """

        def count_of_client(rows: TrashableQuerySet[Any]) -> Subquery:
            groups = rows.filter(client_id=OuterRef("id")).order_by().values("client_id")
            return Subquery(groups.annotate(figure=Count("*")).values("figure"))

        related: dict[str, TrashableQuerySet[Any]] = {
            "contacts": account.contacts.live().limited_to(access),
            "posts": account.posts.live().limited_to(access),
            "deals": account.deals.live().limited_to(access),
        }
        return self.annotate(
            **{f"{name}_count": Coalesce(count_of_client(rows), 0) for name, rows in related.items()},
            last_activity=Coalesce(*LAST_ACTIVITY, F("created_at"), output_field=models.DateTimeField()),
        )

    def find_existing(
        self, account_id: int, *, email: object, external_ids: dict[str, str], access: Access
    ) -> "Client | None":
        """Lock and return the client that has any of the external ids, or else the oldest client with the e-mail, ignoring case.

        A client with the e-mail that has other values for the given keys is another person, and is not returned.

        The e-mail is locked too, so that two concurrent requests do not both create a client for it. Raise FieldError if the external
        ids belong to different clients, and FieldErrors if they belong to a client that the user may not access.
        """
        key = email_key(email)
        if key:
            lock_emails(account_id, {key})
        if (holder := Client.lock_holder(self, account_id, external_ids, access)) or not key:
            return holder
        client: Client | None = self.locked().filter(email_key=key).order_by("id").first()
        return client if client is not None and client.may_have(external_ids) else None

    def lock_only_by_email(self, account_id: int, email: object) -> "Client | None":
        """Lock and return the client with the e-mail, ignoring case, or None if there is none or more than one. The e-mail is locked too."""
        key = email_key(email)
        if not key:
            return None
        lock_emails(account_id, {key})
        clients = list(self.locked().filter(email_key=key).order_by("id")[:2])
        return clients[0] if len(clients) == 1 else None

    def oldest_by_email(self, account_id: int, keys: set[str]) -> dict[str, int]:
        """Lock these e-mails (`email_key`), and return the id of the oldest client with each e-mail."""
        lock_emails(account_id, keys)
        rows = self.filter(email_key__in=keys).order_by("email_key", "id").distinct("email_key")
        return dict(rows.values_list("email_key", "id"))

    def ids_by_email(self, account_id: int, keys: set[str]) -> dict[str, list[int]]:
        """Lock these e-mails (`email_key`), and return the ids of the two oldest clients with each e-mail."""
        lock_emails(account_id, keys)
        rank = Window(RowNumber(), partition_by="email_key", order_by="id")
        rows = self.filter(email_key__in=keys).order_by().annotate(rank=rank).filter(rank__lte=2)
        ids: dict[str, list[int]] = {}
        for key, id in sorted(rows.values_list("email_key", "id")):
            ids.setdefault(key, []).append(id)
        return ids


class Client(Contactable, ExternallyIdentified, Tagged, CRMResource):
    """A customer of the account: a person or a company."""

    api_resource = Resource("client", _("Client"), _("Clients"), icon="building-2", is_customer=True)

    HOLDER_MODEL = ClientExternalId
    REFERRERS = ("contacts", "deals", "notes", "posts", "user_links")

    name = TrimmedText(_("Name"), group="contact", is_required=True, in_lists=True)
    email = TrimmedText(_("E-mail"), type=FieldType.EMAIL, group="contact", in_lists=True, searched="short")
    email_key = EmailKeyField(source="email", null=True)
    note = LongText(_("Note"), group="description", searched="long")
    first_name = TrimmedText(_("First name"), group="contact", searched="short")
    last_name = TrimmedText(_("Last name"), group="contact", searched="short")
    shortcut = TrimmedText(_("Short name"), group="company", searched="short")
    kind = Text(
        pgettext_lazy("of a client", "Kind"), group="company", not_searched="a category that many clients share"
    )
    company = YesOrNo(_("Is a company"), group="company")
    tax_no = TrimmedText(_("Tax number"), group="company", searched="numbers")
    register_number = TrimmedText(_("Register number"), group="company", searched="numbers")
    phone = TrimmedText(_("Telephone"), type=FieldType.PHONE, group="contact", in_lists=True, searched="numbers")
    mobile_phone = TrimmedText(_("Mobile telephone"), type=FieldType.PHONE, group="contact", searched="numbers")
    fax = TrimmedText(_("Fax"), type=FieldType.PHONE, group="contact", searched="numbers")
    www = Text(_("Website"), type=FieldType.LINK, group="contact", searched="short")
    street = Text(_("Street"), group="address", searched="words")
    street_no = Text(_("House number"), group="address", searched="words")
    post_code = TrimmedText(_("Postal code"), group="address", searched="words")
    city = Text(_("City"), group="address", in_lists=True, searched="short")
    province = Text(_("Province"), group="address", not_searched="shared by many clients")
    country = Text(_("Country"), group="address", not_searched="shared by many clients")
    delivery_address = LongText(_("Delivery address"), group="address", not_searched="mostly repeats the address")
    use_delivery_address = YesOrNo(_("Uses the delivery address"), group="address")
    bank = Text(_("Bank"), group="payment", not_searched="shared by many clients")
    bank_account = Text(_("Bank account"), group="payment", not_searched="confidential")
    discount = Number(_("Discount"), group="payment")
    description = LongText(_("Description"), group="description", searched="long")
    status_id = RowId(_("Status"), "statuses", type=FieldType.STATUS, filters={"kind": "client"}, in_lists=True)
    responsible_id = RowId(_("Responsible"), "users", type=FieldType.USER, filters=ASSIGNABLE, in_lists=True)
    contact_id = RowId(_("Main contact"), "contacts", type=FieldType.CONTACT, group="contact")
    # The main contact while it is in the trash. Restoring the contact moves the id back to `contact_id`.
    trashed_contact_id = models.BigIntegerField(null=True, editable=False)
    url = Text(
        _("Address in another system"), type=FieldType.LINK, not_searched="the address of the client in another system"
    )
    origin = Text(_("Origin"), not_searched="the name of another system, shared by many clients")
    additional_fields = additional_fields()

    # The values of a new row; other rows are read `with_counts`.
    contacts_count = posts_count = deals_count = 0

    search = Search(
        json_values=("external_ids",),
        filters=("status_id", "responsible_id", "creator_id", "updater_id", "tags"),
        not_searched={"additional_fields": NOT_SEARCHED},
    )
    objects = ClientQuerySet.as_manager()

    class Meta:
        default_related_name = "clients"
        indexes = [
            *link_indexes("client", "contact"),
            *record_indexes("client", has_email=True),
            models.Index(
                F("account"),
                Func(F("tax_no"), function="search.compact"),
                F("id"),
                name="client_by_tax_no",
                condition=models.Q(tax_no__isnull=False, trashed_at=None),
            ),
        ]

    def __str__(self) -> str:
        return self.name

    def assign(self, values: dict[str, object], *, by: User) -> None:
        super().assign(values, by=by)
        if self._state.adding:
            self.last_activity = self.created_at


class ClientLastChange(LastChange):
    row = foreign_object(Client, "id", related_name="last_change")

    class Meta:
        default_related_name = "client_last_changes"
        indexes = [last_change_index("client")]
