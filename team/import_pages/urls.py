from django.urls import path

from team.import_pages.pages import ImportFaultsPage, ImportPage, ImportPreviewPage, ImportsPage

urlpatterns = [
    path("app/imports", ImportsPage.as_view(), name="team-imports"),
    path("app/imports/<id:id>", ImportPage.as_view(), name="team-import"),
    path("app/imports/<id:id>/preview", ImportPreviewPage.as_view(), name="team-import-preview"),
    path("app/imports/<id:id>/faults.csv", ImportFaultsPage.as_view(), name="team-import-faults"),
]
