"""The search over everything in the OpenAPI document."""

from core.openapi.fields import NOT_BLANK
from core.openapi.operations import register_operation
from core.openapi.values import object_of
from core.search.queries import MAX_QUERY_LENGTH
from workspace.find import GROUPS, MAX_FOUND

FOUND = object_of(
    {
        "id": {"type": "integer"},
        "name": {"type": "string"},
        "detail": {"type": ["string", "null"]},
        "url": {"type": "string", "format": "uri"},
    }
)
EXAMPLE_CLIENT = {
    "id": 24,
    "name": "Northwind",
    "detail": "office@northwind.example",
    "url": "https://forum.example.com/app/clients/24",
}
register_operation(
    "GET /app/find.json",
    "search_everything",
    "Search for everything",
    f"Finds at most {MAX_FOUND} rows of each kind whose texts have the words of `q`, the best matches first. Mistyped words are found too.",
    "Search",
    parameters={"q": "northwind"},
    response_example={group.name: [EXAMPLE_CLIENT] if group.name == "clients" else [] for group in GROUPS},
    query_parameters=lambda: {"q": {"type": "string", "minLength": 1, "maxLength": MAX_QUERY_LENGTH, **NOT_BLANK}},
    required_parameters=frozenset({"q"}),
    response=object_of({group.name: {"type": "array", "items": FOUND, "maxItems": MAX_FOUND} for group in GROUPS}),
    error_statuses=frozenset({422}),
)
