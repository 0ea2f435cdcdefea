"""The duplicates of clients and contacts in the Account API (JSON)."""

from django.http import HttpResponse
from rest_framework.response import Response

from accounts.hosts.api import APIRequest
from core.errors import FieldError, FieldErrors
from core.openapi.operations import QUERY_PARAMETERS, RESPONSES
from core.openapi.values import ID, NAME, array_of, object_of, one_of, or_null
from team.duplicates.keys import KeyKind
from team.duplicates.models import MAX_ROWS, PAGE_SIZE, find_groups, key_text, read_key
from team.menu.api import TeamViewSet


class DuplicatesViewSet(TeamViewSet):
    areas = ("clients",)
    # The resource of the route: "client" or "contact".
    resource = ""

    def retrieve(self, request: APIRequest) -> HttpResponse:
        """Return a page of groups. `next` is the value of `after` for the next page."""
        errors = self.ignore_parameters(["after"])
        text = str(self.parameters.get("after", "")).strip()
        after = read_key(text)
        if text and after is None:
            errors["after"] = FieldError("after", "is not the `next` of a page", "format")
        if errors:
            raise FieldErrors(errors.values())
        groups, following = find_groups(self.account, request.user, self.resource, after=after)
        names = ("id", "name", "email", "phone")
        return Response(
            {
                "groups": [
                    {
                        "reasons": group.reasons,
                        f"{self.resource}s": [{name: getattr(row, name) for name in names} for row in group.rows],
                    }
                    for group in groups
                ],
                "next": following and key_text(following),
            }
        )


# The OpenAPI document, as far as views and serializers do not tell it
ROW = object_of(id=ID, name=NAME, email=or_null(NAME), phone=or_null(NAME))
AFTER = {"type": "string", "pattern": f"^({'|'.join(KeyKind.values)}):-?[0-9]{{1,19}}$"}
for key in ("client", "contact"):
    QUERY_PARAMETERS[f"read_{key}_duplicates"] = {"after": AFTER}
    rows = array_of(ROW, minItems=2, maxItems=MAX_ROWS)
    group = object_of({"reasons": array_of(one_of(KeyKind.values)), f"{key}s": rows})
    RESPONSES[f"read_{key}_duplicates"] = object_of(groups=array_of(group, maxItems=PAGE_SIZE), next=or_null(NAME))
