"""Saved views in the OpenAPI document."""

from core.openapi.operations import SHAPES, Shape, example_of, register_list, register_resource
from workspace.api.saved_views import SavedViewSerializer
from workspace.views import MAX_SHARED_VIEWS, MAX_VIEWS_OF_USER, SavedView

SHAPES[SavedViewSerializer] = Shape(SavedView, computed=frozenset({"position"}))

SAVED_VIEW = example_of(
    SavedViewSerializer,
    id=48,
    resource="client",
    name="Leads in Kraków",
    query="city=Krak%C3%B3w&responsible_id=me&sort=name",
    shared=True,
    owner_id=15,
    position=1,
    created_at="2026-11-21T12:00:00+01:00",
    updated_at="2026-11-21T12:00:00+01:00",
)
register_list(
    "/app/views.json",
    "list_views",
    "List saved views",
    "Saved views",
    [SAVED_VIEW],
    description="The own views and those that are shared with the team, by list and position. The shared ones of a list come first.",
    query_parameters=lambda: {"resource": {"type": "string", "enum": SavedView.Target.values}},
    resource="client",
)
register_resource(
    "/app/views",
    "view",
    "Saved views",
    response_example=SAVED_VIEW,
    create={
        "resource": "client",
        "name": "Leads in Kraków",
        "query": "city=Kraków&responsible_id=me&sort=name",
        "shared": True,
    },
    update={"name": "Leads"},
    body_serializers={"view": SavedViewSerializer},
    creation=f"The query is that of a list in the team's pages. A user has at most {MAX_VIEWS_OF_USER} views, and the team shares at most "
    f"{MAX_SHARED_VIEWS}.",
    deletion="For the owner, and for admins if the view is shared. The rows of the list stay.",
)
