from django.urls import path

from team.notes.pages import EditNotePage, NotePage, TeamMentionsPart

urlpatterns = [
    path("app/notes/<id:id>", NotePage.as_view(), name="team-note"),
    path("app/notes/<id:id>/edit", EditNotePage.as_view(), name="team-note-edit"),
    path("app/mentions", TeamMentionsPart.as_view(), name="team-mentions"),
]
