"""The schemas of saved views in the OpenAPI document, as far as views and serializers do not tell them."""

from core.openapi.operations import LIMITS, QUERY_PARAMETERS, SHAPES, Shape
from core.openapi.values import one_of
from team.lists.api import SavedViewSerializer
from team.lists.saved_views import MAX_SHARED_VIEWS, MAX_VIEWS_OF_USER, SavedView

LIMITS |= {"MAX_VIEWS_OF_USER": MAX_VIEWS_OF_USER, "MAX_SHARED_VIEWS": MAX_SHARED_VIEWS}

SHAPES[SavedViewSerializer] = Shape(SavedView, computed=frozenset({"position"}))
QUERY_PARAMETERS["list_views"] = {"resource": one_of(SavedView.Target.values)}
