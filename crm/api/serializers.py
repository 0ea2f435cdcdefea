"""The serializers of clients, contacts, contact lists and deals. Responses have the fields in the order of declaration."""

from typing import Any, cast

from django.utils import translation
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from accounts.models import Account
from accounts.roles import ASSIGNABLE
from core.api.additional_fields import (
    CUSTOM_FIELDS,
    AnyScalarField,
    FieldTypes,
)
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
    to_object,
)
from core.api.serializers import ResourceSerializer
from core.db.trimmed import name_key
from core.errors import ConcurrentUpdate, FieldErrors
from crm.api.defined_fields import DefinedFieldsField, DefinedFieldsSerializer
from crm.api.fields import EXTERNAL_ID, DerivedName, ExternalIds, is_try_update
from crm.external_ids import ExternallyIdentified
from crm.models import Client, Contact, ContactList, Deal

CLIENT_FIELDS: FieldTypes = {
    **CUSTOM_FIELDS,
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


class ClientSerializer(DefinedFieldsSerializer):
    model = Client
    resource = "client"
    typed = CLIENT_FIELDS

    name = DerivedName()
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
    additional_fields = DefinedFieldsField(CLIENT_FIELDS)
    try_update = BooleanField(write_only=True)
    creator_id = IntegerField(read_only=True)
    updater_id = IntegerField(read_only=True)
    contacts_count = IntegerField(read_only=True)
    posts_count = IntegerField(read_only=True)
    deals_count = IntegerField(read_only=True)
    last_activity = DateTimeField(read_only=True)
    consent = BooleanField()
    consent_at = DateTimeField(read_only=True)
    consent_by_id = IntegerField(read_only=True)
    do_not_contact = BooleanField()
    do_not_contact_at = DateTimeField(read_only=True)
    do_not_contact_by_id = IntegerField(read_only=True)

    def validate(self, values: dict[str, Any]) -> dict[str, Any]:
        values.pop("try_update", None)
        return super().validate(values)

    @classmethod
    def additional_fields_of(cls, data: dict[str, Any]) -> dict[str, Any]:
        """Return the additional fields with the `external_id`, which is stored as an external id only (see `merge_external_id`)."""
        fields, external_ids = super().additional_fields_of(data), data["external_ids"]
        return {**fields, EXTERNAL_ID: external_ids[EXTERNAL_ID]} if EXTERNAL_ID in external_ids else fields


class ContactSerializer(DefinedFieldsSerializer):
    model = Contact
    resource = "contact"
    typed = CUSTOM_FIELDS

    name = DerivedName()
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
    additional_fields = DefinedFieldsField(CUSTOM_FIELDS)
    creator_id = IntegerField(read_only=True)
    updater_id = IntegerField(read_only=True)
    external_ids = ExternalIds(Contact)
    consent = BooleanField()
    consent_at = DateTimeField(read_only=True)
    consent_by_id = IntegerField(read_only=True)
    do_not_contact = BooleanField()
    do_not_contact_at = DateTimeField(read_only=True)
    do_not_contact_by_id = IntegerField(read_only=True)


class ContactListName(TextField):
    """A name that is unique among the account's contact lists outside the trash."""

    default_error_messages = {"taken": _("is already taken")}

    def to_internal_value(self, data: Any) -> str:
        name = cast(str, super().to_internal_value(data))
        others = self.context["account"].contact_lists.live().filter(name_key=name_key(name))
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
    """The external ids of a nested client.

    Their holder is the nested client itself, so the holders are not checked. If another client takes a pair meanwhile, the write fails.
    """

    def check_holders(self, set_pairs: dict[str, str], row: ExternallyIdentified | None) -> None:
        pass


class GuestName(DerivedName):
    """The name of a nested client: "Guest", in the account's language, if no name can be derived."""

    def _derive(self) -> str:
        with translation.override(self.context["account"].language):
            return super()._derive() or gettext("Guest")


class NestedClientSerializer(ResourceSerializer):
    """A client inside a deal. If an existing client holds one of the external ids, it is used, whatever the other fields say.

    With `try_update`, the only client with the e-mail is used too (see `links_by_email`).
    """

    model = Client

    name = GuestName()
    email = TextField()
    note = TextField()
    external_ids = NestedExternalIds(Client)
    try_update = BooleanField(write_only=True)

    def validate(self, values: dict[str, Any]) -> dict[str, Any]:
        values.pop("try_update", None)
        return values


def links_by_email(data: dict[str, Any], account: Account) -> bool:
    """Return whether a nested client without a known external id is linked to the only client with its e-mail.

    `try_update` says so, or the account if the nested client has none.
    """
    return account.link_guests_by_email if data.get("try_update") is None else is_try_update(data)


class NestedClient(WireField):
    """The field `client` of a deal."""

    default_error_messages = {
        "object": _("must be an object"),
        "several": _("has external ids of different clients ({ids})"),
        "both": _("can't be given together with client_id"),
    }

    def to_internal_value(self, data: Any) -> tuple[Client, dict[str, Any]] | None:
        """Return the existing or new client, and the values to assign to it."""
        data = to_object(data)
        if not isinstance(data, dict):
            self.fail("object")
        if str(self.parent.initial_data.get("client_id") or "").strip():
            if not data:
                return None
            self.fail("both")
        lookup, deal = self.context["lookup"], cast(ResourceSerializer, self.parent)
        pairs = ExternalIds.valid_pairs(data.get("external_ids"))
        held = lookup.holders(Client, pairs)
        try:
            lookup.check_accessible(Client, held)
        except FieldErrors as caught:
            raise FieldErrors(error.within("external_ids") for error in caught.errors) from None
        holders = sorted(set(held.values()))
        if len(holders) > 1:
            self.fail("several", ids=", ".join(str(lookup.label_of(id)) for id in holders))
        if not holders and links_by_email(data, self.context["account"]):
            guest = lookup.only_client_with_email(data.get("email"))
            if guest is not None and guest.may_have(pairs):
                deal.ignored += [f"client.external_ids.{key}" for key in pairs]
                return guest, {}
        if not holders:
            client = lookup.new(Client)
            serializer = NestedClientSerializer(data=data, context=self.context)
        else:
            client = lookup.client(holders[0])
            if client is None:
                raise ConcurrentUpdate(f"Client {holders[0]} went to the trash meanwhile")
            # Only external ids with new keys are added to the client. The rest of the input is ignored and not validated.
            others = {key: value for key, value in data["external_ids"].items() if key not in client.external_ids}
            serializer = NestedClientSerializer(
                client, data={"external_ids": others}, partial=True, context=self.context
            )
            kept = [key for key, value in client.external_ids.items() if pairs.get(key, value) != value]
            deal.ignored += [f"client.external_ids.{key}" for key in kept]
        serializer.read()
        deal.ignored += [f"client.{name}" for name in serializer.ignored]
        return client, serializer.values


class DealSerializer(DefinedFieldsSerializer):
    model = Deal
    resource = "deal"
    typed = CUSTOM_FIELDS

    name = TextField(required=True)
    description = TextField()
    price = DecimalField()
    client_id = RelatedField("clients")
    client = NestedClient(write_only=True)
    try_update = BooleanField(write_only=True)
    external_ids = ExternalIds(Deal)
    currency = CurrencyField()
    status_id = RelatedField("statuses", kind="deal")
    responsible_id = RelatedField("users", **ASSIGNABLE)
    url = TextField()
    origin = TextField()
    expected_close_date = DateField()
    tags = TagsField()
    additional_fields = DefinedFieldsField(CUSTOM_FIELDS)
    creator_id = IntegerField(read_only=True)
    updater_id = IntegerField(read_only=True)
    contact_id = RelatedField("contacts")
    won_reason = TextField()
    lost_reason = TextField()
    closed_at = DateTimeField(read_only=True)
    stage_entered_at = DateTimeField(read_only=True)

    def validate(self, values: dict[str, Any]) -> dict[str, Any]:
        """Leave out a null currency, because a deal always has one, and `try_update`, which the nested client has."""
        values.pop("try_update", None)
        if "currency" in values and values["currency"] is None:
            del values["currency"]
        return super().validate(values)
