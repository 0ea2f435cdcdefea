"""The schemas of the Forum API in the OpenAPI document, as far as views and serializers do not tell them."""

from collections.abc import Callable
from typing import cast

from accounts.users.api import NewUserSerializer
from accounts.users.models import User
from core.openapi.operations import BODIES, RESPONSES
from core.openapi.schema import OperationSchema
from core.openapi.values import JSONSchema, object_of
from forum.categories.models import Category
from forum.comments.models import Comment
from forum.posts.models import Post
from forum.xml import documents
from forum.xml.schema import XMLOperationSchema, array
from forum.xml.views import PostElementSerializer, TeamPostElementSerializer

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
BODIES["create_user"] = {"user": NewUserSerializer}
BODIES["create_forum_post"] = {"post": PostElementSerializer}
BODIES["update_forum_post"] = {"post": TeamPostElementSerializer}
