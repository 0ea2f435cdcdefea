"""The views and serializers of the Forum API (XML). It accepts some of the fields of the Account API."""

from collections.abc import Callable
from functools import cached_property
from typing import Any, cast

from django.http import Http404, HttpResponse
from django.utils.encoding import escape_uri_path
from django.utils.http import http_date
from rest_framework.exceptions import AuthenticationFailed, PermissionDenied
from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.account.models import Account
from accounts.hosts.api import APIRequest
from accounts.roles.models import ASSIGNABLE
from accounts.roles.permissions import IsAuthenticated
from accounts.sessions.authentication import SessionAuthentication
from accounts.statuses.models import Status
from accounts.tokens.authentication import BasicOrTokenAuthentication
from accounts.users.api import NewUserSerializer
from accounts.users.models import PRIVATE_NAMES, User
from core.api.fields import MISSING, ChoiceField, RelatedField, TextField, long_text_field
from core.api.paging import ListPage
from core.api.routing import path_with_id
from core.api.serializers import ResourceSerializer
from core.api.views import TenantViewSet
from core.db.transactions import in_transaction
from core.errors import FieldError, FieldErrors
from core.openapi.operations import BODIES, RESPONSES
from core.openapi.schema import OperationSchema
from core.openapi.values import JSONSchema, object_of
from forum.categories.models import Category
from forum.comments.models import Comment, comments_of_post
from forum.forums.limits import limit_new_member
from forum.forums.membership import ForumMember, ForumRights
from forum.forums.models import Forum
from forum.forums.requests import agent_of
from forum.lists.facets import FacetSelection
from forum.lists.queries import PostQuerySet, author_filter, post_values
from forum.lists.whole_forum import ForumList
from forum.posts.api import StatusCode
from forum.posts.models import Post
from forum.xml import documents
from forum.xml.documents import XMLOperationSchema
from forum.xml.formats import XMLParser, XMLRenderer


class CategoryOfForum(RelatedField):
    """A category of the forum that the request was sent to."""

    def __init__(self) -> None:
        super().__init__("categories")

    def to_internal_value(self, data: object) -> int:
        self.filters = {"forum_id": self.context["forum_id"]}
        return super().to_internal_value(data)


class PostElementSerializer(ResourceSerializer):
    title = TextField(required=True)
    content = long_text_field()
    kind = ChoiceField(Post.Kind.values)
    category_id = CategoryOfForum()

    def validate(self, values: dict[str, object]) -> dict[str, object]:
        """Drop nulls, except for the fields that accept null."""
        nullable = ("responsible_id",)
        return {name: value for name, value in values.items() if value is not None or name in nullable}


class TeamPostElementSerializer(PostElementSerializer):
    """The fields that the team may set."""

    status = StatusCode()
    responsible_id = RelatedField("users", **ASSIGNABLE)


class MayReadForum(BasePermission):
    """Access for users who may read the forum of the request. The forum does not show who belongs to it."""

    def has_permission(self, request: Request, view: APIView) -> bool:
        if not cast(XMLViewSet, view).rights.may_read:
            # The request was counted, but the answer to wrong credentials has no headers of limits.
            request._request.limit_status = None  # type: ignore[attr-defined]  # an attribute of `TenantRequest`
            raise AuthenticationFailed
        return True


class XMLViewSet(TenantViewSet):
    account: Account
    request: APIRequest
    authentication_classes = [BasicOrTokenAuthentication, SessionAuthentication]
    permission_classes = [IsAuthenticated, MayReadForum]
    parser_classes = [XMLParser]
    renderer_classes = [XMLRenderer]
    schema = XMLOperationSchema()

    @cached_property
    def rights(self) -> ForumRights:
        """The rights of the user in the forum: to read, to suggest, and to change their suggestions."""
        return Forum.objects.find_rights(self.request.user, self.forum_id)

    def check_may_write(self) -> None:
        """Raise PermissionDenied for a user who may only read the forum."""
        if not self.rights.may_write:
            raise PermissionDenied("Only members of this forum may do this")

    @property
    def forum_id(self) -> int:
        return self.request._request.address.site_key[1]

    @property
    def body(self) -> dict[str, Any]:
        """The elements that `XMLParser` returns."""
        return cast(dict[str, Any], self.request.data)

    def parameters(self) -> dict[str, Any]:
        """Return the parameters of the query string and of the body. The body takes precedence."""
        return {**self.request.query_params.dict(), **self.body}

    def element(self, name: str) -> dict[str, object]:
        """Return the children of the body's root element `name`. Raise FieldError if the element is missing or has no children."""
        children = self.body.get(name)
        if children is None or (isinstance(children, str) and not children.strip()):
            raise FieldError(name, MISSING, "required")
        if not isinstance(children, dict):
            raise FieldError(name, "must have its fields as elements", "elements")
        return children


class XMLUserViewSet(XMLViewSet):
    def me(self, request: APIRequest) -> HttpResponse:
        return Response(documents.document(self.as_element(request.user)))

    def team(self, request: APIRequest) -> HttpResponse:
        users = self.account.users.team().order_by("name", "id").with_private_names_for(self.request.user)
        columns = [f"shown_{name}" if name in PRIVATE_NAMES else name for name in documents.USER.columns]
        rows = users.values_list(*columns)
        return Response(documents.document(documents.array("users", documents.USER, rows, self.account.zone)))

    def create(self, request: APIRequest) -> HttpResponse:
        request.user.check_may_create(User.Role.MEMBER)

        def act() -> User:
            data = {"role": User.Role.MEMBER, **self.element("user")}
            serializer = NewUserSerializer(data=data, context={"account": self.account})
            values = {name: value for name, value in serializer.read().items() if value not in (None, "")}
            request.user.check_may_create(values.get("role", User.Role.MEMBER))
            user = User.objects.create_for(self.account, **values)
            if not user.is_team:
                ForumMember.objects.add(self.account, [self.forum_id], [user.id])
            return user

        return Response(documents.document(self.as_element(in_transaction(act))), status=201)

    def as_element(self, user: User) -> str:
        return documents.USER.write([getattr(user, name) for name in documents.USER.columns], self.account.zone)


class CategoryViewSet(XMLViewSet):
    def list(self, request: APIRequest) -> HttpResponse:
        rows = self.account.categories.of_forum(self.forum_id).values_list(*documents.CATEGORY.columns)
        return Response(documents.document(documents.array("categories", documents.CATEGORY, rows, self.account.zone)))


class XMLPostViewSet(XMLViewSet):
    def get_queryset(self) -> PostQuerySet:
        rows: PostQuerySet = self.account.posts.visible_in_forum(self.request.user)
        return rows.of_forum(self.forum_id).with_names()

    def lock_row(self) -> None:
        self.find_object(self.kwargs["id"], locked=True)

    def list(self, request: APIRequest, category_name: str | None = None) -> HttpResponse:
        parameters = self.parameters()
        page, order, status = self.read_list(parameters)
        selection = FacetSelection(status_ids=() if status is None else (status.id,))
        if category_name:
            category = Category.objects.find_by_name(self.account.id, self.forum_id, category_name)
            if category is None:
                raise Http404
            selection = selection._replace(category_ids=(category.id,))
        # One additional row tells whether there is a next page.
        part = (documents.POST_IN_LIST.columns, page.start, page.size + 1)
        rows = ForumList(self.account, self.forum_id, request.user, *part, selection).page_of_category(order)
        # The links repeat the parameters of the query string and of the body.
        repeated = [(name, parameters[name]) for name in ("order", "per_page") if parameters.get(name)]
        link = page.link(self.base_url + escape_uri_path(request.path), repeated, more=len(rows) > page.size)
        body = documents.document(
            documents.array("posts", documents.POST_IN_LIST, rows[: page.size], self.account.zone)
        )
        return Response(body, headers={"Link": link})

    def read_list(self, parameters: dict[str, object]) -> tuple[ListPage, str, Status | None]:
        """Return the page, the order, and the status to filter by. Raise FieldErrors with all invalid parameters."""
        errors: list[FieldError] = []
        page: ListPage | None = None
        try:
            page = ListPage.read(parameters)
        except FieldErrors as caught:
            errors += caught.errors
        order, status = parameters.get("order"), None
        order = "new" if order in (None, "") else str(order)
        order = PostQuerySet.ORDER_ALIASES.get(order, order)
        if order not in PostQuerySet.ORDERS:
            statuses = {status.code: status for status in self.account.statuses.filter(kind=Status.Kind.POST)}
            status, order = statuses.get(order), "new"
            if status is None:
                allowed = dict.fromkeys([*PostQuerySet.ORDERS, *sorted(statuses)])
                errors.append(FieldError("order", f"is not one of {', '.join(allowed)}", "choice"))
        if errors or page is None:
            raise FieldErrors(errors)
        return page, order, status

    def retrieve(self, request: APIRequest, id: int) -> HttpResponse:
        account_id, user = self.account.id, request.user
        arguments = {"id": id, "columns": documents.POST.columns, **author_filter(user)}
        post = post_values.first(account_id=account_id, forum_id=self.forum_id, **arguments)
        if post is None:
            raise Http404
        columns = documents.COMMENT.columns
        rows = comments_of_post(account_id=account_id, post_id=id, columns=columns, user_id=user.id)
        body = documents.array("comments", documents.COMMENT, rows, self.account.zone, depth=1)
        body += documents.POST.write(post, self.account.zone, depth=1)
        modified = post[documents.POST.columns.index("updated_at")]
        headers = {"Last-Modified": http_date(modified.timestamp())}
        return Response(documents.document("<hash>\n", body, "</hash>\n"), headers=headers)

    def create(self, request: APIRequest) -> HttpResponse:
        self.check_may_write()

        def act() -> Post:
            values = self.get_serializer(data=self.element("post")).read()
            post = Post(account=self.account, forum_id=self.forum_id, agent=agent_of(request))
            post.write(values, by=request.user)
            return post

        with limit_new_member(request, request.user, "post"):
            post = in_transaction(act)
        location = self.base_url + path_with_id("forum-xml-post", post.id)
        return Response(documents.document(self.as_element(post)), status=201, headers={"Location": location})

    def lock_to(self, change: str) -> Post:
        """Return the post, locked. Raise PermissionDenied for a user who may not update or delete it."""
        post: Post = self.get_object(locked=True)
        if not post.may_be_changed_by(self.request.user):
            raise PermissionDenied(f"Only the team may {change} this post")
        return post

    def update(self, request: APIRequest, id: int) -> HttpResponse:
        self.check_may_write()

        def act() -> Post:
            post = self.lock_to("change")
            post.write(self.get_serializer(post, data=self.element("post"), partial=True).read(), by=request.user)
            return post

        return Response(documents.document(self.as_element(in_transaction(act))))

    def destroy(self, request: APIRequest, id: int) -> HttpResponse:
        self.check_may_write()

        def act() -> Post:
            post = self.lock_to("delete")
            post.trash(by=request.user)
            return post

        return Response(documents.document(self.as_element(in_transaction(act))))

    def get_serializer_class(self) -> type[PostElementSerializer]:
        sets_team_fields = self.action == "update" and self.request.user.is_team
        return TeamPostElementSerializer if sets_team_fields else PostElementSerializer

    def get_serializer_context(self) -> dict[str, object]:
        return {**super().get_serializer_context(), "forum_id": self.forum_id}

    def as_element(self, post: Post) -> str:
        values = [post.status_code if name == "status" else getattr(post, name) for name in documents.POST.columns]
        return documents.POST.write(values, self.account.zone)


# What views and serializers do not tell the OpenAPI document.
ELEMENTS = {
    "UserElement": (documents.USER, User),
    "PostElement": (documents.POST, Post),
    "PostItemElement": (documents.POST_IN_LIST, Post),
    "CommentElement": (documents.COMMENT, Comment),
    "CategoryElement": (documents.CATEGORY, Category),
}


def describe_element(name: str, *, root: str = "") -> Callable[[OperationSchema, int], JSONSchema]:
    """Return a function for the schema of a response: an element, or with `root` an array of elements."""

    def describe(schema: OperationSchema, status: int) -> JSONSchema:
        element = cast(XMLOperationSchema, schema).shape_component(name, *ELEMENTS[name])
        return documents.array_schema(root, element) if root else element

    return describe


def describe_post_with_comments(schema: OperationSchema, status: int) -> JSONSchema:
    comments = describe_element("CommentElement", root="comments")(schema, status)
    post = describe_element("PostElement")(schema, status)
    return {**object_of(comments=comments, post=post), "xml": {"name": "hash"}}


RESPONSES["read_me"] = RESPONSES["create_user"] = describe_element("UserElement")
RESPONSES["list_team"] = describe_element("UserElement", root="users")
RESPONSES["list_categories"] = describe_element("CategoryElement", root="categories")
for name in ("list_forum_posts", "list_first_category", "query_first_category", "list_category", "query_category"):
    RESPONSES[name] = describe_element("PostItemElement", root="posts")
for name in ("create_forum_post", "update_forum_post", "delete_forum_post"):
    RESPONSES[name] = describe_element("PostElement")
RESPONSES["read_forum_post"] = describe_post_with_comments
BODIES["create_user"] = {"user": NewUserSerializer}
BODIES["create_forum_post"] = {"post": PostElementSerializer}
BODIES["update_forum_post"] = {"post": TeamPostElementSerializer}
