from django.urls import path

from accounts.api.tags import TagViewSet
from core.api.routing import BULK, RESOURCE, RESOURCE_ITEM
from crm.api.views import ClientViewSet, ContactListViewSet, ContactViewSet, DealViewSet

LIST = {"get": "list"}
UPSERT = {"put": "upsert", "patch": "upsert"}

urlpatterns = [
    path("app/clients.json", ClientViewSet.as_view(LIST | RESOURCE | UPSERT)),
    path("app/clients/<id:id>.json", ClientViewSet.as_view(RESOURCE_ITEM)),
    path("app/contacts.json", ContactViewSet.as_view(LIST | RESOURCE)),
    path("app/contacts/<id:id>.json", ContactViewSet.as_view(RESOURCE_ITEM)),
    path("app/contact_lists.json", ContactListViewSet.as_view(LIST | RESOURCE)),
    path("app/contact_lists/<id:id>.json", ContactListViewSet.as_view(RESOURCE_ITEM)),
    path("app/deals.json", DealViewSet.as_view(LIST | RESOURCE | UPSERT)),
    path("app/deals/<id:id>.json", DealViewSet.as_view(RESOURCE_ITEM)),
    path("app/clients/bulk.json", ClientViewSet.as_view(BULK)),
    path("app/contacts/bulk.json", ContactViewSet.as_view(BULK)),
    path("app/deals/bulk.json", DealViewSet.as_view(BULK)),
    *(
        path(f"app/{kind}s/tags.json", TagViewSet.as_view(LIST, kind=kind), name=f"{kind}-tags")
        for kind in ("client", "contact", "deal")
    ),
]
