from django.urls import path

from team.post_fields.pages import PostFieldsPage

urlpatterns = [path("app/posts/<id:id>/fields", PostFieldsPage.as_view(), name="team-post-fields")]
