"""The address of the user's calendar of tasks in the OpenAPI document."""

from core.openapi.operations import register_operation
from core.openapi.values import TIME, object_of, or_null

TASKS = "Tasks"
CREATED_AT = "2026-11-21T12:00:00+01:00"
URL = "https://forum.example.com/app/tasks.ics?token=x7KqP2mZr9"

register_operation(
    "GET /app/calendar_feed.json",
    "read_calendar_feed",
    "Read the time of the calendar's address",
    "The time at which the user created the address of their calendar, or null if there is none. The address itself is not stored.",
    TASKS,
    response_example={"created_at": CREATED_AT},
    response=object_of(created_at=or_null(TIME)),
)
register_operation(
    "POST /app/calendar_feed.json",
    "create_calendar_feed",
    "Create an address for the calendar",
    "Creates the private address at which calendar programs read the open tasks of the user (iCalendar). Only this response has it. An "
    "earlier address no longer works.",
    TASKS,
    response_example={"url": URL, "created_at": CREATED_AT},
    body_serializers={},
    # The address is null if a repeated request has the same Idempotency-Key.
    response=object_of(url={"type": ["string", "null"], "format": "uri"}, created_at=TIME),
)
register_operation(
    "DELETE /app/calendar_feed.json",
    "delete_calendar_feed",
    "Delete the calendar's address",
    "The address no longer works.",
    TASKS,
    response_example="ok",
)
