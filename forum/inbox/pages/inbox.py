"""The team's inbox: tabs of suggestions, and actions on several of them at once."""

from functools import cached_property
from http import HTTPStatus
from typing import Any

from django import forms
from django.contrib import messages
from django.db.models import F, OuterRef, QuerySet, Subquery
from django.db.models.functions import Left
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext, ngettext_lazy, pgettext_lazy

from accounts.hosts.names import public_url
from accounts.layout.forms import Form
from accounts.layout.settings import parse_id
from accounts.mail import sending as mail
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
from core.pages.undo import Undo, tell_with_undo
from core.rows.values import ValuesRow
from forum.forums.models import Forum
from forum.forums.requests import ForumRequest, ForumUserRequest
from forum.inbox import tabs as inbox
from forum.inbox.pages.pane import SIMILAR, RejectForm, TagsForm, context_of, find_post, similar_to
from forum.inbox.undo import changes_between, last_token, remember, snapshot, undo_last
from forum.lists.pages.base import pop_status, query_string
from forum.lists.queries import PostQuerySet
from forum.lists.team_filters import TeamFilter, read_team_filter
from forum.posts.models import Post
from forum.team_tools.pages import DELETED, ForumTeamPage, PostInTrash, refuse_trashed
from forum.texts.markdown import excerpt
from forum.texts.slugs import post_path

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
    "tags": ngettext_lazy("%(n)d suggestion has other tags.", "%(n)d suggestions have other tags.", "n"),
    "reject": ngettext_lazy("%(n)d suggestion is rejected.", "%(n)d suggestions are rejected.", "n"),
    "merge": ngettext_lazy("%(n)d suggestion is merged.", "%(n)d suggestions are merged.", "n"),
}
FIELDS = {"status": "status", "category": "category", "assign": "responsible"}
NOBODY = "nobody"
# The keyboard shortcuts of `forum/inbox/inbox.js`.
SHORTCUTS = (
    (("j", "k"), gettext_lazy("Next and previous suggestion")),
    (("Enter",), gettext_lazy("Show the suggestion beside the list")),
    (("x",), gettext_lazy("Select it, or not")),
    (("e",), gettext_lazy("Mark the selected ones, or else this one, as handled")),
    (("a",), gettext_lazy("Approve the selected ones, or else this one")),
    (("s",), gettext_lazy("Set its status")),
    (("g",), gettext_lazy("Assign it")),
    (("t",), gettext_lazy("Change its tags")),
    (("m",), gettext_lazy("Merge it, with the first likely duplicate chosen")),
    (("r",), gettext_lazy("Answer it")),
    (("#",), gettext_lazy("Reject it")),
    (("u",), gettext_lazy("Undo the last act")),
    (("?",), gettext_lazy("Show or hide this list")),
)


def links_of_tabs(counts: dict[str, int], **filters: str) -> list[tuple[str, object, str, str]]:
    """Return the name, the label, the number of rows and the path of each tab, with the filters of the team."""
    return [(tab, TAB_LABELS[tab], inbox.as_text(count), path_of_tab(tab, **filters)) for tab, count in counts.items()]


def path_of_tab(tab: str, **filters: str) -> str:
    if tab == "reported":
        return reverse("forum-reported") + query_string(forum=filters.get("forum", ""))
    return reverse("forum-inbox") + query_string(tab="" if tab == "new" else tab, **filters)


class BulkForm(Form):
    """The form for the values of actions: a status, a category, or a responsible user."""

    status = forms.TypedChoiceField(label=gettext_lazy("Status"), coerce=int, required=False)
    category = forms.TypedChoiceField(label=gettext_lazy("Category"), coerce=int, required=False)
    responsible = forms.ChoiceField(label=gettext_lazy("Responsible"), required=False)

    def __init__(self, *args: object, request: ForumUserRequest, forums: list[Forum], **kwargs: object):
        super().__init__(*args, auto_id="bulk-%s", **kwargs)
        account, user = request.account, request.user
        statuses = account.statuses_of_kind(Status.Kind.POST)
        forum_names = {forum.id: forum.name for forum in forums}
        team = account.users.filter(**ASSIGNABLE).order_by("name", "id").values_list("id", "name", "login")
        people = [(id, name or login) for id, name, login in team if id != user.id]
        categories = list(account.categories.filter(forum_id__in=forum_names).order_by("position", "id"))
        has_several = len({category.forum_id for category in categories}) > 1
        names = [f"{forum_names[row.forum_id]}: {row.name}" if has_several else row.name for row in categories]
        choice = ("", _("Choose…"))
        self.set_choices("status", [choice, *((status.id, status_name(status)) for status in statuses)])
        self.set_choices("category", [choice, *((row.id, name) for row, name in zip(categories, names, strict=True))])
        self.set_choices("responsible", [choice, (user.id, _("Me")), (NOBODY, _("Nobody")), *people])


class InboxBase(ForumTeamPage):
    """The base of the pages of the inbox, which has the posts of all forums of the account, or of the one that the parameter `forum` names."""

    @property
    def posts(self) -> PostQuerySet:
        return self.request.account.posts.without_tasks()

    @property
    def all_forums(self) -> list[Forum]:
        return self.request.forum.forums

    @cached_property
    def forums(self) -> list[Forum]:
        text = self.request.GET.get("forum")
        found = [forum for forum in self.all_forums if not text or forum.id == parse_id(text)]
        if not found:
            raise Http404
        return found

    @property
    def forum_ids(self) -> list[int]:
        return [forum.id for forum in self.forums]

    @property
    def forum_parameter(self) -> dict[str, str]:
        return {"forum": self.request.GET["forum"]} if self.request.GET.get("forum") else {}

    def url_of(self, forum_id: int | None) -> str:
        """Return the URL of the host of another forum, or "" for the forum of the request."""
        if forum_id == self.request.forum.id:
            return ""
        forum = next(forum for forum in self.all_forums if forum.id == forum_id)
        return public_url(forum.host_for(forum.host, self.request.account, by_team=True))

    def context_of_tabs(self, tab: str, counts: dict[str, int], **filters: str) -> dict[str, Any]:
        forums = [
            (
                forum.id,
                forum.name,
                query_string(**self.request.GET.dict() | {"forum": str(forum.id), "page": "", "post": ""}),
            )
            for forum in self.all_forums
        ]
        everything = query_string(**self.request.GET.dict() | {"forum": "", "page": "", "post": ""})
        return {
            "section": "inbox",
            "tab": tab,
            "url_of": self.url_of,
            "tabs": links_of_tabs(counts, **self.forum_parameter, **filters),
            "forums": forums if len(forums) > 1 else [],
            "forum_id": self.forums[0].id if self.forum_parameter else None,
            "all_forums_query": everything or "?",
        }


class InboxPage(InboxBase):
    """A tab of the inbox. The parameter `tab` names it, and `post` the suggestion in the pane.

    Each selected suggestion is changed in a transaction of its own. If some changes fail, the page shows the reason beside each of
    these suggestions, which stay selected.
    """

    template_name = "forum/inbox/inbox.html"
    # True if the filter of the team took too long.
    is_too_slow = False

    def get(self, request: ForumUserRequest) -> HttpResponse:
        page = self.read_page()
        if request.htmx and request.htmx.target == SIMILAR:
            # The search takes longer than all else in the pane.
            post, next_id = find_post(request.account, parse_id(request.GET.get("post")) or 0), request.GET.get("next")
            found, back = similar_to(post), self.path_of_list(page.number)
            return self.render(
                "forum/inbox/similar.html", post=post, similar=found, goes_to=parse_id(next_id), back=back
            )
        rows = self.rows(page)
        if not rows and page.number > 1 and not self.is_too_slow:
            return self.go_back(1)
        status = HTTPStatus.UNPROCESSABLE_ENTITY if self.team_filter.errors else HTTPStatus.OK
        return self.show(self.bulk_form(), rows, page, status=status)

    def bulk_form(self, *sent: object) -> BulkForm:
        return BulkForm(*sent, request=self.request, forums=self.forums)

    @property
    def tab(self) -> str:
        tab = self.request.GET.get("tab") or "new"
        if tab not in inbox.TABS:
            raise Http404
        return tab

    @property
    def place(self) -> dict[str, str]:
        """The parameters of the tab and the forum."""
        return ({} if self.tab == "new" else {"tab": self.tab}) | self.forum_parameter

    def path_of_list(self, page: int, **further: object) -> str:
        query = {**self.place, **self.team_filter.parameters, **({"page": page} if page > 1 else {}), **further}
        return reverse("forum-inbox") + query_string(**query)

    def pane(self, rows: list[ValuesRow], page: paging.ListPage) -> dict[str, Any]:
        """Return what the pane shows of the suggestion that the parameter `post` names, or nothing."""
        id = parse_id(self.request.GET.get("post"))
        if id is None:
            return {}
        post = find_post(self.request.account, id)
        context = context_of(self.request, post, [row["id"] for row in rows], self.path_of_list(page.number))
        return {
            **context,
            "post_url": self.url_of(post.forum_id) + post_path(post.id, post.title),
            "version": post.updated_at.isoformat(),
        }

    @cached_property
    def team_filter(self) -> TeamFilter:
        return read_team_filter(self.request.GET, self.request.account, self.request.user)

    def rows(self, page: paging.ListPage) -> list[ValuesRow]:
        """Return the posts of the page, and one more if another page follows. If the filter takes too long, set `is_too_slow`."""
        request, account = self.request, self.request.account
        try:
            with self.team_filter.limited(account):
                stop = None if self.team_filter else page.stop
                posts = inbox.posts_in(self.tab, account, self.forum_ids, request.user, stop=stop)
                return self.items(self.team_filter.select(posts), page)
        except TooSlow:
            self.is_too_slow = True
            return []

    def items(self, posts: QuerySet[Any], page: paging.ListPage) -> list[ValuesRow]:
        account = self.request.account
        categories = account.categories.filter(id=OuterRef("category_id"))
        responsible = account.users.filter(id=OuterRef("responsible_id"))
        columns = ("id", "title", "kind", "private", "approved", "votes_cache", "comments_cache", "created_at")
        names = {forum.id: forum.name for forum in self.all_forums} if len(self.forums) > 1 else {}
        rows = posts.values(
            *columns,
            "updated_at",
            "forum_id",
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
                "forum": names.get(row["forum_id"]),
                "path": self.url_of(row["forum_id"]) + post_path(row["id"], row["title"]),
            }
            for row in rows
        ]

    def show(
        self, form: BulkForm, rows: list[ValuesRow], page: paging.ListPage, *, status: int = 200, **context: Any
    ) -> HttpResponse:
        request = self.request
        pane = self.pane(rows[: page.size], page)
        ids = [] if request.htmx and pane else [row["id"] for row in rows[: page.size]]
        panels = render_row_panels("inbox", request, list({*ids, *([pane["post"].id] if pane else [])}))
        if pane:
            pane["panel"] = panels.get(pane["post"].id)
        if request.htmx and pane:
            return self.render("forum/inbox/pane.html", form=form, **pane)
        counts = inbox.counts(request.account, self.forum_ids, request.user)
        if not self.forum_parameter:
            request.new_in_inbox = counts["new"]  # type: ignore[attr-defined]  # read by the menu
        for row in rows:
            row["panel"] = panels.get(row["id"])
        shows_waiting = self.tab == "unapproved" and page.number == 1
        waiting = inbox.waiting_comments(request.account, self.forum_ids) if shows_waiting else []
        defaults: dict[str, Any] = {"selected": set(), "failed_elsewhere": []}
        return self.render(
            http_status=status,
            form=form,
            shortcuts=SHORTCUTS,
            posts=rows[: page.size],
            waiting_comments=waiting,
            page=page,
            more=len(rows) > page.size,
            is_too_slow=self.is_too_slow,
            team_filter=self.team_filter,
            team_filter_form=self.team_filter.render_form(reverse("forum-inbox"), self.place),
            filter_errors=[error_sentence(error) for error in self.team_filter.errors],
            without_filter=reverse("forum-inbox") + query_string(**self.place),
            list_path=self.path_of_list(page.number),
            undo_token=last_token(request.user),
            **self.context_of_tabs(self.tab, counts, **self.team_filter.parameters),
            **(defaults | context | pane),
        )

    def post(self, request: ForumRequest, **kwargs: Any) -> HttpResponse:
        action, page = request.POST.get("do", ""), self.read_page()
        if action == "undo":
            return self.undo(page)
        if action not in (*MESSAGES, "choose_original"):
            return error_response(request, HTTPStatus.BAD_REQUEST)
        texts = request.POST.getlist("id")[: page.size]
        ids = list(dict.fromkeys(id for text in texts if (id := parse_id(text)) is not None))
        form = self.bulk_form(request.POST)
        name = FIELDS.get(action)
        if not ids:
            messages.error(request, _("Select one or more suggestions first."))
            return self.go_back(page.number)
        if action == "choose_original":
            return self.choose_original(ids, page)
        value = form.cleaned_data.get(name) if name and form.is_valid() else None
        if name and not value:
            error = _("Choose a value for “%(field)s” first.") % {"field": form.fields[name].label}
            return self.show_failure(form, page, {}, selected=set(ids), error=error)
        if action == "merge":
            value = parse_id(request.POST.get("into"))
            ids = [id for id in ids if id != value]
        self.changes: dict[int, dict[str, list[Any]]] = {}
        reasons = {id: self.carry_out(action, id, value) for id in ids}
        errors = {id: reason for id, reason in reasons.items() if reason is not None}
        return self.report(form, page, action, done=len(ids) - len(errors), errors=errors)

    def undo(self, page: paging.ListPage) -> HttpResponse:
        user, numbers = self.request.user, list[int]()
        token = self.request.POST.get("token", "")
        if self.perform(lambda: numbers.append(undo_last(user, token))):
            text = ngettext("%(n)d suggestion is as before.", "%(n)d suggestions are as before.", numbers[-1])
            messages.success(self.request, text % {"n": numbers[-1]})
        return self.go_back(page.number)

    def choose_original(self, ids: list[int], page: paging.ListPage) -> HttpResponse:
        """Show the selected suggestions, of which one stays, and what merging the others into it would move."""
        posts = list(
            self.posts.live().filter(id__in=ids, duplicate_from_id=None).order_by("-votes_cache", "created_at")
        )
        if len(posts) < 2:
            messages.error(self.request, _("Select two or more suggestions that are not merged yet."))
            return self.go_back(page.number)
        for post in posts:
            post.account = self.request.account
        into = parse_id(self.request.POST.get("into"))
        original = next((post for post in posts if post.id == into), posts[0])
        previews = {post.id: post.preview_merge(original) for post in posts if post is not original}
        return self.render(
            "forum/inbox/merge.html",
            section="inbox",
            posts=posts,
            original=original,
            previews=previews,
            most_votes=original.votes_cache + sum(each.votes - each.common_votes for each in previews.values()),
            back=self.path_of_list(page.number),
        )

    def carry_out(self, action: str, id: int, value: object) -> str | None:
        """Carry out the action for one post, and note what changed. Return the reason if it failed, otherwise None."""

        def act() -> dict[str, list[Any]]:
            # `merge_into` locks the posts itself.
            post = self.find_live(id) if action == "merge" else self.lock(id)
            post.account = self.request.account
            before = snapshot(post)
            self.act(action, post, value)
            return changes_between(before, snapshot(self.posts.get(id=id)))

        try:
            self.changes[id] = in_transaction(act)
        except PostInTrash:
            return str(DELETED)
        except (Http404, Post.DoesNotExist):
            return _("There is no such suggestion.")
        except (FieldErrors, Conflict) as caught:
            return " ".join(self.error_sentences(caught))
        return None

    def find_live(self, id: int) -> Post:
        return refuse_trashed(get_object_or_404(self.posts, id=id))

    def check_version(self, post: Post) -> None:
        version = post.updated_at.isoformat()
        if self.request.POST.get(f"version-{post.id}", version) != version:
            raise FieldError("post", gettext_lazy("was changed in the meantime"), "changed")

    def act(self, action: str, post: Post, value: Any) -> None:
        match action:
            case "approve" if not post.approved:
                self.check_version(post)
                post.approve(by=self.request.user)
            case "handled":
                post.mark_handled()
            case "trash":
                post.trash(by=self.request.user)
            case "reject":
                self.check_version(post)
                form: RejectForm | TagsForm = RejectForm(self.request.POST)
                if not form.is_valid():
                    raise FieldError("reason", _("is too long"), "too_long")
                post.reject(by=self.request.user)
                send_rejection(post, form.cleaned_data["reason"])
            case "assign":
                self.write_post(post, {"responsible_id": None if value == NOBODY else int(value)})
            case "tags":
                form = TagsForm(self.request.POST)
                self.write_post(post, {"tags": form.cleaned_data["tags"] if form.is_valid() else None})
            case "merge":
                post.merge_into(self.find_live(value or 0), by=self.request.user)
            case "category":
                if not self.request.account.categories.filter(id=value, forum_id=post.forum_id or 0).exists():
                    raise FieldError("category", _("is in another forum"), "elsewhere")
                self.write_post(post, {"category_id": value})
            case "status":
                self.write_post(post, {"status_id": value})

    def report(
        self, form: BulkForm, page: paging.ListPage, action: str, *, done: int, errors: dict[int, str]
    ) -> HttpResponse:
        success, token = str(MESSAGES[action] % {"n": done}), remember(self.request.user, self.changes)
        if not errors:
            if token:
                tell_with_undo(
                    self.request, success, Undo(self.path_of_list(page.number), {"do": "undo", "token": token})
                )
            else:
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
        """Redirect to the list, with the suggestion in the pane that follows the one of the form."""
        next_id = parse_id(self.request.POST.get("next"))
        return redirect(self.path_of_list(page, **{"post": next_id} if next_id else {}))


def send_rejection(post: Post, reason: str) -> None:
    """Send the reason for which a suggestion was rejected to its author. Without a reason, send nothing."""
    author, account = post.user, post.account
    if not reason.strip() or not author.is_active or not author.email:
        return
    mail.send(
        author.email,
        "forum/inbox/rejected.txt",
        account_id=account.id,
        language=mail.supported_language(author.language or account.language),
        sender=account.name or account.prefix,
        title=mail.single_line(post.title),
        reason=reason,
    )
