"""The members of a forum in the Account API."""

from typing import Any, cast

from django.db.models import F, QuerySet
from django.http import HttpResponse
from rest_framework.response import Response

from accounts.hosts.api import APIRequest, TypedViewSet
from accounts.roles.permissions import IsAdminOrTeamReadOnly
from accounts.users.models import User
from core.api.fields import MISSING, RelatedField
from core.api.lists import Paged
from core.api.serializers import ResourceSerializer, declared_fields, format_time
from core.db.transactions import in_transaction
from core.errors import FieldError, FieldErrors
from core.openapi.fields import RelatedExtension, WireFieldExtension
from core.openapi.operations import BODIES, QUERY_PARAMETERS, RESPONSES, SHAPES, Shape
from core.openapi.values import ID, NAME, TIME, array_of, object_of, one_of
from forum.forums.membership import ForumMember, ForumMemberQuerySet


class ForumMemberSerializer(ResourceSerializer):
    """A member of the account. The team belongs to all forums."""

    user_id = RelatedField("users", role=User.Role.MEMBER)

    def validate(self, values: dict[str, Any]) -> dict[str, Any]:
        if values.get("user_id") is None:
            raise FieldError("user_id", MISSING, "required")
        return values


class ForumMemberViewSet(TypedViewSet, Paged):
    """The people whom the team added to a forum, and those who wait for its decision (`forum.forums.membership`)."""

    areas = ("settings",)
    areas_to_read = ()
    permission_classes = [IsAdminOrTeamReadOnly]

    def get_queryset(self) -> QuerySet[Any]:
        forums: QuerySet[Any] = self.account.forums.all()
        return forums

    def members(self) -> ForumMemberQuerySet:
        rows: ForumMemberQuerySet = self.account.forum_members.filter(forum_id=self.get_object().id)
        return rows

    def list(self, request: APIRequest, id: int) -> HttpResponse:  # type: ignore[override]
        self.read_page()
        rows = self.members().annotate(name=F("user__name")).order_by("user_id")
        page = self.paginate_queryset(rows.values("user_id", "name", "state", "created_at"))
        zone = self.account.zone
        return self.get_paginated_response(
            [{**row, "created_at": format_time(row["created_at"], zone)} for row in page]
        )

    def create(self, request: APIRequest, id: int) -> HttpResponse:
        """Add a member. A person who was pending is a member then."""

        def act() -> int:
            forum = self.get_object()
            serializer = ForumMemberSerializer(data=self.body.get("member"), context=self.get_serializer_context())
            self.check(member=serializer)
            user_id: int = serializer.values["user_id"]
            ForumMember.objects.add(self.account, [forum.id], [user_id])
            return user_id

        return Response({"user_id": in_transaction(act)}, status=201)

    def destroy(self, request: APIRequest, id: int) -> HttpResponse:
        """Remove a member, also one who is pending."""

        def act() -> None:
            members = self.members()
            errors = [*self.ignore_parameters(("user_id",)).values()]
            data = {name: value for name, value in self.parameters.items() if name == "user_id"}
            serializer = ForumMemberSerializer(data=data, context=self.get_serializer_context())
            if errors := errors + serializer.find_errors():
                raise FieldErrors(errors)
            members.filter(user_id=serializer.values["user_id"]).decide(self.account, id, admits=False)

        in_transaction(act)
        return Response("ok")


# The OpenAPI document, as far as views and serializers do not tell it
USER_ID = cast(RelatedExtension, WireFieldExtension.find_for(declared_fields(ForumMemberSerializer)["user_id"]))
SHAPES[ForumMemberSerializer] = Shape(
    rules={"required": ["user_id"], "properties": {"user_id": USER_ID.non_blank_schema()}}
)
BODIES["add_forum_member"] = {"member": ForumMemberSerializer}
RESPONSES["add_forum_member"] = object_of(user_id=ID)
RESPONSES["list_forum_members"] = array_of(
    object_of(user_id=ID, name=NAME, state=one_of(ForumMember.State.values), created_at=TIME)
)
QUERY_PARAMETERS["remove_forum_member"] = {"user_id": ID}
