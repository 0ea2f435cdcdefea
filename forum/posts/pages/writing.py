"""The pages that add, edit and delete a suggestion, and their forms."""

import hashlib
from http import HTTPStatus
from typing import Any, cast

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.layout.forms import Form
from accounts.layout.settings import parse_id
from accounts.statuses.models import Status
from accounts.users.models import User
from core.db.transactions import in_transaction
from core.errors import Conflict
from core.http import throttling
from core.pages.base import no_content, redirect
from core.pages.creation import Creation
from forum.categories.models import Category
from forum.forums.pages.base import ForumPage, PostNotFound
from forum.forums.requests import ForumRequest, ForumUserRequest, agent_of
from forum.lists.pages.base import find_post, lock_post, visible_posts
from forum.lists.pages.filters import KINDS
from forum.posts.models import Post
from forum.texts.pages import CreatingTextPage, LongTextFormField, WritingPage

SIMILAR_COLUMNS = ("id", "title", "votes_cache", "comments_cache", "status__code", "status__name", "status__color")


FORM_ID = "post-form"


class PostForm(Form):
    # The input is outside of the <form>, because similar suggestions are shown between the two, and have vote forms of their own.
    title = forms.CharField(
        label=gettext_lazy("Title"), max_length=255, widget=forms.TextInput(attrs={"form": FORM_ID})
    )
    content = LongTextFormField(label=gettext_lazy("Details"), rows=8, required=False)
    category_id = forms.TypedChoiceField(
        label=gettext_lazy("Category"),
        coerce=int,
        error_messages={"invalid_choice": gettext_lazy("No longer exists; choose another one")},
    )
    kind = forms.ChoiceField(label=gettext_lazy("Kind"), choices=KINDS)
    private = forms.BooleanField(label=gettext_lazy("Only you and the team can see it"), required=False)

    def __init__(self, *args: object, categories: list[Category], **kwargs: object):
        super().__init__(*args, **kwargs)
        self.set_choices("category_id", ((category.id, category.name) for category in categories))
        if len(categories) == 1:
            self.fields["category_id"].widget = forms.HiddenInput()
            self.initial["category_id"] = categories[0].id

    @property
    def values(self) -> dict[str, Any]:
        return {name: self.cleaned_data[name] for name in ("title", "content", "category_id", "kind", "private")}


class NewPostForm(PostForm):
    # Whether similar suggestions have been shown.
    seen = forms.BooleanField(required=False, widget=forms.HiddenInput)

    def __init__(self, *args: object, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self.fields["title"].widget.attrs |= {
            "autofocus": True,
            "hx-get": reverse("forum-post-similar"),
            "hx-trigger": "input changed delay:300ms",
            "hx-target": "#similar",
            "hx-sync": "this:replace",
        }


class EditPostForm(PostForm):
    version = forms.CharField(max_length=64, required=False, widget=forms.HiddenInput)

    @staticmethod
    def initial_values(post: Post) -> dict[str, object]:
        """Return the initial values for a post."""
        kind = Post.Kind.SUGGESTION if post.kind == Post.Kind.PRIVATE else post.kind
        return {
            "title": post.title,
            "content": post.content,
            "category_id": post.category_id,
            "kind": kind,
            "private": post.is_private,
        }

    @classmethod
    def version_of(cls, post: Post) -> str:
        """Return a digest of the fields of this form. Comments and votes do not change it."""
        return hashlib.sha256(repr(cls.initial_values(post)).encode()).hexdigest()

    def changes(self, post: Post) -> dict[str, object]:
        """Return the changed values.

        The form does not offer the kind `PRIVATE`. A post keeps it unless the user changes the kind or the privacy.
        """
        initial = self.initial_values(post)
        values = {name: value for name, value in self.values.items() if value != initial[name]}
        if post.kind == Post.Kind.PRIVATE and not values.keys().isdisjoint({"kind", "private"}):
            values |= {name: self.cleaned_data[name] for name in ("kind", "private")}
        return values


def categories_for(request: ForumRequest) -> list[Category]:
    """Return the categories of the forum, or none for a visitor of a private forum."""
    may_read = request.forum.may_be_read_by(request.user)
    return list(request.account.categories.of_forum(request.forum.id)) if may_read else []


def check_may_change(post: Post, user: User) -> None:
    """Raise PermissionDenied if the user may not change or delete the post."""
    if not post.may_be_changed_by(user):
        raise PermissionDenied(*([has_responses_message()] if post.user_id == user.id else []))


def has_responses_message() -> str:
    return _("Somebody has voted for it or commented on it, so only the team can change it now.")


class NewPostPage(CreatingTextPage):
    """The form for a new suggestion. A visitor signs in first, with a code unless they prefer a password."""

    template_name = "forum/posts/new_post.html"

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

    def make_form(self, *args: object, **kwargs: object) -> NewPostForm:
        return NewPostForm(*args, categories=categories_for(self.request), **kwargs)

    def save(self, form: NewPostForm) -> HttpResponse:
        request = cast(ForumUserRequest, self.request)
        # Similar posts are searched before the key is checked. If another click creates the post in between, the key is found, and the
        # post is not shown as similar to itself.
        similar = [] if form.cleaned_data["seen"] else similar_to(request, form.cleaned_data["title"])
        if similar and self.created_row_id() is None:
            return self.show(form, similar=similar, asks_first=True)
        post = self.create_text(form, self.creation(form), form.values, "post")
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
            saved=EditPostForm.initial_values,
            change=change,
        )


def similar_to(request: ForumUserRequest, title: str) -> list[dict[str, object]]:
    """Return the suggestions with similar titles, for `forum/posts/similar.html`."""
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
        return self.render("forum/posts/similar.html", similar=similar)


class EditPage(WritingPage):
    template_name = "forum/posts/edit_post.html"

    def get(self, request: ForumUserRequest, id: int) -> HttpResponse:
        post = find_post(request, id, include_merged=True)
        check_may_change(post, request.user)
        initial = EditPostForm.initial_values(post) | {"version": EditPostForm.version_of(post)}
        return self.show(self.make_form(initial=initial), id=id)

    def make_form(self, *args: object, **kwargs: object) -> EditPostForm:
        return EditPostForm(*args, categories=categories_for(self.request), **kwargs)

    def save(self, form: EditPostForm, id: int) -> HttpResponse:
        request = cast(ForumUserRequest, self.request)

        def change() -> tuple[str, Post]:
            post = lock_post(request, id, include_merged=True)
            if post.user_id != request.user.id:
                check_may_change(post, request.user)
            elif not post.may_be_changed_by(request.user):
                return "refused", post
            values = form.changes(post)
            if values and EditPostForm.version_of(post) != form.cleaned_data["version"]:
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
            return self.show(form, id=id, status=HTTPStatus.CONFLICT, refusal=has_responses_message())
        if result == "changed":
            form.replace_data("version", EditPostForm.version_of(post))
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
        def trash() -> Post:
            post = lock_post(request, id, include_merged=True)
            check_may_change(post, request.user)
            post.trash(by=request.user)
            return post

        post = in_transaction(trash)
        message = _("“%(title)s” is deleted. For 30 days an admin can restore it.")
        messages.success(request, message % {"title": post.title})
        return redirect("forum-suggestions")
