from django.urls import path

from team.fields.pages import FieldPage, FieldsPage

urlpatterns = [
    path("app/account/fields", FieldsPage.as_view(), name="team-fields"),
    path("app/account/fields/<id:id>", FieldPage.as_view(), name="team-field"),
]
