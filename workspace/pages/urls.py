from django.urls import URLPattern, path

from workspace.pages.backers import BackersPage
from workspace.pages.board import BoardPage, MovePage
from workspace.pages.bulk import BulkChangePage, BulkChangesPage, NewBulkChangePage
from workspace.pages.calendar import CalendarPage, FeedView
from workspace.pages.contact_lists import ContactListPage, NewContactListPage
from workspace.pages.creating import NewClientPage, NewContactPage, NewDealPage
from workspace.pages.exports import ExportPage
from workspace.pages.fields import FieldPage, FieldsPage
from workspace.pages.finding import FindPage
from workspace.pages.lists import ClientsPage, ContactListsPage, ContactsPage, DealsPage, TaskListPage
from workspace.pages.merging import (
    MergeClientPage,
    MergeContactPage,
    UndoMergeView,
)
from workspace.pages.messages import CustomerUnsubscribePage, MessagePage, NewMessagePage
from workspace.pages.notes import EditNotePage, NotePage, TeamMentionsPart
from workspace.pages.record_editing import EditClientPage, EditContactPage, EditDealPage
from workspace.pages.records import ClientPage, ContactPage, DealPage
from workspace.pages.reports import ReportPage
from workspace.pages.task_forms import EditTaskPage, TaskFormPage
from workspace.pages.tasks import TaskPage, TasksPage
from workspace.pages.views import EditViewPage, NewViewPage, ViewsPage

urlpatterns: list[URLPattern] = [
    path("app/find", FindPage.as_view(), name="workspace-find"),
    path("app/clients/<id:id>", ClientPage.as_view(), name="workspace-client"),
    path("app/clients/<id:id>/edit", EditClientPage.as_view(), name="workspace-client-edit"),
    path("app/contacts/<id:id>", ContactPage.as_view(), name="workspace-contact"),
    path("app/contacts/<id:id>/edit", EditContactPage.as_view(), name="workspace-contact-edit"),
    path("app/deals/board", BoardPage.as_view(), name="workspace-board"),
    path("app/deals/<id:id>/move", MovePage.as_view(), name="workspace-deal-move"),
    path("app/clients/<id:id>/merge", MergeClientPage.as_view(), name="workspace-client-merge"),
    path("app/contacts/<id:id>/merge", MergeContactPage.as_view(), name="workspace-contact-merge"),
    path("app/merges/<id:id>/undo", UndoMergeView.as_view(), name="workspace-merge-undo"),
    path("app/deals/<id:id>", DealPage.as_view(), name="workspace-deal"),
    path("app/deals/<id:id>/edit", EditDealPage.as_view(), name="workspace-deal-edit"),
    path("app/posts/<id:id>/clients", BackersPage.as_view(), name="workspace-post-clients"),
    path("app/posts/<id:id>/message", NewMessagePage.as_view(), name="workspace-post-message"),
    path("app/messages/<id:id>", MessagePage.as_view(), name="workspace-message"),
    path("app/unsubscribe/customer", CustomerUnsubscribePage.as_view(), name="workspace-unsubscribe"),
    path("app/account/fields", FieldsPage.as_view(), name="workspace-fields"),
    path("app/account/fields/<id:id>", FieldPage.as_view(), name="workspace-field"),
    path("app/clients/new", NewClientPage.as_view(), name="workspace-client-new"),
    path("app/contacts/new", NewContactPage.as_view(), name="workspace-contact-new"),
    path("app/deals/new", NewDealPage.as_view(), name="workspace-deal-new"),
    path("app/clients", ClientsPage.as_view(), name="workspace-clients"),
    path("app/contacts", ContactsPage.as_view(), name="workspace-contacts"),
    path("app/contact_lists", ContactListsPage.as_view(), name="workspace-contact-lists"),
    path("app/contact_lists/new", NewContactListPage.as_view(), name="workspace-contact-list-new"),
    path("app/contact_lists/<id:id>", ContactListPage.as_view(), name="workspace-contact-list"),
    path("app/deals", DealsPage.as_view(), name="workspace-deals"),
    path("app/clients/export.csv", ExportPage.as_view(resource="client"), name="workspace-clients-export"),
    path("app/contacts/export.csv", ExportPage.as_view(resource="contact"), name="workspace-contacts-export"),
    path("app/deals/export.csv", ExportPage.as_view(resource="deal"), name="workspace-deals-export"),
    path("app/bulk_changes", BulkChangesPage.as_view(), name="workspace-bulk-changes"),
    path("app/bulk_changes/new", NewBulkChangePage.as_view(), name="workspace-bulk-change-new"),
    path("app/bulk_changes/<id:id>", BulkChangePage.as_view(), name="workspace-bulk-change"),
    path("app/reports", ReportPage.as_view(), name="workspace-reports"),
    path("app/reports/<slug:name>", ReportPage.as_view(), name="workspace-report"),
    path("app/notes/<id:id>", NotePage.as_view(), name="workspace-note"),
    path("app/notes/<id:id>/edit", EditNotePage.as_view(), name="workspace-note-edit"),
    path("app/mentions", TeamMentionsPart.as_view(), name="workspace-mentions"),
    path("app/tasks", TasksPage.as_view(), name="workspace-tasks"),
    path("app/tasks/new", TaskFormPage.as_view(), name="workspace-task-new"),
    path("app/tasks/calendar", CalendarPage.as_view(), name="workspace-tasks-calendar"),
    path("app/views", ViewsPage.as_view(), name="workspace-views"),
    path("app/views/new", NewViewPage.as_view(), name="workspace-view-new"),
    path("app/views/<id:id>", EditViewPage.as_view(), name="workspace-view"),
    path("app/tasks/list", TaskListPage.as_view(), name="workspace-tasks-list"),
    path("app/tasks.ics", FeedView.as_view(), name="workspace-tasks-ics"),
    path("app/tasks/<id:id>", TaskPage.as_view(), name="workspace-task"),
    path("app/tasks/<id:id>/edit", EditTaskPage.as_view(), name="workspace-task-edit"),
]
