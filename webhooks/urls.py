from django.urls import path

from core.api.routing import CREATE, ITEM, LIST
from webhooks.api import WebhookViewSet
from webhooks.pages import WebhookPage, WebhooksPage

webhook = WebhookViewSet.as_view

urlpatterns = [
    path("app/webhooks.json", webhook(LIST | CREATE), name="webhooks-json-webhooks"),
    path("app/webhooks/<id:id>.json", webhook(ITEM), name="webhooks-json-webhook"),
    path("app/webhooks/<id:id>/secret.json", webhook({"post": "rotate"}), name="webhooks-json-webhook-secret"),
    path("app/webhooks/<id:id>/test.json", webhook({"post": "test"}), name="webhooks-json-webhook-test"),
    path("app/webhooks/<id:id>/resend.json", webhook({"post": "resend"}), name="webhooks-json-webhook-resend"),
    path(
        "app/webhooks/<id:id>/deliveries.json", webhook({"get": "deliveries"}), name="webhooks-json-webhook-deliveries"
    ),
    path("app/account/webhooks", WebhooksPage.as_view(), name="webhooks-webhooks"),
    path("app/account/webhooks/<id:id>", WebhookPage.as_view(), name="webhooks-webhook"),
]
