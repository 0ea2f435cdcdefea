from django.urls import path

from forum.texts.pages import PreviewPart

urlpatterns = [path("app/posts/preview", PreviewPart.as_view(), name="forum-post-preview")]
