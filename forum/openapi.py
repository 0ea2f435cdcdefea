"""The schemas of the forum in the OpenAPI document, as far as views and serializers do not tell them."""

from collections.abc import Callable
from typing import cast

from accounts.tags.openapi import TAGS
from accounts.users.models import User
from core.api.serializers import declared_fields
from core.openapi.fields import RelatedExtension, WireFieldExtension, describe_field
from core.openapi.operations import BODIES, QUERY_PARAMETERS, RESPONSES, SHAPES, Shape
from core.openapi.schema import JSONOperationSchema, OperationSchema
from core.openapi.values import BOOLEAN, ID, NAME, TIME, JSONSchema, array_of, object_of, one_of, or_null
from forum.activities.models import Activity
from forum.categories.models import Category
from forum.comments.api.serializers import COMMENT, CommentAsPostSerializer, CommentOnPostSerializer, CommentSerializer
from forum.comments.models import Comment
from forum.notifications.models import Reason
from forum.posts.api.serializers import PostSerializer, StatusCode
from forum.posts.models import Post
from forum.xml import documents, serializers
from forum.xml.schema import XMLOperationSchema, array

# A status code. The document cannot list the codes, because each account defines its own.
describe_field(StatusCode, request={"type": ["string", "number"]}, response={"type": "string"})


# `post_id` is always null in a post. Only comments have a post.
SHAPES[PostSerializer] = Shape(nullable=frozenset({"post_id"}))
SHAPES[CommentSerializer] = Shape(Comment)
# `post_id` is null while the post of the comment is in the trash.
SHAPES[CommentAsPostSerializer] = Shape(Comment, nullable=frozenset({"post_id"}))
POST_ID = cast(RelatedExtension, WireFieldExtension.of(declared_fields(CommentOnPostSerializer)["post_id"]))
SHAPES[CommentOnPostSerializer] = Shape(
    rules={
        "properties": {"task_kind": {"const": COMMENT}, "post_id": POST_ID.non_blank_schema()},
        "required": ["task_kind", "content", "post_id"],
    }
)

# The Account API


def post_or_comment(schema: JSONOperationSchema, status: int) -> JSONSchema:
    return {"oneOf": [schema.output_component(PostSerializer), schema.output_component(CommentAsPostSerializer)]}


RESPONSES["create_post"] = RESPONSES["read_post"] = RESPONSES["update_post"] = post_or_comment
RESPONSES["list_comments"] = RESPONSES["create_comment"] = CommentSerializer
BODIES["create_post"] = {"post": (PostSerializer, CommentOnPostSerializer)}
BODIES["create_comment"] = {"comment": CommentSerializer}
RESPONSES["list_post_tags"] = TAGS
QUERY_PARAMETERS["list_comments"] = {"internal": BOOLEAN}
QUERY_PARAMETERS["list_notifications"] = {"unread": BOOLEAN}
NOTIFICATION = object_of(
    id=ID,
    kind=one_of(Activity.Kind.values),
    reason=one_of(reason.name.lower() for reason in Reason),
    post_id=or_null(ID),
    comment_id=or_null(ID),
    note_id=or_null(ID),
    user_id=ID,
    title=NAME,
    text=NAME,
    excerpt=NAME,
    read_at=or_null(TIME),
    created_at=TIME,
)
RESPONSES["list_notifications"] = array_of(NOTIFICATION)
RESPONSES["read_notification"] = NOTIFICATION

# The Forum API

ELEMENTS = {
    "UserElement": (documents.USER, User),
    "PostElement": (documents.POST, Post),
    "PostItemElement": (documents.POST_IN_LIST, Post),
    "CommentElement": (documents.COMMENT, Comment),
    "CategoryElement": (documents.CATEGORY, Category),
}
Response = Callable[[OperationSchema, int], JSONSchema]


def element(name: str) -> Response:
    """Return a function for the schema of a response with one element."""
    return lambda schema, status: cast(XMLOperationSchema, schema).shape_component(name, *ELEMENTS[name])


def elements(root: str, name: str) -> Response:
    """Return a function for the schema of a response with an array of elements."""
    return lambda schema, status: array(root, element(name)(schema, status))


def post_with_comments(schema: OperationSchema, status: int) -> JSONSchema:
    comments = elements("comments", "CommentElement")(schema, status)
    return {**object_of(comments=comments, post=element("PostElement")(schema, status)), "xml": {"name": "hash"}}


RESPONSES["read_me"] = RESPONSES["create_user"] = element("UserElement")
RESPONSES["list_team"] = elements("users", "UserElement")
RESPONSES["list_categories"] = elements("categories", "CategoryElement")
for name in ("list_forum_posts", "list_first_category", "query_first_category", "list_category", "query_category"):
    RESPONSES[name] = elements("posts", "PostItemElement")
for name in ("create_forum_post", "update_forum_post", "delete_forum_post"):
    RESPONSES[name] = element("PostElement")
RESPONSES["read_forum_post"] = post_with_comments
BODIES["create_user"] = {"user": serializers.NewUserSerializer}
BODIES["create_forum_post"] = {"post": serializers.PostSerializer}
BODIES["update_forum_post"] = {"post": serializers.TeamPostSerializer}
