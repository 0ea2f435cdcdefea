"""The schemas of messages to customers in the OpenAPI document, as far as views and serializers do not tell them."""

from core.api.serializers import declared_fields
from core.openapi.fields import FILLED_ID, WireFieldExtension, describe_field
from core.openapi.operations import BODIES, QUERY_PARAMETERS, RESPONSES, SHAPES, Shape
from core.openapi.schema import filter_parameters
from core.openapi.values import COUNT, ID, NAME, TIME, array_of, object_of, one_of, or_null
from team.mailings.api import LeftOutField, MessageSerializer, RecipientFilters, SendingSerializer
from team.mailings.audience import LeftOut
from team.mailings.models import MessageRecipient

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
