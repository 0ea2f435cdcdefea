"""The search over everything in the Account API (JSON)."""

from django.http import HttpResponse
from rest_framework.response import Response

from accounts.hosts.api import APIRequest
from core.api.fields import MISSING
from core.db.text import is_xml_text
from core.errors import FieldError, FieldErrors
from core.search.queries import MAX_QUERY_LENGTH
from team.menu.api import TeamViewSet
from team.search.queries import find


class FindViewSet(TeamViewSet):
    def retrieve(self, request: APIRequest) -> HttpResponse:
        """Return the best matches of a text in each group of rows."""
        if errors := self.ignore_parameters(["q"]):
            raise FieldErrors(errors.values())
        q = str(self.parameters.get("q", "")).strip()
        if not q:
            raise FieldError("q", MISSING, "required")
        if len(q) > MAX_QUERY_LENGTH:
            raise FieldError(
                "q", "is too long (maximum is {maximum} characters)", "too_long", {"maximum": MAX_QUERY_LENGTH}
            )
        if not is_xml_text(q):
            raise FieldError("q", "has characters that can't be stored")
        groups = find(self.account, self.request.user, q)
        data = {
            group.name: [
                {"id": row.id, "name": row.name, "detail": row.detail, "url": self.base_url + row.path} for row in rows
            ]
            for group, rows in groups
        }
        return Response(data)
