"""The XML documents of the Forum API, in the conventions of Rails (`docs/interface.md` shows each).

An `ElementType` declares the child elements of an element. It builds the tags once, so that writing a row only joins them
with the values.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from core.db.text import escape

DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>\n'

STRING, INTEGER, DATETIME = "string", "integer", "datetime"
# The types of the columns that are not strings.
TYPES = {
    **dict.fromkeys(("id", "category_id", "responsible_id", "comments_cache", "votes_cache"), INTEGER),
    **dict.fromkeys(("created_at", "updated_at"), DATETIME),
}
# The maximum number of ancestors of an element of an `ElementType` in a document.
MAX_DEPTH = 2


class ElementType:
    """An element with a child element for each column. `fields` maps the names of these, with hyphens, to their types."""

    def __init__(self, name: str, *columns: str) -> None:
        self.name = name
        self.columns = columns
        self.fields = {column.replace("_", "-"): TYPES.get(column, STRING) for column in columns}
        if list(self.fields) != sorted(self.fields):
            raise ValueError("The fields must be in alphabetical order.")
        self._lines = [self._lines_at(depth) for depth in range(MAX_DEPTH + 1)]

    def _lines_at(self, depth: int) -> tuple[str, list[tuple[str, str, str, str]], str]:
        """Return the start tag, the children and the end tag, indented by two spaces for each level.

        A child is a tuple of its type, its start tag, its end tag, and the whole element for a null.
        """
        margin, children = "  " * depth, []
        for field, kind in self.fields.items():
            type_attribute = "" if kind == STRING else f' type="{kind}"'
            nil = f'{margin}  <{field}{type_attribute} nil="true"/>\n'
            children.append((kind, f"{margin}  <{field}{type_attribute}>", f"</{field}>\n", nil))
        return f"{margin}<{self.name}>\n", children, f"{margin}</{self.name}>\n"

    def write(self, values: Sequence[Any], zone: ZoneInfo, *, depth: int = 0) -> str:
        """Return the element as text. `values` are in the order of the fields."""
        start, children, end = self._lines[depth]
        text = start
        for (kind, opening, closing, nil), value in zip(children, values, strict=True):
            if value is None:
                text += nil
            elif kind == STRING:
                text += opening + escape(value) + closing
            elif kind == INTEGER:
                text += f"{opening}{value}{closing}"
            else:
                text += opening + local_time(value, zone) + closing
        return text + end


def local_time(moment: datetime, zone: ZoneInfo) -> str:
    """Return the time in ISO 8601 format, in the time zone of the account."""
    return moment.astimezone(zone).isoformat(timespec="seconds")


def array(name: str, shape: ElementType, rows: Iterable[Sequence[object]], zone: ZoneInfo, *, depth: int = 0) -> str:
    """Return an element of type `array` with an element for each row."""
    margin = "  " * depth
    items = "".join(shape.write(row, zone, depth=depth + 1) for row in rows)
    if not items:
        return f'{margin}<{name} type="array"/>\n'
    return f'{margin}<{name} type="array">\n{items}{margin}</{name}>\n'


def document(*parts: str) -> bytes:
    """Return the XML document. `parts` are the parts of the text of its root element."""
    return (DECLARATION + "".join(parts)).encode()


USER = ElementType("user", "created_at", "description", "email", "login", "name", "notification", "updated_at", "www")
POST_IN_LIST = ElementType(
    "post", "agent", "comments_cache", "content", "created_at", "id", "title", "updated_at", "votes_cache"
)
POST = ElementType(
    "post",
    *("agent", "category_id", "comments_cache", "content", "created_at", "id", "kind", "responsible_id", "status"),
    *("title", "updated_at", "votes_cache"),
)
COMMENT = ElementType("comment", "agent", "comment", "created_at", "id", "kind", "updated_at")
CATEGORY = ElementType("category", "id", "name")
