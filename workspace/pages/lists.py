"""The lists of clients, contacts, deals and tasks."""

from typing import Any

from django.db.models import QuerySet
from django.http import HttpResponse

from core.api.paging import Page as ListPage
from core.db.text import replace_non_xml
from core.search.queries import MAX_QUERY_LENGTH, MAX_RESULTS, search, search_transaction
from crm.models import Client
from workspace.pages.base import WorkspacePage
from workspace.requests import TeamRequest


class ClientsPage(WorkspacePage):
    """The list of clients, newest first. A search is ordered by rank."""

    template_name = "workspace/clients.html"
    section = "clients"
    COLUMNS = ("id", "name", "email", "phone", "city", "updated_at")

    def get(self, request: TeamRequest) -> HttpResponse:
        page = self.read_page()
        q = replace_non_xml(request.GET.get("q", "")).strip()[:MAX_QUERY_LENGTH]
        rows = self.find(q, page)
        return self.render(rows=rows[: page.size], page=page, more=len(rows) > page.size, q=q)

    def rows(self) -> QuerySet[Client]:
        return self.request.account.clients.live().accessible_to(self.request.user)

    def find(self, q: str, page: ListPage) -> list[dict[str, Any]]:
        """Return the rows of the page, and one more if another page follows."""
        rows = self.rows()
        if not q:
            return list(rows.order_by("-id").values(*self.COLUMNS)[page.start : page.stop])
        if page.start >= MAX_RESULTS:
            return []
        with search_transaction(self.request.account.id, q) as query:
            ids = search(rows, query, enough=page.stop)[page.start : page.stop]
        found = {row["id"]: row for row in rows.filter(id__in=ids).values(*self.COLUMNS)}
        return [found[id] for id in ids if id in found]
