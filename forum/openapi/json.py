"""The operations of the Account API on posts, tasks, comments and votes."""

from typing import cast

from core.api.fields import BooleanField
from core.api.serializers import declared_fields
from core.openapi.additional_fields import typed_shape
from core.openapi.fields import RelatedExtension, WireFieldExtension
from core.openapi.operations import (
    SHAPES,
    TO_TRASH,
    JSONSchema,
    Shape,
    example_of,
    register_list,
    register_operation,
    register_resource,
    register_tags,
)
from core.openapi.schema import JSONOperationSchema
from forum.api.serializers import (
    COMMENT,
    CommentAsPostSerializer,
    CommentOnPostSerializer,
    CommentSerializer,
    PostSerializer,
    StatusCode,
)
from forum.models import Comment, Post

TIMES = {"created_at": "2026-11-21T12:00:00+01:00", "updated_at": "2026-11-21T12:00:00+01:00"}


class StatusCodeExtension(WireFieldExtension):
    """A status code. The document cannot list the codes, because each account defines its own."""

    target_class = StatusCode

    def request_schema(self) -> JSONSchema:
        return {"type": ["string", "number"]}

    def response_schema(self) -> JSONSchema:
        return {"type": "string"}


def comment_input(schema: JSONSchema, partial: bool) -> JSONSchema:
    properties, field = schema["properties"], declared_fields(CommentOnPostSerializer)["post_id"]
    post_id = cast(RelatedExtension, WireFieldExtension.of(field)).non_blank_schema()
    return {
        **schema,
        "properties": {**properties, "task_kind": {"const": COMMENT}, "post_id": post_id},
        "required": ["task_kind", "content", "post_id"],
    }


# `post_id` is always null in a post. Only comments have a post.
SHAPES[PostSerializer] = typed_shape(PostSerializer, Post, nullable=frozenset({"post_id"}))
SHAPES[CommentSerializer] = Shape(Comment)
# `post_id` is null while the post of the comment is in the trash.
SHAPES[CommentAsPostSerializer] = Shape(Comment, nullable=frozenset({"post_id"}))
SHAPES[CommentOnPostSerializer] = Shape(refine_input=comment_input)

POST = example_of(
    PostSerializer,
    id=20,
    title="Reply by e-mail",
    content="Answering a notification should add a comment.",
    task_kind="feedback",
    responsible_id=15,
    kind="suggestion",
    status="planned",
    status_id=5,
    category_id=2,
    forum_id=1,
    private=False,
    closed=False,
    priority=0,
    tags=[],
    additional_fields={},
    user_id=15,
    nick="Ann Kowalska",
    agent="curl/8.5.0",
    votes_cache=1,
    comments_cache=2,
    points=1,
    **TIMES,
)
TASK = {
    **POST,
    "id": 30,
    "title": "Call back",
    "content": "About the invoice",
    "task_kind": "task",
    "client_id": 26,
    "category_id": None,
    "forum_id": None,
    "scheduled_at": "2026-12-01T10:00:00+01:00",
    "votes_cache": 0,
    "points": 0,
    "comments_cache": 0,
}
COMMENT_EXAMPLE = {
    "id": 31,
    "comment": "It is on the list for spring.",
    "kind": None,
    "post_id": 20,
    "user_id": 15,
    "nick": "Ann Kowalska",
    "agent": "curl/8.5.0",
    "internal": False,
    "approved": True,
    **TIMES,
}


def internal_parameter() -> dict[str, JSONSchema]:
    return {"internal": WireFieldExtension.of(BooleanField()).query_schema()}


def post_or_comment(schema: JSONOperationSchema, status: int) -> JSONSchema:
    return {"oneOf": [schema.output_component(PostSerializer), schema.output_component(CommentAsPostSerializer)]}


register_list("/app/posts.json", "list_posts", "List the forums' posts", "Posts", [POST], order="-id")
register_list("/app/tasks.json", "list_tasks", "List tasks", "Tasks", [TASK], closed=False)
register_list("/app.json", "list_tasks_too", "List tasks", "Tasks", [TASK], description="The same as /app/tasks.json.")
register_resource(
    "/app/posts",
    "post",
    "Posts",
    id=20,
    response_example=TASK,
    create={"title": "Call back", "content": "About the invoice", "task_kind": "task", "client_id": 26},
    update={"closed": False},
    creation="With a task_kind, the post is a task, which has no category and no forum. With the task_kind `comment` and a "
    "post_id, it is a comment on that post. Without a task_kind, it is a post of the forum_id or category_id, or of the default "
    "forum. A comment is read, updated and deleted as a post with its own id. An update changes its content, or approves it with approved=true.",
    deletion=f"{TO_TRASH} A comment is deleted permanently.",
    item_response=post_or_comment,
    body_serializers={"post": (PostSerializer, CommentOnPostSerializer)},
    response=post_or_comment,
)
register_tags("post", "Posts")
register_operation(
    "GET /app/posts/{id}/comments.json",
    "list_comments",
    "List the comments of a post",
    "The public comments of a post or of a task, oldest first. With internal=true, those that are internal or wait for "
    "approval are included.",
    "Posts",
    response_example=[COMMENT_EXAMPLE],
    parameters={"id": 20},
    query_parameters=internal_parameter,
    response=CommentSerializer,
)
register_operation(
    "POST /app/posts/{id}/comments.json",
    "create_comment",
    "Comment on a post",
    "Adds a comment to a post or to a task. A comment with internal=true is visible to the team only.",
    "Posts",
    {"comment": {"comment": "It is on the list for spring."}},
    COMMENT_EXAMPLE,
    {"id": 20},
    statuses=(201,),
    body_serializers={"comment": CommentSerializer},
    response=CommentSerializer,
)
register_operation(
    "POST /app/posts/{id}/vote.json",
    "vote",
    "Vote for a post",
    "201 if the vote is new, 200 if the user had voted before.",
    "Posts",
    response_example=POST,
    statuses=(201, 200),
    body_serializers={},
)
register_operation(
    "DELETE /app/posts/{id}/vote.json",
    "withdraw_vote",
    "Withdraw a vote",
    "Also succeeds if there is no vote.",
    "Posts",
    response_example="ok",
    parameters={"id": 20},
)
