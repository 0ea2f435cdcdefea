"""The views of posts and tasks in the Account API."""

from typing import Any

from django.db.models import F, Model, QuerySet
from django.db.models.expressions import OrderBy
from django.http import Http404, HttpResponse
from rest_framework.response import Response

from accounts.account.models import Account
from accounts.hosts.api_requests import APIRequest
from accounts.tags.api import TagFilter
from core.api.fields import BooleanField
from core.api.filters import ListFilters, QueryDateTimeField, WireFilter, link_filter
from core.api.lists import SORT_LIMIT, Listing, collect_and_sort
from core.api.serializers import ResourceSerializer
from core.api.views import JSONViewSet
from core.db.transactions import in_transaction
from forum.comments.api.serializers import COMMENT
from forum.comments.api.views import CommentActions
from forum.follows.api import FollowActions
from forum.forums.requests import agent_of
from forum.lists.queries import PostQuerySet
from forum.posts.api.serializers import PostSerializer
from forum.posts.models import Post
from forum.posts.sort_keys import PostSortKey
from forum.votes.api import VoteActions


class ChangedSinceFilter(WireFilter):
    """The filter by the last change, which uses the index of the sort keys of posts or of tasks."""

    def __init__(self, *, is_task: bool) -> None:
        super().__init__(QueryDateTimeField(), field_name="sort_key__updated_at", lookup_expr="gte")
        self.is_task = is_task

    def filter(self, rows: QuerySet[Any], value: Any) -> QuerySet[Any]:
        if value is None:
            return rows
        found: QuerySet[Any] = super().filter(rows, value).filter(sort_key__category_id__isnull=self.is_task)
        return found


class PostFilters(ListFilters):
    tag = TagFilter()
    client_id = link_filter()
    contact_id = link_filter()
    deal_id = link_filter()
    responsible_id = link_filter()
    user_id = link_filter()
    status_id = link_filter()
    response_user_id = link_filter()

    def filter_by_column(self, rows: QuerySet[Model], column: str) -> QuerySet[Model]:
        if rows.model is PostSortKey:
            since = self.form.cleaned_data["updated_since"]
            return rows if since is None else rows.filter(updated_at__gte=since)
        return super().filter_by_column(rows, column)


class ForumPostFilters(PostFilters):
    updated_since = ChangedSinceFilter(is_task=False)
    forum_id = link_filter()
    category_id = link_filter()
    duplicate_from_id = link_filter()


class PostListing(Listing):
    """The base of the lists of posts and of tasks. The index of the order by the last change is one of `PostSortKey`."""

    account: Account
    request: APIRequest

    has_tasks = False

    def columns(self, order: str | None) -> dict[str, bool]:
        columns = super().columns(order)
        return {f"sort_key__{name}": value for name, value in columns.items()} if is_by_change(order) else columns

    def sort(self, rows: QuerySet[Any], order: str | None) -> QuerySet[Model]:
        rows = super().sort(rows, order)
        return rows.filter(sort_key__category_id__isnull=self.has_tasks) if is_by_change(order) else rows

    def order_all(self, order: str | None) -> QuerySet[Model]:
        return self.sort_keys_in_order(order) if is_by_change(order) else super().order_all(order)

    def sort_keys_in_order(self, order: str | None) -> QuerySet[Model]:
        """Return the sort keys of the rows of the list, in an order by the id or by the last change."""
        keys = self.account.post_sort_keys.filter(category_id__isnull=self.has_tasks)
        columns = super().columns(order).items()
        return keys.order_by(*(OrderBy(F(name), descending=descending) for name, descending in columns))

    def filtered_ids(self, filters: ListFilters, order: str | None, *, start: int, stop: int) -> list[int]:
        """Return the ids as `Listing.filtered_ids` does. `updated_since` alone needs only the sort keys, without the posts."""
        used = {name for name, value in filters.form.cleaned_data.items() if value not in (None, {})}
        is_sorted = is_by_change(order)
        if used != {"updated_since"} or self.is_limited or not (is_sorted or self.columns(order).keys() == {"id"}):
            return super().filtered_ids(filters, order, start=start, stop=stop)
        keys = filters.filter_by_column(self.sort_keys_in_order(order), "sort_key__updated_at")
        if not is_sorted and stop <= SORT_LIMIT and (collected := collect_and_sort(keys, start=start, stop=stop)):
            return collected[0]
        return list(keys.values_list("id", flat=True)[start:stop])


def is_by_change(order: str | None) -> bool:
    return order in ("updated_at", "-updated_at")


class PostViewSet(PostListing, CommentActions, VoteActions, FollowActions):
    """Posts and tasks. The list has the posts of all forums of the account, with duplicates and without tasks."""

    request: APIRequest
    model = Post
    serializer_class = PostSerializer
    filterset_class = ForumPostFilters
    ordering_fields = ("id", "created_at", "updated_at")

    def get_list_queryset(self) -> PostQuerySet:
        """Return the posts of the forums, which the whole team sees."""
        rows: PostQuerySet = self.account.posts.live().exclude(category_id=None)
        return rows

    def get_queryset(self) -> PostQuerySet:
        rows: PostQuerySet = self.account.posts.live().limited_to(self.access)
        return rows.with_names()

    def retrieve(self, request: APIRequest, id: int) -> HttpResponse:
        try:
            return super().retrieve(request, id)
        except Http404:
            return Response(self.represent_as_post(self.find_comment(id)))

    def update(self, request: APIRequest, id: int) -> HttpResponse:
        try:
            return super().update(request, id)
        except Http404:
            return self.update_comment(id)

    def destroy(self, request: APIRequest, id: int) -> HttpResponse:
        try:
            return super().destroy(request, id)
        except Http404:
            in_transaction(lambda: self.erase_comment(id))
            return Response("ok")

    def create(self, request: APIRequest) -> HttpResponse:
        data = self.read_content(None)
        if isinstance(data, dict) and data.get("task_kind") == COMMENT:
            return self.comment(data)
        return super().create(request)

    def perform_create(self, serializer: ResourceSerializer) -> None:
        row = serializer.instance = Post(account=self.account, agent=agent_of(self.request))
        row.write(serializer.values, by=self.request.user)

    def handover_header(self, row: Post) -> dict[str, str]:
        return super().handover_header(row) if row.category_id is None else {}


class TaskFilters(PostFilters):
    updated_since = ChangedSinceFilter(is_task=True)
    closed = WireFilter(BooleanField())
    scheduled_after = WireFilter(QueryDateTimeField(), field_name="scheduled_at", lookup_expr="gte")
    scheduled_before = WireFilter(QueryDateTimeField(), field_name="scheduled_at", lookup_expr="lt")

    def filter_by_column(self, rows: QuerySet[Model], column: str) -> QuerySet[Model]:
        rows = super().filter_by_column(rows, column)
        is_closed = self.form.cleaned_data["closed"]
        if column == "completed_at" and is_closed is not None:
            # Otherwise a scan in the descending order would read all open tasks first.
            rows = rows.filter(completed_at__isnull=not is_closed)
        return rows


class TaskViewSet(PostListing, JSONViewSet):
    """The account's tasks, open ones first, newest first."""

    has_tasks = True
    serializer_class = PostSerializer
    filterset_class = TaskFilters
    ordering_fields = ("id", "created_at", "updated_at", "scheduled_at", "completed_at")
    ordering = ("closed", "-created_at", "-id")

    def get_list_queryset(self) -> PostQuerySet:
        rows: PostQuerySet = self.account.posts.tasks().limited_to(self.access)
        return rows

    def get_queryset(self) -> PostQuerySet:
        return self.get_list_queryset().with_names()
