from django.urls import URLPattern, path

from workspace.pages.fields import FieldPage, FieldsPage

urlpatterns: list[URLPattern] = [
    path("app/account/fields", FieldsPage.as_view(), name="workspace-fields"),
    path("app/account/fields/<id:id>", FieldPage.as_view(), name="workspace-field"),
]
