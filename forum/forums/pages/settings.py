"""The account settings for forums and their members."""

from functools import partial
from typing import Any

from django import forms
from django.conf import settings
from django.contrib import messages
from django.db.models import Count, Exists, OuterRef
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext_lazy, pgettext_lazy

from accounts.account.models import Account
from accounts.hosts import domains
from accounts.hosts.models import Host
from accounts.hosts.names import full_name
from accounts.layout.forms import Form
from accounts.layout.settings import SettingsPage, parse_id
from accounts.mail.sending import Purpose, count_email
from accounts.users.forms import EmailFormField
from accounts.users.models import User
from accounts.users.pages import TOO_MANY_INVITATIONS, display_name, find_users, send_invitation
from core.api import paging
from core.http.throttling import count_search
from core.pages.base import redirect
from core.pages.creation import CreatingPage, Creation
from core.search.queries import MAX_QUERY_LENGTH
from forum.forums.membership import ForumMember, ForumMemberQuerySet, key_of_email, segment_source
from forum.forums.models import Forum
from forum.forums.requests import ForumUserRequest

ACCESS = {
    Forum.Access.PUBLIC: gettext_lazy("Public: everyone can read, and everyone who signs up can take part"),
    Forum.Access.MEMBERS: gettext_lazy(
        "Members: everyone can read, your members can take part; new members join by invitation"
    ),
    Forum.Access.PRIVATE: gettext_lazy("Private: only your team and the people you invite can see it"),
    Forum.Access.LIST: gettext_lazy("By e-mail: also people whose e-mail or its domain is on the list below"),
    Forum.Access.SEGMENT: gettext_lazy(
        "By segment: also people whose e-mail is that of a client, or of a contact of a client, in the segment below"
    ),
}
# The modes in short, for lists and headings.
ACCESS_NAMES = {
    Forum.Access.PUBLIC: pgettext_lazy("forum", "Public"),
    Forum.Access.MEMBERS: pgettext_lazy("forum", "Public to read"),
    Forum.Access.PRIVATE: pgettext_lazy("forum", "Private"),
    Forum.Access.LIST: pgettext_lazy("forum", "Private, by e-mail"),
    Forum.Access.SEGMENT: pgettext_lazy("forum", "Private, by segment"),
}


class ForumForm(Form):
    name = forms.CharField(label=gettext_lazy("Name"), max_length=255)
    host = forms.CharField(label=gettext_lazy("Address"), max_length=255)
    host.widget.attrs.update({"autocapitalize": "none", "spellcheck": "false", "inputmode": "url"})
    description = forms.CharField(
        label=gettext_lazy("Description"),
        required=False,
        max_length=1000,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text=gettext_lazy("What it is for, in a sentence or two. Search engines show it."),
    )
    access = forms.ChoiceField(
        label=gettext_lazy("Access"),
        choices=ACCESS.items(),
        widget=forms.RadioSelect,
        help_text=gettext_lazy(
            "People belong to a forum, not to all your forums: who signs up at a public forum sees no private one. Your team belongs to all"
            " forums."
        ),
    )
    addresses = forms.CharField(
        label=gettext_lazy("E-mails and domains"),
        required=False,
        max_length=100_000,
        widget=forms.Textarea(attrs={"rows": 4, "spellcheck": "false", "autocapitalize": "none"}),
        help_text=gettext_lazy(
            "For access by e-mail, one on each line: ann@example.com, or example.com for everyone with an e-mail there."
        ),
    )
    segment_id = forms.TypedChoiceField(
        label=gettext_lazy("Segment"),
        coerce=int,
        empty_value=None,
        required=False,
        help_text=gettext_lazy(
            "For access by segment: a saved view of your clients that is shared with the team and has no search. Who leaves the view"
            " can't enter any more."
        ),
    )
    approval = forms.BooleanField(
        label=gettext_lazy("New suggestions wait for approval"),
        required=False,
        help_text=gettext_lazy("Those of members stay hidden until your team approves them."),
    )

    def __init__(self, *args: Any, account: Account, forum: Forum | None = None, address: str = "", **kwargs: Any):
        super().__init__(*args, **kwargs)
        segments = list(segment_source().choices(account))
        if forum is not None and forum.segment_id is not None and forum.segment_id not in dict(segments):
            segments.append((forum.segment_id, _("A view that was deleted, or is no longer shared")))
        self.set_choices("segment_id", [("", _("None")), *segments])
        self.fields["host"].help_text = _(
            "A single word becomes an address under %(domain)s. It can also be a domain of your own, such as ideas.example.com."
        ) % {"domain": settings.BASE_DOMAIN}
        if forum is None:
            self.initial = {"access": Forum.Access.PUBLIC}
        else:
            self.initial = {name: getattr(forum, name) for name in self.fields if name != "host"} | {"host": address}


class ForumsPage(SettingsPage):
    template_name = "forum/forums/forums.html"
    part = "forums"

    def get(self, request: ForumUserRequest) -> HttpResponse:
        hosts = {host.id: host for host in request.account.hosts.all()}
        waiting = request.account.forum_members.pending().order_by().values("forum_id").annotate(number=Count("id"))
        pending = dict(waiting.values_list("forum_id", "number"))
        forums: list[Any] = list(request.account.forums.order_by("-is_default", "name", "id")[: Forum.MAX_PER_ACCOUNT])
        for forum in forums:
            forum.host = host = hosts[forum.host_id]
            forum.team_host = forum.host_for(host, request.account, by_team=True)
            forum.access_name = ACCESS_NAMES[Forum.Access(forum.access)]
            forum.pending = pending.get(forum.id, 0)
        is_full = len(forums) >= Forum.MAX_PER_ACCOUNT
        return self.render(forums=forums, current_forum_id=request.forum.id, is_full=is_full)


class NewForumPage(CreatingPage, SettingsPage):
    template_name = "forum/forums/forum_settings.html"
    part = "forums"
    actions = {"save": "save"}

    def get(self, request: ForumUserRequest) -> HttpResponse:
        return self.show(ForumForm(account=request.account))

    def show(self, form: Form) -> HttpResponse:
        return self.render_form(form, forum=None, target=full_name(self.request.account.prefix))

    def save(self, request: ForumUserRequest) -> HttpResponse:
        account = request.account
        form = ForumForm(request.POST, account=account)

        def saved(forum: Forum) -> dict[str, object]:
            host = account.hosts.values_list("name", flat=True).get(id=forum.host_id)
            return {**ForumForm(account=account, forum=forum, address=full_name(host)).initial}

        creation = Creation(
            create=lambda: Forum.objects.create_for(account, **form.cleaned_data),
            rows=account.forums.all(),
            path=lambda forum: reverse("forum-settings-forum", args=[forum.id]),
            saved=saved,
            change=lambda forum: forum.change(**form.cleaned_data),
        )
        forum = self.create_once(form, creation)
        if forum is None:
            return self.show(form)
        messages.success(request, _("%(name)s is open.") % {"name": form.cleaned_data["name"]})
        if request.account.hosts.unproven().filter(id=forum.host_id).exists():
            # This page shows how to prove the domain.
            return redirect("forum-settings-forum", forum.id)
        return redirect("forum-settings-forums")


class ForumSettingsPage(SettingsPage):
    template_name = "forum/forums/forum_settings.html"
    part = "forums"
    actions = {"save": "save", "check": "check", "delete": "delete"}

    def find(self, id: int) -> Forum:
        forum = get_object_or_404(self.request.account.forums, id=id)
        self.host = forum.account.hosts.get(id=forum.host_id)
        return forum

    @property
    def is_at_own_address(self) -> bool:
        """True if this page is served at the forum's own address. Changing that address would make the page unreachable."""
        host, prefix = self.request.address.host, self.request.account.prefix
        return host != prefix and host == self.host.own_name(self.request.account)

    def get(self, request: ForumUserRequest, id: int) -> HttpResponse:
        forum = self.find(id)
        return self.show(forum, ForumForm(account=request.account, forum=forum, address=self.host.address))

    def show(self, forum: Forum, form: Form) -> HttpResponse:
        return self.render_form(
            form,
            forum=forum,
            host=self.host,
            proof=domains.Proof.build(self.host),
            team_address=full_name(forum.host_for(self.host, self.request.account, by_team=True)),
            grace_days=Host.GRACE.days,
            is_at_own_address=self.is_at_own_address,
            target=full_name(self.request.account.prefix),
        )

    def save(self, request: ForumUserRequest, id: int) -> HttpResponse:
        forum = self.find(id)
        was_public = forum.access == Forum.Access.PUBLIC
        form = ForumForm(request.POST, account=request.account, forum=forum, address=self.host.address)
        if form.is_valid() and self.is_at_own_address and "host" in form.changed_data:
            form.add_error("host", self.other_address_message())
        if not form.is_valid() or not self.submit_form(form, lambda: forum.change(**form.cleaned_data)):
            return self.show(self.find(id), form)
        messages.success(request, _("%(name)s is saved.") % {"name": forum.name})
        has_closed = was_public and forum.access != Forum.Access.PUBLIC
        if has_closed and forum.account.forum_members.pending().filter(forum_id=id).exists():
            messages.info(request, _("People took part here while it was public. Decide who of them is a member."))
            return redirect("forum-settings-members", id, query={"tab": "pending"})
        return redirect("forum-settings-forum", id)

    def check(self, request: ForumUserRequest, id: int) -> HttpResponse:
        """Look for the proof of the forum's domain in a job, because a name server may be slow."""
        self.find(id)
        if self.host.is_domain:
            domains.count_domain_check(request)
            lock = f"domain:{request.account.id}:{self.host.id}"
            domains.check_domain.defer(account_id=request.account.id, host_id=self.host.id, _key=lock)
            messages.success(request, _("The domain is being checked. Reload this page in a few seconds."))
        return redirect("forum-settings-forum", id)

    def other_address_message(self) -> str:
        """Return the error of a change that would remove the address of this page."""
        return _("You are at this address now. Open the settings at %(address)s to change it.") % {
            "address": full_name(self.request.account.prefix)
        }

    def delete(self, request: ForumUserRequest, id: int) -> HttpResponse:
        forum = self.find(id)
        if self.is_at_own_address:
            messages.error(request, self.other_address_message())
        elif self.perform(forum.erase, success_message=_("%(name)s is deleted.") % {"name": forum.name}):
            return redirect("forum-settings-forums")
        return redirect("forum-settings-forum", id)


# The messages after an act on people of a tab.
REMOVED = ngettext_lazy("%(n)d member is removed.", "%(n)d members are removed.", "n")
CONFIRMED = ngettext_lazy("%(n)d person is a member now.", "%(n)d people are members now.", "n")
DENIED = ngettext_lazy("%(n)d person can't enter the forum.", "%(n)d people can't enter the forum.", "n")


class AddForm(Form):
    email = EmailFormField(
        help_text=gettext_lazy("Of somebody who has signed up at one of your forums, or of anybody else.")
    )


class MembersPage(SettingsPage):
    """The members of a forum, and the pending ones. The buttons act on the selected people, or on all of the tab."""

    request: ForumUserRequest
    template_name = "forum/forums/members.html"
    part = "forums"
    actions = {"add": "add", **dict.fromkeys(("remove", "approve", "deny", "approve_all", "deny_all"), "decide")}

    @property
    def tab(self) -> str:
        tab = self.request.GET.get("tab") or "members"
        if tab not in ("members", "pending"):
            raise Http404
        return tab

    def rows(self, forum: Forum, tab: str) -> ForumMemberQuerySet:
        rows: ForumMemberQuerySet = forum.account.forum_members.filter(forum_id=forum.id)
        return rows.pending() if tab == "pending" else rows.confirmed()

    def get(self, request: ForumUserRequest, id: int) -> HttpResponse:
        return self.show(get_object_or_404(request.account.forums, id=id), AddForm())

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
        forum, form = get_object_or_404(request.account.forums, id=id), AddForm(request.POST)
        if not form.is_valid():
            return self.show(forum, form)
        email, account = form.cleaned_data["email"], request.account
        user = account.users.filter(email_key=key_of_email(email)).first()
        if user is not None:
            return self.add_user(forum, user)
        if not count_email(request, Purpose.INVITATION, email):
            form.add_error("email", TOO_MANY_INVITATIONS)
            return self.show(forum, form)
        invite = partial(send_invitation, request, email=email, role=User.Role.MEMBER, site_ids=[forum.id])
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

    def decide(self, request: ForumUserRequest, id: int) -> HttpResponse:
        """Remove, confirm or refuse the selected people, or all who are pending."""
        action = request.POST["do"]
        forum = get_object_or_404(request.account.forums, id=id)
        rows = self.rows(forum, "members" if action == "remove" else "pending")
        if not action.endswith("_all"):
            # A person of whom somebody else has decided meanwhile is left out.
            ids = filter(None, map(parse_id, request.POST.getlist("user")[: paging.DEFAULT_MAX_PAGE_SIZE]))
            rows = rows.filter(user_id__in=list(ids))
        numbers: list[int] = []
        admits = action in ("approve", "approve_all")
        self.perform(lambda: numbers.append(rows.decide(request.account, id, admits=admits)))
        message = CONFIRMED if admits else REMOVED if action == "remove" else DENIED
        messages.success(request, message % {"n": sum(numbers)})
        return redirect("forum-settings-members", id, query={"tab": self.tab} if self.tab != "members" else None)
