"""The team's inbox: tabs of suggestions, and actions on several of them at once."""

from functools import cached_property
from http import HTTPStatus
from typing import Any

from django import forms
from django.contrib import messages
from django.db.models import F, OuterRef, QuerySet, Subquery
from django.db.models.functions import Left
from django.http import Http404, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext, ngettext_lazy, pgettext_lazy

from accounts.layout.forms import Form
from accounts.layout.settings import parse_id
from accounts.roles.models import ASSIGNABLE
from accounts.statuses.models import Status, status_name
from core.api import paging
from core.db.time_limit import TooSlow
from core.db.transactions import in_transaction
from core.error_responses import error_response
from core.errors import Conflict, FieldError, FieldErrors
from core.pages.base import redirect
from core.pages.errors import error_sentence
from core.pages.navigation import render_row_panels
from core.rows.values import ValuesRow
from forum.forums.requests import ForumRequest, ForumUserRequest
from forum.inbox import tabs as inbox
from forum.lists.pages.base import pop_status, query_string
from forum.lists.team_filters import TeamFilter, read_team_filter
from forum.posts.models import Post
from forum.team_tools.pages import DELETED, ForumTeamPage, PostInTrash
from forum.texts.markdown import excerpt

# Lengths in characters: of the Markdown that an excerpt is made from, and of an excerpt.
EXCERPT_SOURCE_LENGTH, EXCERPT_LENGTH = 1200, 400
MAX_TITLE_LENGTH = 80
TAB_LABELS = {
    "new": pgettext_lazy("inbox", "New"),
    "unapproved": gettext_lazy("Awaiting approval"),
    "reported": gettext_lazy("Reported"),
    "unanswered": gettext_lazy("Unanswered"),
    "mine": gettext_lazy("Mine"),
}
# The messages for the number of changed suggestions, by the name of the button of an action, and the fields of the values of actions.
MESSAGES = {
    "approve": ngettext_lazy("%(n)d suggestion is approved.", "%(n)d suggestions are approved.", "n"),
    "handled": ngettext_lazy("%(n)d suggestion is marked as handled.", "%(n)d suggestions are marked as handled.", "n"),
    "status": ngettext_lazy("%(n)d suggestion has a new status.", "%(n)d suggestions have a new status.", "n"),
    "category": ngettext_lazy(
        "%(n)d suggestion is in another category.", "%(n)d suggestions are in another category.", "n"
    ),
    "assign": ngettext_lazy("%(n)d suggestion is assigned.", "%(n)d suggestions are assigned.", "n"),
    "trash": ngettext_lazy("%(n)d suggestion is in the trash.", "%(n)d suggestions are in the trash.", "n"),
}
FIELDS = {"status": "status", "category": "category", "assign": "responsible"}
NOBODY = "nobody"
# The keyboard shortcuts of `forum/inbox/inbox.js`.
SHORTCUTS = (
    (("j", "k"), gettext_lazy("Next and previous suggestion")),
    (("Enter",), gettext_lazy("Open the suggestion")),
    (("x",), gettext_lazy("Select it, or not")),
    (("e",), gettext_lazy("Mark the selected ones, or else this one, as handled")),
    (("a",), gettext_lazy("Approve the selected ones, or else this one")),
    (("?",), gettext_lazy("Show or hide this list")),
)


def links_of_tabs(counts: dict[str, int], **filters: str) -> list[tuple[str, object, str, str]]:
    """Return the name, the label, the number of rows and the path of each tab, with the filters of the team."""
    return [(tab, TAB_LABELS[tab], inbox.as_text(count), path_of_tab(tab, **filters)) for tab, count in counts.items()]


def path_of_tab(tab: str, **filters: str) -> str:
    if tab == "reported":
        return reverse("forum-reported")
    return reverse("forum-inbox") + query_string(tab="" if tab == "new" else tab, **filters)


class BulkForm(Form):
    """The form for the values of actions: a status, a category, or a responsible user."""

    status = forms.TypedChoiceField(label=gettext_lazy("Status"), coerce=int, required=False)
    category = forms.TypedChoiceField(label=gettext_lazy("Category"), coerce=int, required=False)
    responsible = forms.ChoiceField(label=gettext_lazy("Responsible"), required=False)

    def __init__(self, *args: object, request: ForumUserRequest, **kwargs: object):
        super().__init__(*args, auto_id="bulk-%s", **kwargs)
        account, user = request.account, request.user
        statuses = account.statuses_of_kind(Status.Kind.POST)
        team = account.users.filter(**ASSIGNABLE).order_by("name", "id").values_list("id", "name", "login")
        people = [(id, name or login) for id, name, login in team if id != user.id]
        categories = account.categories.of_forum(request.forum.id)
        choice = ("", _("Choose…"))
        self.set_choices("status", [choice, *((status.id, status_name(status)) for status in statuses)])
        self.set_choices("category", [choice, *((category.id, category.name) for category in categories)])
        self.set_choices("responsible", [choice, (user.id, _("Me")), (NOBODY, _("Nobody")), *people])


class InboxPage(ForumTeamPage):
    """A tab of the inbox. The parameter `tab` names it.

    Each selected suggestion is changed in a transaction of its own. If some changes fail, the page shows the reason beside each of
    these suggestions, which stay selected.
    """

    template_name = "forum/inbox/inbox.html"
    # True if the filter of the team took too long.
    is_too_slow = False

    def get(self, request: ForumUserRequest) -> HttpResponse:
        page = self.read_page()
        rows = self.rows(page)
        if not rows and page.number > 1 and not self.is_too_slow:
            return self.go_back(1)
        status = HTTPStatus.UNPROCESSABLE_ENTITY if self.team_filter.errors else HTTPStatus.OK
        return self.show(BulkForm(request=request), rows, page, status=status)

    @property
    def tab(self) -> str:
        tab = self.request.GET.get("tab") or "new"
        if tab not in inbox.TABS:
            raise Http404
        return tab

    @property
    def tab_parameter(self) -> dict[str, str]:
        return {} if self.tab == "new" else {"tab": self.tab}

    @cached_property
    def team_filter(self) -> TeamFilter:
        return read_team_filter(self.request.GET, self.request.account, self.request.user)

    def rows(self, page: paging.ListPage) -> list[ValuesRow]:
        """Return the posts of the page, and one more if another page follows. If the filter takes too long, set `is_too_slow`."""
        request, account = self.request, self.request.account
        try:
            with self.team_filter.limited(account):
                posts = self.team_filter.select(inbox.posts_in(self.tab, account, request.forum.id, request.user))
                return self.items(posts, page)
        except TooSlow:
            self.is_too_slow = True
            return []

    def items(self, posts: QuerySet[Any], page: paging.ListPage) -> list[ValuesRow]:
        account = self.request.account
        categories = account.categories.filter(id=OuterRef("category_id"))
        responsible = account.users.filter(id=OuterRef("responsible_id"))
        columns = ("id", "title", "kind", "private", "approved", "votes_cache", "comments_cache", "created_at")
        rows = posts.values(
            *columns,
            "updated_at",
            "status__code",
            "status__name",
            "status__color",
            beginning=Left("content", EXCERPT_SOURCE_LENGTH),
            nick=F("user__name"),
            login=F("user__login"),
            category_name=Subquery(categories.values("name")),
            responsible=Subquery(responsible.values("name")),
        )[page.start : page.stop]
        return [
            row
            | {
                "status": pop_status(row),
                "excerpt": excerpt(row["beginning"], max_length=EXCERPT_LENGTH),
                "is_private": row["private"] or row["kind"] == Post.Kind.PRIVATE,
                "version": row["updated_at"].isoformat(),
            }
            for row in rows
        ]

    def show(
        self, form: BulkForm, rows: list[ValuesRow], page: paging.ListPage, *, status: int = 200, **context: Any
    ) -> HttpResponse:
        request = self.request
        counts = inbox.counts(request.account, request.forum.id, request.user)
        request.new_in_inbox = counts["new"]  # type: ignore[attr-defined]  # read by the menu
        tabs = links_of_tabs(counts, **self.team_filter.parameters)
        panels = render_row_panels("inbox", request, [row["id"] for row in rows[: page.size]])
        for row in rows:
            row["panel"] = panels.get(row["id"])
        shows_waiting = self.tab == "unapproved" and page.number == 1
        waiting = inbox.waiting_comments(request.account, request.forum.id) if shows_waiting else []
        defaults: dict[str, Any] = {"selected": set(), "failed_elsewhere": []}
        return self.render(
            http_status=status,
            section="inbox",
            tab=self.tab,
            tabs=tabs,
            form=form,
            shortcuts=SHORTCUTS,
            posts=rows[: page.size],
            waiting_comments=waiting,
            page=page,
            more=len(rows) > page.size,
            is_too_slow=self.is_too_slow,
            team_filter=self.team_filter,
            team_filter_form=self.team_filter.render_form(reverse("forum-inbox"), self.tab_parameter),
            filter_errors=[error_sentence(error) for error in self.team_filter.errors],
            without_filter=reverse("forum-inbox") + query_string(**self.tab_parameter),
            **(defaults | context),
        )

    def post(self, request: ForumRequest, **kwargs: Any) -> HttpResponse:
        action, page = request.POST.get("do", ""), self.read_page()
        if action not in MESSAGES:
            return error_response(request, HTTPStatus.BAD_REQUEST)
        texts = request.POST.getlist("id")[: page.size]
        ids = list(dict.fromkeys(id for text in texts if (id := parse_id(text)) is not None))
        form = BulkForm(request.POST, request=self.request)
        name = FIELDS.get(action)
        if not ids:
            messages.error(request, _("Select one or more suggestions first."))
            return self.go_back(page.number)
        value = form.cleaned_data.get(name) if name and form.is_valid() else None
        if name and not value:
            error = _("Choose a value for “%(field)s” first.") % {"field": form.fields[name].label}
            return self.show_failure(form, page, {}, selected=set(ids), error=error)
        reasons = {id: self.carry_out(action, id, value) for id in ids}
        errors = {id: reason for id, reason in reasons.items() if reason is not None}
        return self.report(form, page, action, done=len(ids) - len(errors), errors=errors)

    def carry_out(self, action: str, id: int, value: object) -> str | None:
        """Carry out the action for one post. Return the reason if it failed, otherwise None."""
        try:
            in_transaction(lambda: self.act(action, self.lock(id), value))
        except PostInTrash:
            return str(DELETED)
        except Http404:
            return _("There is no such suggestion in this forum.")
        except (FieldErrors, Conflict) as caught:
            return " ".join(self.error_sentences(caught))
        return None

    def act(self, action: str, post: Post, value: Any) -> None:
        match action:
            case "approve" if not post.approved:
                version = post.updated_at.isoformat()
                if self.request.POST.get(f"version-{post.id}", version) != version:
                    raise FieldError("post", gettext_lazy("was changed in the meantime"), "changed")
                post.approve(by=self.request.user)
            case "handled":
                post.mark_handled()
            case "trash":
                post.trash(by=self.request.user)
            case "assign":
                self.write_post(post, {"responsible_id": None if value == NOBODY else int(value)})
            case "status" | "category":
                self.write_post(post, {f"{action}_id": value})

    def report(
        self, form: BulkForm, page: paging.ListPage, action: str, *, done: int, errors: dict[int, str]
    ) -> HttpResponse:
        success = str(MESSAGES[action] % {"n": done})
        if not errors:
            messages.success(self.request, success)
            return self.go_back(page.number)
        number = len(errors)
        text = ngettext("%(n)d suggestion could not be changed.", "%(n)d suggestions could not be changed.", number)
        error = f"{success} {text % {'n': number}}" if done else text % {"n": number}
        return self.show_failure(form, page, errors, selected=set(errors), error=error)

    def show_failure(
        self, form: BulkForm, page: paging.ListPage, errors: dict[int, str], *, selected: set[int], error: str
    ) -> HttpResponse:
        """Return the page with an error at the top, and with the `errors` of suggestions, even of those that the tab no longer shows."""
        rows = self.rows(page)
        for row in rows:
            row["error"] = errors.get(row["id"])
        ids_elsewhere = errors.keys() - {row["id"] for row in rows[: page.size]}
        titles = dict(self.posts.filter(id__in=ids_elsewhere).values_list("id", "title")) if ids_elsewhere else {}
        elsewhere = [(titles.get(id, str(id))[:MAX_TITLE_LENGTH], errors[id]) for id in sorted(ids_elsewhere)]
        context = {"selected": selected, "error": error, "failed_elsewhere": elsewhere}
        return self.show(form, rows, page, status=HTTPStatus.UNPROCESSABLE_ENTITY, **context)

    def go_back(self, page: int) -> HttpResponse:
        query = {**self.tab_parameter, **self.team_filter.parameters}
        return redirect("forum-inbox", query=query | ({"page": page} if page > 1 else {}) or None)
