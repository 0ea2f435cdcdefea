from django.urls import path

from accounts.reference.pages import Overview, Reference

urlpatterns = [
    path("app/docs", Overview.as_view(), name="accounts-docs"),
    path("app/docs/<slug:slug>", Reference.as_view(), name="accounts-docs-page"),
]
