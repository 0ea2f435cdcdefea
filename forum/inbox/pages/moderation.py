"""The decisions of the team about posts and comments that wait for approval, and about reported ones."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from django.contrib import messages
from django.db.models import F, OuterRef, Q, Subquery
from django.http import HttpResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.layout.settings import parse_id
from core.errors import FieldError
from core.pages.base import redirect
from forum.comments.models import Comment
from forum.comments.pages import EditCommentForm
from forum.content_reports.models import ContentReport, digest_of
from forum.forums.requests import ForumUserRequest
from forum.inbox import tabs as inbox
from forum.inbox.pages.inbox import InboxBase
from forum.posts.models import Post
from forum.posts.pages import EditPostForm
from forum.team_tools.pages import PostInTrash
from forum.texts.markdown import render


class ModerationPage(InboxBase):
    """The queue, oldest first. The page of a post submits its buttons to this page too; with `back`, the response returns to the post."""

    template_name = "forum/inbox/moderation.html"
    actions = {name: name for name in ("approve", "reject", "approve_comment", "reject_comment")}

    def get(self, request: ForumUserRequest) -> HttpResponse:
        page = self.read_page()
        categories = request.account.categories.filter(id=OuterRef("category_id"))
        annotations: dict[str, Any] = {"nick": F("user__name"), "category_name": Subquery(categories.values("name"))}
        posts = request.account.posts.filter(forum_id__in=self.forum_ids).unapproved().annotate(**annotations)
        rows = list(posts[page.start : page.stop])
        if not rows and page.number > 1:
            # All posts of the last page have been approved or rejected.
            return redirect("forum-moderation")
        more = len(rows) > page.size
        for post in rows:
            post.content_html = post.content_html or render(post.content)
        comments = inbox.waiting_comments(request.account, self.forum_ids) if page.number == 1 else []
        return self.render(
            section="inbox",
            url_of=self.url_of,
            posts=rows[: page.size],
            waiting_comments=comments,
            page=page,
            more=more,
        )

    @property
    def row_id(self) -> int:
        return parse_id(self.request.POST.get("id")) or 0

    def check_version(self, field: str, current: str) -> None:
        """Raise FieldError if the form has the digest of another text. The buttons on the page of a post have none."""
        if self.request.POST.get("version", current) != current:
            raise FieldError(field, gettext_lazy("was changed in the meantime"), "changed")

    def approve(self, request: ForumUserRequest) -> HttpResponse:
        def act() -> None:
            post = self.lock(self.row_id)
            locked_posts[:] = [post]
            if not post.approved:
                self.check_version("post", EditPostForm.version_of(post))
                post.approve(by=request.user)

        locked_posts: list[Post] = []
        if self.decide(act):
            if locked_posts[0].is_private:
                message = _("The suggestion is approved. It is private: only its author and the team can see it.")
            else:
                message = _("The suggestion is approved: everyone can see it now.")
            messages.success(request, message)
        return self.go_back(*(("forum-post", self.row_id) if locked_posts else ("forum-suggestions",)))

    def reject(self, request: ForumUserRequest) -> HttpResponse:
        message = _("The suggestion is rejected. An admin can restore it from the trash for %(days)d days.")
        success_message = message % {"days": request.account.trash_days}
        self.decide(lambda: self.lock(self.row_id).reject(by=request.user), success_message=success_message)
        return self.go_back("forum-suggestions")

    def approve_comment(self, request: ForumUserRequest) -> HttpResponse:
        def act() -> None:
            post, comment = self.lock_comment(self.row_id)
            if not comment.approved:
                self.check_version("comment", EditCommentForm.version_of(comment))
                post.approve_comment(comment)

        return self.decide_on_comment(act, _("The comment is approved: everyone who sees the suggestion sees it now."))

    def reject_comment(self, request: ForumUserRequest) -> HttpResponse:
        def act() -> None:
            post, comment = self.lock_comment(self.row_id)
            post.reject_comment(comment)

        return self.decide_on_comment(act, _("The comment is rejected and deleted."))

    def lock_comment(self, id: int) -> tuple[Post, Comment]:
        """Return a comment and its post, which is locked until the transaction ends. Raise FieldError if the comment is gone."""
        post_ids = self.request.account.comments.filter(id=id).values("post_id")
        post = self.posts.live().locked().filter(id__in=post_ids).first()
        comment = None if post is None else self.request.account.comments.filter(post_id=post.id, id=id).first()
        if post is None or comment is None:
            raise FieldError("comment", gettext_lazy("is no longer here"), "gone")
        return post, comment

    def decide_on_comment(self, act: Callable[[], object], message: str) -> HttpResponse:
        id = self.row_id
        post_id = self.request.account.comments.filter(id=id).values_list("post_id", flat=True).first()
        is_done = self.perform(act, success_message=message)
        if post_id is None:
            return self.go_back("forum-suggestions")
        was_rejected = is_done and self.request.POST.get("do") == "reject_comment"
        return self.go_back(*(("forum-post", post_id) if was_rejected else ("forum-comment", post_id, id)))

    def decide(self, act: Callable[[], object], *, success_message: str = "") -> bool:
        """Run `act` as `Page.perform` does. If the post is in the trash already, add a message."""
        try:
            return self.perform(act, success_message=success_message)
        except PostInTrash:
            messages.error(self.request, _("This suggestion was rejected or deleted in the meantime."))
            return False

    def go_back(self, route: str, *args: object) -> HttpResponse:
        """Redirect to the route if the form was submitted from the page of a post, else to the queue."""
        if self.request.POST.get("back"):
            return redirect(route, *args)
        page = parse_id(self.request.GET.get("page"))
        return redirect("forum-moderation", query={"page": page} if page and page > 1 else None)


# The reports of one text that the list shows. It shows the number of all.
MAX_REPORTS_SHOWN = 10


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


class ReportedPage(InboxBase):
    """The tab of the inbox with the reported texts, oldest report first. The team keeps or deletes each of them."""

    template_name = "forum/inbox/reported.html"
    actions = {"keep": "keep", "delete": "delete"}

    def get(self, request: ForumUserRequest) -> HttpResponse:
        counts = inbox.counts(request.account, self.forum_ids, request.user)
        if not self.forum_parameter:
            request.new_in_inbox = counts["new"]  # type: ignore[attr-defined]  # read by the menu
        return self.render(**self.context_of_tabs("reported", counts), texts=self.texts())

    def texts(self) -> list[ReportedText]:
        account = self.request.account
        posts = {row.id: ReportedText(row) for row in inbox.reported_posts(account, self.forum_ids)}
        comments = {row.id: ReportedText(row) for row in inbox.reported_comments(account, self.forum_ids)}
        reports = account.content_reports.open().filter(Q(post_id__in=list(posts)) | Q(comment_id__in=list(comments)))
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
        is_comment = bool(request.POST.get("comment"))
        message = _("The comment is deleted.") if is_comment else _("The suggestion is in the trash.")
        return self.decide(lambda post, comment: ContentReport.objects.accept(post, comment, by=request.user), message)

    def decide(self, act: Callable[[Post, Comment | None], object], message: str) -> HttpResponse:
        self.perform(lambda: act(*self.lock_text()), success_message=message)
        return redirect("forum-reported", query=self.forum_parameter or None)

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
