"""The routes of votes. That of the user's own vote in the Account API is in `forum.posts.urls`, because the view of posts serves it."""

from django.urls import path

from core.api.routing import CREATE, LIST
from forum.votes.api import VoteViewSet
from forum.votes.pages import FirstVoteCodePage, FirstVotePage, VotePage

urlpatterns = [
    path(
        "app/posts/<id:id>/votes.json",
        VoteViewSet.as_view(LIST | CREATE | {"delete": "destroy"}),
        name="forum-json-votes",
    ),
    path("app/posts/<id:id>/vote", VotePage.as_view(), name="forum-post-vote"),
    path("app/posts/<id:id>/vote/first", FirstVotePage.as_view(), name="forum-first-vote"),
    path("app/posts/<id:id>/vote/code", FirstVoteCodePage.as_view(), name="forum-first-vote-code"),
]
