"""The schemas of comments in the OpenAPI document, as far as views and serializers do not tell them."""

from typing import cast

from core.api.serializers import declared_fields
from core.openapi.fields import RelatedExtension, WireFieldExtension
from core.openapi.operations import BODIES, QUERY_PARAMETERS, RESPONSES, SHAPES, Shape
from core.openapi.values import BOOLEAN
from forum.comments.api import COMMENT, CommentAsPostSerializer, CommentOnPostSerializer, CommentSerializer
from forum.comments.models import Comment

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
QUERY_PARAMETERS["list_comments"] = {"internal": BOOLEAN}
