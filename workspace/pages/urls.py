from django.urls import URLPattern, path

from workspace.pages.lists import ClientsPage

urlpatterns: list[URLPattern] = [
    path("app/clients", ClientsPage.as_view(), name="workspace-clients"),
]
