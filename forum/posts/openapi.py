"""The schemas of posts in the OpenAPI document, as far as views and serializers do not tell them."""

from accounts.tags.api import TAGS
from core.openapi.fields import describe_field
from core.openapi.operations import BODIES, RESPONSES, SHAPES, Shape
from core.openapi.schema import JSONOperationSchema
from core.openapi.values import JSONSchema
from forum.comments.api import CommentAsPostSerializer, CommentOnPostSerializer
from forum.posts.api import PostSerializer, StatusCode

# A status code. The document cannot list the codes, because each account defines its own.
describe_field(StatusCode, request={"type": ["string", "number"]}, response={"type": "string"})

# `post_id` is always null in a post. Only comments have a post.
SHAPES[PostSerializer] = Shape(nullable=frozenset({"post_id"}))


def post_or_comment(schema: JSONOperationSchema, status: int) -> JSONSchema:
    return {"oneOf": [schema.output_component(PostSerializer), schema.output_component(CommentAsPostSerializer)]}


RESPONSES["create_post"] = RESPONSES["read_post"] = RESPONSES["update_post"] = post_or_comment
BODIES["create_post"] = {"post": (PostSerializer, CommentOnPostSerializer)}
RESPONSES["list_post_tags"] = TAGS
