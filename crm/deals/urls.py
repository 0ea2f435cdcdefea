from django.urls import path

from accounts.tags.api import TagViewSet
from core.api.routing import BULK, CREATE, ITEM, LIST, UPSERT
from crm.deals.api import DealViewSet

urlpatterns = [
    path("app/deals.json", DealViewSet.as_view(LIST | CREATE | UPSERT), name="crm-json-deals"),
    path("app/deals/<id:id>.json", DealViewSet.as_view(ITEM), name="crm-json-deal"),
    path("app/deals/<id:id>/stages.json", DealViewSet.as_view({"get": "stages"}), name="crm-json-deal-stages"),
    path("app/deals/bulk.json", DealViewSet.as_view(BULK), name="crm-json-deals-bulk"),
    path("app/deals/tags.json", TagViewSet.as_view(LIST, kind="deal"), name="crm-json-deal-tags"),
]
