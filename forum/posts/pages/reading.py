"""The page of a suggestion."""

from collections.abc import Collection
from math import ceil
from typing import Any

from django.db import OperationalError
from django.db.models import Exists, F, Model, OuterRef, QuerySet, Subquery
from django.http import Http404, HttpResponse, HttpResponseRedirect
from django.urls import reverse

from accounts.account.models import Account
from accounts.users.models import User
from core.api import paging
from core.db.prepared import prepared
from core.db.tenancy import account_of
from core.db.transactions import in_transaction
from core.pages.base import base_url
from core.registry import registry
from core.rows.access import prepared_access
from core.rows.trash import limit
from forum.categories.models import Category
from forum.comments.models import COMMENTS_PER_PAGE, Comment
from forum.follows.models import follow_annotations, is_followed
from forum.forums.pages.base import ForumPage
from forum.forums.requests import ForumRequest
from forum.lists.pages.base import EXCERPT_SOURCE_LENGTH, category_list_path
from forum.lists.queries import VISITOR_ID, closed_author_id
from forum.posts.models import Post
from forum.previews.pages import image_url
from forum.texts.markdown import excerpt, render

# The length of the description for search engines, in characters.
DESCRIPTION_LENGTH = 160
USER_COLUMNS = ("name", "role")
MAX_VOTERS, MAX_STATUS_CHANGES, MAX_DUPLICATES = 20, 50, 50


class PostPage(ForumPage):
    """A suggestion with its comments, votes and history."""

    template_name = "forum/posts/post.html"

    def get(self, request: ForumRequest, id: int) -> HttpResponse:
        account, forum, user = request.account, request.forum, request.user
        is_team = user is not None and user.is_team
        post = self.find(id)
        if post.duplicate_from_id is not None and not (is_team and request.GET.get("original") == "0"):
            # The original names the duplicate by the query. A message would set a cookie for every reader.
            return HttpResponseRedirect(reverse("forum-post", args=[post.duplicate_from_id], query={"from": id}))
        comment_count = post.comment_count_for(user)
        last = max(1, ceil(comment_count / COMMENTS_PER_PAGE))
        page = self.read_page(size=COMMENTS_PER_PAGE, last=last)
        if user is not None:
            self.mark_notifications_read(user, id)
        if post.content_html is None:
            post.content_html = render(post.content)
        if post.response and post.response_html is None:
            post.response_html = render(post.response)
        # The newest changes are read. They are shown oldest first.
        history = _status_changes(account_id=account.id, post_id=id)[::-1]
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
        return self.render(
            section="suggestions",
            post=post,
            category=Category(account=account, id=post.category_id, forum_id=forum.id, name=post.category_name),
            category_path=category_list_path(post.category_name),
            comments=self.comments(post, page) if comment_count else [],
            internal_count=post.internal_comments_cache if is_team else 0,
            page=page,
            last=last,
            more=page.number < last,
            history=history,
            may_comment=may_comment,
            may_report=user is not None and may_comment and post.duplicate_from_id is None,
            response_change=next((change for change in reversed(history) if change.response), None),
            voter_names=names,
            other_voter_count=post.votes_cache - len(names),
            voted={id} if user is not None and post.is_voted else set(),
            is_followed=user is not None and is_followed(post),
            duplicates=duplicates[:MAX_DUPLICATES],
            more_duplicates=len(duplicates) > MAX_DUPLICATES,
            image=image_url(request, post),
            title_of_duplicate=next((title for id, title in duplicates if str(id) == duplicate_id), None),
            canonical=base_url(request)
            + reverse("forum-post", args=[id], query={"page": page.number} if page.number > 1 else None),
            description=excerpt(post.content[:EXCERPT_SOURCE_LENGTH], max_length=DESCRIPTION_LENGTH),
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

    def comments(self, post: Post, page: paging.ListPage) -> list[Comment]:
        """Return the comments of a page, with their authors. Of an author, only the columns that the page shows are read."""
        author = author_filter(self.request.user)
        comments: list[Any] = _comments(
            account_id=post.account_id, post_id=post.id, start=page.start, size=page.size, **author
        )
        for comment in comments:
            comment.account = self.request.account
            comment.user = User(
                account_id=post.account_id,
                id=comment.user_id,
                **{name: getattr(comment, name) for name in USER_COLUMNS},
            )
            if comment.comment_html is None:
                comment.comment_html = render(comment.comment)
        return comments


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
    account: Account = account_of(account_id)
    user = reader_of(account_id, user_id, is_team=is_team)
    categories = account.categories.of_forum(forum_id)
    annotations: dict[str, object] = {
        "nick": F("user__name"),
        "category_name": Subquery(categories.filter(id=OuterRef("category_id")).values("name")[:1]),
        "response_nick": Subquery(account.users.filter(id=OuterRef("response_user_id")).values("name")),
    }
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
    found: QuerySet[Post] = posts.select_related("status").annotate(**annotations)[:1]
    return found


@prepared(account_id=int, post_id=int)
def _status_changes(account_id: int, post_id: int) -> QuerySet[Model]:
    """Build the query for the newest changes, newest first."""
    account: Account = account_of(account_id)
    return account.status_changes.of_post(post_id).reverse()[:MAX_STATUS_CHANGES]


def author_filter(user: User | None) -> dict[str, int]:
    author_id = closed_author_id(user)
    return {} if author_id is None else {"author_id": author_id}


@prepared(account_id=int, forum_id=int, id=int, author_id=int)
def _duplicates(account_id: int, forum_id: int, id: int, author_id: int | None = None) -> QuerySet[Model, object]:
    account: Account = account_of(account_id)
    reader = reader_of(account_id, author_id or VISITOR_ID, is_team=author_id is None)
    merged = account.posts.visible_in_forum(reader).of_forum(forum_id).filter(duplicate_from_id=id)
    return merged.order_by("id").values_list("id", "title")[: MAX_DUPLICATES + 1]


@prepared(account_id=int, post_id=int, start=int, size=int, author_id=int)
def _comments(account_id: int, post_id: int, start: int, size: int, author_id: int | None = None) -> QuerySet[Comment]:
    """Build the query for the comments that the author of waiting ones, or without `author_id` the team, may see."""
    account: Account = account_of(account_id)
    reader = reader_of(account_id, author_id or VISITOR_ID, is_team=author_id is None)
    comments = account.comments.filter(post_id=post_id).visible_to(reader).order_by("created_at", "id")
    names = {name: F(f"user__{name}") for name in USER_COLUMNS}
    return comments.annotate(**names)[start : start + size]
