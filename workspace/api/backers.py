"""The clients behind a suggestion in the Account API (JSON)."""

from dataclasses import asdict

from django.http import Http404, HttpResponse
from rest_framework.response import Response

from core.api.lists import Paged
from core.api.requests import APIRequest
from core.errors import FieldErrors
from workspace.backers import backers_of, in_order_of_revenue, revenue_of, total_revenue


class BackersViewSet(Paged):
    """The clients behind a suggestion, and the sums of their deals."""

    def check_post(self, id: int) -> None:
        posts = self.account.posts.visible_to(self.request.user)
        if not posts.without_tasks().filter(id=id).exists():
            raise Http404

    def clients(self, request: APIRequest, id: int) -> HttpResponse:
        """Return the clients, those with the highest revenue in the currency of the account first."""
        self.read_page()
        self.check_post(id)
        account, user = self.account, request.user
        clients = in_order_of_revenue(backers_of(account, user, id), account, user)
        rows = self.paginate_queryset(clients.values_list("id", "name"))
        revenue = revenue_of(account, user, [id for id, _ in rows]) if rows else {}
        return self.get_paginated_response(
            [{"client_id": id, "name": name, "revenue": list(map(asdict, revenue.get(id, [])))} for id, name in rows]
        )

    def revenue(self, request: APIRequest, id: int) -> HttpResponse:
        """Return the number of the clients, and the sums of all of their deals per currency."""
        if errors := self.ignore_parameters(()):
            raise FieldErrors(errors.values())
        self.check_post(id)
        account, user = self.account, request.user
        number = backers_of(account, user, id).count()
        revenue = total_revenue(account, user, id) if number else []
        return Response({"clients": number, "revenue": list(map(asdict, revenue))})
