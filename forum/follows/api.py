"""The views of follows in the Account API."""

from django.http import HttpResponse
from rest_framework.response import Response

from accounts.account.models import Account
from accounts.hosts.api_requests import APIRequest
from core.api.resources import ResourceViewSet
from core.db.transactions import in_transaction
from forum.follows.models import Follow


class FollowActions(ResourceViewSet):
    """The part of the view of posts for following a post, as the user of the token."""

    account: Account
    request: APIRequest

    def follow(self, request: APIRequest, id: int) -> HttpResponse:
        return self.choose_follow(follows=True)

    def unfollow(self, request: APIRequest, id: int) -> HttpResponse:
        return self.choose_follow(follows=False)

    def choose_follow(self, *, follows: bool) -> HttpResponse:
        def act() -> None:
            if follows:
                self.check()
            post = self.get_object(locked=True)
            post.check_not_merged()
            Follow.objects.choose(post, by=self.request.user, follows=follows)

        in_transaction(act)
        return Response("ok")
