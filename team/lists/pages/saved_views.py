"""The pages of saved views: their list with its order, and the form of a view. The lists themselves open the views."""

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.layout.forms import Form
from accounts.layout.settings import move_row, parse_id
from core.error_responses import error_response
from core.pages.base import redirect
from core.pages.creation import CreatingPage, Creation
from team.list_queries.declarations import LISTS
from team.lists.pages.base import RecordsPage
from team.lists.saved_views import MAX_NAME_LENGTH, MAX_QUERY_LENGTH, SavedView, views_of
from team.menu.pages import ActionsPage, TeamRequest


class ViewForm(Form):
    """The name of a view, and who sees it. `SavedView.write` validates them."""

    name = forms.CharField(label=gettext_lazy("Name"), max_length=MAX_NAME_LENGTH)
    shared = forms.BooleanField(
        label=gettext_lazy("Share with the team"),
        required=False,
        help_text=gettext_lazy("Everyone on the team sees a shared view. Only you and the admins can change it."),
    )


class NewViewForm(ViewForm):
    resource = forms.ChoiceField(choices=SavedView.Target.choices, widget=forms.HiddenInput)
    query = forms.CharField(required=False, max_length=MAX_QUERY_LENGTH, widget=forms.HiddenInput)


class ViewPage(RecordsPage):
    """The base of the pages of saved views."""

    def set_list(self, resource: str | None) -> None:
        """Set the list from its resource. Raise Http404 if there is no such list."""
        if resource not in LISTS:
            raise Http404
        self.declaration = LISTS[resource]

    @property
    def views_path(self) -> str:
        return reverse("team-views", query={"resource": self.declaration.resource})

    def redirect_to_list(self, view: SavedView) -> HttpResponse:
        return redirect(self.declaration.route, query={"view": view.id})

    def find(self, id: int, *, locked: bool = False) -> SavedView:
        """Return a view that the user sees. Raise Http404 if there is none."""
        rows = self.request.account.saved_views
        view = get_object_or_404((rows.locked() if locked else rows.all()).visible_to(self.request.user), id=id)
        view.account = self.request.account
        self.set_list(view.resource)
        return view


class ViewsPage(ViewPage):
    """The saved views of a list that the user sees, in their order."""

    template_name = "team/lists/saved_views.html"

    def get(self, request: TeamRequest) -> HttpResponse:
        self.set_list(request.GET.get("resource") or SavedView.Target.CLIENT)
        views = views_of(self.declaration.resource, account=request.account, user=request.user)
        groups = [
            (title, [(view, view.may_be_changed_by(request.user)) for view in views if view.shared == shared])
            for title, shared in ((_("Shared with the team"), True), (_("Only for me"), False))
        ]
        return self.render(groups=[(title, rows) for title, rows in groups if rows], lists=LISTS.values())

    def post(self, request: TeamRequest) -> HttpResponse:
        self.set_list(request.GET.get("resource") or SavedView.Target.CLIENT)
        if request.POST.get("do") != "move":
            return error_response(request, 400)
        views = request.account.saved_views.visible_to(request.user).filter(resource=self.declaration.resource)
        view = views.filter(id=parse_id(request.POST.get("id")) or 0).first()
        if view is not None and not view.may_be_changed_by(request.user):
            return error_response(request, 403)
        return move_row(self, view, redirect(self.views_path))


class NewViewPage(CreatingPage, ViewPage):
    template_name = "team/lists/saved_view.html"

    def get(self, request: TeamRequest) -> HttpResponse:
        self.set_list(request.GET.get("resource"))
        query = request.GET.get("query", "")[:MAX_QUERY_LENGTH]
        return self.render_form(NewViewForm(initial={"resource": self.declaration.resource, "query": query}))

    def post(self, request: TeamRequest) -> HttpResponse:
        self.set_list(request.POST.get("resource"))
        form = NewViewForm(request.POST)

        def write(view: SavedView) -> SavedView:
            view.write(form.cleaned_data, by=request.user)
            return view

        creation = Creation(
            create=lambda: write(SavedView(account=request.account, owner_id=request.user.id)),
            rows=request.account.saved_views.locked(),
            path=lambda view: reverse(self.declaration.route, query={"view": view.id}),
            saved=lambda view: {name: getattr(view, name) for name in form.fields},
            change=write,
            is_visible=lambda view: view.may_be_changed_by(request.user),
        )
        view = self.create_once(form, creation)
        if view is None:
            return self.render_form(form)
        messages.success(request, _("The view %(name)s is saved.") % {"name": view.name})
        return self.redirect_to_list(view)


class EditViewPage(ActionsPage, ViewPage):
    """The form of a saved view: its name, who sees it, and its list (`update`, from the page of the list)."""

    template_name = "team/lists/saved_view.html"
    actions = {"save": "save", "update": "update", "delete": "delete"}

    def find_to_change(self, id: int, *, locked: bool = False) -> SavedView:
        """Return the view. Raise PermissionDenied if the user may see it but not change it."""
        view = self.find(id, locked=locked)
        if not view.may_be_changed_by(self.request.user):
            raise PermissionDenied
        return view

    def get(self, request: TeamRequest, id: int) -> HttpResponse:
        view = self.find_to_change(id)
        return self.render_form(ViewForm(initial={"name": view.name, "shared": view.shared}), view=view)

    def write(self, id: int, values: dict[str, object]) -> None:
        self.find_to_change(id, locked=True).write(values, by=self.request.user)

    def save(self, id: int) -> HttpResponse:
        view, form = self.find_to_change(id), ViewForm(self.request.POST)
        if not form.is_valid() or not self.submit_form(form, lambda: self.write(view.id, form.cleaned_data)):
            return self.render_form(form, view=view)
        messages.success(self.request, _("The view %(name)s is saved.") % {"name": form.cleaned_data["name"]})
        # An admin who made another user's view private does not see it any more.
        is_visible = form.cleaned_data["shared"] or view.owner_id == self.request.user.id
        return self.redirect_to_list(view) if is_visible else redirect(self.views_path)

    def update(self, id: int) -> HttpResponse:
        """Store the filters, the order and the columns of the list."""
        view, query = self.find_to_change(id), self.request.POST.get("query", "")
        message = _("The view %(name)s is saved.") % {"name": view.name}
        self.perform(lambda: self.write(view.id, {"query": query}), success_message=message)
        return self.redirect_to_list(view)

    def delete(self, id: int) -> HttpResponse:
        view = self.find_to_change(id)
        message = _("The view %(name)s is deleted.") % {"name": view.name}
        self.perform(lambda: self.find_to_change(id, locked=True).erase(), success_message=message)
        return redirect(self.views_path)
