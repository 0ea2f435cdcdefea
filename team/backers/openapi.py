"""The schemas of the clients behind suggestions in the OpenAPI document, as far as views and serializers do not tell them."""

from core.openapi.operations import QUERY_PARAMETERS, RESPONSES
from core.openapi.values import COUNT, ID, ID_OR_ZERO, NAME, array_of, object_of, one_of
from team.backers.api import ORDERS
from team.summaries.openapi import REVENUE

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
RESPONSES["list_posts_by_revenue"] = array_of(
    object_of(id=ID, forum_id=ID, title=NAME, status=NAME, votes=COUNT, clients=COUNT, revenue=REVENUE)
)
