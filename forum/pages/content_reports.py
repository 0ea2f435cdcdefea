"""The page on which a member reports a text, and the team's list of the reported texts."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from http import HTTPStatus
from typing import Any, cast

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.pages.forms import Form
from accounts.pages.settings import parse_id
from core.db.transactions import in_transaction
from core.errors import FieldError, Throttled
from core.pages.base import redirect
from forum import inbox
from forum.content_reports import digest_of, may_report
from forum.limits import count_report
from forum.markdown import excerpt, render
from forum.models import Comment, ContentReport, Post
from forum.pages.base import ResubmittablePage
from forum.pages.inbox import links_of_tabs
from forum.pages.team import TeamPage
from forum.pages.writing import PostMerged, PostNotFound, lock_post, post_not_found, visible_posts
from forum.requests import ForumUserRequest

# The reports of one text that the list shows. It shows the number of all.
MAX_REPORTS_SHOWN = 10
EXCERPT_LENGTH = 300


class ReportForm(Form):
    reason = forms.ChoiceField(
        label=gettext_lazy("What is wrong with it?"), choices=ContentReport.Reason.choices, widget=forms.RadioSelect
    )
    note = forms.CharField(
        label=gettext_lazy("What the team should know"),
        max_length=ContentReport.MAX_NOTE_LENGTH,
        required=False,
        widget=forms.Textarea(attrs={"rows": 3}),
    )


class ReportPage(ResubmittablePage):
    """The form with which a member reports a suggestion, or a comment on it."""

    access = "user"
    for_members = "always"
    template_name = "forum/report.html"

    def get(self, request: ForumUserRequest, id: int, comment_id: int | None = None) -> HttpResponse:
        row = self.find(id, comment_id)
        if row is None:
            raise Http404
        if not may_report(row, request.user):
            raise PermissionDenied(_("Only members report texts, and only those of others."))
        return self.show(ReportForm(), id, comment_id)

    def find(self, id: int, comment_id: int | None) -> Post | Comment | None:
        """Return the post, or the comment on it, if the user may see it."""
        request = self.request
        posts = visible_posts(request).filter(id=id, duplicate_from_id=None)
        if comment_id is None:
            return posts.first()
        comments = request.account.comments.filter(post_id=id, id=comment_id).visible_to(request.user)
        return comments.first() if posts.exists() else None

    def show_submitted(self, status: int, id: int, comment_id: int | None = None) -> HttpResponse:
        return self.show(ReportForm(initial=self.request.POST.dict()), id, comment_id, status=status)

    def show(self, form: ReportForm, id: int, comment_id: int | None, *, status: int = 200) -> HttpResponse:
        user = self.request.user
        row = self.find(id, comment_id) if user is not None and self.request.forum.may_be_read_by(user) else None
        text = row.title if isinstance(row, Post) else excerpt(row.comment, max_length=EXCERPT_LENGTH) if row else ""
        return self.render(
            http_status=status,
            section="suggestions",
            form=form,
            heading=_("Report a suggestion") if comment_id is None else _("Report a comment"),
            text=text,
            back=path_of_text(id, comment_id),
        )

    def process_form(self, id: int, comment_id: int | None = None) -> HttpResponse:
        request = cast(ForumUserRequest, self.request)
        form = ReportForm(request.POST)
        if not form.is_valid():
            return self.show(form, id, comment_id, status=HTTPStatus.UNPROCESSABLE_ENTITY)

        def file() -> bool:
            # The lock keeps a comment from being erased before the report is stored.
            lock_post(request, id)
            row = self.find(id, comment_id)
            if row is None:
                raise PostNotFound
            return ContentReport.objects.file(row, by=request.user, **form.cleaned_data)

        try:
            count_report(request, request.user)
            is_new = in_transaction(file)
        except Throttled as refused:
            return self.show_over_limit(form, refused, partial(self.show, form, id, comment_id))
        except (PostNotFound, PostMerged):
            return post_not_found(request)
        if is_new:
            messages.success(request, _("Thank you. The team will look at it."))
        else:
            messages.info(request, _("You have already reported this, and the team knows."))
        return redirect(path_of_text(id, comment_id))


def path_of_text(id: int, comment_id: int | None) -> str:
    return reverse("forum-post", args=[id]) if comment_id is None else reverse("forum-comment", args=[id, comment_id])


@dataclass
class ReportedText:
    """A text of the list, with its oldest reports."""

    row: Any
    # The reasons, each with the number of reports, the most frequent first.
    reasons: list[tuple[str, int]] = field(default_factory=list)
    reports: list[ContentReport] = field(default_factory=list)

    @property
    def is_comment(self) -> bool:
        return isinstance(self.row, Comment)

    @property
    def html(self) -> str:
        if isinstance(self.row, Comment):
            return self.row.comment_html or render(self.row.comment)
        return self.row.content_html or render(self.row.content)

    @property
    def digest(self) -> str:
        return digest_of(self.row)

    @property
    def number(self) -> int:
        return sum(number for _reason, number in self.reasons)

    @property
    def hidden_reports(self) -> int:
        return self.number - len(self.reports)


class ReportedPage(TeamPage):
    """The tab of the inbox with the reported texts, oldest report first. The team keeps or deletes each of them."""

    template_name = "forum/reported.html"
    actions = {"keep": "keep", "delete": "delete"}

    def get(self, request: ForumUserRequest) -> HttpResponse:
        counts = inbox.counts(request.account, request.forum.id, request.user)
        request.new_in_inbox = counts["new"]  # type: ignore[attr-defined]  # read by the menu
        return self.render(section="inbox", tab="reported", tabs=links_of_tabs(counts), texts=self.texts())

    def texts(self) -> list[ReportedText]:
        account, forum_id = self.request.account, self.request.forum.id
        posts = {row.id: ReportedText(row) for row in inbox.reported_posts(account, forum_id)}
        comments = {row.id: ReportedText(row) for row in inbox.reported_comments(account, forum_id)}
        reports = account.content_reports.open().about(post_ids=posts, comment_ids=comments)
        for post_id, comment_id, reason, number in reports.count_by_reason():
            text = posts[post_id] if post_id is not None else comments[comment_id]
            text.reasons.append((str(ContentReport.Reason(reason).label), number))
        for report in reports.oldest_of_each(MAX_REPORTS_SHOWN):
            text = posts[report.post_id] if report.post_id is not None else comments[report.comment_id]
            text.reports.append(report)
        # The reports of a text may have been dismissed after it was read.
        texts = [text for text in (*posts.values(), *comments.values()) if text.reports]
        return sorted(texts, key=lambda text: (text.reports[0].created_at, text.reports[0].id))

    def keep(self, request: ForumUserRequest) -> HttpResponse:
        return self.decide(
            lambda post, comment: ContentReport.objects.dismiss(comment or post), _("It stays as it is.")
        )

    def delete(self, request: ForumUserRequest) -> HttpResponse:
        def act(post: Post, comment: Comment | None) -> None:
            if comment is None:
                post.trash(by=request.user)
            else:
                post.erase_comment(comment)

        is_comment = bool(request.POST.get("comment"))
        message = _("The comment is deleted.") if is_comment else _("The suggestion is in the trash.")
        return self.decide(act, message)

    def decide(self, act: Callable[[Post, Comment | None], Any], message: str) -> HttpResponse:
        self.perform(lambda: act(*self.lock_text()), success_message=message)
        return redirect("forum-reported")

    def lock_text(self) -> tuple[Post, Comment | None]:
        """Lock the post, and return it with the comment that the form names. Raise FieldError if the text was changed or deleted."""
        account, data = self.request.account, self.request.POST
        comment_id, post_id = parse_id(data.get("comment")), parse_id(data.get("post"))
        comments = account.comments.filter(id=comment_id or 0)
        post_ids = [post_id or 0] if comment_id is None else comments.values("post_id")
        post = self.posts.live().locked().filter(id__in=post_ids).first()
        comment = None if post is None else comments.filter(post_id=post.id).first()
        if post is None or (comment_id is not None and comment is None):
            raise FieldError("report", gettext_lazy("is about a text that is no longer here"), "gone")
        if digest_of(comment or post) != data.get("version"):
            raise FieldError("report", gettext_lazy("is about a text that was changed in the meantime"), "changed")
        return post, comment
