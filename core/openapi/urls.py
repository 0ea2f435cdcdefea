from django.urls import path

from core.openapi.document import DocumentViewSet, SwaggerViewSet

urlpatterns = [
    path("app/openapi.json", DocumentViewSet.as_view({"get": "retrieve"}), name="core-openapi"),
    path("app/docs/swagger", SwaggerViewSet.as_view({"get": "retrieve"}), name="core-swagger"),
]
