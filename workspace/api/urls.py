from django.urls import URLPattern, path

from core.api.routing import CREATE, ITEM
from workspace.api.backers import BackersViewSet, SuggestionRevenueViewSet
from workspace.api.board import BoardViewSet
from workspace.api.bulk_changes import BulkChangeViewSet
from workspace.api.calendar_feeds import CalendarFeedViewSet
from workspace.api.finding import FindViewSet
from workspace.api.merges import MergeViewSet
from workspace.api.messages import MessageViewSet, RecipientFilters
from workspace.api.reports import ReportViewSet
from workspace.api.saved_views import SavedViewViewSet
from workspace.api.summaries import SummaryViewSet
from workspace.api.timeline import TimelineViewSet
from workspace.reports.queries import REPORTS

urlpatterns: list[URLPattern] = [
    path("app/views.json", SavedViewViewSet.as_view({"get": "list"} | CREATE), name="workspace-json-views"),
    path("app/views/<id:id>.json", SavedViewViewSet.as_view(ITEM), name="workspace-json-view"),
    path("app/deals/board.json", BoardViewSet.as_view({"get": "board"}), name="workspace-json-board"),
    path("app/deals/<id:id>/move.json", BoardViewSet.as_view({"post": "move"}), name="workspace-json-deal-move"),
    path(
        "app/posts/revenue.json", SuggestionRevenueViewSet.as_view({"get": "list"}), name="workspace-json-posts-revenue"
    ),
    path(
        "app/posts/<id:id>/clients.json",
        BackersViewSet.as_view({"get": "clients"}),
        name="workspace-json-post-clients",
    ),
    path(
        "app/posts/<id:id>/revenue.json",
        BackersViewSet.as_view({"get": "revenue"}),
        name="workspace-json-post-revenue",
    ),
    path("app/find.json", FindViewSet.as_view({"get": "retrieve"}), name="workspace-json-find"),
    path(
        "app/bulk_changes.json",
        BulkChangeViewSet.as_view({"get": "list"} | CREATE),
        name="workspace-json-bulk-changes",
    ),
    path(
        "app/bulk_changes/<id:id>.json",
        BulkChangeViewSet.as_view({"get": "retrieve"}),
        name="workspace-json-bulk-change",
    ),
    path(
        "app/bulk_changes/<id:id>/undo.json",
        BulkChangeViewSet.as_view({"post": "undo"}),
        name="workspace-json-bulk-change-undo",
    ),
    path(
        "app/bulk_changes/<id:id>/cancel.json",
        BulkChangeViewSet.as_view({"post": "cancel"}),
        name="workspace-json-bulk-change-cancel",
    ),
    *(
        path(
            f"app/{resource}s/<id:id>/summary.json",
            SummaryViewSet.as_view({"get": "retrieve"}, resource=resource),
            name=f"workspace-json-{resource}-summary",
        )
        for resource in ("client", "contact", "deal")
    ),
    *(
        path(
            f"app/{resource}s/<id:id>/timeline.json",
            TimelineViewSet.as_view({"get": "entries"}, resource=resource),
            name=f"workspace-json-{resource}-timeline",
        )
        for resource in ("client", "contact", "deal")
    ),
    *(
        path(
            f"app/reports/{name}.json",
            ReportViewSet.as_view({"get": "retrieve"}, report=report),
            name=f"workspace-json-report-{name}",
        )
        for name, report in REPORTS.items()
    ),
    *(
        path(
            f"app/{kind}s/<id:id>/merge.json",
            MergeViewSet.as_view({"post": "merge"}, kind=kind),
            name=f"workspace-json-{kind}-merge",
        )
        for kind in ("client", "contact")
    ),
    path("app/merges.json", MergeViewSet.as_view({"get": "list"}), name="workspace-json-merges"),
    path("app/merges/<id:id>.json", MergeViewSet.as_view({"get": "retrieve"}), name="workspace-json-merge"),
    path("app/merges/<id:id>/undo.json", MergeViewSet.as_view({"post": "undo"}), name="workspace-json-merge-undo"),
    path(
        "app/calendar_feed.json",
        CalendarFeedViewSet.as_view({"get": "retrieve", "post": "create", "delete": "destroy"}),
        name="workspace-json-calendar-feed",
    ),
    path("app/messages.json", MessageViewSet.as_view({"get": "list"} | CREATE), name="workspace-json-messages"),
    path("app/messages/<id:id>.json", MessageViewSet.as_view(ITEM), name="workspace-json-message"),
    path(
        "app/messages/<id:id>/recipients.json",
        MessageViewSet.as_view({"get": "recipients"}, filterset_class=RecipientFilters),
        name="workspace-json-message-recipients",
    ),
    *(
        path(
            f"app/messages/<id:id>/{action}.json",
            MessageViewSet.as_view({"post": action}),
            name=f"workspace-json-message-{action}",
        )
        for action in ("test", "send", "cancel")
    ),
]
