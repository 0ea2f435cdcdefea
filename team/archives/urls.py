from django.urls import path

from team.archives.pages import ArchivePage

urlpatterns = [path("app/account/archive", ArchivePage.as_view(), name="team-archive")]
