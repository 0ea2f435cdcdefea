from django.urls import path

from forum.customers.pages import NewPostOnBehalfPage, ProxyVotesPage

urlpatterns = [
    path("app/posts/<id:id>/behalf", ProxyVotesPage.as_view(), name="forum-proxy-votes"),
    path("app/posts/behalf", NewPostOnBehalfPage.as_view(), name="forum-post-new-on-behalf"),
]
