"""The votes for a post in the Account API: their list, and votes that the team casts for users, clients and contacts."""

from typing import Any, cast

from django.db.models import BigIntegerField, QuerySet, Value
from django.http import HttpResponse
from django.utils.translation import gettext_lazy as _
from rest_framework.response import Response

from accounts.hosts.api import APIRequest, TypedViewSet
from core.api.fields import IntegerField, RelatedField
from core.api.lists import Paged
from core.api.serializers import ResourceSerializer, declared_fields, format_time
from core.db.transactions import in_transaction
from core.errors import FieldError, FieldErrors
from core.openapi.fields import RelatedExtension, WireFieldExtension
from core.openapi.operations import BODIES, QUERY_PARAMETERS, RESPONSES, SHAPES, Shape
from core.openapi.values import ID, TIME, array_of, object_of, or_null, required_fields

VOTERS = ("user_id", "client_id", "contact_id")
COLUMNS = (*VOTERS, "by_id", "from_post_id", "created_at")


class VoterSerializer(ResourceSerializer):
    """The voter: a user, a client or a contact."""

    user_id = RelatedField("users", is_active=True)
    # `cast_proxy_vote` looks them up.
    client_id = IntegerField(min_value=1)
    contact_id = IntegerField(min_value=1)

    def validate(self, values: dict[str, Any]) -> dict[str, Any]:
        values = {name: value for name, value in values.items() if value is not None}
        if len(values) != 1:
            raise FieldError("", _("must have one of user_id, client_id and contact_id"), "required")
        return values


class VoteViewSet(TypedViewSet, Paged):
    areas = ("posts",)

    def get_queryset(self) -> QuerySet[Any]:
        rows: QuerySet[Any] = self.account.posts.live().limited_to(self.access)
        return rows

    def list(self, request: APIRequest, id: int) -> HttpResponse:  # type: ignore[override]
        """Return the votes that the user may see, oldest first."""
        self.read_page()
        post, nobody = self.get_object(), Value(None, output_field=BigIntegerField(null=True))
        columns = {"of_client": nobody, "of_contact": nobody, "by": nobody}
        votes = self.account.votes.filter(post_id=post.id).annotate(**columns)
        proxies = self.account.proxy_votes.filter(post_id=post.id).limited_to(self.access).annotate(of_user=nobody)
        rows = votes.values_list("user_id", *columns, "from_post_id", "created_at").union(
            proxies.values_list("of_user", "client_id", "contact_id", "user_id", "from_post_id", "created_at"), all=True
        )
        page = self.paginate_queryset(rows.order_by("created_at", "user_id", "of_client", "of_contact"))
        zone = self.account.zone
        return self.get_paginated_response(
            [{**dict(zip(COLUMNS, row, strict=True)), "created_at": format_time(row[-1], zone)} for row in page]
        )

    def create(self, request: APIRequest, id: int) -> HttpResponse:
        """Cast a vote. The HTTP status is 201 for a new vote and 200 for an existing vote."""

        def act() -> tuple[dict[str, Any], bool]:
            post = self.get_object()
            serializer = VoterSerializer(data=self.body.get("vote"), context=self.get_serializer_context())
            self.check(vote=serializer)
            voter = serializer.values
            if "user_id" in voter:
                return voter, post.vote_for(self.account.users.get(id=voter["user_id"]), by=request.user)
            return voter, post.cast_proxy_vote(by=request.user, **voter)

        voter, is_new = in_transaction(act)
        return Response({name: voter.get(name) for name in VOTERS}, status=201 if is_new else 200)

    def destroy(self, request: APIRequest, id: int) -> HttpResponse:
        def act() -> None:
            post = self.get_object()
            errors = list(self.ignore_parameters(VOTERS).values())
            data = {name: self.parameters[name] for name in VOTERS if name in self.parameters}
            serializer = VoterSerializer(data=data, context=self.get_serializer_context())
            if errors := errors + serializer.find_errors():
                raise FieldErrors(errors)
            voter = serializer.values
            if "user_id" in voter:
                post.withdraw_vote(by=request.user, voter=self.account.users.get(id=voter["user_id"]))
            else:
                post.withdraw_proxy_vote(**voter)

        in_transaction(act)
        return Response("ok")


# The OpenAPI document, as far as views and serializers do not tell it
VOTER = {name: or_null(ID) for name in VOTERS}
USER_ID = cast(RelatedExtension, WireFieldExtension.find_for(declared_fields(VoterSerializer)["user_id"]))
SHAPES[VoterSerializer] = Shape(rules={"oneOf": required_fields(VOTERS, USER_ID.non_blank_schema())})
BODIES["create_vote"] = {"vote": VoterSerializer}
RESPONSES["create_vote"] = object_of(VOTER)
RESPONSES["list_votes"] = array_of(object_of(VOTER, by_id=or_null(ID), from_post_id=or_null(ID), created_at=TIME))
QUERY_PARAMETERS["delete_vote"] = dict.fromkeys(VOTERS, ID)
