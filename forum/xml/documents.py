"""The XML documents of the Forum API, in the conventions of Rails (`docs/interface.md` shows each).

An `ElementType` declares the child elements of an element and their types. It builds the tags once, so that writing a row only joins them
with the values.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from core.db.text import escape

DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>\n'

STRING, INTEGER, DATETIME = "string", "integer", "datetime"
# The maximum number of ancestors of an element of an `ElementType` in a document.
MAX_DEPTH = 2


class ElementType:
    """An element whose child elements are single values. `fields` maps their names, with hyphens, to their types."""

    def __init__(self, name: str, /, **fields: str) -> None:
        self.name = name
        self.fields = {field.replace("_", "-"): kind for field, kind in fields.items()}
        if list(self.fields) != sorted(self.fields):
            raise ValueError("The fields must be in alphabetical order.")
        self.columns = tuple(field.replace("-", "_") for field in self.fields)
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


USER = ElementType(
    "user",
    created_at=DATETIME,
    description=STRING,
    email=STRING,
    login=STRING,
    name=STRING,
    notification=STRING,
    updated_at=DATETIME,
    www=STRING,
)

POST_IN_LIST = ElementType(
    "post",
    agent=STRING,
    comments_cache=INTEGER,
    content=STRING,
    created_at=DATETIME,
    id=INTEGER,
    title=STRING,
    updated_at=DATETIME,
    votes_cache=INTEGER,
)

POST = ElementType(
    "post",
    agent=STRING,
    category_id=INTEGER,
    comments_cache=INTEGER,
    content=STRING,
    created_at=DATETIME,
    id=INTEGER,
    kind=STRING,
    responsible_id=INTEGER,
    status=STRING,
    title=STRING,
    updated_at=DATETIME,
    votes_cache=INTEGER,
)

COMMENT = ElementType(
    "comment",
    agent=STRING,
    comment=STRING,
    created_at=DATETIME,
    id=INTEGER,
    kind=STRING,
    updated_at=DATETIME,
)

CATEGORY = ElementType("category", id=INTEGER, name=STRING)
