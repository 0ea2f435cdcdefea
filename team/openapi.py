"""The schemas of the team's work in the OpenAPI document, as far as views and serializers do not tell them."""

from core.api.fields import MAX_INTEGER
from core.api.serializers import declared_fields
from core.openapi.fields import NOT_BLANK, WHITE_SPACE, WireFieldExtension, describe_field
from core.openapi.operations import BODIES, LIMITS, QUERY_PARAMETERS, RESPONSES, SHAPES, Shape, entries
from core.openapi.schema import filter_parameters
from core.openapi.values import (
    BOOLEAN,
    COUNT,
    DATE,
    ID,
    ID_PARAMETER,
    NAME,
    NUMBER,
    ROW_ID,
    TIME,
    JSONSchema,
    array_of,
    object_of,
    one_of,
    or_null,
    required_fields,
)
from core.search.queries import MAX_QUERY_LENGTH
from team.backers.api import ORDERS
from team.board.api import MoveSerializer
from team.bulk import api as bulk_changes
from team.bulk.actions import Result
from team.bulk.models import MAX_LEFT_ALONE, MAX_ROWS, BulkChange
from team.lists.api import SavedViewSerializer
from team.lists.saved_views import MAX_SHARED_VIEWS, MAX_VIEWS_OF_USER, SavedView
from team.mailings.api import LeftOutField, MessageSerializer, RecipientFilters, SendingSerializer
from team.mailings.audience import LeftOut
from team.mailings.models import MessageRecipient
from team.merges import api as merges
from team.merges.comparison import Choice
from team.reports.periods import DEFAULT_MONTHS, MAX_MONTHS
from team.reports.queries import MAX_SUGGESTIONS, REPORTS, Report
from team.reports.tables import TIMES, Kind
from team.search.search import GROUPS, MAX_FOUND
from team.timeline.models import KINDS

LIMITS |= {"MAX_ROWS": MAX_ROWS, "MAX_LEFT_ALONE": MAX_LEFT_ALONE, "MAX_FOUND": MAX_FOUND}
LIMITS |= {"MAX_VIEWS_OF_USER": MAX_VIEWS_OF_USER, "MAX_SHARED_VIEWS": MAX_SHARED_VIEWS}

# An id in a query, or 0 for none.
ID_OR_ZERO = {**ID_PARAMETER, "minimum": 0}
FILLED_ID = {"type": ["integer", "string"], **NOT_BLANK}

# Clients behind a suggestion

REVENUE = array_of(object_of(currency=NAME, open_deals=COUNT, open_sum=NUMBER, won_deals=COUNT, won_sum=NUMBER))
RESPONSES["list_clients_of_post"] = array_of(object_of(client_id=ID, name=NAME, revenue=REVENUE))
RESPONSES["get_revenue_of_post"] = object_of(clients=COUNT, revenue=REVENUE)

QUERY_PARAMETERS["list_posts_by_revenue"] = {
    "order": {**one_of(ORDERS), "default": next(iter(ORDERS))},
    "forum_id": ID_OR_ZERO,
    "segment": {**ID_OR_ZERO, "description": "The id of a saved view of clients."},
    "min_revenue": {
        "type": "number",
        "exclusiveMaximum": 10**14,
        "exclusiveMinimum": -(10**14),
        "description": "The smallest sum of open and won deals in the currency of the account.",
    },
    "min_clients": {"type": "integer", "minimum": 0, "maximum": 10**9 - 1},
}
RESPONSES["list_posts_by_revenue"] = array_of(
    object_of(id=ID, forum_id=ID, title=NAME, status=NAME, votes=COUNT, clients=COUNT, revenue=REVENUE)
)

# Summaries and timelines

SUMMARY = {"last_activity_at": TIME, "next_task_at": or_null(TIME)}
RESPONSES["read_client_summary"] = object_of(SUMMARY, revenue=REVENUE)
RESPONSES["read_contact_summary"] = RESPONSES["read_deal_summary"] = object_of(SUMMARY)

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

# The deal board

TOTAL = object_of(currency=NAME, count=COUNT, sum=NUMBER, weighted_sum=NUMBER)
CARD = object_of(
    id=ROW_ID,
    name=NAME,
    client_id=or_null(ROW_ID),
    client_name=or_null(NAME),
    price=or_null(NUMBER),
    currency=NAME,
    responsible_id=or_null(ROW_ID),
    expected_close_date=or_null(DATE),
    stage_entered_at=or_null(TIME),
    overdue=BOOLEAN,
    rotting=BOOLEAN,
)
COLUMN = object_of(
    status_id=or_null(ROW_ID),
    count=or_null(COUNT),
    totals=or_null(array_of(TOTAL)),
    deals=array_of(CARD),
    next=or_null(NAME),
)
QUERY_PARAMETERS["read_board"] = {
    "pipeline_id": {**ID_PARAMETER, "description": "The default is the first pipeline."},
    "mine": {"type": "boolean", "description": "Only deals that the user is responsible for."},
    "q": {"type": "string", "maxLength": MAX_QUERY_LENGTH, "description": "A search."},
    "column": {**ID_OR_ZERO, "description": "The id of a status, or 0 for none: only this column."},
    "after": {
        "type": "string",
        "pattern": "^-?[0-9]{1,18}_[0-9]{1,18}$",
        "description": "The `next` of the column: the deals after those.",
    },
}
RESPONSES["read_board"] = object_of(pipeline_id=ROW_ID, columns=array_of(COLUMN))


# At most one of the two names of a place. A field that is null or blank counts as missing.
PLACES = {"after_id": FILLED_ID, "position": FILLED_ID}
SHAPES[MoveSerializer] = Shape(rules={"not": {"required": list(PLACES), "properties": PLACES}})
BODIES["move_deal"] = {"move": MoveSerializer}

# Lists, bulk changes and merges

SHAPES[SavedViewSerializer] = Shape(SavedView, computed=frozenset({"position"}))
QUERY_PARAMETERS["list_views"] = {"resource": one_of(SavedView.Target.values)}

IDS = array_of({"type": "integer", "minimum": 1, "maximum": MAX_INTEGER}, minItems=1, maxItems=bulk_changes.MAX_IDS)
LEFT_ALONE = object_of(id=ID, name=or_null(NAME), result=one_of(Result.LABELS))
describe_field(bulk_changes.SelectedIdsField, request=IDS)
describe_field(bulk_changes.LeftAloneField, response=array_of(LEFT_ALONE, maxItems=MAX_LEFT_ALONE))


# Exactly one of the two fields. A field that is null counts as missing.
IDS_OR_QUERY = [
    {**alternative, "not": {"required": [other]}}
    for alternative, other in zip(
        required_fields(("ids", "query"), {"not": {"type": "null"}}), ("query", "ids"), strict=True
    )
]
SHAPES[bulk_changes.BulkChangeSerializer] = Shape(
    BulkChange,
    nullable=frozenset({"query", "failure", "responsible_id", "status_id", "contact_list_id"}),
    rules={"oneOf": IDS_OR_QUERY},
)

CHANGES = {"type": "object", "additionalProperties": object_of(before={}, after={})}
describe_field(merges.ChoicesField, request={"type": "object", "additionalProperties": one_of(Choice)})
describe_field(merges.ChangesField, response=CHANGES)
describe_field(merges.PairsField, response=array_of(array_of(NAME, minItems=2, maxItems=2)))
describe_field(merges.FieldNamesField, response=array_of(NAME))
for key, serializer in merges.BODIES.items():
    BODIES[f"merge_{key}s"] = {"merge": serializer}

# Messages to customers

POST_ID = WireFieldExtension.of(declared_fields(MessageSerializer)["post_id"]).request_schema()
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

# Search and calendar

FOUND = object_of(id=ID, name=NAME, detail=or_null(NAME), url={"type": "string", "format": "uri"})
QUERY_PARAMETERS["search_everything"] = {
    "q": {"type": "string", "minLength": 1, "maxLength": MAX_QUERY_LENGTH, **NOT_BLANK}
}
RESPONSES["search_everything"] = object_of({group.name: array_of(FOUND, maxItems=MAX_FOUND) for group in GROUPS})

RESPONSES["read_calendar_feed"] = object_of(created_at=or_null(TIME))
# The address is null if a repeated request has the same Idempotency-Key.
RESPONSES["create_calendar_feed"] = object_of(url={"type": ["string", "null"], "format": "uri"}, created_at=TIME)

# Reports

MONTH: JSONSchema = {"type": "string", "pattern": "^2[01][0-9]{2}-(0[1-9]|1[0-2])$"}
DURATION = {"type": ["number", "null"], "minimum": 0}
# The schema and an example of a column of each kind.
COLUMNS = {
    Kind.TEXT: (or_null(NAME), "EUR"),
    Kind.MONTH: ({"anyOf": [MONTH, one_of(TIMES)]}, "2026-11"),
    Kind.COUNT: (COUNT, 2),
    Kind.MONEY: (NUMBER, 149.9),
    Kind.SHARE: ({**DURATION, "maximum": 1}, 0.25),
    Kind.DAYS: (DURATION, 3.5),
    Kind.HOURS: (DURATION, 3.5),
}


def description_of(report: Report) -> str:
    amounts = any(column.kind == Kind.MONEY for column in report.columns)
    currencies = " Each currency has rows of its own." if amounts else ""
    if not report.has_period:
        return f"{report.description} There are at most {MAX_SUGGESTIONS} for each currency.{currencies}"
    months = f"the next {DEFAULT_MONTHS} months" if report.ahead else f"the last {DEFAULT_MONTHS} months"
    return f"{report.description} The period is {months} by default, and at most {MAX_MONTHS} months.{currencies}"


# The declarations of the reports have their texts, so no file describes these operations.
for report in REPORTS.values():
    key = f"get_{report.name}_report"
    schemas = {column.name: COLUMNS[column.kind][0] for column in report.columns}
    example = {column.name: COLUMNS[column.kind][1] for column in report.columns}
    if report.has_ids:
        schemas["id"], example["id"] = or_null(ID), 16
    period, months = (
        ({"from": MONTH, "to": MONTH}, {"from": "2026-11", "to": "2026-11"}) if report.has_period else ({}, {})
    )
    entries()[f"GET /app/reports/{report.name}.json"] = {
        "id": key,
        "summary": f"Read the report “{report.label}”",
        "description": description_of(report),
        "tag": "Reports",
        "response": {"report": report.name, **months, "rows": [example]},
    }
    QUERY_PARAMETERS[key] = {name: MONTH if name in ("from", "to") else ID_OR_ZERO for name in report.parameters}
    RESPONSES[key] = object_of(
        {"report": {"type": "string", "const": report.name}, **period, "rows": array_of(object_of(schemas))}
    )
