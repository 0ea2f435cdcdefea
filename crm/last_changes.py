"""The times of the last change of clients, contacts and deals (`core.db.last_changes`)."""

from django.db import models

from core.db.last_changes import LastChange
from core.db.tenancy import foreign_object
from crm.clients import Client
from crm.contacts import Contact
from crm.deals import Deal


def change_index(kind: str) -> models.Index:
    """Return the index for the order of a list by the last change."""
    return models.Index(fields=["account", "updated_at", "id"], name=f"{kind}_by_last_change")


class ClientLastChange(LastChange):
    row = foreign_object(Client, "id", related_name="last_change")

    class Meta:
        default_related_name = "client_last_changes"
        indexes = [change_index("client")]


class ContactLastChange(LastChange):
    row = foreign_object(Contact, "id", related_name="last_change")

    class Meta:
        default_related_name = "contact_last_changes"
        indexes = [change_index("contact")]


class DealLastChange(LastChange):
    row = foreign_object(Deal, "id", related_name="last_change")

    class Meta:
        default_related_name = "deal_last_changes"
        indexes = [change_index("deal")]
