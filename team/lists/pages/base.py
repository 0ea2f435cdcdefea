"""The base of the pages about the records of one list."""

from typing import Any

from django.http import HttpResponse

from team.list_queries.declarations import RecordList
from team.menu.pages import TeamPage


class RecordsPage(TeamPage):
    """A page about the records of one list, with their entry in the main menu."""

    declaration: RecordList = None  # type: ignore[assignment]  # set by each class or route

    def accessible_records(self) -> Any:
        """Return the queryset of the records that the user may access, including those in the trash."""
        return getattr(self.request.account, self.declaration.collection).accessible_to(self.request.user)

    def render(self, template: str | None = None, *, http_status: int = 200, **context: object) -> HttpResponse:
        context = {"section": self.declaration.collection, "declaration": self.declaration} | context
        return super().render(template, http_status=http_status, **context)
