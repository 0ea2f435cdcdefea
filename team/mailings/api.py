"""Messages to the customers behind a suggestion in the Account API (JSON)."""

from collections.abc import Sequence
from typing import Any
from zoneinfo import ZoneInfo

from django.http import Http404, HttpResponse
from django.utils.translation import gettext_lazy as _
from rest_framework.response import Response

from accounts.hosts.api import APIRequest
from accounts.mail.sending import single_line
from core.api.fields import BooleanField, ChoiceField, DateTimeField, IntegerField, RelatedField, TextField, WireField
from core.api.filters import ListFilters, WireFilter, link_filter
from core.api.lists import Paged
from core.api.resources import ResourceViewSet
from core.api.serializers import ResourceSerializer, declared_fields, format_time
from core.errors import FieldError
from core.openapi.fields import FILLED_ID, WireFieldExtension, describe_field
from core.openapi.operations import BODIES, QUERY_PARAMETERS, RESPONSES, SHAPES, Shape
from core.openapi.schema import filter_parameters
from core.openapi.values import COUNT, ID, NAME, TIME, array_of, object_of, one_of, or_null
from team.mailings.audience import Among, LeftOut
from team.mailings.models import MAX_TEXT_LENGTH, Message, MessageQuerySet, MessageRecipient, names_of
from team.mailings.sending import find_post, request_test, start_message
from team.menu.api import TeamViewSet


class LeftOutField(WireField):
    """The numbers of customers that are left out, by reason, in responses only."""


class MessageSerializer(ResourceSerializer):
    model = Message

    post_id = RelatedField("posts", category_id__isnull=False, trashed_at=None)
    subject = TextField(required=True)
    text = TextField(required=True, max_length=MAX_TEXT_LENGTH)
    among = ChoiceField(Among.values)
    include_not_asked = BooleanField()
    state = TextField(read_only=True)
    failure = TextField(read_only=True)
    author_id = IntegerField(read_only=True)
    total = IntegerField(read_only=True)
    left_out = LeftOutField(read_only=True)
    sent = IntegerField(read_only=True)
    skipped = IntegerField(read_only=True)
    failed = IntegerField(read_only=True)
    started_at = DateTimeField(read_only=True)
    finished_at = DateTimeField(read_only=True)

    def validate(self, values: dict[str, Any]) -> dict[str, object]:
        """Leave out nulls, which mean the default. Write the subject in one line."""
        values = {name: value for name, value in values.items() if value is not None}
        if self.instance is None and "post_id" not in values:
            raise FieldError("post_id", _("can't be blank"), "required")
        if "subject" in values:
            values["subject"] = single_line(values["subject"])
        return values

    @classmethod
    def represent_values(cls, values: Sequence[object], zone: ZoneInfo) -> dict[str, object]:
        data = super().represent_values(values, zone)
        # PostgreSQL does not keep the order of the keys.
        numbers = data["left_out"] and {reason.value: data["left_out"][reason] for reason in LeftOut}
        return {**data, "failure": data["failure"] or None, "left_out": numbers}


class SendingSerializer(ResourceSerializer):
    """The body of the request that sends a draft."""

    total = IntegerField(required=True, min_value=1)


class MessageFilters(ListFilters):
    # The list is not searched.
    q = None  # type: ignore[assignment]  # removes the filter of the base class
    post_id = link_filter()
    author_id = link_filter()
    state = WireFilter(ChoiceField(Message.State.values))


class RecipientFilters(ListFilters):
    # The list is neither searched nor read by time.
    q = updated_since = None  # type: ignore[assignment]  # removes the filters of the base class
    state = WireFilter(ChoiceField(MessageRecipient.State.values))


class MessageViewSet(TeamViewSet, Paged, ResourceViewSet):
    """Drafts of messages and messages. A draft can be changed, deleted and sent. The list begins with the newest."""

    areas = ("clients", "posts")
    model = Message
    serializer_class = MessageSerializer
    filterset_class = MessageFilters

    def get_queryset(self) -> MessageQuerySet:
        rows: MessageQuerySet = self.account.customer_messages.limited_to(self.access)
        return rows.order_by("-id")

    def perform_destroy(self, row: Message) -> None:
        row.erase()

    def send(self, request: APIRequest, id: int) -> HttpResponse:
        def act(row: Message) -> None:
            serializer = SendingSerializer(data=self.body.get(self.key))
            self.check(message=serializer)
            start_message(row, by=request.user, expected=serializer.values["total"])

        return self.act(act)

    def cancel(self, request: APIRequest, id: int) -> HttpResponse:
        def act(row: Message) -> None:
            self.check()
            row.cancel()

        return self.act(act)

    def test(self, request: APIRequest, id: int) -> HttpResponse:
        """Send the draft to the user alone."""
        self.check()
        row: Message = self.get_object()
        row.check_is_draft()
        request_test(request.user, find_post(row), subject=row.subject, text=row.text)
        return Response(self.represent(row))

    def recipients(self, request: APIRequest, id: int) -> HttpResponse:
        if not self.get_queryset().filter(id=id).exists():
            raise Http404
        rows = MessageRecipient.objects.for_message(self.account.id, id).order_by("email_key")
        found = self.paginate_queryset(self.filter_queryset(rows))
        names = names_of(self.account, found, request.user)

        def represent(row: MessageRecipient) -> dict[str, object]:
            is_accessible = not self.access.is_limited or (row.resource, row.row_id) in names
            return {
                "client_id": row.client_id,
                "contact_id": row.contact_id,
                **{name: getattr(row, name) if is_accessible else None for name in ("name", "email")},
                "state": row.state,
                "reason": row.reason or None,
                "sent_at": format_time(row.sent_at, self.account.zone),
            }

        return self.get_paginated_response(list(map(represent, found)))


# The OpenAPI document, as far as views and serializers do not tell it
POST_ID = WireFieldExtension.find_for(declared_fields(MessageSerializer)["post_id"]).request_schema()
POST_AND_TEXTS = {"properties": {"post_id": {**POST_ID, **FILLED_ID}}, "required": ["post_id", "subject", "text"]}

describe_field(LeftOutField, response=object_of({reason.value: COUNT for reason in LeftOut}))
SHAPES[MessageSerializer] = Shape(nullable=frozenset({"failure"}), rules=POST_AND_TEXTS)
BODIES["send_message"] = {"message": SendingSerializer}
QUERY_PARAMETERS["list_recipients_of_message"] = filter_parameters(RecipientFilters)
RECIPIENT = object_of(
    client_id=or_null(ID),
    contact_id=or_null(ID),
    name=or_null(NAME),
    email=or_null(NAME),
    state=one_of(MessageRecipient.State.values),
    reason={"type": ["string", "null"], "enum": [*filter(None, MessageRecipient.Reason.values), None]},
    sent_at=or_null(TIME),
)
RESPONSES["list_recipients_of_message"] = array_of(RECIPIENT)
