"""The clients behind suggestions in the Account API (JSON), and suggestions in the order of revenue or clients."""

import re
from dataclasses import asdict

from django.http import Http404, HttpResponse
from rest_framework.exceptions import PermissionDenied
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.hosts.api import APIRequest
from core.api.lists import Paged
from core.db.time_limit import TooSlow
from core.errors import FieldError, FieldErrors
from core.openapi.operations import QUERY_PARAMETERS, RESPONSES
from core.openapi.values import COUNT, ID, ID_OR_ZERO, NAME, array_of, object_of, one_of
from core.search.queries import search_transaction
from team.backers.models import backers_of, order_by_revenue, page_by, revenue_of, stored_revenue, total_revenue
from team.backers.segments import PARAMETERS, SuggestionFilter
from team.menu.api import TeamViewSet
from team.summaries.api import REVENUE

# The values of `order`, and the columns of `PostRevenue`.
ORDERS = {"revenue": "total", "clients": "clients"}
LIMITED = "This list counts all clients and deals of the account, and you see only some of them."
# The columns of the posts, by their names in JSON.
COLUMNS = {"forum_id": "forum_id", "title": "title", "status": "status__code", "votes": "votes_cache"}
TOO_SLOW = "takes too long, because too many clients would have to be compared"


class BackersViewSet(TeamViewSet, Paged):
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
        clients = order_by_revenue(backers_of(account, user, id), account, user)
        rows = self.paginate_queryset(clients.values_list("id", "name"))
        revenue = revenue_of(account, user, [id for id, _ in rows]) if rows else {}
        sums = {id: list(map(asdict, totals)) for id, totals in revenue.items()}
        return self.get_paginated_response(
            [{"client_id": id, "name": name, "revenue": sums.get(id, [])} for id, name in rows]
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


class SuggestionRevenueViewSet(TeamViewSet, Paged):
    """The suggestions that have clients behind them, those with the highest revenue or the most clients first."""

    def list(self, request: Request) -> HttpResponse:
        user, account = self.request.user, self.account
        if user.access.is_limited:
            raise PermissionDenied(LIMITED)
        texts = {name: self.parameters.get(name, "").strip() for name in ("order", "forum_id", *PARAMETERS)}
        filters = SuggestionFilter.read(texts, account=account, user=user)
        errors = {error.field: error for error in filters.errors}
        order, forum_id = texts["order"] or "revenue", texts["forum_id"]
        if order not in ORDERS:
            errors["order"] = FieldError("order", "is not one of {orders}", "choice", {"orders": ", ".join(ORDERS)})
        if forum_id and not re.fullmatch(r"[0-9]{1,18}", forum_id, re.ASCII):
            errors["forum_id"] = FieldError("forum_id", "is not an id", "number")
        self.read_page(*texts, errors=errors)
        forums = account.forums.filter(id=int(forum_id)) if forum_id else account.forums.all()
        forum_ids = list(forums.values_list("id", flat=True))
        try:
            with search_transaction(account.id, is_limited=True):
                matching = filters.select(account.posts.listed_for(user))
                ids = self.take_page(page_by(ORDERS[order], matching, account, forum_ids, self.page))
        except TooSlow:
            names = [name for name in PARAMETERS if texts[name]] or ["page"]
            raise FieldErrors(FieldError(name, TOO_SLOW, "too_slow") for name in names) from None
        posts = account.posts.filter(id__in=ids)
        rows = {id: values for id, *values in posts.values_list("id", *COLUMNS.values())} if ids else {}
        revenue = stored_revenue(account, ids) if ids else {}

        def represent(id: int) -> dict[str, object]:
            number, sums = revenue.get(id, (0, []))
            values = dict(zip(COLUMNS, rows[id], strict=True))
            return {"id": id, **values, "clients": number, "revenue": list(map(asdict, sums))}

        # Another transaction may have deleted a post.
        return self.get_paginated_response([represent(id) for id in ids if id in rows])


# The OpenAPI document, as far as views and serializers do not tell it
RESPONSES["list_clients_of_post"] = array_of(object_of(client_id=ID, name=NAME, revenue=REVENUE))
RESPONSES["get_revenue_of_post"] = object_of(clients=COUNT, revenue=REVENUE)

QUERY_PARAMETERS["list_posts_by_revenue"] = {
    "order": {**one_of(ORDERS), "default": next(iter(ORDERS))},
    "forum_id": ID_OR_ZERO,
    "segment": {**ID_OR_ZERO, "description": "The id of a saved view of clients."},
    "min_revenue": {
        "type": "number",
        "exclusiveMaximum": 10**14,
        "exclusiveMinimum": -(10**14),
        "description": "The smallest sum of open and won deals in the currency of the account.",
    },
    "min_clients": {"type": "integer", "minimum": 0, "maximum": 10**9 - 1},
}
POST = object_of(id=ID, forum_id=ID, title=NAME, status=NAME, votes=COUNT, clients=COUNT, revenue=REVENUE)
RESPONSES["list_posts_by_revenue"] = array_of(POST)
