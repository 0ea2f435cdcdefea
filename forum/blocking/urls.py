from django.urls import path

from forum.blocking.pages import AuthorPage

urlpatterns = [path("app/authors/<id:id>", AuthorPage.as_view(), name="forum-author")]
