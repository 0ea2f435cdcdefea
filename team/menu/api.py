"""The base of the team's views in the Account API (JSON)."""

from collections.abc import Callable
from typing import Any

from django.http import HttpResponse
from rest_framework.response import Response

from accounts.account.models import Account
from accounts.hosts.api import APIRequest
from core.api.views import JSONViewSet
from core.db.transactions import in_transaction


class TeamViewSet(JSONViewSet):
    """A view that only the team may use, which is the default permission."""

    account: Account
    request: APIRequest

    def act(self, action: Callable[[Any], object]) -> HttpResponse:
        """Call `action` in a transaction with the row of the URL, locked. Respond with the row."""

        def act() -> object:
            row = self.get_object(locked=True)
            action(row)
            return row

        return Response(self.represent(in_transaction(act)))
