from django.urls import path

from core.api.routing import CREATE, ITEM, LIST
from crm.notes.api import NoteViewSet

urlpatterns = [
    path("app/notes.json", NoteViewSet.as_view(LIST | CREATE), name="crm-json-notes"),
    path("app/notes/<id:id>.json", NoteViewSet.as_view(ITEM), name="crm-json-note"),
]
