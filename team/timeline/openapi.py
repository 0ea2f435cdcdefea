"""The schemas of timelines in the OpenAPI document, as far as views and serializers do not tell them."""

from core.openapi.fields import WHITE_SPACE
from core.openapi.operations import QUERY_PARAMETERS, RESPONSES
from core.openapi.values import ID, NAME, TIME, array_of, object_of, one_of, or_null
from team.timeline.models import KINDS

KIND_PATTERN = f"[{WHITE_SPACE}]*({'|'.join(KINDS)})?[{WHITE_SPACE}]*"
KIND = {
    "type": "string",
    "pattern": f"^{KIND_PATTERN}(,{KIND_PATTERN})*$",
    "description": f"Only entries of these kinds, separated by commas: {', '.join(f'`{kind}`' for kind in KINDS)}.",
    "example": "note,call",
}
ENTRY = object_of(
    kind=one_of(KINDS),
    at=TIME,
    user_id=or_null(ID),
    client_id=or_null(ID),
    contact_id=or_null(ID),
    deal_id=or_null(ID),
    resource=one_of(["client", "contact", "deal", "note", "post"]),
    resource_id=ID,
    title=NAME,
    data={"type": "object"},
)
for key in ("client", "contact", "deal"):
    QUERY_PARAMETERS[f"list_{key}_timeline"] = {"kind": KIND}
    RESPONSES[f"list_{key}_timeline"] = array_of(ENTRY)
