from django.urls import path

from core.api.routing import CREATE, ITEM, LIST
from webhooks.api import WebhookViewSet
from webhooks.pages import WebhookPage, WebhooksPage

urlpatterns = [
    path("app/webhooks.json", WebhookViewSet.as_view(LIST | CREATE), name="webhooks-json-webhooks"),
    path("app/webhooks/<id:id>.json", WebhookViewSet.as_view(ITEM), name="webhooks-json-webhook"),
    path(
        "app/webhooks/<id:id>/secret.json",
        WebhookViewSet.as_view({"post": "rotate"}),
        name="webhooks-json-webhook-secret",
    ),
    path("app/webhooks/<id:id>/test.json", WebhookViewSet.as_view({"post": "test"}), name="webhooks-json-webhook-test"),
    path(
        "app/webhooks/<id:id>/resend.json",
        WebhookViewSet.as_view({"post": "resend"}),
        name="webhooks-json-webhook-resend",
    ),
    path(
        "app/webhooks/<id:id>/deliveries.json",
        WebhookViewSet.as_view({"get": "deliveries"}),
        name="webhooks-json-webhook-deliveries",
    ),
    path("app/account/webhooks", WebhooksPage.as_view(), name="webhooks-webhooks"),
    path("app/account/webhooks/<id:id>", WebhookPage.as_view(), name="webhooks-webhook"),
]
