from django.urls import path

from accounts.tags.api import TagViewSet
from core.api.routing import BULK, LIST
from crm.deals.api import DealViewSet

urlpatterns = [
    path("app/deals/<id:id>/stages.json", DealViewSet.as_view({"get": "stages"}), name="crm-json-deal-stages"),
    path("app/deals/bulk.json", DealViewSet.as_view(BULK), name="crm-json-deals-bulk"),
    path("app/deals/tags.json", TagViewSet.as_view(LIST, kind="deal"), name="crm-json-deal-tags"),
]
