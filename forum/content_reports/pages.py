"""The page on which a member reports a text."""

from functools import partial
from http import HTTPStatus
from typing import cast

from django import forms
from django.conf import settings
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.text import format_lazy
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.layout.forms import Form
from accounts.users.models import User
from core.db.transactions import in_transaction
from core.errors import Throttled
from core.http.throttling import DAY, AnyRequest, enforce_limit
from core.limits.rate_limits import hit
from core.pages.base import redirect
from forum.comments.models import Comment
from forum.content_reports.models import ContentReport, may_report
from forum.forums.pages.base import PostNotFound, ResubmittablePage
from forum.forums.requests import ForumUserRequest
from forum.lists.pages.base import PostMerged, lock_post, visible_posts
from forum.posts.models import Post
from forum.texts.markdown import excerpt

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


class ReportContentPage(ResubmittablePage):
    """The form with which a member reports a suggestion, or a comment on it."""

    access = "user"
    for_members = "always"
    template_name = "forum/content_reports/report.html"

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
        except PostMerged:
            raise PostNotFound from None
        if is_new:
            messages.success(request, _("Thank you. The team will look at it."))
        else:
            messages.info(request, _("You have already reported this, and the team knows."))
        return redirect(path_of_text(id, comment_id))


def path_of_text(id: int, comment_id: int | None) -> str:
    return reverse("forum-post", args=[id]) if comment_id is None else reverse("forum-comment", args=[id, comment_id])


def count_report(request: AnyRequest, user: User) -> None:
    """Count a report. Raise Throttled beyond `ContentReport.MAX_PER_DAY`."""
    if settings.RATE_LIMIT:
        limit = ContentReport.MAX_PER_DAY
        text = gettext_lazy("You can send {limit} reports a day. Try again tomorrow.")
        message: Promise = format_lazy(text, limit=limit)
        enforce_limit(request, hit(f"reports:{user.account_id}:{user.id}", limit, DAY), message)
