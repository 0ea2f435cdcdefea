"""The base of the pages about the records of one list."""

from django.http import HttpResponse

from team.lists.declarations import RecordList
from team.menu.pages import TeamPage


class RecordsPage(TeamPage):
    """A page about the records of one list, with their entry in the main menu."""

    declaration: RecordList

    def render(self, template: str | None = None, *, http_status: int = 200, **context: object) -> HttpResponse:
        context = {"section": self.declaration.collection, "declaration": self.declaration} | context
        return super().render(template, http_status=http_status, **context)
