from django.urls import path

from forum.texts.drafts import DraftCodePage, DraftPage
from forum.texts.pages import PreviewPart

urlpatterns = [
    path("app/posts/preview", PreviewPart.as_view(), name="forum-post-preview"),
    path("app/draft", DraftPage.as_view(), name="forum-draft"),
    path("app/draft/code", DraftCodePage.as_view(), name="forum-draft-code"),
]
