"""The pages of a client, a contact and a deal: its fields, edited in place, and what belongs to it.

Each page takes a fixed number of statements. The names of users, statuses and clients are read with the rows that show them.
"""

from collections.abc import Collection
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db.models import Model, QuerySet
from django.http import Http404, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils.translation import gettext as _

from accounts.account.models import Account
from accounts.attachments.models import Attachment, attached_files
from accounts.attachments.uploading import upload_files
from accounts.erasure.erasing import Receipt, erase_row
from accounts.erasure.pages import redirect_to_receipt
from accounts.fields.catalogue import Field, fields_of, grouped
from accounts.layout.settings import parse_id
from core.db.prepared import prepared
from core.db.tenancy import account_of
from core.errors import FieldErrors
from core.pages.base import redirect, referring_path, safe_path
from core.pages.undo import Undo, tell_with_undo
from core.rows.access import Access, prepared_access
from core.rows.declared import FieldType
from crm.resources.models import CRMResource
from team.bulk.actions import ACTIONS, Action
from team.fields.cells import as_status, cells_of, fact_of, shown_fields, value_in, with_linked_names
from team.fields.forms import FieldEdit, FieldForm, editable_field
from team.fields.names import LINKS, Names
from team.list_queries.declarations import LISTS
from team.lists.pages.base import RecordsPage
from team.lists.pages.list import MAX_POSITION_DIGITS, PEEK
from team.menu.pages import ActionsPage, TeamRequest, search_text
from team.merges.pages import annotate_merges, merge_of_trashed, merge_path, merges_of
from team.notes.pages import Composer
from team.records.pages.panels import (
    UserLinksMixin,
    contact_lists_of,
    contacts_of,
    deals_of,
    external_ids_of,
    feedback_of,
    find_suggestions,
    stages_of,
    summary_of,
    tasks_of,
)
from team.summaries.models import with_stored_values
from team.timeline.pages import PAGE_SIZE, timeline_section

# The most characters of the query string of a list that the address of a record holds.
MAX_LIST_LENGTH = 2_000


class RecordPage(ActionsPage, Composer):
    """The base of the pages of one record. A record in the trash has only its name and, for those who may, a button to restore it."""

    template_name = "team/records/record.html"
    actions = {"trash": "trash", "restore": "restore", "compose": "compose", "tick": "complete_task"}
    actions |= {"add_files": "add_files", "delete_file": "delete_file"}

    def find(self, id: int) -> CRMResource:
        account, access = self.request.account, self.request.user.access
        row: CRMResource | None = _records.first(account_id=account.id, id=id, page=type(self), **access.arguments)
        if row is None:
            raise Http404
        row.account = account
        return row

    @classmethod
    def annotated(cls, rows: QuerySet[Model], account: Account, access: Access) -> QuerySet[Model]:
        """Add the status of the record, and the names of the users and of the rows of the access to which it links."""
        resource = cls.declaration.resource
        return with_linked_names(rows.annotate(files=attached_files(resource)), resource, account, access)

    def get(self, request: TeamRequest, id: int) -> HttpResponse:
        row = self.find(id)
        if row.trashed_at is not None:
            merge = merge_of_trashed(self.request, row)
            may_restore = merge is None and self.may_restore(row)
            return self.render("team/records/record_in_trash.html", row=row, merge=merge, may_restore=may_restore)
        if self.fills(PEEK):
            # A list shows the record in a panel beside it.
            return self.show(row, template="team/records/peek.html")
        return self.show(row)

    def show(
        self, row: CRMResource, *, http_status: int = 200, template: str | None = None, **context: Any
    ) -> HttpResponse:
        fields = fields_of(self.request.account, self.declaration.resource)
        facts = [fact_of(row, field) for field in fields]
        page = self.read_page(per_page=PAGE_SIZE)
        values = {
            "row": row,
            "about": {"client": getattr(row, "client_id", None), self.declaration.resource: row.id},
            "summary": summary_of(row),
            "status": as_status(getattr(row, "status_data", None)),
            "groups": [
                (label, [fact for fact in facts if fact.field in fields])
                for label, fields in grouped(shown_fields(facts))
            ],
            "empty": [fact for fact in facts if not fact.text and fact.edit_path],
            "neighbors": self.neighbors(),
            "timeline": timeline_section(self.request, self.declaration.resource, row.id, fields, page),
            **self.panels(row),
        }
        return self.render(template, http_status=http_status, **values | context)

    def list_parameters(self) -> dict[str, str]:
        """Return the parameters that name the list from which the record was opened, and its position there."""
        at, text = self.request.GET.get("at", ""), self.request.GET.get("list", "")[:MAX_LIST_LENGTH]
        if not (at.isascii() and at.isdigit() and len(at) <= MAX_POSITION_DIGITS):
            return {}
        return {"at": at, **({"list": QueryDict(text).urlencode()} if text else {})}

    def neighbors(self) -> dict[str, str] | None:
        """Return the addresses of the list, and of the previous and the next record in it, if the record was opened from there."""
        parameters = self.list_parameters()
        if not parameters:
            return None
        at, path, text = int(parameters["at"]), reverse(self.declaration.route), parameters.get("list", "")
        own = f"{text}&" if text else ""
        previous = f"{path}?{own}at={at - 1}" if at else ""
        return {"list": f"{path}?{text}" if text else path, "previous": previous, "next": f"{path}?{own}at={at + 1}"}

    def back_to(self, id: int) -> HttpResponse:
        """Return a redirect to the record, which keeps its place in the list."""
        return redirect(self.declaration.row_route, id, query=self.list_parameters() or None)

    def panels(self, row: CRMResource) -> dict[str, Any]:
        """Return the rows that belong to the record, and the form for more of them, for the template."""
        return {"composer": self.composer(), "tasks": tasks_of(self.request, self.declaration.resource, row.id)}

    def may_restore(self, row: CRMResource) -> bool:
        """Return whether the user may restore the record: an admin, or the user who moved it to the trash."""
        return self.request.user.is_admin or row.trashed_by_id == self.request.user.id

    def lock(self, id: int) -> CRMResource:
        """Return the record, locked until the transaction ends."""
        row: CRMResource = get_object_or_404(self.accessible_records().locked(), id=id)
        return row

    def trash(self, id: int) -> HttpResponse:
        def act() -> None:
            row = self.lock(id)
            if row.trashed_at is None:
                row.trash(by=self.request.user)

        self.perform(act)
        return redirect(self.declaration.row_route, id)

    def restore(self, id: int) -> HttpResponse:
        def act() -> None:
            row = self.lock(id)
            if row.trashed_at is not None:
                if not self.may_restore(row):
                    raise PermissionDenied
                row.restore()

        self.perform(act, success_message=_("It is restored."))
        return redirect(self.declaration.row_route, id)

    def add_files(self, id: int) -> HttpResponse:
        files, user, resource = [], self.request.user, self.declaration.resource
        try:
            files = upload_files(self.request)
        except FieldErrors as caught:
            for sentence in self.error_sentences(caught):
                messages.error(self.request, sentence)
        ids = [file.id for file in files]
        self.perform(lambda: Attachment.objects.attach(self.lock_live(id), resource, ids, by_id=user.id))
        return redirect(reverse(self.declaration.row_route, args=[id], fragment="files"))

    def delete_file(self, id: int) -> HttpResponse:
        file_id = parse_id(self.request.POST.get("id"))

        def act() -> None:
            self.lock_live(id)
            self.request.account.attachments.of_row(self.declaration.resource, id).filter(id=file_id or 0).erase()

        self.perform(act, success_message=_("The file is deleted."))
        return redirect(reverse(self.declaration.row_route, args=[id], fragment="files"))

    def complete_task(self, id: int) -> HttpResponse:
        """Close a task, whatever it belongs to now."""
        task_id = parse_id(self.request.POST.get("task"))
        tasks = self.request.account.posts.live().filter(category_id=None).accessible_to(self.request.user)

        def act() -> None:
            task = get_object_or_404(tasks.locked(), id=task_id or 0)
            if not task.closed:
                task.write({"closed": True}, by=self.request.user)

        if self.perform(act):
            undo = Undo(reverse("team-tasks"), {"do": "reopen", "id": str(task_id)})
            tell_with_undo(self.request, _("The task is completed."), undo)
        return self.back_to(id)


@prepared(account_id=int, id=int, responsible_ids=list)
def _records(
    account_id: int, id: int, page: type[RecordPage], responsible_ids: Collection[int] | None = None
) -> QuerySet[Model]:
    """Build the query for the record of a page. It may be in the trash."""
    account: Account = account_of(account_id)
    access = prepared_access(responsible_ids)
    rows = getattr(account, page.declaration.collection).limited_to(access).filter(id=id)
    return page.annotated(with_stored_values(rows, page.declaration.resource, account, access), account, access)[:1]


class CustomerPage(UserLinksMixin, RecordPage):
    """The base of the pages of clients and contacts: suggestions, votes and users belong to them."""

    actions = {**RecordPage.actions, "vote": "vote", "erase": "erase"} | UserLinksMixin.link_actions

    @classmethod
    def annotated(cls, rows: QuerySet[Model], account: Account, access: Access) -> QuerySet[Model]:
        return annotate_merges(super().annotated(rows, account, access), cls.declaration.resource, access)

    def panels(self, row: Any) -> dict[str, Any]:
        vote_q = search_text(self.request.GET, "vote_q")
        user_links = self.user_links_context(self.link, row.id)
        user_ids = user_links["linked_users"].confirmed_ids
        return {
            **super().panels(row),
            **user_links,
            "feedback": feedback_of(self.request, {self.link: row.id}, user_ids=user_ids),
            "external_ids": external_ids_of(row),
            "merges": merges_of(row),
            "merge_path": merge_path(self.declaration.resource, row.id),
            "vote_q": vote_q,
            "suggestions": find_suggestions(self.request, vote_q) if vote_q else [],
        }

    def erase(self, id: int) -> HttpResponse:
        """Erase the customer at once, live or in the trash."""
        receipts: list[Receipt] = []

        def act() -> None:
            row = self.lock(id)
            row.account = self.request.account
            receipts[:] = [erase_row(row, by=self.request.user)]

        self.perform(act)
        return redirect_to_receipt(receipts[0])

    def vote(self, id: int) -> HttpResponse:
        """Cast the vote of the customer for a suggestion."""
        row, user = self.find(id), self.request.user
        if row.trashed_at is not None:
            raise Http404
        post_id = parse_id(self.request.POST.get("post"))

        def act() -> None:
            post = get_object_or_404(self.request.account.posts.listed_for(user).locked(), id=post_id or 0)
            post.cast_proxy_vote(by=user, **{self.link: row.id})

        self.perform(act, success_message=_("The vote of %(name)s counts.") % {"name": str(row)})
        return redirect(self.declaration.row_route, id)


class ClientPage(CustomerPage):
    """A client, with its deals, contacts, tasks, suggestions and votes."""

    declaration = LISTS["client"]

    def panels(self, row: CRMResource) -> dict[str, Any]:
        panels = {"deals": deals_of(self.request, client_id=row.id), "contacts": contacts_of(self.request, row.id)}
        return super().panels(row) | panels


class ContactPage(CustomerPage):
    """A contact, with its client, deals, tasks, suggestions and votes."""

    declaration = LISTS["contact"]

    actions = {**CustomerPage.actions, "join_list": "join_list", "leave_list": "leave_list"}

    def panels(self, row: CRMResource) -> dict[str, Any]:
        lists = contact_lists_of(self.request, row.id)
        return super().panels(row) | {"deals": deals_of(self.request, contact_id=row.id), "contact_lists": lists}

    def join_list(self, id: int) -> HttpResponse:
        return self.change_lists(id, ACTIONS["add_to_contact_list"])

    def leave_list(self, id: int) -> HttpResponse:
        return self.change_lists(id, ACTIONS["remove_from_contact_list"])

    def change_lists(self, id: int, action: Action) -> HttpResponse:
        account, user = self.request.account, self.request.user

        def act() -> None:
            sent = {"contact_list_id": parse_id(self.request.POST.get("contact_list_id"))}
            list_id = action.read(sent, self.declaration.resource, account, user)
            row = get_object_or_404(self.accessible_records().live().with_list_ids().locked(), id=id)
            row.account = account
            action.apply([row], list_id, by=user)

        self.perform(act)
        return redirect(self.declaration.row_route, id)


class DealPage(RecordPage):
    """A deal, with the path of its stages and its client. `team.board.pages` moves it."""

    declaration = LISTS["deal"]

    def panels(self, row: Any) -> dict[str, Any]:
        return {**super().panels(row), **stages_of(self.request, row), "external_ids": external_ids_of(row)}


class EditFieldPage(RecordsPage):
    """The form for one field of a record.

    For htmx, the response is the field alone: the form, or the value after it was saved. With the parameter `cell`, the field is the cell
    of a list. Without JavaScript, the form is a page of its own, which returns to the page with the link (`next`).
    """

    template_name = "team/records/edit_field.html"
    record_class: type[RecordPage] = None  # type: ignore[assignment]  # set by each route

    def dispatch(self, request: Any, *args: Any, **kwargs: Any) -> Any:
        self.record_page, self.declaration = self.record_class(request=request), self.record_class.declaration
        return super().dispatch(request, *args, **kwargs)

    @property
    def is_cell(self) -> bool:
        return bool(self.request.htmx) and "cell" in self.request.GET

    def find(self, id: int) -> tuple[CRMResource, Field]:
        """Return the record and the field that the parameter `field` names."""
        row = self.record_page.find(id)
        field = editable_field(self.request.account, self.declaration.resource, self.request.GET.get("field", ""))
        if field is None or row.trashed_at is not None:
            raise Http404
        return row, field

    def get(self, request: TeamRequest, id: int) -> HttpResponse:
        row, field = self.find(id)
        if request.htmx and "cancel" in request.GET:
            return self.show_value(row.id, field)
        q = search_text(request.GET)
        return self.show_form(row, field, FieldForm(field, request.account, request.user, row, q=q), q=q)

    def post(self, request: TeamRequest, id: int) -> HttpResponse:
        row, field = self.find(id)
        q = search_text(request.POST)
        if request.POST.get("do") == "find":
            return self.show_form(row, field, FieldForm(field, request.account, request.user, row, q=q), q=q)
        edit = FieldEdit(request.account, request.user, row, field, request.POST)
        rows = self.accessible_records().live().filter(id=id)
        if not edit.save(rows):
            return self.show_form(row, field, edit.form, q=q, conflict=edit)
        if not rows.exists():
            return self.leave(row, reverse(self.declaration.route))
        if request.htmx:
            return self.show_value(id, field)
        messages.success(request, _("%(field)s is saved.") % {"field": field.label})
        return redirect(self.back(row))

    def back(self, row: CRMResource) -> str:
        """Return the path of the page with the link to the form: the list, or the page of the record."""
        record = reverse(self.declaration.row_route, args=[row.id])
        if self.request.method == "POST":
            return safe_path(self.request, self.request.POST.get("next"), record)
        path = referring_path(self.request, record)
        return record if path.startswith(f"{record}/") else path

    def show_form(
        self, row: CRMResource, field: Field, form: FieldForm, *, q: str = "", conflict: FieldEdit | None = None
    ) -> HttpResponse:
        is_conflict = conflict is not None and conflict.conflicting is not None
        cell = {"cell": 1} if self.is_cell else {}
        template = "team/records/field_form.html" if self.request.htmx else self.template_name
        return self.render(
            "team/records/cell_form.html" if self.is_cell else template,
            http_status=422 if form.is_bound else 200,
            row=row,
            field=field,
            form=form,
            q=q,
            conflict=conflict if is_conflict else None,
            edit_path=reverse(self.declaration.edit_route, args=[row.id], query={"field": field.name, **cell}),
            searches=field.type == FieldType.CLIENT,
            back=self.back(row),
        )

    def show_value(self, id: int, field: Field) -> HttpResponse:
        if not self.is_cell:
            fact = fact_of(self.record_page.find(id), field)
            return self.render("team/records/fact.html", fact=fact, focused=True)
        account, user, declaration = self.request.account, self.request.user, self.declaration
        columns = {"id", field.column, *declaration.further_columns}
        values = declaration.rows_of(account, user).filter(id=id).values(*columns).first()
        if values is None:
            raise Http404
        names = Names.read(account, user, [(field.type, value_in(values, field))] if field.type in LINKS else [])
        [cell] = cells_of(values, [field], names, account.currency, edit_route=declaration.edit_route)
        return self.render("team/records/cell.html", cell=cell, focused=True)
