from django.urls import URLPattern, path

from core.api.routing import CREATE, ITEM
from team.backers.api import BackersViewSet, SuggestionRevenueViewSet
from team.board.api import BoardViewSet
from team.bulk.api import BulkChangeViewSet
from team.lists.api import SavedViewViewSet
from team.mailings.api import MessageViewSet, RecipientFilters
from team.merges.api import MergeViewSet
from team.reports.api import ReportViewSet
from team.reports.queries import REPORTS
from team.search.api import FindViewSet
from team.summaries.api import SummaryViewSet
from team.tasks.api import CalendarFeedViewSet
from team.timeline.api import TimelineViewSet

urlpatterns: list[URLPattern] = [
    path("app/views.json", SavedViewViewSet.as_view({"get": "list"} | CREATE), name="team-json-views"),
    path("app/views/<id:id>.json", SavedViewViewSet.as_view(ITEM), name="team-json-view"),
    path("app/deals/board.json", BoardViewSet.as_view({"get": "board"}), name="team-json-board"),
    path("app/deals/<id:id>/move.json", BoardViewSet.as_view({"post": "move"}), name="team-json-deal-move"),
    path("app/posts/revenue.json", SuggestionRevenueViewSet.as_view({"get": "list"}), name="team-json-posts-revenue"),
    path(
        "app/posts/<id:id>/clients.json",
        BackersViewSet.as_view({"get": "clients"}),
        name="team-json-post-clients",
    ),
    path(
        "app/posts/<id:id>/revenue.json",
        BackersViewSet.as_view({"get": "revenue"}),
        name="team-json-post-revenue",
    ),
    path("app/find.json", FindViewSet.as_view({"get": "retrieve"}), name="team-json-find"),
    path(
        "app/bulk_changes.json",
        BulkChangeViewSet.as_view({"get": "list"} | CREATE),
        name="team-json-bulk-changes",
    ),
    path(
        "app/bulk_changes/<id:id>.json",
        BulkChangeViewSet.as_view({"get": "retrieve"}),
        name="team-json-bulk-change",
    ),
    path(
        "app/bulk_changes/<id:id>/undo.json",
        BulkChangeViewSet.as_view({"post": "undo"}),
        name="team-json-bulk-change-undo",
    ),
    path(
        "app/bulk_changes/<id:id>/cancel.json",
        BulkChangeViewSet.as_view({"post": "cancel"}),
        name="team-json-bulk-change-cancel",
    ),
    *(
        path(
            f"app/{resource}s/<id:id>/summary.json",
            SummaryViewSet.as_view({"get": "retrieve"}, resource=resource),
            name=f"team-json-{resource}-summary",
        )
        for resource in ("client", "contact", "deal")
    ),
    *(
        path(
            f"app/{resource}s/<id:id>/timeline.json",
            TimelineViewSet.as_view({"get": "entries"}, resource=resource),
            name=f"team-json-{resource}-timeline",
        )
        for resource in ("client", "contact", "deal")
    ),
    *(
        path(
            f"app/reports/{name}.json",
            ReportViewSet.as_view({"get": "retrieve"}, report=report),
            name=f"team-json-report-{name}",
        )
        for name, report in REPORTS.items()
    ),
    *(
        path(
            f"app/{kind}s/<id:id>/merge.json",
            MergeViewSet.as_view({"post": "merge"}, kind=kind),
            name=f"team-json-{kind}-merge",
        )
        for kind in ("client", "contact")
    ),
    path("app/merges.json", MergeViewSet.as_view({"get": "list"}), name="team-json-merges"),
    path("app/merges/<id:id>.json", MergeViewSet.as_view({"get": "retrieve"}), name="team-json-merge"),
    path("app/merges/<id:id>/undo.json", MergeViewSet.as_view({"post": "undo"}), name="team-json-merge-undo"),
    path(
        "app/calendar_feed.json",
        CalendarFeedViewSet.as_view({"get": "retrieve", "post": "create", "delete": "destroy"}),
        name="team-json-calendar-feed",
    ),
    path("app/messages.json", MessageViewSet.as_view({"get": "list"} | CREATE), name="team-json-messages"),
    path("app/messages/<id:id>.json", MessageViewSet.as_view(ITEM), name="team-json-message"),
    path(
        "app/messages/<id:id>/recipients.json",
        MessageViewSet.as_view({"get": "recipients"}, filterset_class=RecipientFilters),
        name="team-json-message-recipients",
    ),
    *(
        path(
            f"app/messages/<id:id>/{action}.json",
            MessageViewSet.as_view({"post": action}),
            name=f"team-json-message-{action}",
        )
        for action in ("test", "send", "cancel")
    ),
]
