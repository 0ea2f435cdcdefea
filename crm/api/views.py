"""Generation B: clients, contacts, contact lists and deals."""

from accounts.api.resources import ResourceViewSet
from crm.api.serializers import ClientSerializer, ContactListSerializer, ContactSerializer, DealSerializer
from crm.models import Client, Contact, ContactList, Deal


class CRMViewSet(ResourceViewSet):
    model: type

    def make(self, values):
        row = self.model(account=self.account)
        row.write(values, by=self.request.user)
        return row

    def change(self, row, values):
        row.write(values, by=self.request.user)


class ClientViewSet(CRMViewSet):
    key = "client"
    model = Client
    serializer_class = ClientSerializer

    def rows(self):
        return self.account.clients.live()


class ContactViewSet(CRMViewSet):
    key = "contact"
    model = Contact
    serializer_class = ContactSerializer

    def rows(self):
        return self.account.contacts.live().with_list_ids()


class ContactListViewSet(CRMViewSet):
    key = "contact_list"
    model = ContactList
    serializer_class = ContactListSerializer

    def rows(self):
        return self.account.contact_lists.live()


class DealViewSet(CRMViewSet):
    key = "deal"
    model = Deal
    serializer_class = DealSerializer

    def rows(self):
        return self.account.deals.live()

    def make(self, values):
        return super().make({**values, "currency": values.get("currency") or self.account.currency})

    def change(self, row, values):
        if values.get("currency", True) is None:
            values["currency"] = self.account.currency
        super().change(row, values)
