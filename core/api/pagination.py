"""The paginator of the lists of the Account API."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from django.db.models import Model, QuerySet
from rest_framework.pagination import BasePagination
from rest_framework.request import Request
from rest_framework.response import Response

from core.api.paging import ListPage

if TYPE_CHECKING:
    from core.api.views import JSONViewSet

T = TypeVar("T")

# The maximum number of rows of a page.
MAX_PAGE_SIZE = 1000


class LinkPagination(BasePagination):
    """Pages numbered from 1, with a Link header to the neighbouring pages. The rows are not counted."""

    max_page_size = MAX_PAGE_SIZE
    page = ListPage.read({})

    def read_page(self, parameters: Mapping[str, str]) -> None:
        """Read the page of the parameters `page` and `per_page`. Raise FieldErrors."""
        # A blank parameter means the default.
        values = {name: text for name in ("page", "per_page") if (text := parameters.get(name, "").strip())}
        self.page = ListPage.read(values, max_size=self.max_page_size)

    def paginate_queryset(
        self, queryset: QuerySet[Model, T] | Sequence[T], request: Request, view: Any = None
    ) -> list[T]:
        """Return the rows of the page that `read_page` has read. The default is the first page."""
        return self.take_page(queryset[self.page.start : self.page.stop], view)

    def take_page(self, rows: Iterable[T], view: "JSONViewSet") -> list[T]:
        """Return the rows of the page. `rows` begin with the page. If another page follows, they have one more row than the page."""
        rows = list(rows)
        self.view, self.has_next = view, len(rows) > self.page.size
        return rows[: self.page.size]

    def get_paginated_response(self, data: object) -> Response:
        """Return the response with links, which repeat all parameters that the view knows, including those from the body."""
        view = self.view
        parameters = [
            (name, values[-1]) for name, values in view.parameters.lists() if name not in view.ignored_parameters
        ]
        link = self.page.link(view.base_url + view.request.path, parameters, more=self.has_next)
        return Response(data, headers={"Link": link})
