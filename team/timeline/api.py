"""The timelines of clients, contacts and deals in the Account API (JSON)."""

from typing import Any

from django.http import Http404, HttpResponse

from accounts.hosts.api import APIRequest
from core.api.lists import Paged
from core.api.serializers import format_time
from core.errors import FieldError
from core.openapi.fields import WHITE_SPACE
from core.openapi.operations import QUERY_PARAMETERS, RESPONSES
from core.openapi.values import ID, NAME, TIME, array_of, object_of, one_of, or_null
from core.rows.values import ValuesRow
from team.menu.api import TeamViewSet
from team.timeline.models import KINDS, MAX_TEXT_LENGTH, TimelineEntry, cut_text, timeline_of

UNKNOWN_KIND = "{kind} is not one of {kinds}"


class TimelineViewSet(TeamViewSet, Paged):
    """The timeline of one row, newest first."""

    # The resource of the route: "client", "contact" or "deal".
    resource = ""

    def entries(self, request: APIRequest, id: int) -> HttpResponse:
        kinds, errors = self.read_kinds()
        self.read_page("kind", errors=errors)
        rows: Any = getattr(self.account, f"{self.resource}s")
        if not rows.live().accessible_to(request.user).filter(id=id).exists():
            raise Http404
        entries = timeline_of(self.account, self.resource, id, access=self.access, page=self.page, kinds=kinds)
        return self.get_paginated_response([self.represent_entry(entry) for entry in self.take_page(entries)])

    def read_kinds(self) -> tuple[list[str], dict[str, FieldError]]:
        """Return the kinds in the parameter `kind`, separated by commas, and the error of the parameter. No kind means all."""
        kinds = [kind.strip() for kind in self.parameters.get("kind", "").split(",") if kind.strip()]
        unknown = [kind for kind in kinds if kind not in KINDS]
        if not unknown:
            return kinds, {}
        values = {"kind": unknown[0][:MAX_TEXT_LENGTH], "kinds": ", ".join(KINDS)}
        return [], {"kind": FieldError("kind", UNKNOWN_KIND, "choice", values)}

    def represent_entry(self, entry: TimelineEntry) -> dict[str, object]:
        subject = dict(entry.subject)
        title, post_id = subject.pop("title"), subject.pop("post_id", None)
        if "text" in subject:
            subject["text"] = cut_text(subject["text"])
        return {
            "kind": entry.kind,
            "at": format_time(entry.at, self.account.zone),
            **{name: getattr(entry, name) for name in ("user_id", "client_id", "contact_id", "deal_id")},
            "resource": "post" if post_id else entry.resource,
            "resource_id": post_id or entry.resource_id,
            "title": title,
            "data": {**subject, **entry.data, **changes_in(entry.data)},
        }


def changes_in(data: ValuesRow) -> dict[str, object]:
    """Return the changes in the data of an entry with their keys in order. PostgreSQL sorts the keys of JSON objects."""
    changes = data.get("changes")
    names = ("field", "before", "after")
    return {} if changes is None else {"changes": [{name: change[name] for name in names} for change in changes]}


# The OpenAPI document, as far as views and serializers do not tell it
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
    **dict.fromkeys(("user_id", "client_id", "contact_id", "deal_id"), or_null(ID)),
    resource=one_of(["client", "contact", "deal", "note", "post"]),
    resource_id=ID,
    title=NAME,
    data={"type": "object"},
)
for key in ("client", "contact", "deal"):
    QUERY_PARAMETERS[f"list_{key}_timeline"] = {"kind": KIND}
    RESPONSES[f"list_{key}_timeline"] = array_of(ENTRY)
