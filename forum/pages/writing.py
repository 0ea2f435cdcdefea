"""The pages for votes, new suggestions and comments, and for editing and deleting a suggestion."""

from contextlib import AbstractContextManager, nullcontext
from functools import partial
from http import HTTPStatus
from typing import Any, cast
from urllib.parse import urlsplit

from django.contrib import messages
from django.http import Http404, HttpResponse, QueryDict
from django.urls import reverse
from django.utils.translation import gettext as _

from accounts.models import Status
from accounts.pages.forms import Form
from accounts.pages.settings import parse_id
from core.api import throttling
from core.db.transactions import in_transaction, without_transaction
from core.error_responses import error_response
from core.errors import Conflict, Throttled
from core.pages.base import Page, no_content, redirect, referring_path
from core.pages.creation import CreatingPage, Creation
from core.pages.routes import sign_in_path
from forum.api.views import agent_of
from forum.limits import is_new_member, limit_new_member
from forum.lists import COMMENTS_PER_PAGE, PostQuerySet
from forum.markdown import render
from forum.models import Comment, Post, Vote
from forum.pages.base import ForumPage, ResubmittablePage
from forum.pages.forms import CommentForm, EditForm, NewPostForm, categories_of
from forum.requests import ForumRequest, ForumUserRequest

SIMILAR_COLUMNS = ("id", "title", "votes_cache", "comments_cache", "status__code", "status__name", "status__color")


class PostNotFound(Http404):
    """The post was deleted, or the user may not see it."""


class PostMerged(Http404):
    """The post was merged into `original`, which the user may see."""

    def __init__(self, original: Post):
        super().__init__(original.id)
        self.original = original


def visible_posts(request: ForumRequest) -> PostQuerySet:
    """Return the posts of the request's forum that its user may see."""
    return request.account.posts.visible_in_forum(request.user).of_forum(request.forum.id).without_tasks()


def lock_post(request: ForumRequest, id: int, *, include_merged: bool = False) -> Post:
    """Return the post, locked until the transaction ends. Raise PostNotFound or, unless `include_merged`, PostMerged."""
    return find_post(request, id, locked=True, include_merged=include_merged)


def find_post(request: ForumRequest, id: int, *, locked: bool = False, include_merged: bool = False) -> Post:
    """Return the post. Raise PostNotFound or, unless `include_merged`, PostMerged."""
    rows = visible_posts(request)
    post = (rows.locked() if locked else rows).filter(id=id).first()
    if post is None:
        raise PostNotFound
    if post.duplicate_from_id is not None and not include_merged:
        original = visible_posts(request).filter(id=post.duplicate_from_id).first()
        raise PostMerged(original) if original is not None else PostNotFound
    post.requires_approval = request.forum.approval
    return post


def post_not_found(request: ForumRequest) -> HttpResponse:
    message = _("This suggestion was deleted in the meantime, or you may not see it.")
    return error_response(request, HTTPStatus.NOT_FOUND, message=message)


def refuse_change(request: ForumUserRequest, post: Post) -> HttpResponse:
    message = has_responses_message() if post.user_id == request.user.id else None
    return error_response(request, HTTPStatus.FORBIDDEN, message=message)


def has_responses_message() -> str:
    return _("Somebody has voted for it or commented on it, so only the team can change it now.")


class VotePage(ForumPage):
    """The vote for a suggestion. `vote` is 1 or 0, so a request that is sent twice does no harm.

    A visitor is redirected to the page for a first vote. In a private forum, a visitor is redirected to sign in, and then to the page
    with the vote button.
    """

    access = "user"
    template_name = "forum/vote_page.html"

    def check_access(self) -> HttpResponse | None:
        request, id = self.request, self.kwargs["id"]
        if request.user is not None:
            return super().check_access()
        casts_vote = request.method in ("GET", "HEAD") or request.POST.get("vote") == "1"
        if not casts_vote:
            path = sign_in_path(reverse("forum-post", args=[id]), unsaved=True)
        elif request.forum.may_be_read_by(None):
            path = reverse("forum-first-vote", args=[id])
        else:
            path = sign_in_path(reverse("forum-post-vote", args=[id]))
        return HttpResponse(headers={"HX-Redirect": path}) if request.htmx else redirect(path)

    def get(self, request: ForumUserRequest, id: int) -> HttpResponse:
        post = visible_posts(request).filter(id=id).first()
        if post is None:
            return post_not_found(request)
        if post.duplicate_from_id is not None:
            return redirect("forum-post", post.duplicate_from_id)
        if request.account.votes.voted_post_ids(request.user, [id]):
            messages.info(request, _("You have already voted for this."))
            return redirect("forum-post", id)
        return self.render(section="suggestions", post=post, voted=set())

    def post(self, request: ForumUserRequest, id: int) -> HttpResponse:
        casts_vote = {"1": True, "0": False}.get(request.POST.get("vote", ""))
        if casts_vote is None:
            return error_response(request, HTTPStatus.UNPROCESSABLE_ENTITY)

        def vote() -> Post:
            post = find_post(request, id, locked=not casts_vote)
            if casts_vote:
                post.vote(by=request.user)
            else:
                post.withdraw_vote(by=request.user)
            return post

        try:
            with limit_new_member(request, request.user, Vote) if casts_vote else nullcontext():
                post = without_transaction(vote) if casts_vote else in_transaction(vote)
        except PostNotFound:
            return post_not_found(request)
        except PostMerged as merged:
            return self.direct_to(merged.original)
        if request.htmx:
            return self.render("forum/vote.html", post=post, voted={id} if casts_vote else set())
        message = _("You have voted for “%(title)s”.") if casts_vote else _("Your vote for “%(title)s” is withdrawn.")
        messages.success(request, message % {"title": post.title})
        return redirect(self.path_after_vote(id))

    def path_after_vote(self, id: int) -> str:
        """Return the path of the page on which the button was clicked, or of the post if that page was only a step to the vote."""
        post_path = reverse("forum-post", args=[id])
        path = referring_path(request=self.request, default=post_path)
        steps = (reverse("forum-post-new"), reverse("forum-post-vote", args=[id]), reverse("accounts-sign-in"))
        return post_path if urlsplit(path).path in steps else f"{path.partition('#')[0]}#vote-{id}"

    def direct_to(self, original: Post) -> HttpResponse:
        """Return a response that tells the user to vote for the original, because the post was merged into it."""
        if self.request.htmx:
            response = self.render("forum/merged.html", http_status=HTTPStatus.CONFLICT, original=original)
            response.headers["HX-Retarget"], response.headers["HX-Reswap"] = "#messages", "innerHTML"
            return response
        messages.error(self.request, _("That suggestion was merged into this one in the meantime. You can vote here."))
        return redirect("forum-post", original.id)


class WritingPage(ResubmittablePage):
    """A page with a form for a Markdown text."""

    access = "user"
    for_members = "always"

    @property
    def wants_preview(self) -> bool:
        """True if the preview button was used. A visitor gets no preview, because previews are limited per user."""
        return self.request.user is not None and self.request.POST.get("act") == "preview"

    def show(self, form: Form, template: str | None = None, *, status: int = 200, **context: Any) -> HttpResponse:
        preview = None
        if self.wants_preview:
            throttling.count_preview(self.request)
            preview = render(form["content"].value() or "")
        return self.render(
            template,
            http_status=status,
            section="suggestions",
            form=form,
            preview=preview,
            **context,
        )

    def submitted_values(self) -> dict[str, str]:
        """Return the submitted values, as initial values for a form that shows them without validating them."""
        return self.request.POST.dict()


class CreatingTextPage(CreatingPage, WritingPage):
    """A page with a form that creates a suggestion or a comment."""

    def limit_new_member(self, model: type[Post | Comment]) -> AbstractContextManager[None]:
        """Return the context manager that limits the texts of a new member. A form that has created its text before is not counted."""
        user = cast(ForumUserRequest, self.request).user
        if is_new_member(user) and self.created_row_id() is not None:
            return nullcontext()
        return limit_new_member(self.request, user, model)


class NewPostPage(CreatingTextPage):
    """The form for a new suggestion. A visitor signs in first, with a code unless they prefer a password."""

    template_name = "forum/new_post.html"

    def check_access(self) -> HttpResponse | None:
        request = self.request
        if request.user is None and request.method in ("GET", "HEAD") and request.forum.may_be_read_by(None):
            return redirect(reverse("accounts-sign-in-code", query={"next": request.get_full_path()}))
        return super().check_access()

    def get(self, request: ForumRequest) -> HttpResponse:
        title, category_id = request.GET.get("title", "")[:255], parse_id(request.GET.get("category"))
        if title:
            throttling.count_search(request)
        initial = {"title": title, "kind": Post.Kind.SUGGESTION}
        form = self.make_form(initial=initial | ({"category_id": category_id} if category_id else {}))
        return self.show(form, similar=similar_to(cast(ForumUserRequest, request), title))

    def make_form(self, *args: Any, **kwargs: Any) -> NewPostForm:
        return NewPostForm(*args, categories=self.categories, **kwargs)

    @property
    def categories(self) -> list:
        """The categories; none for a visitor of a private forum."""
        request = self.request
        return categories_of(request.account, request.forum.id) if request.forum.may_be_read_by(request.user) else []

    def show_submitted(self, status: int) -> HttpResponse:
        form = self.make_form(initial=self.submitted_values())
        return self.show(form, status=status, category_id=self.request.POST.get("category_id", "")[:18])

    def process_form(self) -> HttpResponse:
        request = cast(ForumUserRequest, self.request)
        if self.wants_preview:
            return self.show(self.make_form(initial=self.submitted_values()))
        form = self.make_form(request.POST)
        if not form.is_valid():
            return self.show(form, status=HTTPStatus.UNPROCESSABLE_ENTITY)
        # Similar posts are searched before the key is checked. If another click creates the post in between, the key is found, and the
        # post is not shown as similar to itself.
        similar = [] if form.cleaned_data["seen"] else similar_to(request, form.cleaned_data["title"])
        if similar and self.created_row_id() is None:
            return self.show(form, similar=similar, asks_first=True)
        try:
            with self.limit_new_member(Post):
                post = self.create_once(form, self.creation(form), form.values)
        except Throttled as refused:
            return self.show_over_limit(form, refused, partial(self.show, form))
        if isinstance(post, HttpResponse):
            return post
        if post is None:
            return self.show(form, status=HTTPStatus.UNPROCESSABLE_ENTITY)
        if not post.approved:
            message = _("Thank you! It is waiting for approval: until then, only you and the team can see it.")
        else:
            message = _("Thank you! Your suggestion is posted.")
        messages.success(request, message)
        return redirect("forum-post", post.id)

    def creation(self, form: NewPostForm) -> Creation[Post]:
        request = cast(ForumUserRequest, self.request)

        def create() -> Post:
            post = Post(account=request.account, forum_id=request.forum.id, agent=agent_of(request))
            post.requires_approval = request.forum.approval
            post.submit(form.values, by=request.user)
            return post

        def change(post: Post) -> None:
            if not post.may_be_changed_by(request.user):
                raise Conflict(has_responses_message())
            post.requires_approval = request.forum.approval
            post.write(form.values, by=request.user)

        return Creation(
            create=create,
            rows=visible_posts(request).locked().filter(duplicate_from_id=None),
            path=lambda post: reverse("forum-post", args=[post.id]),
            saved=EditForm.initial_values,
            change=change,
        )


def similar_to(request: ForumUserRequest, title: str) -> list[dict]:
    """Return the suggestions with similar titles, for `forum/similar.html`."""
    title = title.strip()
    if len(title) < 3:
        return []
    rows = Post.objects.similar_to(title[:255], SIMILAR_COLUMNS, account=request.account, forum_id=request.forum.id)
    posts = [dict(zip(SIMILAR_COLUMNS, row, strict=True)) for row in rows]
    for post in posts:
        status = {name: post.pop(f"status__{name}") for name in ("code", "name", "color")}
        post["status"] = Status(kind=Status.Kind.POST, **status)
    voted = request.account.votes.voted_post_ids(request.user, [post["id"] for post in posts])
    return [post | {"voted": voted} for post in posts]


class SimilarPart(ForumPage):
    """The part of a page with similar suggestions, which htmx loads while a title is typed."""

    indexed = False

    def check_access(self) -> HttpResponse | None:
        # Without a user the session has ended. The form shows that when it is submitted.
        return no_content() if self.request.user is None else super().check_access()

    def get(self, request: ForumRequest) -> HttpResponse:
        throttling.count_search(request)
        similar = similar_to(cast(ForumUserRequest, request), request.GET.get("title", ""))
        return self.render("forum/similar.html", similar=similar)


class PreviewPart(Page):
    """The part of a page with the preview of a text."""

    def post(self, request: ForumRequest) -> HttpResponse:
        has_ended = request.user is None
        text = "" if has_ended else request.POST.get("content", "")
        throttling.count_preview(request)
        return self.render("forum/preview.html", preview=render(text), session_has_ended=has_ended)


class CommentPage(CreatingTextPage):
    """The form for a comment. The page of the post includes an empty form; this page shows the form with errors or a preview."""

    template_name = "forum/comment_page.html"

    def get(self, request: ForumUserRequest, id: int) -> HttpResponse:
        if not visible_posts(request).filter(id=id).exists():
            return post_not_found(request)
        return redirect(reverse("forum-post", args=[id], fragment="comment-form"))

    def show_submitted(self, status: int, id: int) -> HttpResponse:
        return self.show(self.make_form(initial=self.submitted_values()), id=id, status=status)

    def make_form(self, *args: Any, **kwargs: Any) -> CommentForm:
        return CommentForm(*args, user=self.request.user, **kwargs)

    def process_form(self, id: int) -> HttpResponse:
        request = cast(ForumUserRequest, self.request)
        if self.wants_preview:
            return self.show(self.make_form(initial=self.submitted_values()), id=id)
        form = self.make_form(request.POST)
        if not form.is_valid():
            return self.show(form, id=id, status=HTTPStatus.UNPROCESSABLE_ENTITY)
        text, internal = form.cleaned_data["content"], form.cleaned_data.get("internal", False)
        created: list[tuple[Post, Comment]] = []

        def create() -> Comment:
            post = find_post(request, id)
            new = post.comment(by=request.user, text=text, agent=agent_of(request), internal=internal)
            created[:] = [(post, new)]
            return new

        def change(comment: Comment) -> None:
            if comment.internal != internal:
                # Its notifications were sent to other people.
                raise Conflict(_("A comment can't become internal or public afterwards. Add it as a second entry."))
            # The text is read while the post is locked.
            lock_post(request, id).edit_comment(request.account.comments.get(id=comment.id), text, by=request.user)

        creation = Creation(
            create=create,
            rows=request.account.comments.filter(post_id=id).visible_to(request.user),
            path=lambda comment: reverse("forum-comment", args=[id, comment.id]),
            saved=lambda comment: {"content": comment.comment, "internal": comment.internal},
            change=change,
            is_visible=lambda comment: comment.may_be_changed_by(request.user),
        )
        try:
            with self.limit_new_member(Comment):
                comment = self.create_once(form, creation, {"content": text, "internal": internal})
        except Throttled as refused:
            return self.show_over_limit(form, refused, partial(self.show, form, id=id))
        except PostNotFound:
            return self.show(form, id=id, status=HTTPStatus.NOT_FOUND, is_gone=True)
        except PostMerged as merged:
            return self.show(form, id=id, status=HTTPStatus.CONFLICT, original=merged.original)
        if isinstance(comment, HttpResponse):
            return comment
        if comment is None:
            return self.show(form, id=id, status=HTTPStatus.UNPROCESSABLE_ENTITY)
        path = self.path_of(created[-1][0] if created else find_post(request, id), comment)
        if not request.htmx:
            message = _("Your comment is posted.")
            if internal:
                message = _("Your internal comment is saved. Only the team sees it.")
            elif not comment.approved:
                message = _("Thank you! It is waiting for approval: until then, only you and the team can see it.")
            messages.success(request, message)
            return redirect(path)
        if not created or "?" in path:
            # The comment exists already, or it is on another page of comments.
            return HttpResponse(headers={"HX-Redirect": path})
        [(post, new)] = created
        new.user = request.user
        internal_count = post.internal_comments_cache if request.user.is_team else 0
        return self.render("forum/new_comment.html", post=post, comment=new, internal_count=internal_count)

    def path_of(self, post: Post, comment: Comment) -> str:
        """Return the path of a new comment, which is on the last page of comments."""
        query = {"page": "last"} if post.comment_count_for(self.request.user) > COMMENTS_PER_PAGE else None
        return reverse("forum-post", args=[post.id], query=query, fragment=f"comment-{comment.id}")

    def show(self, form: Form, *, id: int, **context: Any) -> HttpResponse:  # type: ignore[override]  # needs the post
        """Return only the form if htmx asks, which replaces the form in place. Otherwise return a page."""
        post = visible_posts(self.request).filter(id=id).first() if self.may_read_forum else None
        needs_page = self.stale or self.sign_in_form is not None or "original" in context
        template = "forum/comment_fields.html" if self.request.htmx else None
        return super().show(
            form, template, writing=True, post=post or Post(id=id), visible_post=post, needs_page=needs_page, **context
        )

    @property
    def may_read_forum(self) -> bool:
        return self.request.forum.may_be_read_by(self.request.user)


class EditPage(WritingPage):
    template_name = "forum/edit_post.html"

    def get(self, request: ForumUserRequest, id: int) -> HttpResponse:
        post = visible_posts(request).filter(id=id).first()
        if post is None:
            return post_not_found(request)
        if not post.may_be_changed_by(request.user):
            return refuse_change(request, post)
        return self.show(
            self.make_form(initial=EditForm.initial_values(post) | {"version": EditForm.version_of(post)}), id=id
        )

    def make_form(self, *args: Any, **kwargs: Any) -> EditForm:
        request = self.request
        may_read = request.forum.may_be_read_by(request.user)
        categories = categories_of(request.account, request.forum.id) if may_read else []
        return EditForm(*args, categories=categories, **kwargs)

    def show_submitted(self, status: int, id: int) -> HttpResponse:
        category_id = self.request.POST.get("category_id", "")[:18]
        return self.show(self.make_form(initial=self.submitted_values()), id=id, status=status, category_id=category_id)

    def process_form(self, id: int) -> HttpResponse:
        request = cast(ForumUserRequest, self.request)
        if self.wants_preview:
            return self.show(self.make_form(initial=self.submitted_values()), id=id)
        form = self.make_form(request.POST)
        if not form.is_valid():
            return self.show(form, id=id, status=HTTPStatus.UNPROCESSABLE_ENTITY)

        def change() -> tuple[str, Post]:
            post = lock_post(request, id, include_merged=True)
            if not post.may_be_changed_by(request.user):
                return "refused", post
            values = form.changes(post)
            if values and EditForm.version_of(post) != form.cleaned_data["version"]:
                return "changed", post
            if values:
                post.requires_approval = request.forum.approval
                post.write(values, by=request.user)
            return "done", post

        outcome: list[tuple[str, Post]] = []
        try:
            if not self.submit_form(form, lambda: outcome.append(change())):
                return self.show(form, id=id, status=HTTPStatus.UNPROCESSABLE_ENTITY)
        except PostNotFound:
            return self.show(form, id=id, status=HTTPStatus.NOT_FOUND, is_gone=True)
        result, post = outcome[-1]
        if result == "refused":
            if post.user_id != request.user.id:
                return refuse_change(request, post)
            return self.show(form, id=id, status=HTTPStatus.CONFLICT, refusal=has_responses_message())
        if result == "changed":
            data = cast(QueryDict, form.data).copy()
            data["version"] = EditForm.version_of(post)
            form.data = data
            return self.show(form, id=id, status=HTTPStatus.CONFLICT, current_post=post)
        message = _("Saved.")
        if not post.approved and not request.user.is_team:
            message = _("Saved. It is waiting for approval: until then, only you and the team can see it.")
        messages.success(request, message)
        return redirect("forum-post", id)


class DeletePage(ForumPage):
    """The button that moves a suggestion to the trash."""

    access = "user"

    def post(self, request: ForumUserRequest, id: int) -> HttpResponse:
        def trash() -> tuple[Post, bool]:
            post = lock_post(request, id, include_merged=True)
            is_allowed = post.may_be_changed_by(request.user)
            if is_allowed:
                post.trash(by=request.user)
            return post, is_allowed

        try:
            post, is_trashed = in_transaction(trash)
        except PostNotFound:
            return post_not_found(request)
        if not is_trashed:
            return refuse_change(request, post)
        message = _("“%(title)s” is deleted. For 30 days an admin can restore it.")
        messages.success(request, message % {"title": post.title})
        return redirect("forum-suggestions")
