"""Messages to customers in the OpenAPI document."""

from core.openapi.fields import NOT_BLANK, WireFieldExtension
from core.openapi.operations import (
    SHAPES,
    JSONSchema,
    Shape,
    example_of,
    register_list,
    register_operation,
    register_resource,
)
from core.openapi.schema import filter_parameters
from core.openapi.values import COUNT, NAME, TIME, object_of, or_null
from workspace.api.messages import LeftOutField, MessageSerializer, RecipientFilters, SendingSerializer
from workspace.audience import LeftOut
from workspace.messages import Message, MessageRecipient

MESSAGES = "Messages to customers"


class LeftOutExtension(WireFieldExtension):
    target_class = LeftOutField

    def response_schema(self) -> JSONSchema:
        return object_of({reason.value: COUNT for reason in LeftOut})


def require_post(schema: JSONSchema, partial: bool) -> JSONSchema:
    if partial:
        return schema
    post_id = {**schema["properties"]["post_id"], "type": ["integer", "string"], **NOT_BLANK}
    properties = {**schema["properties"], "post_id": post_id}
    return {**schema, "properties": properties, "required": ["post_id", *schema["required"]]}


SHAPES[MessageSerializer] = Shape(Message, nullable=frozenset({"failure"}), refine_input=require_post)

DRAFT = example_of(
    MessageSerializer,
    id=47,
    post_id=30,
    subject="Shelves are back",
    text="Hello {name}, the shelves that you asked for are back.",
    among="all",
    include_not_asked=False,
    state="draft",
    author_id=15,
    total=12,
    left_out={"no_email": 1, "do_not_contact": 0, "refused": 1, "not_asked": 3, "same_address": 0},
    sent=0,
    skipped=0,
    failed=0,
    created_at="2026-11-21T12:00:00+01:00",
    updated_at="2026-11-21T12:00:00+01:00",
)
STARTED = {**DRAFT, "state": "sending", "started_at": "2026-11-21T12:05:00+01:00"}
SENT = {**STARTED, "state": "sent", "sent": 12, "finished_at": "2026-11-21T12:06:00+01:00"}


register_list(
    "/app/messages.json",
    "list_messages",
    "List messages",
    MESSAGES,
    [SENT],
    description="The messages and drafts that match the filters, the newest first. Agents with limited access see their own.",
    post_id=30,
)
register_resource(
    "/app/messages",
    "message",
    MESSAGES,
    id=47,
    response_example=DRAFT,
    create={"post_id": 30, "subject": DRAFT["subject"], "text": DRAFT["text"]},
    update={"subject": "The shelves are back"},
    creation="Creates a draft and counts its recipients: the clients and contacts behind the suggestion that may be contacted. `left_out` has the "
    "numbers of the others, by reason. Nothing is sent.",
    deletion="Deletes a draft. A message that was sent can't be deleted.",
    update_error_statuses=frozenset({409}),
    delete_error_statuses=frozenset({409}),
)
for action, summary, description, example in (
    (
        "send",
        "Send a message",
        (
            "Sends a draft in the background, once to each e-mail address. `total` is the number of recipients that the draft has named. If there "
            "are more or fewer now, the response is 409 and nothing is sent."
        ),
        STARTED,
    ),
    ("test", "Test a message", "Sends a draft to the user of the token, and to nobody else.", DRAFT),
    (
        "cancel",
        "Cancel a message",
        "Sends no further e-mails. Those that are sent already can't be called back.",
        {**STARTED, "state": "cancelled", "finished_at": "2026-11-21T12:06:00+01:00"},
    ),
):
    register_operation(
        f"POST /app/messages/{{id}}/{action}.json",
        f"{action}_message",
        summary,
        description,
        MESSAGES,
        body={"message": {"total": 12}} if action == "send" else None,
        response_example=example,
        body_serializers={"message": SendingSerializer} if action == "send" else {},
        error_statuses=frozenset({409}),
    )

RECIPIENT = object_of(
    client_id={"type": ["integer", "null"]},
    contact_id={"type": ["integer", "null"]},
    name=or_null(NAME),
    email=or_null(NAME),
    state={"type": "string", "enum": MessageRecipient.State.values},
    reason={"type": ["string", "null"], "enum": [*filter(None, MessageRecipient.Reason.values), None]},
    sent_at=or_null(TIME),
)
register_operation(
    "GET /app/messages/{id}/recipients.json",
    "list_recipients_of_message",
    "List the recipients of a message",
    "The clients and contacts that a message is sent to, by e-mail address, and why an e-mail was skipped or failed. A draft has none yet.",
    MESSAGES,
    response_example=[
        {
            "client_id": 26,
            "contact_id": None,
            "name": "Ann Kowalska",
            "email": "ann@example.com",
            "state": "sent",
            "reason": None,
            "sent_at": "2026-11-21T12:05:10+01:00",
        }
    ],
    parameters={"id": 47},
    query_parameters=lambda: filter_parameters(RecipientFilters),
    response={"type": "array", "items": RECIPIENT},
)
