"""The route of the page. Those of the Account API are in `forum.posts.urls`, because the view of posts serves them."""

from django.urls import path

from forum.follows.pages import FollowPage

urlpatterns = [path("app/posts/<id:id>/follow", FollowPage.as_view(), name="forum-post-follow")]
