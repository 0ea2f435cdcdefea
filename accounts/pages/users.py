"""Who may come in: the team, the members, and whoever is invited."""

from django import forms
from django.contrib import messages
from django.http import Http404, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from accounts import mail, throttling
from accounts.models import Invitation, User
from accounts.pages.forms import Email, Form
from accounts.pages.settings import SettingsPage, to_id
from core.api.throttling import count_search
from core.db.text import is_xml_text
from core.pages.base import redirect
from core.search.queries import MAX_QUERY_LENGTH, MAX_RESULTS, search, search_transaction

Role = User.Role
ROLES = {
    Role.OWNER: pgettext_lazy("role", "Owner"),
    Role.ADMIN: pgettext_lazy("role", "Admin"),
    Role.AGENT: pgettext_lazy("role", "Agent"),
    Role.MEMBER: pgettext_lazy("role", "Member"),
}
DUTIES = {
    Role.OWNER: gettext_lazy("does everything, and chooses the owners"),
    Role.ADMIN: gettext_lazy("does everything, except choose the owners"),
    Role.AGENT: gettext_lazy("answers suggestions and works with clients, but changes no settings"),
    Role.MEMBER: gettext_lazy("suggests, votes and comments in the forums"),
}
TOO_OFTEN = gettext_lazy("This address was invited several times just now. Try again in an hour.")
TABS = ("team", "members", "invitations")
MOST_TOKENS = 100


def role_choices(roles) -> list[tuple[str, str]]:
    return [(role, _("%(role)s: %(duties)s") % {"role": ROLES[role], "duties": DUTIES[role]}) for role in roles]


def name_of(user: User) -> str:
    """As in the heading of the user's page."""
    return user.name or user.login


class AnyRole(forms.ChoiceField):
    """Offer the choices, but accept every role: the model refuses a role that the user may not give."""

    def valid_value(self, value: str) -> bool:
        return value in Role.values


class InvitationForm(Form):
    email = Email()
    role = AnyRole(label=gettext_lazy("Role"), choices=lambda: role_choices([Role.AGENT, Role.ADMIN, Role.MEMBER]))

    def __init__(self, *args, account, **kwargs):
        super().__init__(*args, **kwargs)
        self.account = account


class RoleForm(Form):
    role = AnyRole(label=gettext_lazy("Role"), widget=forms.RadioSelect)

    def __init__(self, *args, user: User, by: User, **kwargs):
        super().__init__(*args, initial={"role": user.role}, **kwargs)
        self.fields["role"].choices = role_choices(by.assignable_roles)


class UsersPage(SettingsPage):
    template_name = "accounts/users.html"
    part = "users"
    acts = {"invite": "invite", "resend": "resend", "revoke": "revoke"}

    def get(self, request) -> HttpResponse:
        return self.show(InvitationForm(account=request.account))

    def show(self, form: Form) -> HttpResponse:
        request = self.request
        tab = "invitations" if form.is_bound else request.GET.get("tab") or "team"
        if tab not in TABS:
            raise Http404
        page, q = self.read_page(), request.GET.get("q", "").strip()[:MAX_QUERY_LENGTH]
        if tab == "invitations":
            rows = request.account.invitations.select_related("invited_by").order_by("-created_at", "-id")
            found = list(rows[page.start : page.stop])
        else:
            if q:
                count_search(request)
            users = request.account.users
            found = self.users(users.staff() if tab == "team" else users.members(), q, page)
        for row in found:
            row.role_name = ROLES[row.role]
        return self.render_form(
            form,
            tab=tab,
            q=q,
            found=found[: page.size],
            page=page,
            more=len(found) > page.size,
            now=timezone.now(),
        )

    def users(self, listed, q: str, page) -> list[User]:
        """Those of a page, and one more if there is one; of a search, the best first."""
        if not q:
            return list(listed[page.start : page.stop])
        if page.start >= MAX_RESULTS or not is_xml_text(q):
            return []
        with search_transaction(self.request.account.id, q) as query:
            ids = search(listed.order_by(), query, listed=listed.order_by(), enough=page.stop)[page.start : page.stop]
        rows = {user.id: user for user in listed.filter(id__in=ids)} if ids else {}
        return [rows[id] for id in ids if id in rows]

    def invite(self, request) -> HttpResponse:
        form = InvitationForm(request.POST, account=request.account)
        if form.is_valid() and not self.may_write_to(form.cleaned_data["email"]):
            form.add_error("email", TOO_OFTEN)
        if not form.is_valid() or not self.submit_form(form, lambda: self.write_invitation(**form.cleaned_data)):
            return self.show(form)
        return self.invited()

    def resend(self, request) -> HttpResponse:
        row = self.named()
        if row is not None and not self.may_write_to(row.email):
            messages.error(request, TOO_OFTEN)
        elif row is not None and self.perform(lambda: self.write_invitation(email=row.email, role=row.role)):
            return self.invited()
        return self.back()

    def may_write_to(self, email: str) -> bool:
        return throttling.may_be_mailed(self.request.account.id, email, by="the team")

    def write_invitation(self, *, email: str, role: str) -> None:
        account, user = self.request.account, self.request.user
        self.invitation, self.secret = account.invitations.invite(account, email=email, role=role, by=user)

    def invited(self) -> HttpResponse:
        """Send it: what it promises is in the database by now."""
        request, email = self.request, self.invitation.email
        mail.send(
            email,
            "invitation",
            language=request.account.language,
            sender=request.site.name,
            by=request.user.name or request.user.login,
            url=request.address.url + reverse("accounts-invitation", query={"secret": self.secret}),
        )
        messages.success(request, _("An invitation is on its way to %(email)s.") % {"email": email})
        return self.back()

    def revoke(self, request) -> HttpResponse:
        row = self.named()
        if row is not None:
            row.delete()
            messages.success(request, _("%(email)s is no longer invited.") % {"email": row.email})
        return self.back()

    def named(self) -> Invitation | None:
        """The invitation that a button is of; if it is gone, the next page says so."""
        id = to_id(self.request.POST.get("id"))
        row = self.request.account.invitations.filter(id=id).first() if id else None
        if row is None:
            messages.error(self.request, _("That invitation is gone: it was accepted or revoked in the meantime."))
        return row

    def back(self) -> HttpResponse:
        return redirect("accounts-users", query={"tab": "invitations"})


class UserPage(SettingsPage):
    template_name = "accounts/user.html"
    part = "users"
    acts = {"role": "change_role", "deactivate": "deactivate", "reactivate": "reactivate", "revoke": "revoke"}

    def find(self, id: int) -> User:
        request = self.request
        user = request.account.users.filter(id=id).first()
        if user is None:
            raise Http404
        user.account = request.account
        return user

    def get(self, request, id: int) -> HttpResponse:
        user = self.find(id)
        return self.show(user, RoleForm(user=user, by=request.user))

    def show(self, user: User, form: Form) -> HttpResponse:
        now = timezone.now()
        tokens = list(user.tokens.filter(revoked_at=None).order_by("-id")[:MOST_TOKENS])
        for token in tokens:
            token.is_over = token.expires_at is not None and token.expires_at <= now
        user.role_name = ROLES[user.role]
        return self.render_form(
            form,
            user=user,
            tokens=tokens,
            sessions=user.sessions.filter(expires_at__gt=now).count(),
            is_self=user.id == self.request.user.id,
            manageable=self.request.user.may_manage(user),
        )

    def change_role(self, request, id: int) -> HttpResponse:
        user = self.find(id)
        form = RoleForm(request.POST, user=user, by=request.user)
        if not form.is_valid():
            return self.show(user, form)
        role = form.cleaned_data["role"]
        said = _("%(name)s has another role now: %(role)s.") % {"name": name_of(user), "role": ROLES[role]}
        self.perform(lambda: user.change_role(role, by=request.user), done=said)
        return self.back(user)

    def deactivate(self, request, id: int) -> HttpResponse:
        user = self.find(id)
        self.perform(
            lambda: user.deactivate(by=request.user),
            done=_("%(name)s is signed out, and can't sign in any more.") % {"name": name_of(user)},
        )
        return self.back(user)

    def reactivate(self, request, id: int) -> HttpResponse:
        user = self.find(id)
        said = _("%(name)s can sign in again.") % {"name": name_of(user)}
        self.perform(lambda: user.reactivate(by=request.user), done=said)
        return self.back(user)

    def revoke(self, request, id: int) -> HttpResponse:
        user, token_id = self.find(id), to_id(request.POST.get("token"))
        if not token_id or not user.tokens.filter(id=token_id).exists():
            raise Http404
        self.perform(lambda: user.revoke_token(token_id, by=request.user), done=_("The token is revoked."))
        return self.back(user)

    def back(self, user: User) -> HttpResponse:
        return redirect("accounts-user", user.id)
