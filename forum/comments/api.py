"""The views and serializers of comments in the Account API, where comments are also read and written as posts."""

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any, cast

from django.db.models import Model, QuerySet
from django.http import HttpResponse
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext_lazy as _
from rest_framework.exceptions import PermissionDenied
from rest_framework.response import Response

from accounts.account.models import Account
from accounts.hosts.api import APIRequest
from core.api.fields import (
    MAX_INTEGER,
    BooleanField,
    ChoiceField,
    IntegerField,
    RelatedField,
    TextField,
    WireField,
    long_text_field,
)
from core.api.lists import Paged
from core.api.resources import ResourceViewSet
from core.api.serializers import ResourceSerializer, declared_fields
from core.db.prepared import prepared
from core.db.transactions import in_transaction, without_transaction
from core.errors import ConcurrentUpdate, FieldError
from core.openapi.fields import RelatedExtension, WireFieldExtension, describe_field
from core.openapi.operations import BODIES, QUERY_PARAMETERS, RESPONSES, SHAPES, Shape
from core.openapi.values import BOOLEAN
from core.rows.access import prepared_access
from core.rows.trash import TrashedId
from forum.comments.models import Comment, CommentReaction
from forum.forums.requests import agent_of

if TYPE_CHECKING:
    from forum.posts.models import Post

COMMENT = "comment"


class CommentedPost(RelatedField):
    """The post of a new comment, which may be in the trash. It is in the context as `post`.

    The post is not locked here: the statement that inserts the comment locks it, and checks that it has not been trashed or restored.
    """

    def find_ids(self, ids: list[int]) -> dict[int, int]:
        account, access = self.context["account"], self.context["access"]
        arguments = access.arguments if access.is_limited else {}
        post = None if ids[0] > MAX_INTEGER else _commented_post.first(account_id=account.id, id=ids[0], **arguments)
        if post is None:
            return {}
        post.account = account
        cast("dict[str, Any]", self.context)["post"] = post
        return {post.id: post.id if post.trashed_at is None else TrashedId(post.id)}


@prepared(account_id=int, id=int, responsible_ids=list)
def _commented_post(account_id: int, id: int, responsible_ids: Collection[int] | None = None) -> QuerySet[Model]:
    return Account(id=account_id).posts.limited_to(prepared_access(responsible_ids)).filter(id=id)[:1]


class CommentOnPostSerializer(ResourceSerializer):
    """A new comment that is sent as a post with `task_kind: "comment"`. Its text is the content; the title is ignored."""

    title = TextField()
    content = long_text_field(required=True)
    task_kind = ChoiceField([COMMENT])
    post_id = CommentedPost("posts")
    parent_id = IntegerField()
    internal = BooleanField()

    def get_fields(self) -> dict[str, Any]:
        # `post_id` is required. Other links are optional.
        fields = super().get_fields()
        if "post_id" not in fields:
            fields["post_id"] = CommentedPost("posts")
        fields["post_id"].required, fields["post_id"].allow_null = True, False
        return fields


class ReactionCountsField(WireField):
    """The number of reactions of each kind that a comment has."""


class CommentSerializer(ResourceSerializer):
    id = IntegerField(read_only=True)
    comment = long_text_field(required=True)
    kind = TextField(read_only=True)
    post_id = IntegerField(read_only=True)
    parent_id = IntegerField()
    user_id = IntegerField(read_only=True)
    nick = TextField(read_only=True)
    agent = TextField(read_only=True)
    internal = BooleanField()
    approved = BooleanField(read_only=True)
    pinned = BooleanField(read_only=True)
    helpful = BooleanField(read_only=True)
    reactions = ReactionCountsField(read_only=True)

    sources = {"reactions": "reaction_counts"}


class ReactionSerializer(ResourceSerializer):
    comment_id = IntegerField(required=True)
    kind = ChoiceField(CommentReaction.Kind.values, required=True)
    reacts = BooleanField()


class CommentAsPostSerializer(CommentSerializer):
    """A comment that a client reads and changes as a post, with those fields of a post that a comment has."""

    content = long_text_field(required=True)
    task_kind = ChoiceField([COMMENT])
    # An internal comment stays internal, and a reply stays below its parent.
    internal = BooleanField(read_only=True)
    parent_id = IntegerField(read_only=True)
    approved = BooleanField()
    pinned = BooleanField()
    helpful = BooleanField()

    sources = {**CommentSerializer.sources, "content": "comment"}

    def validate(self, values: dict[str, object]) -> dict[str, object]:
        """Return the text from `content` or `comment`, and whether to approve the comment.

        If a client sends both fields back, the changed one applies. An approved comment stays approved.
        """
        texts = [values[name] for name in ("content", "comment") if name in values]
        current = None if self.instance is None else self.instance.comment
        changed = next((text for text in texts if text != current), None)
        result: dict[str, object] = {} if changed is None else {"comment": changed}
        if (approved := values.get("approved")) is not None and self.instance is not None:
            if self.instance.approved and not approved:
                raise FieldError("approved", _("can't be withdrawn"), "approved")
            result["approved"] = approved
        return result | {name: values[name] for name in ("pinned", "helpful") if values.get(name) is not None}


class CommentActions(Paged, ResourceViewSet):
    """The part of the view of posts for their comments, and for comments that are written as posts."""

    areas = ("posts",)
    account: Account
    request: APIRequest

    def comment(self, data: dict[str, object]) -> HttpResponse:
        def act() -> Comment:
            context = self.get_serializer_context()
            serializer = CommentOnPostSerializer(data=data, context=context)
            self.check(post=serializer)
            comment = self.add_comment(context["post"], serializer.values["content"], serializer.values)
            if self.pending_links:
                comment.post_id = None  # type: ignore[assignment]  # null in the response, but not saved
            return comment

        return self.respond_created(self.represent_as_post(without_transaction(act)))

    def lock_comment(self, id: int) -> tuple["Post", Comment]:
        """Lock the post of a comment, and return both. Raise Http404, or PermissionDenied if the user may not change the comment."""
        post_id = self.account.comments.filter(id=id).values("post_id")
        posts = self.account.posts.live().limited_to(self.access).locked()
        post: Post = get_object_or_404(posts, id__in=post_id)
        comment = self.account.comments.with_names().filter(post_id=post.id, id=id).first()
        if comment is None:
            raise ConcurrentUpdate("The comment was deleted or its post was merged meanwhile")
        if not comment.may_be_changed_by(self.request.user):
            raise PermissionDenied("You do not have permission to perform this action.")
        return post, comment

    def update_comment(self, id: int) -> HttpResponse:
        def act() -> Comment:
            post, comment = self.lock_comment(id)
            serializer = CommentAsPostSerializer(
                comment, data=self.body.get(self.key), partial=True, context=self.get_serializer_context()
            )
            self.check(post=serializer)
            if "comment" in serializer.values:
                post.edit_comment(comment, serializer.values["comment"], by=self.request.user)
            if serializer.values.get("approved"):
                post.approve_comment(comment)
            marks = {name: serializer.values[name] for name in ("pinned", "helpful") if name in serializer.values}
            if marks:
                post.mark_comment(comment, by=self.request.user, **marks)
            return comment

        return Response(self.represent_as_post(in_transaction(act)))

    def erase_comment(self, id: int) -> None:
        post, comment = self.lock_comment(id)
        post.erase_comment(comment)

    def comments(self, request: APIRequest, id: int) -> HttpResponse:
        """Return the comments of a post, oldest first. Those that are internal or wait for approval are included only with
        `internal=true`.

        A client may show the list to the public, so it must request them explicitly.
        """
        post = self.get_object()
        text = self.parameters.get("internal", "").strip().lower()
        wants_internal = BooleanField.WORDS.get(text, None if text else False)
        error = FieldError("internal", "is not true or false", "boolean")
        self.read_page("internal", errors={"internal": error} if wants_internal is None else {})
        rows = self.account.comments.filter(post_id=post.id)
        rows = (rows if wants_internal else rows.public()).with_names().order_by("created_at", "id")
        return self.get_paginated_response(
            [CommentSerializer.represent(row, self.account.zone) for row in self.paginate_queryset(rows)]
        )

    def represent_as_post(self, row: Comment) -> dict[str, object]:
        return CommentAsPostSerializer.represent(row, self.account.zone)

    def create_comment(self, request: APIRequest, id: int) -> HttpResponse:
        def act() -> Comment:
            post = self.get_object()
            serializer = CommentSerializer(data=self.body.get("comment"), context={"account": self.account})
            self.check(comment=serializer)
            return self.add_comment(post, serializer.values["comment"], serializer.values)

        return self.respond_created(CommentSerializer.represent(without_transaction(act), self.account.zone))

    def react(self, request: APIRequest, id: int) -> HttpResponse:
        """Add a reaction of the user to a comment, or with `reacts=false` withdraw it. Return the comment."""

        def act() -> Comment:
            post = self.get_object(locked=True)
            serializer = ReactionSerializer(data=self.body.get("reaction"), context={"account": self.account})
            self.check(reaction=serializer)
            values, comments = serializer.values, self.account.comments.filter(post_id=post.id).with_names()
            comment = comments.filter(id=values["comment_id"]).first()
            if comment is None:
                raise FieldError("comment_id", _("can't be found"), "gone")
            post.react(comment, values["kind"], by=request.user, reacts=values.get("reacts") is not False)
            return comments.get(id=comment.id)

        return Response(CommentSerializer.represent(in_transaction(act), self.account.zone))

    def add_comment(self, post: "Post", text: str, values: Mapping[str, Any]) -> Comment:
        user, agent, internal = self.request.user, agent_of(self.request), bool(values.get("internal"))
        comment = post.comment(by=user, text=text, agent=agent, internal=internal, parent_id=values.get("parent_id"))
        comment.nick = user.name
        return comment

    def respond_created(self, data: dict[str, object]) -> HttpResponse:
        return Response(data, status=201, headers=self.get_success_headers(data))


# What views and serializers do not tell the OpenAPI document.
describe_field(
    ReactionCountsField,
    response={
        "type": "object",
        "properties": {kind: {"type": "integer", "minimum": 1} for kind in CommentReaction.Kind.values},
        "additionalProperties": False,
    },
)
SHAPES[ReactionSerializer] = Shape(CommentReaction)
SHAPES[CommentSerializer] = Shape(Comment)
# `post_id` is null while the post of the comment is in the trash.
SHAPES[CommentAsPostSerializer] = Shape(Comment, nullable=frozenset({"post_id"}))
POST_ID = cast(RelatedExtension, WireFieldExtension.find_for(declared_fields(CommentOnPostSerializer)["post_id"]))
SHAPES[CommentOnPostSerializer] = Shape(
    rules={
        "properties": {"task_kind": {"const": COMMENT}, "post_id": POST_ID.non_blank_schema()},
        "required": ["task_kind", "content", "post_id"],
    }
)
RESPONSES["list_comments"] = RESPONSES["create_comment"] = CommentSerializer
BODIES["create_comment"] = {"comment": CommentSerializer}
RESPONSES["react"] = CommentSerializer
BODIES["react"] = {"reaction": ReactionSerializer}
QUERY_PARAMETERS["list_comments"] = {"internal": BOOLEAN}
