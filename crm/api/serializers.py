"""The CRM's resources, field by field, in the order of the wire (decisions, section 4)."""

from datetime import datetime
from typing import Any

from rest_framework.exceptions import ValidationError

from accounts.api.resources import ResourceSerializer, moment
from accounts.errors import Outrun
from accounts.fields import (
    TEAM,
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
    long_text,
)
from crm.additional_fields import LONGEST, MOST, as_json, merged, storable
from crm.api.fields import TYPED, AdditionalFields, BuiltName, ExternalIds
from crm.models import Client, Deal

# `string1` … `datetime10`: read like any field, and answered when they are set.
TypedFields = type("TypedFields", (ResourceSerializer,), {name: make(write_only=True) for name, make in TYPED.items()})


class ClientSerializer(TypedFields):
    name = BuiltName()
    email = Text()
    note = long_text()
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
    delivery_address = long_text()
    use_delivery_address = Boolean()
    bank = Text()
    bank_account = Text()
    discount = Exact()
    description = long_text()
    tags = Tags()
    status_id = Related("statuses", kind="client")
    responsible_id = Related("users", **TEAM)
    contact_id = Related("contacts")
    url = Text()
    origin = Text()
    additional_fields = AdditionalFields()
    try_update = Boolean(write_only=True)
    creator_id = Integer(read_only=True)
    updater_id = Integer(read_only=True)
    contacts_count = Integer(read_only=True)
    posts_count = Integer(read_only=True)
    deals_count = Integer(read_only=True)
    last_activity = Time(read_only=True)

    def validate(self, values: dict[str, Any]) -> dict[str, Any]:
        """Gather what goes into the one column of additional fields."""
        values.pop("try_update", None)
        before = self.instance.additional_fields if self.instance else {}
        changes = values.pop("additional_fields", {})
        for name in TYPED.keys() & values.keys():
            value = storable(values.pop(name))
            # Both are answered: of what is sent back whole with one of them changed, the change counts.
            if name not in changes or value != before.get(name):
                changes[name] = value
        if changes:
            after = merged(before, changes)
            if len(after) > MOST:
                raise ValidationError({"additional_fields": [f"are too many (maximum is {MOST})"]})
            if len(as_json(after)) > LONGEST:
                raise ValidationError({"additional_fields": [f"are too long (maximum is {LONGEST} characters in all)"]})
            values["additional_fields"] = changes
        return values

    @classmethod
    def show(cls, values, zone) -> dict[str, Any]:
        data = super().show(values, zone)
        if data["additional_fields"]:
            fields = {
                name: moment(datetime.fromisoformat(value), zone) if TYPED.get(name) is Time else value
                for name, value in sorted(data["additional_fields"].items())
            }
            data = {**data, "additional_fields": fields, **{name: fields[name] for name in TYPED if name in fields}}
        return data


class ContactSerializer(ResourceSerializer):
    name = BuiltName()
    email = Text()
    note = long_text()
    client_id = Related("clients")
    contact_list_ids = RelatedList("contact_lists")
    first_name = Text()
    last_name = Text()
    phone = Text()
    mobile_phone = Text()
    position = Text()
    description = long_text()
    responsible_id = Related("users", **TEAM)
    tags = Tags()
    creator_id = Integer(read_only=True)
    updater_id = Integer(read_only=True)


class ContactListName(Text):
    """Unique among the contact lists of the account that are not in the trash."""

    default_error_messages = {"taken": "is already taken"}

    def to_internal_value(self, data) -> str:
        name = super().to_internal_value(data)
        others = self.context["account"].contact_lists.live().filter(name=name)
        if self.parent.instance:
            others = others.exclude(id=self.parent.instance.id)
        if others.exists():
            self.fail("taken")
        return name


class ContactListSerializer(ResourceSerializer):
    name = ContactListName(required=True)
    contacts_count = Integer(read_only=True)


class NestedExternalIds(ExternalIds):
    """Who holds one of them is the client that is meant; if another takes one meanwhile, writing them says so."""

    def check_holders(self, pairs: dict[str, str | None], row) -> None:
        pass


class NestedClientSerializer(ResourceSerializer):
    """A client given inside a deal. One that already holds one of the external ids is meant, whatever else is said."""

    name = BuiltName()
    email = Text()
    note = long_text()
    external_ids = NestedExternalIds(Client)


class NestedClient(WireField):
    default_error_messages = {
        "object": "must be an object",
        "several": "has external ids of different clients ({ids})",
        "both": "can't be given together with client_id",
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
                raise Outrun(f"Client {holders[0]} went to the trash meanwhile")
            # What it has is left alone, and so is not judged: only keys that it does not have are added to it.
            others = {key: value for key, value in data["external_ids"].items() if key not in client.external_ids}
            serializer = NestedClientSerializer(
                client, data={"external_ids": others}, partial=True, context=self.context
            )
            kept = [key for key, value in client.external_ids.items() if pairs.get(key, value) != value]
            self.parent.ignored += [f"client.external_ids.{key}" for key in kept]
        if faults := serializer.faults():
            self.refuse(faults)
        self.parent.ignored += [f"client.{name}" for name in serializer.ignored]
        return client, serializer.values


class DealSerializer(ResourceSerializer):
    name = Text(required=True)
    description = long_text()
    price = Exact()
    client_id = Related("clients")
    client = NestedClient(write_only=True)
    external_ids = ExternalIds(Deal)
    currency = Currency()
    status_id = Related("statuses", kind="deal")
    responsible_id = Related("users", **TEAM)
    url = Text()
    origin = Text()
    expected_close_date = Day()
    tags = Tags()
    creator_id = Integer(read_only=True)
    updater_id = Integer(read_only=True)

    def validate(self, values: dict[str, Any]) -> dict[str, Any]:
        """A null for what a deal always has means that it was not said."""
        if "currency" in values and values["currency"] is None:
            del values["currency"]
        return values
