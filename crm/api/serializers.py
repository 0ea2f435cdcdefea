"""The CRM's resources, field by field, in the order of the wire (decisions, section 4)."""

from typing import Any

from django.utils import translation
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from accounts.roles import ASSIGNABLE
from core.api.additional_fields import CUSTOM_FIELDS, AdditionalFields, AnyScalar, with_additional_fields
from core.api.fields import (
    Boolean,
    Currency,
    Day,
    Exact,
    Integer,
    Related,
    RelatedList,
    Tags,
    Text,
    Time,
    WireField,
)
from core.api.serializers import ResourceSerializer
from core.errors import ConcurrentUpdate
from crm.api.fields import EXTERNAL_ID, BuiltName, ExternalIds
from crm.models import Client, Contact, ContactList, Deal

CLIENT_FIELDS = CUSTOM_FIELDS | {
    EXTERNAL_ID: Text,
    "token": Text,
    "paid_from": Day,
    "paid_to": Day,
    "paid_total": Exact,
    "payment_to_kind": Text,
    "bank_account_id": Integer,
    "category_id": Integer,
    "department_id": Integer,
    "project_id": Integer,
    "position": AnyScalar,
    "sensitive_data": Boolean,
    "appendixes_count": Integer,
    "avatar_file_name": Text,
    "avatar_content_type": Text,
    "avatar_file_size": Integer,
    "avatar_updated_at": Time,
}


class ClientSerializer(with_additional_fields(CLIENT_FIELDS)):
    model = Client

    name = BuiltName()
    email = Text()
    note = Text()
    external_ids = ExternalIds(Client)
    first_name = Text()
    last_name = Text()
    shortcut = Text()
    kind = Text()
    company = Boolean()
    tax_no = Text()
    register_number = Text()
    phone = Text()
    mobile_phone = Text()
    fax = Text()
    www = Text()
    street = Text()
    street_no = Text()
    post_code = Text()
    city = Text()
    province = Text()
    country = Text()
    delivery_address = Text()
    use_delivery_address = Boolean()
    bank = Text()
    bank_account = Text()
    discount = Exact()
    description = Text()
    tags = Tags()
    status_id = Related("statuses", kind="client")
    responsible_id = Related("users", **ASSIGNABLE)
    contact_id = Related("contacts")
    url = Text()
    origin = Text()
    additional_fields = AdditionalFields(CLIENT_FIELDS)
    try_update = Boolean(write_only=True)
    creator_id = Integer(read_only=True)
    updater_id = Integer(read_only=True)
    contacts_count = Integer(read_only=True)
    posts_count = Integer(read_only=True)
    deals_count = Integer(read_only=True)
    last_activity = Time(read_only=True)

    def validate(self, values: dict[str, Any]) -> dict[str, Any]:
        values.pop("try_update", None)
        return super().validate(values)

    @classmethod
    def additional_fields_of(cls, data: dict[str, Any]) -> dict[str, Any]:
        """With the `external_id`, which is stored as an external id only (see `with_external_id`)."""
        fields, external_ids = data["additional_fields"], data["external_ids"]
        return {**fields, EXTERNAL_ID: external_ids[EXTERNAL_ID]} if EXTERNAL_ID in external_ids else fields


class ContactSerializer(with_additional_fields(CUSTOM_FIELDS)):
    model = Contact

    name = BuiltName()
    email = Text()
    note = Text()
    client_id = Related("clients")
    contact_list_ids = RelatedList("contact_lists")
    first_name = Text()
    last_name = Text()
    phone = Text()
    mobile_phone = Text()
    position = Text()
    description = Text()
    responsible_id = Related("users", **ASSIGNABLE)
    tags = Tags()
    additional_fields = AdditionalFields(CUSTOM_FIELDS)
    creator_id = Integer(read_only=True)
    updater_id = Integer(read_only=True)


class ContactListName(Text):
    """Unique among the contact lists of the account that are not in the trash."""

    default_error_messages = {"taken": _("is already taken")}

    def to_internal_value(self, data) -> str:
        name = super().to_internal_value(data)
        others = self.context["account"].contact_lists.live().filter(name=name)
        if self.parent.instance:
            others = others.exclude(id=self.parent.instance.id)
        if others.exists():
            self.fail("taken")
        return name


class ContactListSerializer(ResourceSerializer):
    model = ContactList

    name = ContactListName(required=True)
    contacts_count = Integer(read_only=True)


class NestedExternalIds(ExternalIds):
    """Who holds one of them is the client that is meant; if another takes one meanwhile, writing them says so."""

    def check_holders(self, pairs: dict[str, str | None], row) -> None:
        pass


class GuestName(BuiltName):
    """The name of a customer who may have none: then it is "Guest", in the account's language."""

    def _built(self) -> str:
        with translation.override(self.context["account"].language):
            return super()._built() or gettext("Guest")


class NestedClientSerializer(ResourceSerializer):
    """A client given inside a deal. One that already holds one of the external ids is meant, whatever else is said."""

    model = Client

    name = GuestName()
    email = Text()
    note = Text()
    external_ids = NestedExternalIds(Client)


class NestedClient(WireField):
    default_error_messages = {
        "object": _("must be an object"),
        "several": _("has external ids of different clients ({ids})"),
        "both": _("can't be given together with client_id"),
    }

    def to_internal_value(self, data) -> tuple[Client, dict]:
        """The client, found or new, and what is to be written to it."""
        if not isinstance(data, dict):
            self.fail("object")
        if str(self.parent.initial_data.get("client_id") or "").strip():
            self.fail("both")
        lookup = self.context["lookup"]
        pairs = ExternalIds.readable(data.get("external_ids"))
        holders = sorted(set(lookup.holders(Client, pairs).values()))
        if len(holders) > 1:
            self.fail("several", ids=", ".join(str(lookup.called(id)) for id in holders))
        if not holders:
            client = lookup.new(Client)
            serializer = NestedClientSerializer(data=data, context=self.context)
        else:
            client = lookup.client(holders[0])
            if client is None:
                raise ConcurrentUpdate(f"Client {holders[0]} went to the trash meanwhile")
            # What it has is left alone, and so is not judged: only keys that it does not have are added to it.
            others = {key: value for key, value in data["external_ids"].items() if key not in client.external_ids}
            serializer = NestedClientSerializer(
                client, data={"external_ids": others}, partial=True, context=self.context
            )
            kept = [key for key, value in client.external_ids.items() if pairs.get(key, value) != value]
            self.parent.ignored += [f"client.external_ids.{key}" for key in kept]
        serializer.read()
        self.parent.ignored += [f"client.{name}" for name in serializer.ignored]
        return client, serializer.values


class DealSerializer(with_additional_fields(CUSTOM_FIELDS)):
    model = Deal

    name = Text(required=True)
    description = Text()
    price = Exact()
    client_id = Related("clients")
    client = NestedClient(write_only=True)
    external_ids = ExternalIds(Deal)
    currency = Currency()
    status_id = Related("statuses", kind="deal")
    responsible_id = Related("users", **ASSIGNABLE)
    url = Text()
    origin = Text()
    expected_close_date = Day()
    tags = Tags()
    additional_fields = AdditionalFields(CUSTOM_FIELDS)
    creator_id = Integer(read_only=True)
    updater_id = Integer(read_only=True)

    def validate(self, values: dict[str, Any]) -> dict[str, Any]:
        """A null for what a deal always has means that it was not said."""
        if "currency" in values and values["currency"] is None:
            del values["currency"]
        return super().validate(values)
