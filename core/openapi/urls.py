from django.urls import path

from core.openapi.views import DocumentViewSet, PageViewSet

urlpatterns = [
    path("app/openapi.json", DocumentViewSet.as_view({"get": "retrieve"}), name="core-openapi"),
    path("app/docs", PageViewSet.as_view({"get": "retrieve"}), name="core-docs"),
]
