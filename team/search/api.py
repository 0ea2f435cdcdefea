"""The search over everything in the Account API (JSON)."""

from django.http import HttpResponse
from rest_framework.response import Response

from accounts.hosts.api import APIRequest
from core.api.fields import MISSING
from core.db.text import is_xml_text
from core.errors import FieldError, FieldErrors
from core.openapi.fields import NOT_BLANK
from core.openapi.operations import LIMITS, QUERY_PARAMETERS, RESPONSES
from core.openapi.values import ID, NAME, array_of, object_of, or_null
from core.search.queries import MAX_QUERY_LENGTH
from team.menu.api import TeamViewSet
from team.search.queries import GROUPS, MAX_FOUND, FoundRow, find


class FindViewSet(TeamViewSet):
    def retrieve(self, request: APIRequest) -> HttpResponse:
        """Return the best matches of a text in each group of rows."""
        if errors := self.ignore_parameters(["q"]):
            raise FieldErrors(errors.values())
        q = str(self.parameters.get("q", "")).strip()
        if not q:
            raise FieldError("q", MISSING, "required")
        if len(q) > MAX_QUERY_LENGTH:
            values = {"maximum": MAX_QUERY_LENGTH}
            raise FieldError("q", "is too long (maximum is {maximum} characters)", "too_long", values)
        if not is_xml_text(q):
            raise FieldError("q", "has characters that can't be stored")

        def represent(row: FoundRow) -> dict[str, object]:
            return {"id": row.id, "name": row.name, "detail": row.detail, "url": self.base_url + row.path}

        groups = find(self.account, self.request.user, q)
        return Response({group.name: list(map(represent, rows)) for group, rows in groups})


# The OpenAPI document, as far as views and serializers do not tell it
LIMITS["MAX_FOUND"] = MAX_FOUND

FOUND = object_of(id=ID, name=NAME, detail=or_null(NAME), url={"type": "string", "format": "uri"})
Q = {"type": "string", "minLength": 1, "maxLength": MAX_QUERY_LENGTH, **NOT_BLANK}
QUERY_PARAMETERS["search_everything"] = {"q": Q}
RESPONSES["search_everything"] = object_of({group.name: array_of(FOUND, maxItems=MAX_FOUND) for group in GROUPS})
