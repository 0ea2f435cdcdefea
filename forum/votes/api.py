"""The views of votes in the Account API."""

from typing import TYPE_CHECKING

from django.http import HttpResponse
from rest_framework.response import Response

from accounts.account.models import Account
from accounts.hosts.api_requests import APIRequest
from core.api.resources import ResourceViewSet
from core.db.transactions import in_transaction, without_transaction

if TYPE_CHECKING:
    from forum.posts.models import Post


class VoteActions(ResourceViewSet):
    """The part of the view of posts for the vote of the user."""

    account: Account
    request: APIRequest

    def vote(self, request: APIRequest, id: int) -> HttpResponse:
        """Cast the user's vote. The HTTP status is 201 for a new vote and 200 for an existing vote."""

        def act() -> tuple["Post", bool]:
            self.check()
            post: Post = self.get_object()
            return post, post.vote(by=request.user)

        post, is_new = without_transaction(act)
        data = self.represent(post)
        return Response(data, status=201, headers=self.get_success_headers(data)) if is_new else Response(data)

    def withdraw_vote(self, request: APIRequest, id: int) -> HttpResponse:
        in_transaction(lambda: self.get_object(locked=True).withdraw_vote(by=request.user))
        return Response("ok")
