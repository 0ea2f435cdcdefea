"""The settings pages for what agents see: the limit, and the groups of the team."""

from http import HTTPStatus

from django import forms
from django.contrib import messages
from django.contrib.postgres.aggregates import ArrayAgg
from django.db.models import Value
from django.db.models.functions import Coalesce, NullIf
from django.http import HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.access.api import GroupSerializer
from accounts.access.models import Group
from accounts.account.models import AgentsSee
from accounts.hosts.requests import UserRequest
from accounts.layout.forms import Form
from accounts.layout.settings import SettingsPage
from accounts.layout.writing import write_row
from core.api.paging import DEFAULT_MAX_PAGE_SIZE
from core.pages.base import redirect
from core.pages.creation import CreatingPage, Creation

# The number of users of a group that the list shows.
MAX_NAMES = 20


class AgentsSeeForm(Form):
    agents_see = forms.ChoiceField(
        label=gettext_lazy("Clients, contacts, deals and tasks that agents see"),
        choices=[
            (AgentsSee.ALL, gettext_lazy("All")),
            (AgentsSee.OWN, gettext_lazy("Only those that they or their group are responsible for")),
        ],
        widget=forms.RadioSelect,
    )


class GroupForm(Form):
    name = forms.CharField(label=gettext_lazy("Name"), max_length=255)


class AccessPage(CreatingPage, SettingsPage):
    """The setting that limits the rows of agents, and the list of the groups with their users."""

    template_name = "accounts/access/access.html"
    part = "access"
    actions = {"save": "save", "add": "add"}

    def get(self, request: UserRequest) -> HttpResponse:
        return self.show()

    def show(self, form: Form | None = None, group_form: Form | None = None) -> HttpResponse:
        account = self.request.account
        page = self.read_page(per_page=DEFAULT_MAX_PAGE_SIZE)
        rows = list(account.user_groups.order_by("name", "id")[page.start : page.stop])
        shown = rows[: page.size]
        members = account.users.filter(group_id__in=[row.id for row in shown]).order_by().values("group_id")
        name = Coalesce(NullIf("name", Value("")), "login")
        names = dict(members.annotate(names=ArrayAgg(name, order_by=("name", "id"))).values_list("group_id", "names"))
        return self.render(
            http_status=HTTPStatus.UNPROCESSABLE_ENTITY if form or group_form else HTTPStatus.OK,
            form=form or AgentsSeeForm(initial={"agents_see": account.agents_see}),
            group_form=group_form or GroupForm(auto_id="group-%s"),
            rows=[
                (row, names.get(row.id, [])[:MAX_NAMES], max(len(names.get(row.id, [])) - MAX_NAMES, 0))
                for row in shown
            ],
            page=page,
            more=len(rows) > page.size,
        )

    def save(self, request: UserRequest) -> HttpResponse:
        form = AgentsSeeForm(request.POST)
        if not form.is_valid() or not self.submit_form(form, lambda: request.account.change(**form.cleaned_data)):
            return self.show(form)
        messages.success(request, _("What agents see is saved. It holds at once."))
        return redirect("accounts-access")

    def add(self, request: UserRequest) -> HttpResponse:
        form, account = GroupForm(request.POST, auto_id="group-%s"), request.account
        creation = Creation(
            create=lambda: write_row(GroupSerializer, Group(account=account), form.cleaned_data),
            rows=account.user_groups.locked(),
            path=lambda row: reverse("accounts-group", args=[row.id]),
            saved=lambda row: {"name": row.name},
            change=lambda row: write_row(GroupSerializer, row, form.cleaned_data),
        )
        if self.create_once(form, creation) is None:
            return self.show(group_form=form)
        messages.success(request, _("The group %(name)s is added.") % {"name": form.cleaned_data["name"]})
        return redirect("accounts-access")


class GroupPage(SettingsPage):
    """The name of a group, and its deletion."""

    template_name = "accounts/access/group.html"
    part = "access"
    actions = {"save": "save", "delete": "delete"}

    def find(self, id: int, *, locked: bool = False) -> Group:
        groups = self.request.account.user_groups
        return get_object_or_404(groups.locked() if locked else groups.all(), id=id)

    def get(self, request: UserRequest, id: int) -> HttpResponse:
        row = self.find(id)
        return self.render_form(GroupForm(initial={"name": row.name}), row=row)

    def save(self, request: UserRequest, id: int) -> HttpResponse:
        row = self.find(id)
        form = GroupForm(request.POST)

        def act() -> None:
            write_row(GroupSerializer, self.find(id, locked=True), form.cleaned_data)

        if not form.is_valid() or not self.submit_form(form, act):
            return self.render_form(form, row=row)
        messages.success(request, _("The group %(name)s is saved.") % {"name": form.cleaned_data["name"]})
        return redirect("accounts-access")

    def delete(self, request: UserRequest, id: int) -> HttpResponse:
        row = self.find(id)

        self.perform(
            lambda: self.find(id, locked=True).delete(),
            success_message=_("The group %(name)s is deleted.") % {"name": row.name},
        )
        return redirect("accounts-access")
