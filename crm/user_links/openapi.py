"""The schemas of links of users in the OpenAPI document, as far as views and serializers do not tell them."""

from core.openapi.fields import NOT_BLANK
from core.openapi.operations import SHAPES, Shape
from core.openapi.values import required_fields
from crm.user_links.api import UserLinkSerializer

# A user, and either a client or a contact.
TARGETS = required_fields(("client_id", "contact_id"), {"type": ["integer", "string"], **NOT_BLANK}, "user_id")
SHAPES[UserLinkSerializer] = Shape(rules={"oneOf": TARGETS})
