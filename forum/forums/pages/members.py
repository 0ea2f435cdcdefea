"""The settings page of the members of a forum: the people whom the team invited or added, and those about whom it has to decide."""

from django.contrib import messages
from django.db.models import Exists, OuterRef
from django.http import Http404, HttpResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from accounts.layout.forms import Form
from accounts.layout.settings import SettingsPage, parse_id
from accounts.mail.limits import Purpose, count_email
from accounts.users.forms import EmailFormField
from accounts.users.models import User
from accounts.users.pages import TOO_MANY_INVITATIONS, display_name, find_users, send_invitation
from core.api import paging
from core.http.throttling import count_search
from core.pages.base import redirect
from core.search.queries import MAX_QUERY_LENGTH
from forum.forums.membership import ForumMember, ForumMemberQuerySet, key_of_email
from forum.forums.models import Forum
from forum.forums.pages.settings import ACCESS
from forum.forums.requests import ForumUserRequest

TABS = ("members", "pending")


class AddForm(Form):
    email = EmailFormField(
        help_text=gettext_lazy("Of somebody who has signed up at one of your forums, or of anybody else.")
    )


class MembersPage(SettingsPage):
    """The members of a forum, and the pending ones. The buttons act on the selected people, or on all of the tab."""

    request: ForumUserRequest
    template_name = "forum/forums/members.html"
    part = "forums"
    actions = {
        "add": "add",
        "remove": "remove",
        "approve": "approve",
        "deny": "deny",
        "approve_all": "approve_all",
        "deny_all": "deny_all",
    }

    def find(self, id: int) -> Forum:
        forum = self.request.account.forums.filter(id=id).first()
        if forum is None:
            raise Http404
        forum.account = self.request.account
        return forum

    @property
    def tab(self) -> str:
        tab = self.request.GET.get("tab") or "members"
        if tab not in TABS:
            raise Http404
        return tab

    def rows(self, forum: Forum, tab: str) -> ForumMemberQuerySet:
        rows: ForumMemberQuerySet = forum.account.forum_members.filter(forum_id=forum.id)
        return rows.pending() if tab == "pending" else rows.confirmed()

    def get(self, request: ForumUserRequest, id: int) -> HttpResponse:
        return self.show(self.find(id), AddForm())

    def show(self, forum: Forum, form: Form) -> HttpResponse:
        request, account = self.request, self.request.account
        page, q = self.read_page(), request.GET.get("q", "").strip()[:MAX_QUERY_LENGTH]
        if q:
            count_search(request)
        tab = "members" if form.is_bound else self.tab
        users = account.users.members().filter(Exists(self.rows(forum, tab).filter(user_id=OuterRef("id"))))
        rows = find_users(account, users, q, page)
        if not rows and page.number > 1:
            raise Http404
        return self.render_form(
            form,
            forum=forum,
            access=ACCESS[Forum.Access(forum.access)],
            tab=tab,
            q=q,
            rows=rows[: page.size],
            pending=self.rows(forum, "pending").count(),
            page=page,
            more=len(rows) > page.size,
        )

    def add(self, request: ForumUserRequest, id: int) -> HttpResponse:
        """Add the user with an e-mail to the forum, or invite the person who has it."""
        forum, form = self.find(id), AddForm(request.POST)
        if not form.is_valid():
            return self.show(forum, form)
        email, account = form.cleaned_data["email"], request.account
        user = account.users.filter(email_key=key_of_email(email)).first()
        if user is not None:
            return self.add_user(forum, user)
        if not count_email(request, Purpose.INVITATION, email):
            form.add_error("email", TOO_MANY_INVITATIONS)
            return self.show(forum, form)

        def invite() -> None:
            send_invitation(request, email=email, role=User.Role.MEMBER, site_ids=[forum.id])

        if not self.submit_form(form, invite):
            return self.show(forum, form)
        messages.success(request, _("An invitation is on its way to %(email)s.") % {"email": email})
        return redirect("forum-settings-members", id)

    def add_user(self, forum: Forum, user: User) -> HttpResponse:
        if user.is_team:
            message = _("%(name)s is on your team, which belongs to all forums.") % {"name": display_name(user)}
            messages.info(self.request, message)
        else:
            message = _("%(name)s is a member now.") % {"name": display_name(user)}
            self.perform(lambda: ForumMember.objects.add(forum.account, [forum.id], [user.id]), success_message=message)
        return redirect("forum-settings-members", forum.id)

    def remove(self, request: ForumUserRequest, id: int) -> HttpResponse:
        number = self.delete(self.selected(id, "members"))
        return self.go_back(
            id, ngettext("%(n)d member is removed.", "%(n)d members are removed.", number) % {"n": number}
        )

    def approve(self, request: ForumUserRequest, id: int) -> HttpResponse:
        return self.confirm(id, self.selected(id, "pending"))

    def approve_all(self, request: ForumUserRequest, id: int) -> HttpResponse:
        return self.confirm(id, self.rows(self.find(id), "pending"))

    def deny(self, request: ForumUserRequest, id: int) -> HttpResponse:
        return self.say_denied(id, self.delete(self.selected(id, "pending")))

    def deny_all(self, request: ForumUserRequest, id: int) -> HttpResponse:
        return self.say_denied(id, self.delete(self.rows(self.find(id), "pending")))

    def selected(self, id: int, tab: str) -> ForumMemberQuerySet:
        """Return the selected people of a tab. A person of whom somebody else has decided meanwhile is left out."""
        ids = [
            user_id
            for text in self.request.POST.getlist("user")[: paging.DEFAULT_MAX_PAGE_SIZE]
            if (user_id := parse_id(text))
        ]
        return self.rows(self.find(id), tab).filter(user_id__in=ids)

    def confirm(self, id: int, rows: ForumMemberQuerySet) -> HttpResponse:
        numbers: list[int] = []
        self.perform(lambda: numbers.append(rows.update(state=ForumMember.State.MEMBER)))
        number = sum(numbers)
        return self.go_back(
            id, ngettext("%(n)d person is a member now.", "%(n)d people are members now.", number) % {"n": number}
        )

    def delete(self, rows: ForumMemberQuerySet) -> int:
        numbers: list[int] = []
        self.perform(lambda: numbers.append(rows.delete()[0]))
        return sum(numbers)

    def say_denied(self, id: int, number: int) -> HttpResponse:
        text = ngettext("%(n)d person can't enter the forum.", "%(n)d people can't enter the forum.", number)
        return self.go_back(id, text % {"n": number})

    def go_back(self, id: int, message: str) -> HttpResponse:
        messages.success(self.request, message)
        return redirect("forum-settings-members", id, query={"tab": self.tab} if self.tab != "members" else None)
