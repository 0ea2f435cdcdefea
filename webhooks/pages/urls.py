from django.urls import path

from webhooks.pages.views import WebhookPage, WebhooksPage

urlpatterns = [
    path("app/account/webhooks", WebhooksPage.as_view(), name="webhooks-webhooks"),
    path("app/account/webhooks/<id:id>", WebhookPage.as_view(), name="webhooks-webhook"),
]
