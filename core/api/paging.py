"""Pages of a list, numbered from 1, and the paginator of the lists of the Account API. The rows of the list are not counted."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlencode

from django.db.models import Model, QuerySet
from rest_framework.pagination import BasePagination
from rest_framework.request import Request
from rest_framework.response import Response

from core.errors import FieldError, FieldErrors

if TYPE_CHECKING:
    from core.api.views import JSONViewSet

T = TypeVar("T")

DEFAULT_PAGE_SIZE = 25
DEFAULT_MAX_PAGE_SIZE = 100
# PostgreSQL accepts OFFSET up to 2**63 - 1. No list is as long as this.
MAX_OFFSET = 2**62
# The maximum number of rows of a page in the Account API.
MAX_PAGE_SIZE = 1000


@dataclass(frozen=True, slots=True)
class ListPage:
    number: int
    size: int

    @classmethod
    def read(cls, parameters: Mapping[str, object], *, max_size: int = DEFAULT_MAX_PAGE_SIZE) -> "ListPage":
        """Return the page that the parameters `page` and `per_page` name. Raise FieldErrors with the errors of both."""
        errors = []
        number = _positive(parameters.get("page"), 1)
        size = _positive(parameters.get("per_page"), DEFAULT_PAGE_SIZE)
        if number is None:
            errors.append(FieldError("page", "must be a whole number, 1 or more"))
        if size is None or size > max_size:
            errors.append(FieldError("per_page", f"must be a whole number from 1 to {max_size}"))
        if errors or number is None or size is None:
            raise FieldErrors(errors)
        return cls(number, size)

    @property
    def start(self) -> int:
        """The index of the first row."""
        return min((self.number - 1) * self.size, MAX_OFFSET)

    @property
    def stop(self) -> int:
        """The index after the last row to read. It includes one row of the next page, which shows whether a next page exists."""
        return self.start + self.size + 1

    def link(self, url: str, parameters: Iterable[tuple[str, str]], *, more: bool) -> str:
        """Return the Link header (RFC 8288) with the parameters of the list, except for a token."""
        repeated = [(name, value) for name, value in parameters if name not in ("page", "api_token", "_method")]

        def link_to(number: int, relation: str) -> str:
            return f'<{url}?{urlencode([*repeated, ("page", number)], errors="replace")}>; rel="{relation}"'

        links = [link_to(1, "first")]
        if self.number > 1:
            links.append(link_to(self.number - 1, "prev"))
        if more:
            links.append(link_to(self.number + 1, "next"))
        return ", ".join(links)


def _positive(value: object, default: int) -> int | None:
    """Return the value as a positive integer, or the default for None. Return None for an invalid value."""
    if value is None:
        return default
    text = str(value).strip()
    if isinstance(value, bool) or not text.isascii() or not text.isdigit() or len(text) > 100 or int(text) < 1:
        return None
    return int(text)


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
        known = [item for item in view.parameters.lists() if item[0] not in view.ignored_parameters]
        # A condition may have several values.
        parameters = [(name, value) for name, values in known for value in values]
        link = self.page.link(view.base_url + view.request.path, parameters, more=self.has_next)
        return Response(data, headers={"Link": link})
