"""What members do in a forum: vote, suggest, comment, and change or delete what is theirs."""

from functools import partial
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _

from accounts.models import Status
from accounts.pages.forms import Form
from accounts.pages.settings import parse_id
from core.api import idempotency, throttling
from core.db.transactions import in_transaction
from core.error_responses import error_response
from core.pages.base import Page, no_content, redirect, referring_path
from core.pages.routes import sign_in_path
from forum.api.views import agent_of
from forum.markdown import render
from forum.models import Post
from forum.pages.base import ForumPage, KeepingPage
from forum.pages.forms import CommentForm, EditForm, NewPostForm, categories_of
from forum.pages.reading import COMMENTS

LIKE = ("id", "title", "votes_cache", "comments_cache", "status__code", "status__name", "status__color")


class Gone(Http404):
    """It was deleted, or it is not for the user to see."""


class Merged(Http404):
    """It was merged into another meanwhile: `original`, which the user may see."""

    def __init__(self, original: Post):
        super().__init__(original.id)
        self.original = original


def posts_for(request: HttpRequest):
    """The posts of the request's forum that whoever asks may see."""
    return request.account.posts.visible_to(request.user).of_forum(request.forum.id).without_tasks()


def held(request: HttpRequest, id: int, *, merged_too: bool = False) -> Post:
    """The post, held until the transaction ends. Raises Gone, and Merged unless merged ones will do."""
    post = posts_for(request).locked().filter(id=id).first()
    if post is None:
        raise Gone
    if post.duplicate_from_id is not None and not merged_too:
        original = posts_for(request).filter(id=post.duplicate_from_id).first()
        raise Merged(original) if original is not None else Gone
    return post


def gone(request: HttpRequest) -> HttpResponse:
    message = _("This suggestion was deleted in the meantime, or you may not see it.")
    return error_response(request, HTTPStatus.NOT_FOUND, message=message)


def not_yours(request: HttpRequest, post: Post) -> HttpResponse:
    message = on_echo() if post.user_id == request.user.id else None
    return error_response(request, HTTPStatus.FORBIDDEN, message=message)


def on_echo() -> str:
    return _("Somebody has voted for it or commented on it, so only the team can change it now.")


class VotePage(ForumPage):
    """`vote` is 1 or 0, so that to send it twice does no harm. Whoever must sign in first comes back to one button."""

    access = "user"
    template_name = "forum/vote_page.html"

    def check_access(self):
        request, id = self.request, self.kwargs["id"]
        if request.user is not None:
            return super().check_access()
        votes = request.method in ("GET", "HEAD") or request.POST.get("vote") == "1"
        path = sign_in_path(reverse("forum-post-vote" if votes else "forum-post", args=[id]), unsaved=not votes)
        return HttpResponse(headers={"HX-Redirect": path}) if request.htmx else redirect(path)

    def get(self, request, id: int):
        post = posts_for(request).filter(id=id).first()
        if post is None:
            return gone(request)
        if post.duplicate_from_id is not None:
            return redirect("forum-post", post.duplicate_from_id)
        if request.account.votes.voted_post_ids(request.user, [id]):
            messages.info(request, _("You have already voted for this."))
            return redirect("forum-post", id)
        return self.render(section="suggestions", post=post, voted=set())

    def post(self, request, id: int):
        wanted = {"1": True, "0": False}.get(request.POST.get("vote", ""))
        if wanted is None:
            return error_response(request, HTTPStatus.UNPROCESSABLE_ENTITY)

        def vote() -> Post:
            post = held(request, id)
            if wanted:
                post.vote(by=request.user)
            else:
                post.withdraw_vote(by=request.user)
            return post

        try:
            post = in_transaction(vote)
        except Gone:
            return gone(request)
        except Merged as found:
            return self.point_to(found.original)
        if request.htmx:
            return self.render("forum/vote.html", post=post, voted={id} if wanted else set())
        said = _("You have voted for “%(title)s”.") if wanted else _("Your vote for “%(title)s” is taken back.")
        messages.success(request, said % {"title": post.title})
        return redirect(self.back(id))

    def back(self, id: int) -> str:
        """To the list that the button was in; to the post from where there was nothing but it, or a form that is given up."""
        post = reverse("forum-post", args=[id])
        path = referring_path(request=self.request, default=post)
        passing = (reverse("forum-post-new"), reverse("forum-post-vote", args=[id]), reverse("accounts-sign-in"))
        return post if urlsplit(path).path in passing else f"{path.partition('#')[0]}#vote-{id}"

    def point_to(self, original: Post) -> HttpResponse:
        if self.request.htmx:
            response = self.render("forum/merged.html", http_status=HTTPStatus.CONFLICT, original=original)
            response.headers["HX-Retarget"], response.headers["HX-Reswap"] = "#messages", "innerHTML"
            return response
        messages.error(self.request, _("That suggestion was merged into this one in the meantime. You can vote here."))
        return redirect("forum-post", original.id)


class WritingPage(KeepingPage):
    """A page with a text in Markdown."""

    access = "user"

    @property
    def wants_preview(self) -> bool:
        """A visitor's is not made: what takes time is counted, and that goes by users."""
        return self.request.user is not None and self.request.POST.get("act") == "preview"

    def show(self, form: Form, template: str | None = None, *, status: int = 200, **context: Any) -> HttpResponse:
        preview = render(form["content"].value() or "") if self.wants_preview else None
        return self.render(
            template,
            http_status=status,
            section="suggestions",
            form=form,
            preview=preview,
            **context,
        )

    def as_typed(self) -> dict[str, str]:
        """What was sent, to begin a form with that finds no error yet."""
        return self.request.POST.dict()


class NewPostPage(WritingPage):
    template_name = "forum/new_post.html"

    def get(self, request):
        title, category_id = request.GET.get("title", "")[:255], parse_id(request.GET.get("category"))
        if title:
            throttling.count_search(request)
        initial = {"title": title, "kind": Post.Kind.SUGGESTION, "key": idempotency.new_form_key()}
        form = self.make_form(initial=initial | ({"category_id": category_id} if category_id else {}))
        return self.show(form, similar=similar_to(request, title))

    def make_form(self, *args, **kwargs) -> NewPostForm:
        return NewPostForm(*args, categories=self.categories, **kwargs)

    @property
    def categories(self) -> list:
        """Of a private forum, a visitor is not told."""
        request = self.request
        return categories_of(request.account, request.forum.id) if request.forum.may_be_read_by(request.user) else []

    def show_again(self, status: int):
        form = self.make_form(initial=self.as_typed())
        return self.show(form, status=status, category_id=self.request.POST.get("category_id", "")[:18])

    def write(self):
        request = self.request
        if self.wants_preview:
            return self.show(self.make_form(initial=self.as_typed()))
        form = self.make_form(request.POST)
        if not form.is_valid():
            return self.show(form, status=HTTPStatus.UNPROCESSABLE_ENTITY)
        key = form.cleaned_data["key"]
        # Looked for before: a first click, if it has made the post meanwhile, is known by its key.
        similar = [] if form.cleaned_data["seen"] else similar_to(request, form.cleaned_data["title"])
        if (to := idempotency.location_of_form(request.user, key, form.values)) is not None:
            return redirect(to)
        if similar:
            return self.show(form, similar=similar, asks=True)
        made: list[Post] = []

        def make() -> str:
            post = Post(account=request.account, forum_id=request.forum.id, agent=agent_of(request))
            post.requires_approval = request.forum.approval
            post.write(form.values, by=request.user)
            made.append(post)
            return reverse("forum-post", args=[post.id])

        answered: list[str] = []
        once = partial(idempotency.once_from_form, request.user, key, form.values, make)
        if not self.submit_form(form, lambda: answered.append(once())):
            return self.show(form, status=HTTPStatus.UNPROCESSABLE_ENTITY)
        if made and not made[-1].approved:
            said = _("Thank you! It is waiting for approval: until then, only you and the team can see it.")
        else:
            said = _("Thank you! Your suggestion is posted.")
        messages.success(request, said)
        return redirect(answered[-1])


def similar_to(request: HttpRequest, title: str) -> list[dict]:
    """The suggestions whose titles are like it, as `forum/similar.html` shows them."""
    title = title.strip()
    if len(title) < 3:
        return []
    rows = Post.objects.similar_to(title[:255], LIKE, account=request.account, forum_id=request.forum.id)
    posts = [dict(zip(LIKE, row, strict=True)) for row in rows]
    for post in posts:
        status = {name: post.pop(f"status__{name}") for name in ("code", "name", "color")}
        post["status"] = Status(kind=Status.Kind.POST, **status)
    voted = request.account.votes.voted_post_ids(request.user, [post["id"] for post in posts])
    return [post | {"voted": voted} for post in posts]


class SimilarPart(Page):
    """Of the page of a new suggestion, while its title is typed."""

    def get(self, request):
        if request.user is None:
            # The session has ended: the form says so when it is sent.
            return no_content()
        throttling.count_search(request)
        return self.render("forum/similar.html", similar=similar_to(request, request.GET.get("title", "")))


class PreviewPart(Page):
    """How a text will look."""

    def post(self, request):
        ended = request.user is None
        text = "" if ended else request.POST.get("content", "")
        return self.render("forum/preview.html", preview=render(text), ended=ended)


class CommentPage(WritingPage):
    """It answers the form of a post's page. By itself it is shown where something is to be said about the form."""

    template_name = "forum/comment_page.html"

    def get(self, request, id: int):
        if not posts_for(request).filter(id=id).exists():
            return gone(request)
        return redirect(reverse("forum-post", args=[id], fragment="comment-form"))

    def show_again(self, status: int, id: int):
        return self.show(CommentForm(initial=self.as_typed()), id=id, status=status)

    def write(self, id: int):
        request = self.request
        if self.wants_preview:
            return self.show(CommentForm(initial=self.as_typed()), id=id)
        form = CommentForm(request.POST)
        if not form.is_valid():
            return self.show(form, id=id, status=HTTPStatus.UNPROCESSABLE_ENTITY)
        text, key, made = form.cleaned_data["content"], form.cleaned_data["key"], []

        def comment() -> str:
            post = held(request, id)
            made[:] = [post, post.comment(by=request.user, text=text, agent=agent_of(request))]
            query = {"page": "last"} if post.comments_cache > COMMENTS else None
            return reverse("forum-post", args=[id], query=query, fragment=f"comment-{made[1].id}")

        try:
            said = {"id": id, "text": text}
            to = in_transaction(lambda: idempotency.once_from_form(request.user, key, said, comment))
        except Gone:
            return self.show(form, id=id, status=HTTPStatus.NOT_FOUND, gone=True)
        except Merged as found:
            return self.show(form, id=id, status=HTTPStatus.CONFLICT, original=found.original)
        if not request.htmx:
            messages.success(request, _("Your comment is posted."))
            return redirect(to)
        if not made or "?" in to:
            # It is there already, or on another page of them.
            return HttpResponse(headers={"HX-Redirect": to})
        post, new = made
        new.user = request.user
        return self.render("forum/new_comment.html", post=post, comment=new)

    def show(self, form: Form, *, id: int, **context: Any):
        """By htmx in the place of the form, where one more click is enough; else as a page."""
        post = posts_for(self.request).filter(id=id).first() if self.is_for_user else None
        needs_page = self.stale or self.sign_in_form is not None or "original" in context
        template = "forum/comment_fields.html" if self.request.htmx else None
        return super().show(
            form, template, writing=True, post=post or Post(id=id), known=post, needs_page=needs_page, **context
        )

    @property
    def is_for_user(self) -> bool:
        return self.request.forum.may_be_read_by(self.request.user)


class EditPage(WritingPage):
    template_name = "forum/edit_post.html"

    def get(self, request, id: int):
        post = posts_for(request).filter(id=id).first()
        if post is None:
            return gone(request)
        if not post.may_be_changed_by(request.user):
            return not_yours(request, post)
        return self.show(self.make_form(initial=EditForm.shown(post) | {"version": EditForm.version_of(post)}), id=id)

    def make_form(self, *args, **kwargs) -> EditForm:
        request = self.request
        shown = request.forum.may_be_read_by(request.user)
        return EditForm(*args, categories=categories_of(request.account, request.forum.id) if shown else [], **kwargs)

    def show_again(self, status: int, id: int):
        category_id = self.request.POST.get("category_id", "")[:18]
        return self.show(self.make_form(initial=self.as_typed()), id=id, status=status, category_id=category_id)

    def write(self, id: int):
        request = self.request
        if self.wants_preview:
            return self.show(self.make_form(initial=self.as_typed()), id=id)
        form = self.make_form(request.POST)
        if not form.is_valid():
            return self.show(form, id=id, status=HTTPStatus.UNPROCESSABLE_ENTITY)

        def change() -> tuple[str, Post]:
            post = held(request, id, merged_too=True)
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
        except Gone:
            return self.show(form, id=id, status=HTTPStatus.NOT_FOUND, gone=True)
        what, post = outcome[-1]
        if what == "refused":
            if post.user_id != request.user.id:
                return not_yours(request, post)
            return self.show(form, id=id, status=HTTPStatus.CONFLICT, refused=on_echo())
        if what == "changed":
            form.data = form.data.copy()
            form.data["version"] = EditForm.version_of(post)
            return self.show(form, id=id, status=HTTPStatus.CONFLICT, now=post)
        said = _("Saved.")
        if not post.approved and not request.user.is_team:
            said = _("Saved. It is waiting for approval: until then, only you and the team can see it.")
        messages.success(request, said)
        return redirect("forum-post", id)


class DeletePage(ForumPage):
    """To the trash, whence an admin can restore it."""

    access = "user"

    def post(self, request, id: int):
        def trash() -> tuple[Post, bool]:
            post = held(request, id, merged_too=True)
            may = post.may_be_changed_by(request.user)
            if may:
                post.trash(by=request.user)
            return post, may

        try:
            post, done = in_transaction(trash)
        except Gone:
            return gone(request)
        if not done:
            return not_yours(request, post)
        said = _("“%(title)s” is deleted. For 30 days an admin can restore it.")
        messages.success(request, said % {"title": post.title})
        return redirect("forum-home")
