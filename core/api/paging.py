"""Pages of a list, numbered from 1. The rows of the list are not counted."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import urlencode

from core.errors import FieldError, FieldErrors

DEFAULT_PAGE_SIZE = 25
DEFAULT_MAX_PAGE_SIZE = 100
# The database skips that many rows at most; what lies further is past the end of any list.
MAX_OFFSET = 2**62


@dataclass(frozen=True, slots=True)
class Page:
    number: int
    size: int

    @classmethod
    def read(cls, parameters: Mapping[str, object], *, largest: int = DEFAULT_MAX_PAGE_SIZE) -> "Page":
        """`page` and `per_page` of a request. Raises FieldErrors, naming both if both are wrong."""
        errors = []
        number = _positive(parameters.get("page"), 1)
        size = _positive(parameters.get("per_page"), DEFAULT_PAGE_SIZE)
        if number is None:
            errors.append(FieldError("page", "must be a whole number, 1 or more"))
        if size is None or size > largest:
            errors.append(FieldError("per_page", f"must be a whole number from 1 to {largest}"))
        if errors:
            raise FieldErrors(errors)
        return cls(number, size)

    @property
    def start(self) -> int:
        return min((self.number - 1) * self.size, MAX_OFFSET)

    @property
    def stop(self) -> int:
        """One more than it holds is read, to know whether there is a next one."""
        return self.start + self.size + 1

    def link(self, url: str, parameters: Iterable[tuple[str, str]], *, more: bool) -> str:
        """The Link header (RFC 8288), with the parameters of the list. A token that is among them is not repeated."""
        kept = [(name, value) for name, value in parameters if name not in ("page", "api_token", "_method")]

        def to(number: int, relation: str) -> str:
            return f'<{url}?{urlencode([*kept, ("page", number)], errors="replace")}>; rel="{relation}"'

        links = [to(1, "first")]
        if self.number > 1:
            links.append(to(self.number - 1, "prev"))
        if more:
            links.append(to(self.number + 1, "next"))
        return ", ".join(links)


def _positive(value: object, default: int) -> int | None:
    if value is None:
        return default
    text = str(value).strip()
    if isinstance(value, bool) or not text.isascii() or not text.isdigit() or len(text) > 100 or int(text) < 1:
        return None
    return int(text)
