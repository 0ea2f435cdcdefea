"""Pages of a list, numbered from 1. The rows of the list are not counted."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import urlencode

from core.errors import FieldError, FieldErrors

DEFAULT_PAGE_SIZE = 25
DEFAULT_MAX_PAGE_SIZE = 100
# PostgreSQL accepts OFFSET up to 2**63 - 1. No list is as long as this.
MAX_OFFSET = 2**62


@dataclass(frozen=True, slots=True)
class ListPage:
    """A page of a list."""

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
