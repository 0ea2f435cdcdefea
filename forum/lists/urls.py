"""The routes of the lists of suggestions, except for those that the pages and the Forum API share (`forum.xml.urls`)."""

from django.urls import path

from forum.lists.pages.feeds import FeedPage, sitemap
from forum.lists.pages.home import OwnPostsPage, PostListPage, RoadmapPage

urlpatterns = [
    path("app/suggestions", PostListPage.as_view(), name="forum-suggestions"),
    path("app/profile/posts", OwnPostsPage.as_view(), name="forum-own-posts"),
    path("app/roadmap", RoadmapPage.as_view(), name="forum-roadmap"),
    path("app/feed.atom", FeedPage.as_view(), name="forum-feed"),
    path("sitemap.xml", sitemap, name="forum-sitemap"),
]
