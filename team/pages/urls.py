from django.urls import URLPattern, path

from team.backers.pages.backers import BackersPage
from team.board.pages import BoardPage, MovePage
from team.bulk.pages import BulkChangePage, BulkChangesPage, NewBulkChangePage
from team.exports.pages import ExportPage
from team.fields.pages import FieldPage, FieldsPage
from team.lists.pages.list import ClientsPage, ContactListsPage, ContactsPage, DealsPage, TaskListPage
from team.lists.pages.saved_views import EditViewPage, NewViewPage, ViewsPage
from team.mailings.pages import CustomerUnsubscribePage, MessagePage, NewMessagePage
from team.merges.pages import MergeClientPage, MergeContactPage, UndoMergeView
from team.notes.pages import EditNotePage, NotePage, TeamMentionsPart
from team.records.pages.contact_lists import ContactListPage, NewContactListPage
from team.records.pages.create import NewClientPage, NewContactPage, NewDealPage
from team.records.pages.edit import EditClientPage, EditContactPage, EditDealPage
from team.records.pages.record import ClientPage, ContactPage, DealPage
from team.reports.pages import ReportPage
from team.search.pages import FindPage
from team.tasks.pages.calendar import CalendarPage, FeedView
from team.tasks.pages.edit import EditTaskPage, TaskFormPage
from team.tasks.pages.list import TaskPage, TasksPage

urlpatterns: list[URLPattern] = [
    path("app/find", FindPage.as_view(), name="team-find"),
    path("app/clients/<id:id>", ClientPage.as_view(), name="team-client"),
    path("app/clients/<id:id>/edit", EditClientPage.as_view(), name="team-client-edit"),
    path("app/contacts/<id:id>", ContactPage.as_view(), name="team-contact"),
    path("app/contacts/<id:id>/edit", EditContactPage.as_view(), name="team-contact-edit"),
    path("app/deals/board", BoardPage.as_view(), name="team-board"),
    path("app/deals/<id:id>/move", MovePage.as_view(), name="team-deal-move"),
    path("app/clients/<id:id>/merge", MergeClientPage.as_view(), name="team-client-merge"),
    path("app/contacts/<id:id>/merge", MergeContactPage.as_view(), name="team-contact-merge"),
    path("app/merges/<id:id>/undo", UndoMergeView.as_view(), name="team-merge-undo"),
    path("app/deals/<id:id>", DealPage.as_view(), name="team-deal"),
    path("app/deals/<id:id>/edit", EditDealPage.as_view(), name="team-deal-edit"),
    path("app/posts/<id:id>/clients", BackersPage.as_view(), name="team-post-clients"),
    path("app/posts/<id:id>/message", NewMessagePage.as_view(), name="team-post-message"),
    path("app/messages/<id:id>", MessagePage.as_view(), name="team-message"),
    path("app/unsubscribe/customer", CustomerUnsubscribePage.as_view(), name="team-unsubscribe"),
    path("app/account/fields", FieldsPage.as_view(), name="team-fields"),
    path("app/account/fields/<id:id>", FieldPage.as_view(), name="team-field"),
    path("app/clients/new", NewClientPage.as_view(), name="team-client-new"),
    path("app/contacts/new", NewContactPage.as_view(), name="team-contact-new"),
    path("app/deals/new", NewDealPage.as_view(), name="team-deal-new"),
    path("app/clients", ClientsPage.as_view(), name="team-clients"),
    path("app/contacts", ContactsPage.as_view(), name="team-contacts"),
    path("app/contact_lists", ContactListsPage.as_view(), name="team-contact-lists"),
    path("app/contact_lists/new", NewContactListPage.as_view(), name="team-contact-list-new"),
    path("app/contact_lists/<id:id>", ContactListPage.as_view(), name="team-contact-list"),
    path("app/deals", DealsPage.as_view(), name="team-deals"),
    path("app/clients/export.csv", ExportPage.as_view(resource="client"), name="team-clients-export"),
    path("app/contacts/export.csv", ExportPage.as_view(resource="contact"), name="team-contacts-export"),
    path("app/deals/export.csv", ExportPage.as_view(resource="deal"), name="team-deals-export"),
    path("app/bulk_changes", BulkChangesPage.as_view(), name="team-bulk-changes"),
    path("app/bulk_changes/new", NewBulkChangePage.as_view(), name="team-bulk-change-new"),
    path("app/bulk_changes/<id:id>", BulkChangePage.as_view(), name="team-bulk-change"),
    path("app/reports", ReportPage.as_view(), name="team-reports"),
    path("app/reports/<slug:name>", ReportPage.as_view(), name="team-report"),
    path("app/notes/<id:id>", NotePage.as_view(), name="team-note"),
    path("app/notes/<id:id>/edit", EditNotePage.as_view(), name="team-note-edit"),
    path("app/mentions", TeamMentionsPart.as_view(), name="team-mentions"),
    path("app/tasks", TasksPage.as_view(), name="team-tasks"),
    path("app/tasks/new", TaskFormPage.as_view(), name="team-task-new"),
    path("app/tasks/calendar", CalendarPage.as_view(), name="team-tasks-calendar"),
    path("app/views", ViewsPage.as_view(), name="team-views"),
    path("app/views/new", NewViewPage.as_view(), name="team-view-new"),
    path("app/views/<id:id>", EditViewPage.as_view(), name="team-view"),
    path("app/tasks/list", TaskListPage.as_view(), name="team-tasks-list"),
    path("app/tasks.ics", FeedView.as_view(), name="team-tasks-ics"),
    path("app/tasks/<id:id>", TaskPage.as_view(), name="team-task"),
    path("app/tasks/<id:id>/edit", EditTaskPage.as_view(), name="team-task-edit"),
]
