from django.urls import path

from accounts.tags.api import TagViewSet
from core.api.routing import BULK, LIST
from crm.clients.api import ClientViewSet, SimilarViewSet

urlpatterns = [
    path("app/clients/bulk.json", ClientViewSet.as_view(BULK), name="crm-json-clients-bulk"),
    path("app/clients/tags.json", TagViewSet.as_view(LIST, kind="client"), name="crm-json-client-tags"),
    path("app/similar.json", SimilarViewSet.as_view({"get": "retrieve"}), name="crm-json-similar"),
]
