"""The operations of the Account API on notifications."""

from core.openapi.operations import JSONSchema, register_list, register_operation
from core.openapi.values import NAME, TIME, object_of, or_null
from forum.activities import Reason
from forum.models import Activity

OK: JSONSchema = {"type": "string", "const": "ok"}
ID_OR_NULL: JSONSchema = {"type": ["integer", "null"]}
NOTIFICATION = object_of(
    id={"type": "integer"},
    kind={"type": "string", "enum": Activity.Kind.values},
    reason={"type": "string", "enum": [reason.name.lower() for reason in Reason]},
    post_id=ID_OR_NULL,
    comment_id=ID_OR_NULL,
    note_id=ID_OR_NULL,
    user_id={"type": "integer"},
    title=NAME,
    text=NAME,
    excerpt=NAME,
    read_at=or_null(TIME),
    created_at=TIME,
)
EXAMPLE = {
    "id": 41,
    "kind": "comment",
    "reason": "author",
    "post_id": 20,
    "comment_id": 31,
    "note_id": None,
    "user_id": 15,
    "title": "Reply by e-mail",
    "text": "Ann Kowalska commented",
    "excerpt": "It is on the list for spring.",
    "read_at": None,
    "created_at": "2026-11-21T12:00:00+01:00",
}

register_list(
    "/app/notifications.json",
    "list_notifications",
    "List notifications",
    "Notifications",
    [EXAMPLE],
    description="The notifications of the user of the token, newest first. Those of the last 90 days are kept.",
    query_parameters=lambda: {"unread": {"type": "boolean"}},
    response={"type": "array", "items": NOTIFICATION},
    unread=True,
)
register_operation(
    "POST /app/notifications/{id}/read.json",
    "read_notification",
    "Mark a notification as read",
    "The response is the notification. A notification that was read before stays as it is.",
    "Notifications",
    response_example={**EXAMPLE, "read_at": "2026-11-21T13:00:00+01:00"},
    body_serializers={},
    response=NOTIFICATION,
)
register_operation(
    "POST /app/notifications/read.json",
    "read_all_notifications",
    "Mark all notifications as read",
    "Marks all notifications of the user of the token as read.",
    "Notifications",
    response_example="ok",
    body_serializers={},
)
register_operation(
    "POST /app/posts/{id}/follow.json",
    "follow",
    "Follow a post",
    "The user of the token is notified of what becomes of the post.",
    "Notifications",
    response_example="ok",
    parameters={"id": 20},
    body_serializers={},
)
register_operation(
    "DELETE /app/posts/{id}/follow.json",
    "unfollow",
    "Unfollow a post",
    "The user of the token is no longer notified of the post, even if they wrote it, voted for it or commented on it.",
    "Notifications",
    response_example="ok",
    parameters={"id": 20},
)
