"""The page of a suggestion, and the pages that add, edit and delete one."""

import hashlib
from collections.abc import Collection
from http import HTTPStatus
from math import ceil
from typing import Any, cast

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db import OperationalError
from django.db.models import Exists, F, Model, OuterRef, QuerySet, Subquery
from django.db.models.functions import Left
from django.http import Http404, HttpResponse, HttpResponsePermanentRedirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.account.models import Account
from accounts.attachments.models import attached_files
from accounts.layout.forms import Form
from accounts.layout.settings import parse_id
from accounts.users.models import User
from core.db.prepared import prepared
from core.db.transactions import in_transaction
from core.errors import Conflict
from core.http import throttling
from core.pages.base import base_url, redirect
from core.pages.creation import Creation
from core.registry import registry
from core.rows.access import prepared_access
from core.rows.trash import limit
from forum.categories.models import Category
from forum.comments.models import COMMENTS_PER_PAGE
from forum.comments.threads import count_threads, read_threads
from forum.follows.models import follow_annotations, is_followed
from forum.forums.pages.base import ForumPage, PostNotFound
from forum.forums.requests import ForumRequest, ForumUserRequest, agent_of
from forum.lists.pages.base import (
    EXCERPT_SOURCE_LENGTH,
    KINDS,
    category_list_path,
    find_post,
    lock_post,
    pop_status,
    target_text,
    visible_posts,
)
from forum.lists.queries import VISITOR_ID, author_filter
from forum.posts.models import Post
from forum.posts.structured_data import describe
from forum.previews.pages import image_url
from forum.texts.markdown import excerpt, render
from forum.texts.pages import CreatingTextPage, LongTextFormField, WritingPage
from forum.texts.slugs import post_path, slug_of

# The length of the description for search engines, in characters.
DESCRIPTION_LENGTH = 160
MAX_VOTERS, MAX_STATUS_CHANGES, MAX_DUPLICATES = 20, 50, 50
# The merged suggestions whose text the page of the original quotes, and the length of a quote in characters.
MAX_QUOTED_DUPLICATES, MAX_QUOTE_LENGTH = 10, 500

# The length of an earlier official response in the history.
MAX_ANSWER_EXCERPT = 160


class PostPage(ForumPage):
    """A suggestion with its comments, votes and history."""

    template_name = "forum/posts/post.html"

    def get(self, request: ForumRequest, id: int, slug: str = "") -> HttpResponse:
        account, forum, user = request.account, request.forum, request.user
        is_team = user is not None and user.is_team
        post = self.find(id)
        if post.duplicate_from_id is not None and not (is_team and request.GET.get("original") == "0"):
            return self.show_merged(post)
        if slug != slug_of(post.title):
            # Former titles, and the id alone, lead here too. Caches must not keep this: a title may change back.
            query = request.META["QUERY_STRING"]
            path = post_path(id, post.title) + (f"?{query}" if query else "")
            return HttpResponsePermanentRedirect(path, headers={"Cache-Control": "private, no-store"})
        comment_count = post.comment_count_for(user)
        is_long = comment_count > COMMENTS_PER_PAGE
        last = max(1, ceil(count_threads(account.id, id, user) / COMMENTS_PER_PAGE)) if is_long else 1
        page = self.read_page(size=COMMENTS_PER_PAGE, last=last)
        if user is not None:
            self.mark_notifications_read(user, id)
        post.content_html = post.content_html or render(post.content)
        if post.response and post.response_html is None:
            post.response_html = render(post.response)
        # The newest changes are read. They are shown oldest first.
        history = _status_changes(account_id=account.id, post_id=id)[::-1]
        answers = [change for change in history if change.response]
        # The newest answer is shown in full.
        for change in answers[:-1] if post.response else answers:
            change.excerpt = excerpt(change.response[:EXCERPT_SOURCE_LENGTH], max_length=MAX_ANSWER_EXCERPT)
        duplicates = _duplicates(account_id=account.id, forum_id=forum.id, id=id, **author_filter(user))
        duplicate_id = request.GET.get("from", "")
        names = account.votes.voter_names(account.id, id, limit=MAX_VOTERS, reader=user) if post.votes_cache else []
        if user is not None and user.is_team and post.votes_cache > len(names):
            # The names of customers follow those of users. At least half of the places are reserved for users.
            proxy_votes = account.proxy_votes.of_post(id).accessible_to(user).with_names()
            customers = proxy_votes.values_list("client_name", "contact_name")[:MAX_VOTERS]
            customer_names = [client_name or contact_name for client_name, contact_name in customers]
            names = (names[: max(MAX_VOTERS - len(customer_names), MAX_VOTERS // 2)] + customer_names)[:MAX_VOTERS]
        may_comment = user is None or forum.may_be_joined_by(user)
        image, url = image_url(request, post), base_url(request) + post_path(id, post.title)
        return self.render(
            section="suggestions",
            post=post,
            category=Category(account=account, id=post.category_id, forum_id=forum.id, name=post.category_name),
            category_path=category_list_path(post.category_name),
            comments=read_threads(account, id, page, reader=user) if comment_count else [],
            internal_count=post.internal_comments_cache if is_team else 0,
            page=page,
            last=last,
            more=page.number < last,
            history=history,
            may_comment=may_comment,
            takes_drafts=True,
            may_report=user is not None and may_comment and post.duplicate_from_id is None,
            response_change=answers[-1] if answers and post.response else None,
            voter_names=names,
            other_voter_count=post.votes_cache - len(names),
            voted={id} if user is not None and post.is_voted else set(),
            is_followed=user is not None and is_followed(post),
            duplicates=duplicates[:MAX_DUPLICATES],
            quotes={
                row["id"]: excerpt(row["beginning"], max_length=MAX_QUOTE_LENGTH)
                for row in duplicates[:MAX_QUOTED_DUPLICATES]
            },
            more_duplicates=len(duplicates) > MAX_DUPLICATES,
            target=target_text(post.target_on, post.target_is_quarter) if is_team or post.status.on_roadmap else "",
            image=image,
            structured_data=describe(post, post.nick, url=url, image=image) if image and page.number == 1 else "",
            title_of_duplicate=next((row["title"] for row in duplicates if str(row["id"]) == duplicate_id), None),
            canonical=url + (f"?page={page.number}" if page.number > 1 else ""),
            description=excerpt(post.content[:EXCERPT_SOURCE_LENGTH], max_length=DESCRIPTION_LENGTH),
        )

    def show_merged(self, post: Post) -> HttpResponse:
        """Return the page of a duplicate: its text, and a link to the original, if the user may see that."""
        original = (
            visible_posts(self.request).filter(id=post.duplicate_from_id).only("account_id", "id", "title").first()
        )
        post.content_html = post.content_html or render(post.content)
        canonical = base_url(self.request) + post_path((original or post).id, (original or post).title)
        return self.render(
            "forum/posts/merged_post.html", section="suggestions", post=post, original=original, canonical=canonical
        )

    def mark_notifications_read(self, user: User, id: int) -> None:
        """Mark the user's notifications of the suggestion as read, unless the browser only fetches the page in advance."""
        is_shown = self.request.method == "GET" and "prefetch" not in self.request.headers.get("Sec-Purpose", "")
        if is_shown and user.unread_notifications:
            rows = self.request.account.notifications.of_post(id, user)
            # The header of this page shows the number that remains.
            try:
                user.unread_notifications = max(0, user.unread_notifications - in_transaction(rows.mark_read))
            except OperationalError:
                # The database is read-only at the moment. The notifications stay unread.
                return

    def find(self, id: int) -> Any:
        """Return the post, annotated with what the page shows of related rows. Raise Http404 if the user may not read it."""
        account, user = self.request.account, self.request.user
        arguments: dict[str, object] = {} if user is None else {"user_id": user.id, "is_team": user.is_team}
        if user is not None and user.is_team:
            arguments |= user.access.arguments
        post = _posts.first(account_id=account.id, forum_id=self.request.forum.id, id=id, **arguments)
        if post is None:
            raise Http404
        post.account = account
        return post


# The statements of the page of a suggestion


def reader_of(account_id: int, user_id: int | None, *, is_team: bool) -> User | None:
    """Return a stand-in for the reader of a suggestion, or None for a visitor. The whole team reads the same suggestions."""
    role = User.Role.OWNER if is_team else User.Role.MEMBER
    return None if user_id is None else User(account_id=account_id, id=user_id, role=role)


@prepared(account_id=int, forum_id=int, id=int, user_id=int, responsible_ids=list)
def _posts(
    account_id: int,
    forum_id: int,
    id: int,
    user_id: int | None = None,
    is_team: bool = False,
    responsible_ids: Collection[int] | None = None,
) -> QuerySet[Post]:
    account = Account(id=account_id)
    user = reader_of(account_id, user_id, is_team=is_team)
    categories = account.categories.of_forum(forum_id)
    annotations: dict[str, object] = {
        "nick": F("user__name"),
        "category_name": Subquery(categories.filter(id=OuterRef("category_id")).values("name")[:1]),
        "response_nick": Subquery(account.users.filter(id=OuterRef("response_user_id")).values("name")),
    }
    answers = account.comments.public().filter(post_id=OuterRef("id"), helpful=True)
    annotations["helpful_id"] = Subquery(answers.order_by("id").values("id")[:1])
    if user is not None:
        annotations["is_voted"] = Exists(account.votes.filter(post_id=OuterRef("id"), user_id=user.id))
        annotations |= follow_annotations(user)
    if is_team:
        access = prepared_access(responsible_ids)
        annotations |= {
            f"{customer.key}_name": Subquery(
                limit(customer.rows_of(account), access).filter(id=OuterRef(f"{customer.key}_id")).values("name")
            )
            for customer in registry.customers()
        }
        originals = account.posts.filter(id=OuterRef("duplicate_from_id"))
        annotations["original_title"] = Subquery(originals.values("title"))
    posts = account.posts.visible_in_forum(user).of_forum(forum_id).without_tasks().filter(id=id)
    annotations["files"] = attached_files("post")
    found: QuerySet[Post] = posts.select_related("status").annotate(**annotations)[:1]
    return found


@prepared(account_id=int, post_id=int)
def _status_changes(account_id: int, post_id: int) -> QuerySet[Model]:
    """Build the query for the newest changes, newest first."""
    account = Account(id=account_id)
    return account.status_changes.of_post(post_id).defer("response_html").reverse()[:MAX_STATUS_CHANGES]


@prepared(account_id=int, forum_id=int, id=int, author_id=int)
def _duplicates(account_id: int, forum_id: int, id: int, author_id: int | None = None) -> QuerySet[Model, object]:
    account = Account(id=account_id)
    reader = reader_of(account_id, author_id or VISITOR_ID, is_team=author_id is None)
    merged = account.posts.visible_in_forum(reader).of_forum(forum_id).filter(duplicate_from_id=id)
    columns = {"beginning": Left("content", EXCERPT_SOURCE_LENGTH), "nick": F("user__name")}
    return merged.order_by("id").values("id", "title", "created_at", **columns)[: MAX_DUPLICATES + 1]


# The pages that write

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
        kind = Post.Kind.SUGGESTION if post.kind == Post.Kind.PRIVATE else post.kind
        values = {name: getattr(post, name) for name in ("title", "content", "category_id")}
        return {**values, "kind": kind, "private": post.is_private}

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
    """The form for a new suggestion. A visitor writes first, and signs in then."""

    access = "anyone"
    template_name = "forum/posts/new_post.html"

    def get(self, request: ForumRequest) -> HttpResponse:
        title, category_id = request.GET.get("title", "")[:255], parse_id(request.GET.get("category"))
        if title:
            throttling.count_search(request)
        initial = {"title": title, "kind": Post.Kind.SUGGESTION} | ({"category_id": category_id} if category_id else {})
        draft = self.find_draft()
        form = self.make_form(initial=initial if draft is None else draft.values)
        return self.show(form, similar=similar_to(request, title), is_draft=draft is not None)

    def make_form(self, *args: object, **kwargs: object) -> NewPostForm:
        return NewPostForm(*args, categories=categories_for(self.request), **kwargs)

    def review_draft(self, form: NewPostForm) -> HttpResponse | None:
        similar = [] if form.cleaned_data["seen"] else similar_to(self.request, form.cleaned_data["title"])
        return self.show(form, similar=similar, asks_first=True) if similar else None

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
        return redirect(post_path(post.id, post.title))

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
            path=lambda post: post_path(post.id, post.title),
            saved=EditPostForm.initial_values,
            change=change,
        )


def similar_to(request: ForumRequest, title: str) -> list[dict[str, object]]:
    """Return the suggestions with similar titles, for `forum/posts/similar.html`."""
    title = title.strip()
    if len(title) < 3:
        return []
    rows = Post.objects.similar_to(title[:255], SIMILAR_COLUMNS, account=request.account, forum_id=request.forum.id)
    posts = [dict(zip(SIMILAR_COLUMNS, row, strict=True)) for row in rows]
    ids = [post["id"] for post in posts]
    voted = set() if request.user is None else request.account.votes.voted_post_ids(request.user, ids)
    return [post | {"status": pop_status(post), "voted": voted} for post in posts]


class SimilarPart(ForumPage):
    """The part of a page with similar suggestions, which htmx loads while a title is typed."""

    indexed = False

    def get(self, request: ForumRequest) -> HttpResponse:
        throttling.count_search(request)
        similar = similar_to(request, request.GET.get("title", ""))
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
        return redirect(post_path(post.id, post.title))


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
        message = _("“%(title)s” is deleted. For %(days)d days an admin can restore it.")
        messages.success(request, message % {"title": post.title, "days": request.account.trash_days})
        return redirect("forum-suggestions")
