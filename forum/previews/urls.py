from django.urls import path

from forum.previews.pages import PostImagePage

urlpatterns = [path("app/posts/<id:id>/preview.png", PostImagePage.as_view(), name="forum-post-image")]
