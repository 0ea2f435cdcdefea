"""The routes of the pages. Those of the Account API are in `forum.posts.urls`, because the view of posts serves them."""

from django.urls import path

from forum.votes.pages import FirstVoteCodePage, FirstVotePage, VotePage

urlpatterns = [
    path("app/posts/<id:id>/vote", VotePage.as_view(), name="forum-post-vote"),
    path("app/posts/<id:id>/vote/first", FirstVotePage.as_view(), name="forum-first-vote"),
    path("app/posts/<id:id>/vote/code", FirstVoteCodePage.as_view(), name="forum-first-vote-code"),
]
