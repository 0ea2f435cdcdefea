"""The settings page on which an owner moves the data of an older server into the account."""

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
}
# The numbers of the report.
LOST = {
    "fields": _("Fields that are unknown here, and kept as additional fields if possible"),
    "links": _("Links to what was not moved"),
    "votes": _("Votes, whose voters the server does not name"),
    "roles": _("Admins there who are agents now"),
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


class MoveInPage(SettingsPage):
    template_name = "team/move_in/move_in.html"
    part = "move-in"
    actions = {"start": "start", "test": "test"}

    def allows(self, user: TenantUser) -> bool:
        return self.request.user.is_owner

    def show(self, form: MoveInForm) -> HttpResponse:
        row = self.request.account.move_ins.order_by("-updated_at").first()
        return self.render(form=form, row=row, kinds=KINDS, titles=LOST)

    def get(self, request: UserRequest) -> HttpResponse:
        row = request.account.move_ins.order_by("-updated_at").first()
        return self.show(MoveInForm(initial={"url": row.address, "forum": row.forum} if row else None))

    def start(self, request: UserRequest) -> HttpResponse:
        form, account = MoveInForm(request.POST), request.account
        if not form.is_valid() or not self.submit_form(
            form, lambda: MoveIn.start(account, by=request.user, **form.cleaned_data)
        ):
            return self.show(form)
        messages.success(request, gettext("The move has begun. You can leave this page."))
        return redirect("team-move-in")

    def test(self, request: UserRequest) -> HttpResponse:
        """Test the connection. Nothing is stored, so the secrets have to be entered again."""
        form, servers = MoveInForm(request.POST), list[OldServer]()
        if form.is_valid() and self.submit_form(
            form, lambda: servers.append(MoveIn.find_server(request.account, **form.cleaned_data))
        ):
            try:
                if servers[0].token:
                    servers[0].rows("/app/tasks.json", 1)
                if servers[0].forum:
                    servers[0].read_xml("/app/users/me.xml")
            except OldServerError as error:
                form.add_error(None, str(error))
            else:
                messages.success(request, gettext("The older server answers, and accepts the credentials."))
        return self.show(form)
