"""The pages with the form for one field of a client, a contact or a deal."""

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _

from core.pages.base import redirect, referring_path, safe_path
from core.rows.declared import FieldType
from crm.fields.catalogue import Field
from crm.resources.models import CRMResource
from team.fields.cells import cells_of, value_in
from team.fields.facts import fact_of
from team.fields.forms import FieldEdit, FieldForm, editable_field
from team.fields.names import LINKS, Names
from team.lists.pages.base import RecordsPage
from team.menu.pages import TeamRequest, search_text
from team.records.pages.record import ClientPage, ContactPage, DealPage, RecordPage


class EditFieldPage(RecordsPage):
    """The form for one field of a record.

    For htmx, the response is the field alone: the form, or the value after it was saved. With the parameter `cell`, the field is the cell
    of a list. Without JavaScript, the form is a page of its own, which returns to the page with the link (`next`).
    """

    template_name = "team/records/edit_field.html"
    record_class: type[RecordPage]

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
        rows = self.record_page.rows().live().filter(id=id)  # type: ignore[attr-defined]
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
        status = 422 if form.is_bound else 200
        is_conflict = conflict is not None and conflict.conflicting is not None
        cell = {"cell": 1} if self.is_cell else {}
        template = "team/records/field_form.html" if self.request.htmx else self.template_name
        return self.render(
            "team/records/cell_form.html" if self.is_cell else template,
            http_status=status,
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


class EditClientPage(EditFieldPage):
    record_class = ClientPage


class EditContactPage(EditFieldPage):
    record_class = ContactPage


class EditDealPage(EditFieldPage):
    record_class = DealPage
