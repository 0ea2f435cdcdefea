"""What anybody may read of a forum."""

from urllib.parse import urlencode

from django.db.models import F
from django.http import Http404
from django.utils.encoding import escape_uri_path
from rest_framework.exceptions import ValidationError

from accounts.models import Status
from accounts.pages.base import base_url
from accounts.paging import Page as PageOfList
from forum.models import Category, Post
from forum.pages.base import ForumPage

COLUMNS = (
    "id",
    "title",
    "content",
    "status_id",
    "votes_cache",
    "comments_cache",
    "created_at",
    "user__name",
    "category_id",
    "private",
    "approved",
    "tags",
)
VOTERS_SHOWN = 20
ORDERS = ("new", "top", "active", "commented")


def canonical_query(*, page: int, **parameters: str | None) -> str:
    """The query of the one address under which a page of a list is to be found."""
    given = {name: value for name, value in parameters.items() if value} | ({"page": page} if page > 1 else {})
    return f"?{urlencode(given)}" if given else ""


class PostListPage(ForumPage):
    """The suggestions of a category, or of the forum's first."""

    template_name = "forum/posts.html"

    def get(self, request, category_name: str | None = None):
        account, forum = request.account, request.forum
        categories = list(account.categories.of_forum(forum.id))
        category = categories[0] if categories else None
        if category_name is not None:
            category = Category.objects.named(account.id, forum.id, category_name)
        if category is None:
            raise Http404
        statuses = {status.id: status for status in account.first_statuses(Status.Kind.POST)}
        order, status = request.GET.get("order") or "new", None
        if code := request.GET.get("status"):
            status = next((status for status in statuses.values() if status.code == code), None)
        if order not in ORDERS or (code and status is None):
            raise Http404
        try:
            page = PageOfList.read(request.GET)
        except ValidationError:
            raise Http404 from None
        rows = Post.objects.page(
            request.user,
            COLUMNS,
            account_id=account.id,
            category_id=category.id,
            order=order,
            start=page.start,
            size=page.size + 1,
            **({"status_id": status.id} if status else {}),
        )
        posts = [dict(zip(COLUMNS, row, strict=True)) for row in rows[: page.size]]
        for post in posts:
            post["status"] = statuses[post["status_id"]]
        voted = set()
        if request.user is not None and posts:
            votes = account.votes.filter(user_id=request.user.id, post_id__in=[post["id"] for post in posts])
            voted = set(votes.values_list("post_id", flat=True))
        return self.render(
            section="suggestions",
            posts=posts,
            voted=voted,
            category=category,
            categories=categories,
            statuses=statuses.values(),
            order=order,
            only=status,
            page=page,
            more=len(rows) > page.size,
            canonical=base_url(request) + escape_uri_path(request.path),
            query=canonical_query(order=order if order != "new" else "", status=code, page=page.number),
        )


class PostPage(ForumPage):
    """A suggestion, with its comments and what became of it."""

    template_name = "forum/post.html"

    def get(self, request, id: int):
        account, user = request.account, request.user
        posts = account.posts.visible_to(user).of_forum(request.forum.id).of_forums()
        post = posts.select_related("status").annotate(nick=F("user__name")).filter(id=id).first()
        if post is None:
            raise Http404
        comments = account.comments.filter(post_id=id).select_related("user").order_by("created_at", "id")
        return self.render(
            section="suggestions",
            post=post,
            category=account.categories.get(id=post.category_id),
            comments=comments,
            history=account.status_changes.of_post(id),
            voters=account.votes.voters(account.id, id, most=VOTERS_SHOWN),
            voted=account.votes.of(user, [id]) if user else set(),
            canonical=f"{base_url(request)}/app/posts/{id}",
        )
