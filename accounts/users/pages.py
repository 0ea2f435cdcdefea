"""The settings pages for users: the lists of the team, the members and the invitations, and the page of one user."""

from collections.abc import Callable, Iterable, Sequence
from http import HTTPStatus
from typing import Any

from django import forms
from django.contrib import messages
from django.db.models import QuerySet
from django.http import Http404, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from accounts.account.models import Account
from accounts.hosts.addresses import sites
from accounts.hosts.names import public_url
from accounts.hosts.requests import UserRequest
from accounts.layout.forms import Form
from accounts.layout.settings import SettingsPage, parse_id
from accounts.mail import sending as mail
from accounts.mail.sending import Purpose, count_email
from accounts.users.forms import EmailFormField
from accounts.users.invitations import Invitation
from accounts.users.models import User
from core.api.paging import ListPage
from core.db.text import is_xml_text
from core.http.throttling import count_search
from core.pages.base import redirect
from core.pages.creation import CreatingPage, Creation
from core.search.queries import MAX_QUERY_LENGTH, MAX_RESULTS, search, search_transaction

Role = User.Role
ROLE_NAMES: dict[str, Promise] = {
    Role.OWNER: pgettext_lazy("role", "Owner"),
    Role.ADMIN: pgettext_lazy("role", "Admin"),
    Role.AGENT: pgettext_lazy("role", "Agent"),
    Role.MEMBER: pgettext_lazy("role", "Member"),
}
ROLE_DESCRIPTIONS: dict[str, object] = {
    Role.OWNER: gettext_lazy("does everything, and chooses the owners"),
    Role.ADMIN: gettext_lazy("does everything, except choose the owners"),
    Role.AGENT: gettext_lazy("answers suggestions and works with clients, but changes no settings"),
    Role.MEMBER: gettext_lazy("suggests, votes and comments in the forums"),
}
TOO_MANY_INVITATIONS = gettext_lazy("This address was invited several times just now. Try again in an hour.")
TABS = ("team", "members", "invitations")
MAX_TOKENS_SHOWN = 100
MAX_GROUPS = 500


def role_choices(roles: Iterable[str]) -> list[tuple[str, str]]:
    return [
        (role, _("%(role)s: %(duties)s") % {"role": ROLE_NAMES[role], "duties": ROLE_DESCRIPTIONS[role]})
        for role in roles
    ]


def display_name(user: User) -> str:
    """Return the name of the user for headings and messages."""
    return user.name or user.login


class AnyRole(forms.ChoiceField):
    """A field that offers its choices but accepts every role. The model rejects the roles that the signed-in user may not give."""

    def valid_value(self, value: str) -> bool:
        return value in Role.values


class InvitationForm(Form):
    email = EmailFormField()
    role = AnyRole(label=gettext_lazy("Role"), choices=lambda: role_choices([Role.AGENT, Role.ADMIN, Role.MEMBER]))
    site_id = forms.TypedChoiceField(
        label=gettext_lazy("Forum"), coerce=int, help_text=gettext_lazy("Of a member. The team belongs to all forums.")
    )

    def __init__(self, data: QueryDict | None = None, *, account: Account, site_id: int) -> None:
        super().__init__(data, initial={"site_id": site_id})
        self.account = account
        self.site_names = {id: name for id, name, _host in sites.list_all(account)}
        self.set_choices("site_id", self.site_names.items())
        if len(self.site_names) == 1:
            del self.fields["site_id"]


class RoleForm(Form):
    role = AnyRole(label=gettext_lazy("Role"), widget=forms.RadioSelect)

    def __init__(self, data: QueryDict | None = None, *, user: User, by: User) -> None:
        super().__init__(data, initial={"role": user.role})
        self.set_choices("role", role_choices(by.assignable_roles))


class UserGroupForm(Form):
    id_format = "group-%s"
    group_id = forms.TypedChoiceField(
        label=gettext_lazy("Group"),
        coerce=int,
        empty_value=None,
        required=False,
        help_text=gettext_lazy(
            "Users with the same group see each other's customers, deals and tasks, if agents see only their own."
        ),
    )

    def __init__(self, data: QueryDict | None = None, *, user: User) -> None:
        super().__init__(data, initial={"group_id": user.group_id})
        groups = user.account.user_groups.order_by("name", "id").values_list("id", "name")
        self.set_choices("group_id", [("", _("No group")), *groups[:MAX_GROUPS]])


def find_users(account: Account, users: QuerySet[User], q: str, page: ListPage) -> list[User]:
    """Return those of the users that the page shows, and the first user of the next page, if there is one.

    With a query `q`, search the users, and order them by rank.
    """
    if not q:
        return list(users[page.start : page.stop])
    if page.start >= MAX_RESULTS or not is_xml_text(q):
        return []
    with search_transaction(account.id, q) as query:
        ids = search(users.order_by(), query, list_rows=users.order_by(), enough=page.stop)[page.start : page.stop]
    rows = {user.id: user for user in users.filter(id__in=ids)} if ids else {}
    return [rows[id] for id in ids if id in rows]


def send_invitation(request: UserRequest, *, email: str, role: str, site_ids: Sequence[int] = ()) -> Invitation:
    """Save an invitation and send it by e-mail. It names the first of the sites, and its link leads there."""
    account, user = request.account, request.user
    invitation, secret = account.invitations.invite(account, email=email, role=role, by=user, site_ids=site_ids)
    name, url = request.site.name, request.address.url
    if site_ids and request.site.id not in site_ids:
        for id, other_name, host in sites.list_all(account):
            if id in site_ids:
                name, url = other_name, public_url(host)
                break
    mail.send(
        invitation.email,
        "accounts/mail/invitation.txt",
        account_id=account.id,
        language=account.language,
        sender=name,
        urgent=False,
        by=user.public_name,
        url=url + reverse("accounts-invitation", query={"secret": secret}),
    )
    return invitation


class UsersPage(CreatingPage, SettingsPage):
    """The lists of the team, the members and the invitations."""

    template_name = "accounts/users/users.html"
    part = "users"
    actions = {"invite": "invite", "resend": "resend", "revoke": "revoke"}

    def get(self, request: UserRequest) -> HttpResponse:
        return self.show(self.invitation_form() if request.GET.get("tab") == "invitations" else Form())

    def invitation_form(self, data: QueryDict | None = None) -> InvitationForm:
        return InvitationForm(data, account=self.request.account, site_id=self.request.site.id)

    def show(self, form: Form) -> HttpResponse:
        request = self.request
        tab = "invitations" if form.is_bound else request.GET.get("tab") or "team"
        if tab not in TABS:
            raise Http404
        page, q = self.read_page(), request.GET.get("q", "").strip()[:MAX_QUERY_LENGTH]
        rows: list[Any]
        if tab == "invitations":
            invitations = request.account.invitations.select_related("invited_by").order_by("-created_at", "-id")
            rows = list(invitations[page.start : page.stop])
            names = form.site_names if isinstance(form, InvitationForm) else {}
            for row in rows:
                row.site_names = [names[id] for id in row.site_ids if id in names]
        else:
            if q:
                count_search(request)
            users = request.account.users
            rows = find_users(request.account, users.all_team() if tab == "team" else users.members(), q, page)
        return self.render_form(
            form,
            tab=tab,
            q=q,
            rows=[(row, ROLE_NAMES[row.role]) for row in rows[: page.size]],
            page=page,
            more=len(rows) > page.size,
            now=timezone.now(),
        )

    def invite(self, request: UserRequest) -> HttpResponse:
        form = self.invitation_form(request.POST)
        if form.is_valid() and not count_email(request, Purpose.INVITATION, form.cleaned_data["email"]):
            form.add_error("email", TOO_MANY_INVITATIONS)
        creation = Creation(
            create=lambda: self.save_invitation(**form.cleaned_data),
            rows=request.account.invitations.all(),
            path=lambda row: reverse("accounts-users", query={"tab": "invitations"}),
            saved=lambda row: {"email": row.email, "role": row.role, "site_id": next(iter(row.site_ids), "")},
        )
        if self.create_once(form, creation) is None:
            return self.show(form)
        return self.confirm_invitation(form.cleaned_data["email"])

    def resend(self, request: UserRequest) -> HttpResponse:
        row = self.find_invitation()
        if row is not None and not count_email(request, Purpose.INVITATION, row.email):
            messages.error(request, TOO_MANY_INVITATIONS)
        elif row is not None and self.perform(
            lambda: send_invitation(request, email=row.email, role=row.role, site_ids=row.site_ids)
        ):
            return self.confirm_invitation(row.email)
        return self.redirect_back()

    def save_invitation(self, *, email: str, role: str, site_id: int | None = None) -> Invitation:
        site_ids = [site_id or self.request.site.id] if role == Role.MEMBER else []
        return send_invitation(self.request, email=email, role=role, site_ids=site_ids)

    def confirm_invitation(self, email: str) -> HttpResponse:
        messages.success(self.request, _("An invitation is on its way to %(email)s.") % {"email": email})
        return self.redirect_back()

    def revoke(self, request: UserRequest) -> HttpResponse:
        row = self.find_invitation()
        if row is not None:
            row.revoke()
            messages.success(request, _("%(email)s is no longer invited.") % {"email": row.email})
        return self.redirect_back()

    def find_invitation(self) -> Invitation | None:
        """Return the invitation with the submitted id. If it does not exist any more, add a message and return None."""
        id = parse_id(self.request.POST.get("id"))
        row = self.request.account.invitations.filter(id=id).first() if id else None
        if row is None:
            messages.error(self.request, _("That invitation is gone: it was accepted or revoked in the meantime."))
        return row

    def redirect_back(self) -> HttpResponse:
        return redirect("accounts-users", query={"tab": "invitations"})


class UserPage(SettingsPage):
    """The page of a user: the role, the tokens, and whether the user may sign in."""

    template_name = "accounts/users/user.html"
    part = "users"
    actions = {
        "role": "change_role",
        "group": "change_group",
        **{name: name for name in ("deactivate", "reactivate", "revoke", "end_sessions", "retry_email")},
    }

    def find(self, id: int) -> User:
        user: User = get_object_or_404(self.request.account.users.filter(erased_at=None), id=id)
        user.account = self.request.account
        return user

    def get(self, request: UserRequest, id: int) -> HttpResponse:
        user = self.find(id)
        return self.show(user, RoleForm(user=user, by=request.user))

    def show(self, user: User, form: Form, group_form: Form | None = None) -> HttpResponse:
        if group_form is None and user.is_team and self.request.user.may_manage(user):
            group_form = UserGroupForm(user=user)
        return self.render_form(
            form,
            user=user,
            group_form=group_form,
            role_name=ROLE_NAMES[user.role],
            tokens=user.tokens.filter(revoked_at=None).order_by("-id")[:MAX_TOKENS_SHOWN],
            sessions=user.sessions.active().values("family").distinct().count(),
            is_self=user.id == self.request.user.id,
            manageable=self.request.user.may_manage(user),
        )

    def change_role(self, request: UserRequest, id: int) -> HttpResponse:
        user = self.find(id)
        form = RoleForm(request.POST, user=user, by=request.user)
        if not form.is_valid():
            return self.show(user, form)
        role = form.cleaned_data["role"]
        message = _("%(name)s has another role now: %(role)s.") % {"name": display_name(user), "role": ROLE_NAMES[role]}
        self.perform(lambda: user.change_role(role, by=request.user), success_message=message)
        return redirect("accounts-user", id)

    def change_group(self, request: UserRequest, id: int) -> HttpResponse:
        user = self.find(id)
        form = UserGroupForm(request.POST, user=user)
        if not user.is_team or not form.is_valid():
            response = self.show(user, RoleForm(user=user, by=request.user), form if user.is_team else None)
            response.status_code = HTTPStatus.UNPROCESSABLE_ENTITY
            return response
        group_id = form.cleaned_data["group_id"]
        self.perform(lambda: user.change_group(group_id, by=request.user), success_message=_("The group is saved."))
        return redirect("accounts-user", id)

    def deactivate(self, request: UserRequest, id: int) -> HttpResponse:
        return self.act(id, User.deactivate, _("%(name)s is signed out, and can't sign in any more."))

    def reactivate(self, request: UserRequest, id: int) -> HttpResponse:
        return self.act(id, User.reactivate, _("%(name)s can sign in again."))

    def end_sessions(self, request: UserRequest, id: int) -> HttpResponse:
        return self.act(id, User.end_sessions, _("%(name)s is signed out everywhere."))

    def act(self, id: int, action: Callable[..., None], message: str) -> HttpResponse:
        """Call a method of the user with the argument `by`, and show the message with the name of the user."""
        user = self.find(id)
        self.perform(lambda: action(user, by=self.request.user), success_message=message % {"name": display_name(user)})
        return redirect("accounts-user", id)

    def retry_email(self, request: UserRequest, id: int) -> HttpResponse:
        user = self.find(id)
        message = _("The next notification is sent to %(email)s again.") % {"email": user.email}
        self.perform(user.reset_bounces, success_message=message)
        return redirect("accounts-user", id)

    def revoke(self, request: UserRequest, id: int) -> HttpResponse:
        user, token_id = self.find(id), parse_id(request.POST.get("token"))
        if not token_id or not user.tokens.filter(id=token_id).exists():
            raise Http404
        self.perform(lambda: user.revoke_token(token_id, by=request.user), success_message=_("The token is revoked."))
        return redirect("accounts-user", id)
