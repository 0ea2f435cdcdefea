"""The schemas of notifications in the OpenAPI document, as far as views and serializers do not tell them."""

from core.openapi.operations import RESPONSES
from core.openapi.values import ID, NAME, TIME, array_of, object_of, one_of, or_null
from forum.activities.models import Activity
from forum.notifications.models import NotificationReason

NOTIFICATION = object_of(
    id=ID,
    kind=one_of(Activity.Kind.values),
    reason=one_of(reason.name.lower() for reason in NotificationReason),
    post_id=or_null(ID),
    comment_id=or_null(ID),
    note_id=or_null(ID),
    user_id=ID,
    title=NAME,
    text=NAME,
    excerpt=NAME,
    read_at=or_null(TIME),
    created_at=TIME,
)
RESPONSES["list_notifications"] = array_of(NOTIFICATION)
RESPONSES["read_notification"] = NOTIFICATION
