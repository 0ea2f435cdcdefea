"""The layout of a list that pages remember for each user: the columns in their order, their widths, and the number of rows.

The columns in the URL of a list, such as those of a saved view, come before the remembered ones.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from accounts.users.models import User
from accounts.users.preferences import set_preference
from core.api.paging import DEFAULT_PAGE_SIZE

PAGE_SIZES = (25, 50, 100)
MIN_WIDTH, MAX_WIDTH = 60, 900
MAX_COLUMNS = 60


@dataclass(frozen=True)
class ListLayout:
    # The names of the fields of the columns; empty for the default columns.
    columns: list[str] = field(default_factory=list)
    # The widths of columns in pixels, by the name of the field.
    widths: dict[str, int] = field(default_factory=dict)
    page_size: int = DEFAULT_PAGE_SIZE

    @classmethod
    def read(cls, user: User, resource: str) -> "ListLayout":
        stored = user.preferences.get(f"list.{resource}", {})
        return cls(**{name: stored[name] for name in cls.__dataclass_fields__ if name in stored})

    def write(self, user: User, resource: str) -> None:
        set_preference(user, f"list.{resource}", asdict(self))


def move_column(columns: list[str], name: str, step: int) -> list[str]:
    """Return the columns with one of them moved by a step, as far as this is possible."""
    if name not in columns:
        return columns
    others = [column for column in columns if column != name]
    place = min(max(columns.index(name) + step, 0), len(others))
    return [*others[:place], name, *others[place:]]


def read_widths(data: Mapping[str, Any], names: set[str]) -> dict[str, int]:
    """Return the widths in the parameters `width-NAME`, of fields that exist and within the limits."""
    found = {}
    for name in names:
        text = str(data.get(f"width-{name}", ""))
        if text.isascii() and text.isdigit() and len(text) < 5:
            found[name] = min(max(int(text), MIN_WIDTH), MAX_WIDTH)
    return found
