from django.urls import path

from core.api.routing import CREATE, ITEM, LIST
from team.list_queries.declarations import LISTS
from team.lists.api import SavedViewViewSet, SumsViewSet
from team.lists.pages.list import ContactListsPage, ListLayoutPage, RecordListPage, SuggestionListPage, TaskListPage
from team.lists.pages.saved_views import EditViewPage, NewViewPage, ViewsPage

urlpatterns = [
    path("app/clients", RecordListPage.as_view(declaration=LISTS["client"]), name="team-clients"),
    path("app/contacts", RecordListPage.as_view(declaration=LISTS["contact"]), name="team-contacts"),
    path("app/contact_lists", ContactListsPage.as_view(), name="team-contact-lists"),
    path("app/deals", RecordListPage.as_view(declaration=LISTS["deal"]), name="team-deals"),
    *(
        path(f"app/lists/{resource}/layout", ListLayoutPage.as_view(declaration=row), name=row.layout_route)
        for resource, row in LISTS.items()
    ),
    path("app/views", ViewsPage.as_view(), name="team-views"),
    path("app/views/new", NewViewPage.as_view(), name="team-view-new"),
    path("app/views/<id:id>", EditViewPage.as_view(), name="team-view"),
    path("app/suggestions/list", SuggestionListPage.as_view(), name="team-suggestions"),
    path("app/tasks/list", TaskListPage.as_view(), name="team-tasks-list"),
    *(
        path(
            f"app/{resource}s/sums.json",
            SumsViewSet.as_view({"get": "retrieve"}, resource=resource),
            name=f"team-json-{resource}-sums",
        )
        for resource in ("client", "deal")
    ),
    path("app/views.json", SavedViewViewSet.as_view(LIST | CREATE), name="team-json-views"),
    path("app/views/<id:id>.json", SavedViewViewSet.as_view(ITEM), name="team-json-view"),
]
