"""The pages of comments: their forms, and the completion of mentions."""

import hashlib
from collections import Counter
from functools import partial
from http import HTTPStatus
from math import ceil
from typing import TYPE_CHECKING, Any, cast

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from accounts.layout.forms import Form
from accounts.layout.settings import parse_id
from accounts.mentions.parsing import names_in
from accounts.users.models import User
from core.db.tenancy import fold
from core.db.transactions import in_transaction
from core.error_responses import error_response
from core.errors import Conflict
from core.http import throttling
from core.pages.base import redirect
from core.pages.creation import Creation
from forum.comments.models import COMMENTS_PER_PAGE, Comment, CommentQuerySet, CommentReaction
from forum.comments.threads import MAX_SHOWN_REPLIES, beginning_of_reply, count_threads, place_of, read_comments
from forum.forums.pages.base import ForumPage, PostNotFound
from forum.forums.requests import ForumRequest, ForumUserRequest, agent_of
from forum.lists.pages.base import PostMerged, find_post, lock_post, visible_posts
from forum.texts.pages import CreatingTextPage, LongTextFormField, WritingPage
from forum.texts.slugs import post_path

if TYPE_CHECKING:
    from forum.posts.models import Post


class CommentTextForm(Form):
    content = LongTextFormField(label=gettext_lazy("Your comment"), rows=4)

    def __init__(self, *args: object, **kwargs: object):
        super().__init__(*args, auto_id="comment-%s", **kwargs)


class CommentForm(CommentTextForm):
    """The form for a new comment. The team can choose that only the team sees the comment."""

    internal = forms.BooleanField(label=gettext_lazy("Internal: only the team can see it"), required=False)
    # The comment that is replied to. The template of the form has the input.
    parent_id = forms.CharField(required=False, max_length=19, widget=forms.HiddenInput)

    def __init__(self, *args: object, user: User | None, **kwargs: object):
        super().__init__(*args, **kwargs)
        # A visitor who was in the team before the session ended may be so again: the form is validated once more after signing in.
        self.may_be_internal = user is None or user.is_team
        # If the session has ended, the form is shown again to a visitor. The choice must not be lost then.
        is_chosen = bool((self.data if self.is_bound else self.initial).get("internal"))
        if (user is None or not user.is_team) and not is_chosen:
            del self.fields["internal"]

    def clean_internal(self) -> bool:
        if self.cleaned_data["internal"] and not self.may_be_internal:
            raise forms.ValidationError(_("Only the team can write internal comments"))
        return bool(self.cleaned_data["internal"])


class EditCommentForm(CommentTextForm):
    # The digest of the text when the form was opened.
    version = forms.CharField(max_length=64, required=False, widget=forms.HiddenInput)

    def __init__(self, *args: object, **kwargs: object):
        super().__init__(*args, **kwargs)
        self.fields["content"].label = pgettext_lazy("noun", "Comment")

    @staticmethod
    def version_of(comment: Comment) -> str:
        return hashlib.sha256(comment.comment.encode()).hexdigest()

    @classmethod
    def initial_values(cls, comment: Comment) -> dict[str, str]:
        return {"content": comment.comment, "version": cls.version_of(comment)}


class CommentPage(CreatingTextPage):
    """The form for a comment. The page of the post includes an empty form; this page shows the form with errors or a preview."""

    access = "anyone"
    template_name = "forum/comments/comment_page.html"

    def get(self, request: ForumRequest, id: int) -> HttpResponse:
        """Return the form with the draft of the browser, or what htmx puts into the form for a reply. Otherwise redirect to the form."""
        find_post(request, id, include_merged=True)
        draft = self.find_draft()
        if draft is not None:
            return self.show(self.make_form(initial=draft.values), id=id, is_draft=True)
        initial = initial_of_reply(request, id) if request.htmx else {}
        if not initial:
            return redirect(reverse("forum-post", args=[id], fragment="comment-form"))
        return self.render("forum/comments/reply_part.html", post_id=id, reply=initial)

    def make_form(self, *args: object, **kwargs: object) -> CommentForm:
        return CommentForm(*args, user=self.request.user, **kwargs)

    def save(self, form: CommentForm, id: int) -> HttpResponse:
        request = cast(ForumUserRequest, self.request)
        text, internal = form.cleaned_data["content"], form.cleaned_data.get("internal", False)
        parent_id = parse_id(form.cleaned_data["parent_id"])
        if parent_id is not None:
            parents = request.account.comments.filter(post_id=id, id=parent_id, internal=True)
            internal = internal or (request.user.is_team and parents.exists())
        created: list[tuple[Post, Comment]] = []

        def create() -> Comment:
            post = find_post(request, id)
            new = post.comment(
                by=request.user, text=text, agent=agent_of(request), internal=internal, parent_id=parent_id
            )
            created[:] = [(post, new)]
            return new

        def change(comment: Comment) -> None:
            if comment.internal != internal:
                # Its notifications were sent to other people.
                raise Conflict(_("A comment can't become internal or public afterwards. Add it as a second entry."))
            if comment.parent_id != parent_id:
                raise Conflict(_("A comment can't become a reply afterwards. Add it as a second entry."))
            # The text is read while the post is locked.
            lock_post(request, id).edit_comment(request.account.comments.get(id=comment.id), text, by=request.user)

        creation = Creation(
            create=create,
            rows=request.account.comments.filter(post_id=id).visible_to(request.user),
            path=lambda comment: reverse("forum-comment", args=[id, comment.id]),
            saved=lambda comment: {
                "content": comment.comment,
                "internal": comment.internal,
                "parent_id": comment.parent_id,
            },
            change=change,
            is_visible=lambda comment: comment.may_be_changed_by(request.user),
        )
        try:
            values = {"content": text, "internal": internal, "parent_id": parent_id}
            comment = self.create_text(form, creation, values, "comment", id=id)
        except PostNotFound:
            return self.show(form, id=id, status=HTTPStatus.NOT_FOUND, is_gone=True)
        except PostMerged as merged:
            return self.show(form, id=id, status=HTTPStatus.CONFLICT, original=merged.original)
        path = self.path_of(created[-1][0] if created else find_post(request, id), comment)
        if not request.htmx:
            message = _("Your comment is posted.")
            if internal:
                message = _("Your internal comment is saved. Only the team sees it.")
            elif not comment.approved:
                message = _("Thank you! It is waiting for approval: until then, only you and the team can see it.")
            messages.success(request, message)
            return redirect(path)
        is_elsewhere = comment.parent_id is not None and "reply=" in request.headers.get("HX-Current-URL", "")
        if not created or "?" in path or is_elsewhere:
            # The comment exists already, or the page may not show its place in the list.
            return HttpResponse(headers={"HX-Redirect": path})
        [(post, new)] = created
        new.user, new.is_shown = request.user, True
        internal_count = post.internal_comments_cache if request.user.is_team else 0
        return self.render("forum/comments/new_comment.html", post=post, comment=new, internal_count=internal_count)

    def path_of(self, post: "Post", comment: Comment) -> str:
        """Return the path of a new comment, which is on the last page of comments, or below its parent."""
        if comment.parent_id is not None:
            return path_of_comments(self.request, post, comment, f"comment-{comment.id}")
        query = {"page": "last"} if post.comment_count_for(self.request.user) > COMMENTS_PER_PAGE else None
        return post_path(post.id, post.title, query=query, fragment=f"comment-{comment.id}")

    def show(self, form: Form, *, id: int, **context: Any) -> HttpResponse:  # type: ignore[override]  # needs the post
        """Return only the form if htmx asks, which replaces the form in place. Otherwise return a page."""
        request, posts = self.request, visible_posts(self.request)
        post = posts.filter(id=id).first() if request.forum.may_be_read_by(request.user) else None
        needs_page = self.stale or self.sign_in_form is not None or not {"original", "is_draft"}.isdisjoint(context)
        template = "forum/comments/comment_fields.html" if request.htmx else None
        context |= {"post": post or posts.model(id=id), "visible_post": post, "needs_page": needs_page}
        return super().show(form, template, writing=True, **context)


MAX_VERSIONS = 50


def path_of_comments(request: ForumRequest, post: "Post", comment: Comment | None, fragment: str = "") -> str:
    """Return the path of the page that has the comment, or had it before the comment was deleted.

    The page of the post has the first replies of each thread. The others are on the page of the thread.
    """
    page, reply_count = 1, 0
    is_long = post.comment_count_for(request.user) > COMMENTS_PER_PAGE
    if comment is not None and (is_long or comment.parent_id is not None):
        thread_count, reply_count = place_of(comment, request.user)
        last = max(1, ceil(count_threads(post.account_id, post.id, request.user) / COMMENTS_PER_PAGE))
        # The deleted comment may have been the only one of the last page.
        page = min(thread_count // COMMENTS_PER_PAGE + 1, last)
    if comment is not None and fragment and reply_count >= MAX_SHOWN_REPLIES:
        page = reply_count // COMMENTS_PER_PAGE + 1
        query = {"page": page} if page > 1 else None
        return reverse("forum-comment-thread", args=[post.id, comment.thread_id], query=query, fragment=fragment)
    return post_path(post.id, post.title, query={"page": page} if page > 1 else None, fragment=fragment)


def initial_of_reply(request: ForumRequest, id: int) -> dict[str, Any]:
    """Return the initial values of the form for a reply to the comment that `reply` or `quote` names, or none if there is no such comment."""
    quotes = "quote" in request.GET
    comment_id = parse_id(request.GET.get("quote" if quotes else "reply"))
    if comment_id is None or request.user is None:
        return {}
    comments = request.account.comments.filter(post_id=id, approved=True).visible_to(request.user)
    comment = comments.filter(id=comment_id).select_related("user").first()
    if comment is None:
        return {}
    text = beginning_of_reply(comment, by=request.user, quotes=quotes)
    return {"parent_id": comment.thread_id, "content": text, "name": comment.user.public_name}


class ThreadPage(ForumPage):
    """A comment with all replies to it. For htmx, only the replies beside the first ones, which the page of the post shows."""

    template_name = "forum/comments/thread.html"
    indexed = False

    def get(self, request: ForumRequest, id: int, comment_id: int) -> HttpResponse:
        post = get_object_or_404(visible_posts(request), id=id)
        if post.duplicate_from_id is not None:
            return redirect("forum-comment", post.duplicate_from_id, comment_id)
        page = self.read_page(size=COMMENTS_PER_PAGE)
        replies = request.account.comments.filter(post_id=id, parent_id=comment_id).visible_to(request.user)
        ids = list(replies.order_by("created_at", "id").values_list("id", flat=True)[page.start : page.stop])
        more, ids = len(ids) > page.size, ids[: page.size]
        comments = read_comments(request.account, [comment_id, *ids], reader=request.user) if ids else []
        parent = next((comment for comment in comments if comment.id == comment_id), None)
        if parent is None:
            return redirect("forum-comment", id, comment_id)
        shown = [comment for comment in comments if comment.parent_id == comment_id]
        user = request.user
        may_comment = user is not None and request.forum.may_be_joined_by(user)
        context = {"post": post, "parent": parent, "page": page, "more": more, "may_comment": may_comment}
        if request.htmx:
            first = MAX_SHOWN_REPLIES if page.start == 0 else 0
            return self.render("forum/comments/more_replies.html", replies=shown[first:], **context)
        return self.render(section="suggestions", replies=shown, may_report=may_comment, **context)


class ReactionsPage(ForumPage):
    """The buttons of the reactions to comments. Each sends its kind and the comment: `heart=31`, or to withdraw the reaction `heart=-31`."""

    request: ForumUserRequest
    access = "user"

    def post(self, request: ForumUserRequest, id: int) -> HttpResponse:
        kind = next((kind.value for kind in CommentReaction.Kind if kind.value in request.POST), None)
        value = "" if kind is None else request.POST[kind]
        comment_id = parse_id(value.removeprefix("-"))
        if kind is None or comment_id is None:
            return error_response(request, HTTPStatus.UNPROCESSABLE_ENTITY)

        def react() -> Comment | None:
            post = lock_post(request, id)
            comment = request.account.comments.filter(post_id=id, id=comment_id).visible_to(request.user).first()
            if comment is not None:
                post.react(comment, kind, by=request.user, reacts=not value.startswith("-"))
            return comment

        try:
            comment = in_transaction(react)
        except PostMerged as merged:
            return redirect("forum-comment", merged.original.id, comment_id)
        if comment is None or not request.htmx:
            return redirect("forum-comment", id, comment_id)
        [comment] = read_comments(request.account, [comment.id], reader=request.user)
        return self.render("forum/comments/reacted.html", comment=comment, may_comment=True)


class MarkCommentPage(ForumPage):
    """The buttons of the team that pin a comment, and mark it as helpful."""

    request: ForumUserRequest
    access = "team"

    def post(self, request: ForumUserRequest, id: int, comment_id: int) -> HttpResponse:
        values = {name: {"1": True, "0": False}.get(request.POST.get(name, "")) for name in ("pinned", "helpful")}
        if set(values.values()) == {None}:
            return error_response(request, HTTPStatus.UNPROCESSABLE_ENTITY)

        def mark() -> None:
            post = lock_post(request, id)
            comment = get_object_or_404(request.account.comments, post_id=id, id=comment_id)
            post.mark_comment(comment, by=request.user, **values)

        try:
            self.perform(mark, success_message=_("Saved."))
        except PostMerged as merged:
            return redirect("forum-comment", merged.original.id, comment_id)
        return redirect("forum-comment", id, comment_id)


class CommentLink(ForumPage):
    """The permanent address of a comment. It redirects to the page of comments that has the comment now."""

    def get(self, request: ForumRequest, id: int, comment_id: int) -> HttpResponse:
        post = get_object_or_404(visible_posts(request), id=id)
        if post.duplicate_from_id is not None:
            return redirect("forum-comment", post.duplicate_from_id, comment_id)
        comment = request.account.comments.filter(post_id=id, id=comment_id).visible_to(request.user).first()
        if comment is None:
            messages.error(request, _("That comment is no longer here."))
            return redirect("forum-post", id)
        return redirect(path_of_comments(request, post, comment, f"comment-{comment_id}"))


class EditCommentPage(WritingPage):
    template_name = "forum/comments/edit_comment.html"

    def find(self, id: int, comment_id: int) -> Comment | None:
        """Return the comment if the user may see it and its post."""
        request = self.request
        if not visible_posts(request).filter(id=id).exists():
            return None
        return self.comments(id).filter(id=comment_id).first()

    def comments(self, id: int) -> CommentQuerySet:
        return self.request.account.comments.filter(post_id=id).visible_to(self.request.user)

    def get(self, request: ForumUserRequest, id: int, comment_id: int) -> HttpResponse:
        comment = self.find(id, comment_id)
        if comment is None:
            raise Http404
        check_may_edit(comment, request.user)
        form = EditCommentForm(initial=EditCommentForm.initial_values(comment))
        return self.show(form, id=id, comment_id=comment_id, internal=comment.internal)

    def make_form(self, *args: object, **kwargs: object) -> EditCommentForm:
        return EditCommentForm(*args, **kwargs)

    def show(self, form: Form, *, id: int, comment_id: int, **context: Any) -> HttpResponse:  # type: ignore[override]  # needs the ids
        if "internal" not in context:
            comment = self.find(id, comment_id)
            context["internal"] = comment is not None and comment.internal
        return super().show(form, id=id, comment_id=comment_id, **context)

    def save(self, form: EditCommentForm, id: int, comment_id: int) -> HttpResponse:
        request = cast(ForumUserRequest, self.request)
        show = partial(self.show, id=id, comment_id=comment_id)

        def change() -> tuple[Comment, str | None]:
            """Return the comment, and the path to it, or None if somebody else has changed it."""
            post = lock_post(request, id)
            comment = self.comments(id).filter(id=comment_id).first()
            if comment is None:
                raise PostNotFound
            check_may_edit(comment, request.user)
            text = form.cleaned_data["content"]
            if text != comment.comment and EditCommentForm.version_of(comment) != form.cleaned_data["version"]:
                return comment, None
            post.edit_comment(comment, text, by=request.user)
            return comment, path_of_comments(request, post, comment, f"comment-{comment_id}")

        try:
            comment, path = in_transaction(change)
        except (PostNotFound, PostMerged):
            return show(form, status=HTTPStatus.NOT_FOUND, is_gone=True)
        if path is None:
            form.replace_data("version", EditCommentForm.version_of(comment))
            return show(form, status=HTTPStatus.CONFLICT, current=comment.comment)
        message = _("Saved.")
        if not comment.approved and not request.user.is_team:
            message = _("Saved. It is waiting for approval: until then, only you and the team can see it.")
        messages.success(request, message)
        return redirect(path)


def check_may_edit(comment: Comment, user: User) -> None:
    """Raise PermissionDenied if the user may not change the comment."""
    if not comment.may_be_changed_by(user):
        raise PermissionDenied(_("Only the author of a comment and the team can change it."))


class CommentHistoryPage(ForumPage):
    """The earlier texts of a comment, newest first, for the team."""

    request: ForumUserRequest
    access = "team"
    template_name = "forum/comments/comment_history.html"

    def get(self, request: ForumUserRequest, id: int, comment_id: int) -> HttpResponse:
        post = get_object_or_404(visible_posts(request).only("account_id", "id", "title"), id=id)
        comment = get_object_or_404(request.account.comments.select_related("user"), post_id=id, id=comment_id)
        versions = list(comment.versions()[: MAX_VERSIONS + 1])
        return self.render(
            section="suggestions",
            post=post,
            comment=comment,
            versions=versions[:MAX_VERSIONS],
            more_versions=len(versions) > MAX_VERSIONS,
        )


class DeleteCommentPage(ForumPage):
    """The button that deletes a comment. A deleted comment does not go to the trash."""

    request: ForumUserRequest
    access = "user"

    def post(self, request: ForumUserRequest, id: int, comment_id: int) -> HttpResponse:
        def erase() -> tuple[Comment | None, str]:
            """Return the comment, if it existed, and the path of the page of comments that it was on."""
            post = lock_post(request, id)
            comment = request.account.comments.filter(post_id=id, id=comment_id).visible_to(request.user).first()
            if comment is not None and not comment.may_be_changed_by(request.user):
                raise PermissionDenied(_("Only the author of a comment and the team can delete it."))
            if comment is not None:
                post.erase_comment(comment)
            return comment, path_of_comments(request, post, comment)

        try:
            comment, path = in_transaction(erase)
        except PostMerged as merged:
            message = _("That suggestion was merged into this one in the meantime. You can delete the comment here.")
            messages.error(request, message)
            return redirect(post_path(merged.original.id, merged.original.title))
        if comment is None:
            messages.error(request, _("That comment is no longer here."))
        else:
            messages.success(request, _("The comment is deleted."))
        return redirect(path)


# The limits of the users that are compared with the typed name, and of those that are shown.
MAX_CANDIDATES, MAX_SHOWN = 200, 8
MAX_NAME_LENGTH = 64


class MentionsPart(ForumPage):
    """The names of which a word begins with `q`, as JSON: of the team, and of the users who wrote on the page of the suggestion.

    Logins are not shown and not searched: a member must not see them, nor does the text that the team publishes. A name that would
    mention nobody is not offered. Users who may no longer read the forum are left out.
    """

    request: ForumUserRequest
    access = "user"

    def get(self, request: ForumUserRequest, id: int) -> HttpResponse:
        prefix = fold(request.GET.get("q", "")[:MAX_NAME_LENGTH])
        throttling.count_search(request)
        post = get_object_or_404(visible_posts(request), id=id)
        comments = request.account.comments.filter(post_id=id).visible_to(request.user).order_by()
        writers = {*comments.values_list("user_id", flat=True).distinct()[:MAX_CANDIDATES], post.user_id}
        users = request.account.users.exclude(id=request.user.id)
        readers = request.forum.members_among(writers)
        members = users.filter(id__in=readers, role=User.Role.MEMBER, is_active=True).values_list("name", flat=True)
        team = users.filter(role__in=User.TEAM, is_active=True).order_by("name", "id").values_list("name", flat=True)
        team_uses = Counter(team[:MAX_CANDIDATES])
        uses = Counter(members) + team_uses
        matches = [
            name
            for name in uses
            if (team_uses[name] or uses[name]) == 1
            and has_word(prefix, name)
            # An `@` and the name are read as a mention of the whole name.
            and any(name in candidates for candidates in names_in(f"@{name}"))
        ]
        return JsonResponse([{"name": name} for name in matches[:MAX_SHOWN]], safe=False)


def has_word(prefix: str, name: str) -> bool:
    """Return whether a word of the name begins with the folded prefix."""
    return any(word.startswith(prefix) for word in fold(name).split())
