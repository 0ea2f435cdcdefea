"""The settings page on which an owner moves the data of an older server into the account."""

from functools import cached_property
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from accounts.hosts.requests import UserRequest
from accounts.layout.forms import Form
from accounts.layout.settings import SettingsPage
from core.pages.base import redirect
from core.tenants import TenantUser
from team.move_in.client import OldServer, OldServerError
from team.move_in.models import MAX_SECRET_LENGTH, MoveIn
from team.move_in.services import SERVICES, Service

KINDS = {
    "user": _("Users"),
    "status": _("Statuses"),
    "category": _("Categories"),
    "contact_list": _("Contact lists"),
    "client": _("Clients"),
    "contact": _("Contacts"),
    "deal": _("Deals"),
    "task": _("Tasks"),
    "suggestion": _("Suggestions"),
    "comment": _("Comments"),
    "vote": _("Votes"),
}
# The numbers of the report.
LOST = {
    "fields": _("Fields that are unknown here, and kept as additional fields if possible"),
    "links": _("Links to what was not moved"),
    "votes": _("Votes, whose voters the server does not name"),
    "roles": _("Admins there who are agents now"),
    "private": _("Suggestions of private boards, which are private here"),
    "people": _("Left out, because there is no e-mail address or id of the person"),
    "merged": _("Merged there. Merge them here by hand"),
    "pictures": _("Pictures, which are links now"),
}


class SecretField(forms.CharField):
    widget = forms.PasswordInput(attrs={"autocomplete": "off"})


class MoveInForm(Form):
    url = forms.CharField(label=_("Address of the older server"), max_length=MAX_SECRET_LENGTH)
    token = SecretField(
        label=_("Token"),
        max_length=MAX_SECRET_LENGTH,
        help_text=_("Of an admin there. It is erased when the move ends."),
    )
    forum = forms.CharField(
        label=_("Address of its forum"),
        max_length=MAX_SECRET_LENGTH,
        required=False,
        help_text=_("For categories, and for suggestions if the server lists them in its forum only."),
    )
    login = forms.CharField(label=_("Login in the forum"), max_length=MAX_SECRET_LENGTH, required=False)
    password = SecretField(label=_("Password in the forum"), max_length=MAX_SECRET_LENGTH, required=False)


class CannyForm(Form):
    token = SecretField(
        label=_("API key"),
        max_length=MAX_SECRET_LENGTH,
        help_text=_("From the settings there. It is erased when the move ends."),
    )


class NoltForm(CannyForm):
    login = forms.CharField(
        label=_("SSO id"),
        max_length=MAX_SECRET_LENGTH,
        required=False,
        help_text=_("Of a user of the board with the SSO type SSO, such as one that was created through the API."),
    )


# The id of the part of the page that htmx refreshes.
PROGRESS = "progress"
SOURCES = {"": _("Older server"), **{key: service.name for key, service in SERVICES.items()}}
FORMS: dict[str, type[Form]] = {"": MoveInForm, "canny": CannyForm, "nolt": NoltForm}


class MoveInPage(SettingsPage):
    template_name = "team/move_in/move_in.html"
    part = "move-in"
    actions = {"start": "start", "test": "test", "cancel": "cancel"}

    def allows(self, user: TenantUser) -> bool:
        return self.request.user.is_owner

    @cached_property
    def row(self) -> MoveIn | None:
        row: MoveIn | None = self.request.account.move_ins.order_by("-updated_at").first()
        return row

    @cached_property
    def source(self) -> str:
        source = self.request.GET.get("source", self.row.source if self.row else "")
        return source if source in FORMS else ""

    def show(self, form: Form, plan: object = None) -> HttpResponse:
        context: dict[str, Any] = {"row": self.row, "source": self.source, "sources": SOURCES, "plan": plan}
        return self.render(form=form, kinds=KINDS, titles=LOST, **context)

    def get(self, request: UserRequest) -> HttpResponse:
        row = self.row
        if row is not None and request.htmx and request.htmx.target == PROGRESS:
            if not row.is_running:
                return HttpResponse(headers={"HX-Refresh": "true"})
            return self.render("team/move_in/progress.html", row=row, kinds=KINDS, titles=LOST)
        return self.show(
            FORMS[self.source](initial={"url": row.address, "forum": row.forum} if row and not row.source else None)
        )

    def start(self, request: UserRequest) -> HttpResponse:
        form, account = FORMS[self.source](request.POST), request.account
        if not form.is_valid() or not self.submit_form(
            form, lambda: MoveIn.start(account, by=request.user, **{"url": self.source, **form.cleaned_data})
        ):
            return self.show(form)
        messages.success(request, gettext("The move has begun. You can leave this page."))
        return redirect("team-move-in")

    def cancel(self, request: UserRequest) -> HttpResponse:
        rows = request.account.move_ins.running().locked().select_related("account", "author")

        def act() -> None:
            for row in rows:
                row.cancel(by=request.user)

        self.perform(act)
        return redirect("team-move-in")

    def test(self, request: UserRequest) -> HttpResponse:
        """Test the connection, and show what the boards of a service become. Nothing is stored, so the secrets have to be entered again."""
        form, servers, plan = FORMS[self.source](request.POST), list[OldServer](), None
        if form.is_valid() and self.submit_form(
            form,
            lambda: servers.append(MoveIn.find_server(request.account, **{"url": self.source, **form.cleaned_data})),
        ):
            try:
                if isinstance(servers[0], Service):
                    plan = MoveIn.plan(request.account, servers[0])
                elif servers[0].token:
                    servers[0].rows("/app/tasks.json", 1)
                if servers[0].forum:
                    servers[0].read_xml("/app/users/me.xml")
            except OldServerError as error:
                form.add_error(None, str(error))
            else:
                messages.success(request, gettext("The connection works, and the credentials are accepted."))
        return self.show(form, plan)
