"""The views and serializers of posts and tasks in the Account API."""

from functools import cached_property
from typing import Any

from django.db.models import F, Model, QuerySet
from django.db.models.expressions import OrderBy
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext_lazy as _
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.account.models import Account
from accounts.fields.api import DefinedFieldsField, DefinedFieldsSerializer
from accounts.fields.models import FieldDefinition, definitions_of
from accounts.hosts.api import APIRequest
from accounts.roles.models import ASSIGNABLE
from accounts.statuses.models import Status
from accounts.tags.api import TAGS, TagFilter
from core.api.additional_fields import CUSTOM_FIELDS, AnyScalarField, FieldTypes
from core.api.conditions import ConditionFilters
from core.api.fields import (
    BooleanField,
    ChoiceField,
    DateField,
    DateTimeField,
    DecimalField,
    IntegerField,
    RelatedField,
    ScalarField,
    TagsField,
    TextField,
    long_text_field,
)
from core.api.filters import ListFilters, QueryDateTimeField, WireFilter, link_filter
from core.api.lists import SORT_LIMIT, ConditionListing, collect_and_sort
from core.api.serializers import ResourceSerializer
from core.api.views import JSONViewSet
from core.db.transactions import in_transaction, without_transaction
from core.errors import FieldError, FieldErrors
from core.http.times import date_of_text
from core.openapi.fields import describe_field
from core.openapi.operations import BODIES, RESPONSES, SHAPES, Shape
from core.openapi.schema import JSONOperationSchema
from core.openapi.values import JSONSchema
from core.rows.trimmed import trim
from forum.categories.models import first_category
from forum.comments.api import COMMENT, CommentActions, CommentAsPostSerializer, CommentOnPostSerializer
from forum.follows.models import Follow
from forum.forums.requests import agent_of
from forum.lists.queries import PostQuerySet
from forum.posts.models import Post
from forum.posts.sort_keys import PostSortKey
from forum.posts.tasks import MAX_REPEAT, RepeatUnit


class StatusCode(ScalarField):
    """A status for posts, given by its code."""

    default_error_messages = {"unknown": _("is not one of {choices}")}

    def to_internal_value(self, data: object) -> Status:
        statuses = {status.code: status for status in self.context["account"].statuses.filter(kind=Status.Kind.POST)}
        code = trim(str(data))
        if code not in statuses:
            self.fail("unknown", choices=", ".join(sorted(statuses, key=lambda code: statuses[code].position)))
        result: Status = statuses[code]
        return result


POST_FIELDS: FieldTypes = {
    **CUSTOM_FIELDS,
    "abstract": long_text_field,
    "answer": long_text_field,
    "answered": BooleanField,
    "email": TextField,
    "email_to": long_text_field,
    "email_cc": long_text_field,
    "email_bcc": long_text_field,
    "email_recipient": TextField,
    "email_reply_to": TextField,
    "facebook_likes": IntegerField,
    "help_content": long_text_field,
    "help_link": TextField,
    "ip": TextField,
    "last_action_status": TextField,
    "min_votes_to_start": IntegerField,
    "project_id": IntegerField,
    "referrer": long_text_field,
    "spam_kind": AnyScalarField,
    "spam_report": AnyScalarField,
    "spam_score": DecimalField,
    "title_note": long_text_field,
    "uid": TextField,
    "unread": BooleanField,
    "use_html": BooleanField,
    "user_spam_report": AnyScalarField,
    "view_count": IntegerField,
    "www": TextField,
}


class PostSerializer(DefinedFieldsSerializer):
    model = Post
    resource = "suggestion"
    typed = POST_FIELDS

    id = IntegerField(read_only=True)
    title = TextField(required=True)
    content = TextField()
    task_kind = ChoiceField(Post.TaskKind.values)
    client_id = RelatedField("clients")
    responsible_id = RelatedField("users", **ASSIGNABLE)
    kind = ChoiceField(Post.Kind.values)
    status = StatusCode()
    status_id = RelatedField("statuses", kind=Status.Kind.POST)
    category_id = RelatedField("categories")
    forum_id = RelatedField("forums")
    post_id = IntegerField(read_only=True)
    private = BooleanField()
    closed = BooleanField()
    priority = IntegerField(min_value=-(2**31), max_value=2**31 - 1)
    scheduled_at = DateTimeField()
    target_on = DateField()
    target_is_quarter = BooleanField()
    tags = TagsField()
    response = TextField()
    additional_fields = DefinedFieldsField(POST_FIELDS)
    user_id = IntegerField(read_only=True)
    nick = TextField(read_only=True)
    agent = TextField(read_only=True)
    votes_cache = IntegerField(read_only=True)
    comments_cache = IntegerField(read_only=True)
    points = IntegerField(read_only=True)
    response_user_id = IntegerField(read_only=True)
    duplicate_from_id = IntegerField(read_only=True)
    contact_id = RelatedField("contacts")
    deal_id = RelatedField("deals")
    remind_at = DateTimeField()
    completed_at = DateTimeField(read_only=True)
    repeat_unit = ChoiceField(RepeatUnit.values)
    repeat_every = IntegerField(min_value=1, max_value=MAX_REPEAT)

    sources = {"status": "status_code", "points": "votes_cache"}

    @cached_property
    def definitions(self) -> dict[str, FieldDefinition]:
        """The definitions of the account for suggestions, by key. Tasks have none."""
        kind = self.instance.task_kind if self.instance else self.initial_data.get("task_kind")
        if trim(str(kind or "")) not in ("", Post.TaskKind.FEEDBACK):
            return {}
        if "lookup" in self.context:
            # An import reads them once.
            return super().definitions
        return {row.key: row for row in definitions_of(self.context["account"], self.resource)}

    def validate(self, values: dict[str, Any]) -> dict[str, object]:
        """Check the rules between fields. Drop nulls of fields that cannot be null."""
        values = super().validate(values)
        for name in (
            "content",
            "task_kind",
            "kind",
            "status",
            "status_id",
            "private",
            "closed",
            "priority",
            "target_is_quarter",
        ):
            if name in values and values[name] is None:
                del values[name]
        if values.get("scheduled_at") is not None:
            # A date without a time of day. `write` removes the day if the time changes.
            day = date_of_text(self.initial_data["scheduled_at"])
            values |= {"due_day": day} if day else {}
        if status_id := values.pop("status_id", None):
            values["status"] = self.resolve_status(status_id, values.get("status"))
        place = self.place_task(values) if self.is_task(values) else self.place_post(values)
        return {**values, **place}

    def resolve_status(self, status_id: int, status: Status | None) -> Status:
        """Return the status with the id. `status` is the status of the submitted code, if any. Raise FieldError if the two conflict."""
        current_id = self.instance.status_id if self.instance else None
        # Responses have both the id and the code. If a client sends a whole post back and changed only one of the two, that one applies.
        if status is None or (status.id == current_id != status_id):
            result: Status = self.context["account"].statuses.get(id=status_id)
            return result
        if status_id not in (current_id, status.id):
            raise FieldError("status_id", _("is that of another status than {code}"), "other", {"code": status.code})
        return status

    def is_task(self, values: dict[str, object]) -> bool:
        row = self.instance
        kind = values.get("task_kind", row.task_kind if row else Post.TaskKind.FEEDBACK)
        if row and (kind == Post.TaskKind.FEEDBACK) != (row.category_id is not None):
            raise FieldError("task_kind", _("can't be changed between a forum post and a task"), "fixed")
        return kind != Post.TaskKind.FEEDBACK

    def place_task(self, values: dict[str, object]) -> dict[str, object]:
        refused = [name for name in ("category_id", "forum_id", "target_on") if values.get(name) is not None]
        if refused:
            raise FieldErrors(FieldError(name, _("can't be given for a task"), "task") for name in refused)
        return {"category_id": None, "forum_id": None}

    def place_post(self, values: dict[str, Any]) -> dict[str, object]:
        """Return the forum and category of a forum post. The default is the first category of the default forum."""
        if self.instance and values.get("category_id") is None and values.get("forum_id") is None:
            return {"category_id": self.instance.category_id, "forum_id": self.instance.forum_id}
        account = self.context["account"]
        categories = account.categories.all()
        if values.get("category_id") is not None:
            category = categories.get(id=values["category_id"])
            if values.get("forum_id") not in (None, category.forum_id):
                raise FieldError("category_id", _("is not in forum {id}"), "elsewhere", {"id": values["forum_id"]})
        else:
            forum_id = values.get("forum_id") or account.forums.values_list("id", flat=True).get(is_default=True)
            category = first_category.first(account_id=account.id, forum_id=forum_id)
            if category is None:
                raise FieldError("forum_id", _("has no category"), "empty")
        return {"category_id": category.id, "forum_id": category.forum_id}


class NewPostSerializer(PostSerializer):
    """A new post, which may have an author and a time of its own."""

    user_id = RelatedField("users", is_active=True)
    created_at = DateTimeField()

    def validate(self, values: dict[str, Any]) -> dict[str, object]:
        for name in ("user_id", "created_at"):
            if name in values and values[name] is None:
                del values[name]
        return super().validate(values)


class PostMergeSerializer(ResourceSerializer):
    duplicate_from_id = IntegerField(required=True, min_value=1)


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


class PostFilters(ConditionFilters):
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
    duplicate_from_id__empty = WireFilter(BooleanField(), field_name="duplicate_from_id", lookup_expr="isnull")


class PostListing(ConditionListing):
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
        needs_posts = filters.has_time_limit or self.is_limited
        if used != {"updated_since"} or needs_posts or not (is_sorted or self.columns(order).keys() == {"id"}):
            return super().filtered_ids(filters, order, start=start, stop=stop)
        keys = filters.filter_by_column(self.sort_keys_in_order(order), "sort_key__updated_at")
        if not is_sorted and stop <= SORT_LIMIT and (collected := collect_and_sort(keys, start=start, stop=stop)):
            return collected[0]
        return list(keys.values_list("id", flat=True)[start:stop])


def is_by_change(order: str | None) -> bool:
    return order in ("updated_at", "-updated_at")


class PostViewSet(PostListing, CommentActions):
    """Posts and tasks, with the vote of the user and whether they follow the post.

    The list has the posts of all forums of the account, with duplicates and without tasks.
    """

    request: APIRequest
    model = Post
    record_list = "suggestion"
    serializer_class = PostSerializer
    filterset_class = ForumPostFilters
    ordering_fields = ("id", "created_at", "updated_at")

    def get_list_queryset(self) -> PostQuerySet:
        """Return the posts of the forums, which the whole team sees."""
        return self.account.posts.live().exclude(category_id=None)

    def get_queryset(self) -> PostQuerySet:
        rows: PostQuerySet = self.account.posts.live().limited_to(self.access)
        return rows.with_names()

    def retrieve(self, request: Request, id: int) -> HttpResponse:
        try:
            return super().retrieve(request, id)
        except Http404:
            comments = self.account.comments.of_live_posts(self.access).with_names()
            return Response(self.represent_as_post(get_object_or_404(comments, id=id)))

    def update(self, request: Request, id: int) -> HttpResponse:
        try:
            return super().update(request, id)
        except Http404:
            return self.update_comment(id)

    def destroy(self, request: Request, id: int) -> HttpResponse:
        try:
            return super().destroy(request, id)
        except Http404:
            in_transaction(lambda: self.erase_comment(id))
            return Response("ok")

    def create(self, request: Request) -> HttpResponse:
        data = self.read_content(None)
        if isinstance(data, dict) and data.get("task_kind") == COMMENT:
            return self.comment(data)
        return super().create(request)

    def get_serializer_class(self) -> type[PostSerializer]:
        return NewPostSerializer if self.action == "create" else PostSerializer

    def perform_create(self, serializer: ResourceSerializer) -> None:
        row = serializer.instance = Post(account=self.account, agent=agent_of(self.request))
        row.write(serializer.values, by=self.request.user)

    def handover_header(self, row: Post) -> dict[str, str]:
        return super().handover_header(row) if row.category_id is None else {}

    def vote(self, request: APIRequest, id: int) -> HttpResponse:
        """Cast the user's vote. The HTTP status is 201 for a new vote and 200 for an existing vote."""

        def act() -> tuple[Post, bool]:
            self.check()
            post: Post = self.get_object()
            return post, post.vote(by=request.user)

        post, is_new = without_transaction(act)
        data = self.represent(post)
        return self.respond_created(data) if is_new else Response(data)

    def withdraw_vote(self, request: APIRequest, id: int) -> HttpResponse:
        in_transaction(lambda: self.get_object(locked=True).withdraw_vote(by=request.user))
        return Response("ok")

    def merge(self, request: APIRequest, id: int) -> HttpResponse:
        """Merge the post into another one."""

        def act() -> Post:
            post: Post = self.get_object()
            serializer = PostMergeSerializer(data=self.body.get("merge"), context=self.get_serializer_context())
            self.check(merge=serializer)
            original = self.get_queryset().filter(id=serializer.values["duplicate_from_id"]).first()
            if original is None:
                raise FieldError("duplicate_from_id", _("can't be found"), "missing")
            original.account = self.account
            post.merge_into(original, by=request.user)
            return post

        return Response(self.represent(in_transaction(act)))

    def undo_merge(self, request: APIRequest, id: int) -> HttpResponse:
        def act() -> Post:
            post: Post = self.get_object()
            post.undo_merge(by=request.user)
            return post

        return Response(self.represent(in_transaction(act)))

    def follow(self, request: APIRequest, id: int) -> HttpResponse:
        return self.choose_follow(follows=True)

    def unfollow(self, request: APIRequest, id: int) -> HttpResponse:
        return self.choose_follow(follows=False)

    def choose_follow(self, *, follows: bool) -> HttpResponse:
        def act() -> None:
            if follows:
                self.check()
            post = self.get_object(locked=True)
            post.check_not_merged()
            Follow.objects.choose(post, by=self.request.user, follows=follows)

        in_transaction(act)
        return Response("ok")


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

    areas = ("posts",)
    has_tasks = True
    record_list = "task"
    serializer_class = PostSerializer
    filterset_class = TaskFilters
    ordering_fields = ("id", "created_at", "updated_at", "scheduled_at", "completed_at")
    ordering = ("closed", "-created_at", "-id")

    def get_list_queryset(self) -> PostQuerySet:
        return self.account.posts.tasks().limited_to(self.access)

    def get_queryset(self) -> PostQuerySet:
        return self.get_list_queryset().with_names()


# What views and serializers do not tell the OpenAPI document.
# A status code: the document cannot list the codes, because each account defines its own.
describe_field(StatusCode, request={"type": ["string", "number"]}, response={"type": "string"})

# `post_id` is always null in a post. Only comments have a post.
SHAPES[PostSerializer] = SHAPES[NewPostSerializer] = Shape(nullable=frozenset({"post_id"}))


def post_or_comment(schema: JSONOperationSchema, status: int) -> JSONSchema:
    return {"oneOf": [schema.output_component(PostSerializer), schema.output_component(CommentAsPostSerializer)]}


RESPONSES["create_post"] = RESPONSES["read_post"] = RESPONSES["update_post"] = post_or_comment
BODIES["create_post"] = {"post": (NewPostSerializer, CommentOnPostSerializer)}
RESPONSES["undo_merge_of_post"] = PostSerializer
BODIES["merge_post"] = {"merge": PostMergeSerializer}
RESPONSES["list_post_tags"] = TAGS
