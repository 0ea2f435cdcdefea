"""The operations of the Forum API."""

from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from accounts.models import User
from core.openapi.operations import JSONSchema, register_operation
from forum.models import Category, Comment, Post
from forum.xml import documents
from forum.xml.documents import Shape
from forum.xml.schema import XMLOperationSchema, array
from forum.xml.serializers import NewUserSerializer, PostSerializer, TeamPostSerializer

ZONE = ZoneInfo("Europe/Warsaw")
EXAMPLE_TIME = datetime(2026, 11, 21, 12, tzinfo=ZONE)

TAG = "Forum API (XML)"


def user(schema: XMLOperationSchema, status: int = 200) -> JSONSchema:
    return schema.shape_component("UserElement", documents.USER, User)


def users(schema: XMLOperationSchema, status: int) -> JSONSchema:
    return array("users", user(schema))


def post(schema: XMLOperationSchema, status: int = 200) -> JSONSchema:
    return schema.shape_component("PostElement", documents.POST, Post)


def posts(schema: XMLOperationSchema, status: int) -> JSONSchema:
    return array("posts", schema.shape_component("PostItemElement", documents.POST_IN_LIST, Post))


def post_with_comments(schema: XMLOperationSchema, status: int) -> JSONSchema:
    comment = schema.shape_component("CommentElement", documents.COMMENT, Comment)
    return {
        "type": "object",
        "properties": {"comments": array("comments", comment), "post": post(schema)},
        "required": ["comments", "post"],
        "additionalProperties": False,
        "xml": {"name": "hash"},
    }


def categories(schema: XMLOperationSchema, status: int) -> JSONSchema:
    return array("categories", schema.shape_component("CategoryElement", documents.CATEGORY, Category))


EXAMPLE_VALUES: dict[str, dict[str, Any]] = {
    "user": {
        "description": "",
        "email": "ann@example.com",
        "login": "ann",
        "name": "Ann Kowalska",
        "notification": "own",
        "www": None,
    },
    "post": {
        "agent": "curl/8.5.0",
        "category-id": 2,
        "comments-cache": 1,
        "content": "At least for voting & searching.",
        "id": 20,
        "kind": "suggestion",
        "responsible-id": None,
        "status": "new",
        "title": "Keyboard shortcuts",
        "votes-cache": 1,
    },
    "comment": {"agent": "curl/8.5.0", "comment": "Planned for spring.", "id": 21, "kind": None},
    "category": {"id": 2, "name": "General"},
}


def row(shape: Shape, changes: dict[str, Any] | None = None) -> list[Any]:
    return [{**EXAMPLE_VALUES[shape.name], **(changes or {})}.get(name, EXAMPLE_TIME) for name in shape.fields]


def element_of(shape: Shape, depth: int = 0, changes: dict[str, Any] | None = None) -> str:
    return shape.write(row(shape, changes), ZONE, depth=depth)


def array_of(name: str, shape: Shape, depth: int = 0) -> str:
    return documents.array(name, shape, [row(shape)], ZONE, depth=depth)


def document(*parts: str) -> str:
    return documents.document(*parts).decode()


USER_DOCUMENT = document(element_of(documents.USER))
POST_DOCUMENT = document(element_of(documents.POST))
POST_LIST_DOCUMENT = document(array_of("posts", documents.POST_IN_LIST))
PARAMETERS = {"order": "top", "page": 1}
LISTS = {
    "/app/posts.xml": ("list_forum_posts", "The posts of the forum's first category that the caller may see."),
    "/": ("list_first_category", "The posts of the forum's first category that the caller may see."),
    "/{category_name}": ("list_category", "The posts of the category of that name that the caller may see."),
}

register_operation(
    "GET /app/users/me.xml",
    "read_me",
    "The current user",
    "The user whose credentials the request has.",
    TAG,
    response_example=USER_DOCUMENT,
    response=user,
)
register_operation(
    "GET /app/users/team.xml",
    "list_team",
    "List the team",
    "Owners, admins and agents, by name.",
    TAG,
    response_example=document(array_of("users", documents.USER)),
    response=users,
)
register_operation(
    "POST /app/users.xml",
    "create_user",
    "Create a user",
    "Agents create members; admins create users with any role but owner; owners create users with any role.",
    TAG,
    "<user><login>ann</login><email>ann@example.com</email><password>kind-of-blue-59</password></user>",
    USER_DOCUMENT,
    statuses=(201,),
    body_serializers={"user": NewUserSerializer},
    response=user,
    error_statuses=frozenset({403}),
)
register_operation(
    "GET /app/categories.xml",
    "list_categories",
    "List categories",
    "The categories of the forum, in their order.",
    TAG,
    response_example=document(array_of("categories", documents.CATEGORY)),
    response=categories,
)
for path, (id, description) in LISTS.items():
    example = {"category_name": "General", **PARAMETERS} if "{" in path else PARAMETERS
    register_operation(
        f"GET {path}",
        id,
        "List posts",
        description,
        TAG,
        response_example=POST_LIST_DOCUMENT,
        parameters=example,
        response=posts,
    )
    if path != "/app/posts.xml":
        description += " The body may contain the parameters: a single one as the root element, several ones in a hash."
        body = '<hash><order>top</order><page type="integer">1</page></hash>'
        register_operation(
            f"POST {path}",
            f"query{id.removeprefix('list')}",
            "List posts",
            description,
            TAG,
            body,
            POST_LIST_DOCUMENT,
            example,
            response=posts,
        )
register_operation(
    "POST /app/posts.xml",
    "create_forum_post",
    "Create a post",
    "Without category-id, the post is created in the first category.",
    TAG,
    "<post><title>Keyboard shortcuts</title><content>At least for voting &amp; searching.</content></post>",
    POST_DOCUMENT,
    statuses=(201,),
    body_serializers={"post": PostSerializer},
    response=post,
)
register_operation(
    "GET /app/posts/{id}.xml",
    "read_forum_post",
    "Read a post with its comments",
    "All comments are included, oldest first.",
    TAG,
    response_example=document(
        "<hash>\n", array_of("comments", documents.COMMENT, 1), element_of(documents.POST, 1), "</hash>\n"
    ),
    parameters={"id": 20},
    response=post_with_comments,
)
for method, verb, addition in (("PUT", "update", ""), ("PATCH", "patch", " The same as PUT.")):
    register_operation(
        f"{method} /app/posts/{{id}}.xml",
        f"{verb}_forum_post",
        "Change a post",
        "For the team, and for the author until another user comments or votes. Fields that are not sent keep their values. If the"
        f" posts of members wait for approval, the post waits again after its author has changed the title or content.{addition}",
        TAG,
        '<post><status>planned</status><responsible-id type="integer">15</responsible-id></post>',
        document(element_of(documents.POST, changes={"status": "planned", "responsible-id": 15})),
        {"id": 20},
        body_serializers={"post": TeamPostSerializer},
        response=post,
        error_statuses=frozenset({403}),
    )
register_operation(
    "DELETE /app/posts/{id}.xml",
    "delete_forum_post",
    "Delete a post",
    "For the users who may change the post. It is moved to the trash for 30 days.",
    TAG,
    response_example=POST_DOCUMENT,
    parameters={"id": 20},
    response=post,
    error_statuses=frozenset({403}),
)
