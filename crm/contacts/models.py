"""Contacts: persons, and the contact lists that they are in."""

from collections import Counter
from collections.abc import Sequence
from typing import Any, Self

from django.contrib.postgres.expressions import ArraySubquery
from django.db import models, transaction
from django.db.models import OuterRef, Q, Subquery, Sum
from django.db.models.functions import Coalesce
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from accounts.access.models import AccessQuerySet
from accounts.roles.models import ASSIGNABLE
from accounts.tags.models import ShardedCount, Tagged
from accounts.users.models import User
from core.db.tenancy import foreign_object
from core.errors import FieldError
from core.registry import Resource
from core.rows.access import ALL_ROWS, Access
from core.rows.additional_fields import NOT_SEARCHED, additional_fields
from core.rows.declared import FieldType, LongText, RowId, Text, TrimmedText
from core.rows.last_changes import LastChange, last_change_index
from core.rows.trash import TrashableQuerySet, TrashedId, link_indexes, trash_index
from core.rows.trimmed import EmailKeyField, NameKeyField, TrimmedCharField, name_key
from core.search.declaration import Search
from crm.resources.models import Contactable, CRMResource, ExternalIdHolder, ExternallyIdentified, record_indexes


class ContactQuerySet(AccessQuerySet["Contact"]):
    def with_list_ids(self) -> Self:
        lists = ContactList.objects.live().filter(account_id=OuterRef("account_id"), id=OuterRef("contact_list_id"))
        memberships = ContactListMembership.objects.filter(
            models.Exists(lists), account_id=OuterRef("account_id"), contact_id=OuterRef("id")
        )
        return self.annotate(
            contact_list_ids=ArraySubquery(memberships.order_by("contact_list_id").values("contact_list_id"))
        )


class ContactExternalId(ExternalIdHolder):
    class Meta:
        indexes = [models.Index(fields=["account", "holder_id"], name="contact_external_ids")]


class Contact(Contactable, ExternallyIdentified, Tagged, CRMResource):
    """A person, usually one who works for a client."""

    api_resource = Resource("contact", _("Contact"), _("Contacts"), icon="user", is_customer=True)

    HOLDER_MODEL = ContactExternalId
    REFERRERS = ("clients", "deals", "notes", "posts", "user_links")

    name = TrimmedText(_("Name"), group="contact", is_required=True, in_lists=True)
    email = TrimmedText(_("E-mail"), type=FieldType.EMAIL, group="contact", in_lists=True, searched="short")
    email_key = EmailKeyField(source="email", null=True)
    note = LongText(_("Note"), group="description", searched="long")
    client_id = RowId(_("Client"), "clients", type=FieldType.CLIENT, group="company", in_lists=True)
    # The client while it is in the trash. Restoring the client moves the id back to `client_id`.
    trashed_client_id = models.BigIntegerField(null=True, editable=False)
    first_name = TrimmedText(_("First name"), group="contact", searched="short")
    last_name = TrimmedText(_("Last name"), group="contact", searched="short")
    phone = TrimmedText(_("Telephone"), type=FieldType.PHONE, group="contact", in_lists=True, searched="numbers")
    mobile_phone = TrimmedText(_("Mobile telephone"), type=FieldType.PHONE, group="contact", searched="numbers")
    position = Text(pgettext_lazy("in a company", "Position"), group="company", in_lists=True, searched="short")
    description = LongText(_("Description"), group="description", searched="long")
    responsible_id = RowId(_("Responsible"), "users", type=FieldType.USER, filters=ASSIGNABLE, in_lists=True)
    additional_fields = additional_fields()

    # The value of a new row; other rows are read `with_list_ids`.
    contact_list_ids: list[int] = []
    # The ids of lists in the trash that the contact is added to as well.
    pending_list_ids: list[int] = []

    search = Search(
        json_values=("external_ids",),
        filters=("responsible_id", "creator_id", "updater_id", "tags"),
        not_searched={"additional_fields": NOT_SEARCHED},
    )
    objects = ContactQuerySet.as_manager()

    class Meta:
        default_related_name = "contacts"
        indexes = [*link_indexes("contact", "client", "id"), *record_indexes("contact", has_email=True)]

    def __str__(self) -> str:
        return self.name

    @classmethod
    def detach(cls, rows: Sequence[Self]) -> None:
        super().detach(rows)
        cls._change_list_counts(rows, -1)

    @classmethod
    def reattach(cls, rows: Sequence[Self]) -> None:
        super().reattach(rows)
        cls._change_list_counts(rows, +1)

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
    def flush(cls, rows: list[Self]) -> None:
        new = {id(row) for row in rows if row._state.adding}
        relisted = [row for row in rows if "contact_list_ids" in row.unsaved_fields]
        for row in relisted:
            row.unsaved_fields -= {"contact_list_ids"}
        super().flush(rows)
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

    @classmethod
    def _change_list_counts(cls, rows: Sequence[Self], difference: int) -> None:
        """Change the counts of the lists of these contacts, which leave out contacts in the trash."""
        account_id = rows[0].account_id
        memberships = ContactListMembership.objects.filter(
            account_id=account_id, contact_id__in=[row.id for row in rows]
        )
        members = Counter(memberships.values_list("contact_list_id", flat=True))
        ContactListCount.change(account_id, {id: number * difference for id, number in members.items()})


class ContactLastChange(LastChange):
    row = foreign_object(Contact, "id", related_name="last_change")

    class Meta:
        default_related_name = "contact_last_changes"
        indexes = [last_change_index("contact")]


class ContactListQuerySet(TrashableQuerySet["ContactList"]):
    def with_counts(self, access: Access = ALL_ROWS) -> Self:
        """Annotate each list with the number of its contacts. Only the contacts of the access are counted."""
        if access.is_limited:
            contacts = Contact.objects.live().limited_to(access).filter(account_id=OuterRef("account_id"))
            memberships = ContactListMembership.objects.filter(
                models.Exists(contacts.filter(id=OuterRef("contact_id"))),
                account_id=OuterRef("account_id"),
                contact_list_id=OuterRef("id"),
            )
            number = memberships.order_by().values("contact_list_id").annotate(number=models.Count("*"))
            return self.annotate(contacts_count=Coalesce(Subquery(number.values("number")), 0))
        counts = ContactListCount.objects.filter(account_id=OuterRef("account_id"), contact_list_id=OuterRef("id"))
        total = counts.order_by().values("contact_list_id").annotate(total=Sum("uses")).values("total")
        return self.annotate(contacts_count=Coalesce(Subquery(total, output_field=models.BigIntegerField()), 0))


class ContactList(CRMResource):
    """A named list of contacts, such as the readers of a newsletter."""

    api_resource = Resource("contact_list", _("Contact list"), _("Contact lists"), icon="list")

    name = TrimmedCharField(max_length=255)
    name_key = NameKeyField(source="name", null=True)

    # The value of a new row; other rows are read `with_counts`.
    contacts_count = 0

    search = Search()
    objects = ContactListQuerySet.as_manager()

    class Meta:
        default_related_name = "contact_lists"
        constraints = [
            # A list in the trash does not reserve its name.
            models.UniqueConstraint(
                fields=["account", "name_key"], condition=Q(trashed_at=None), name="contact_list_name_key_unique"
            )
        ]
        indexes = [trash_index("contact_list")]

    def __str__(self) -> str:
        return self.name

    @classmethod
    def restore_all(cls, rows: Sequence[Self]) -> None:
        """Take the lists out of the trash. Raise FieldError if another list has the name of one of them."""
        for row in rows:
            other = row.account.contact_lists.live().filter(name_key=name_key(row.name)).first()
            if other is not None:
                message = _("was given to contact list {id} meanwhile; rename that one first")
                raise FieldError("name", message, "taken", {"id": other.id})
        super().restore_all(rows)


class ContactListMembership(models.Model):
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
