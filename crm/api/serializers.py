"""The CRM's resources, field by field, in the order of the wire (decisions, section 4)."""

from typing import Any

from django.utils import translation
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from accounts.roles import ASSIGNABLE
from core.api.additional_fields import CUSTOM_FIELDS, AdditionalFieldsField, AnyScalarField, with_additional_fields
from core.api.fields import (
    BooleanField,
    CurrencyField,
    DateField,
    DateTimeField,
    DecimalField,
    IntegerField,
    RelatedField,
    RelatedListField,
    TagsField,
    TextField,
    WireField,
)
from core.api.serializers import ResourceSerializer
from core.errors import ConcurrentUpdate
from crm.api.fields import EXTERNAL_ID, BuiltName, ExternalIds
from crm.models import Client, Contact, ContactList, Deal

CLIENT_FIELDS = CUSTOM_FIELDS | {
    EXTERNAL_ID: TextField,
    "token": TextField,
    "paid_from": DateField,
    "paid_to": DateField,
    "paid_total": DecimalField,
    "payment_to_kind": TextField,
    "bank_account_id": IntegerField,
    "category_id": IntegerField,
    "department_id": IntegerField,
    "project_id": IntegerField,
    "position": AnyScalarField,
    "sensitive_data": BooleanField,
    "appendixes_count": IntegerField,
    "avatar_file_name": TextField,
    "avatar_content_type": TextField,
    "avatar_file_size": IntegerField,
    "avatar_updated_at": DateTimeField,
}


class ClientSerializer(with_additional_fields(CLIENT_FIELDS)):
    model = Client

    name = BuiltName()
    email = TextField()
    note = TextField()
    external_ids = ExternalIds(Client)
    first_name = TextField()
    last_name = TextField()
    shortcut = TextField()
    kind = TextField()
    company = BooleanField()
    tax_no = TextField()
    register_number = TextField()
    phone = TextField()
    mobile_phone = TextField()
    fax = TextField()
    www = TextField()
    street = TextField()
    street_no = TextField()
    post_code = TextField()
    city = TextField()
    province = TextField()
    country = TextField()
    delivery_address = TextField()
    use_delivery_address = BooleanField()
    bank = TextField()
    bank_account = TextField()
    discount = DecimalField()
    description = TextField()
    tags = TagsField()
    status_id = RelatedField("statuses", kind="client")
    responsible_id = RelatedField("users", **ASSIGNABLE)
    contact_id = RelatedField("contacts")
    url = TextField()
    origin = TextField()
    additional_fields = AdditionalFieldsField(CLIENT_FIELDS)
    try_update = BooleanField(write_only=True)
    creator_id = IntegerField(read_only=True)
    updater_id = IntegerField(read_only=True)
    contacts_count = IntegerField(read_only=True)
    posts_count = IntegerField(read_only=True)
    deals_count = IntegerField(read_only=True)
    last_activity = DateTimeField(read_only=True)

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
    email = TextField()
    note = TextField()
    client_id = RelatedField("clients")
    contact_list_ids = RelatedListField("contact_lists")
    first_name = TextField()
    last_name = TextField()
    phone = TextField()
    mobile_phone = TextField()
    position = TextField()
    description = TextField()
    responsible_id = RelatedField("users", **ASSIGNABLE)
    tags = TagsField()
    additional_fields = AdditionalFieldsField(CUSTOM_FIELDS)
    creator_id = IntegerField(read_only=True)
    updater_id = IntegerField(read_only=True)


class ContactListName(TextField):
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
    contacts_count = IntegerField(read_only=True)


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
    email = TextField()
    note = TextField()
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

    name = TextField(required=True)
    description = TextField()
    price = DecimalField()
    client_id = RelatedField("clients")
    client = NestedClient(write_only=True)
    external_ids = ExternalIds(Deal)
    currency = CurrencyField()
    status_id = RelatedField("statuses", kind="deal")
    responsible_id = RelatedField("users", **ASSIGNABLE)
    url = TextField()
    origin = TextField()
    expected_close_date = DateField()
    tags = TagsField()
    additional_fields = AdditionalFieldsField(CUSTOM_FIELDS)
    creator_id = IntegerField(read_only=True)
    updater_id = IntegerField(read_only=True)

    def validate(self, values: dict[str, Any]) -> dict[str, Any]:
        """A null for what a deal always has means that it was not said."""
        if "currency" in values and values["currency"] is None:
            del values["currency"]
        return super().validate(values)
