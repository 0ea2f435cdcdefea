from django.urls import path

from core.api.routing import CREATE, ITEM, LIST
from crm.user_links.api import UserLinkViewSet

urlpatterns = [
    path("app/user_links.json", UserLinkViewSet.as_view(LIST | CREATE), name="crm-json-user-links"),
    path("app/user_links/<id:id>.json", UserLinkViewSet.as_view(ITEM), name="crm-json-user-link"),
]
