"""The XML documents of generation A, as Rails writes and reads them (contract; `docs/interface.md` shows each).

A shape names the children of an element once, with their types, in the order of the wire; what a row of values becomes is
worked out when the shape is made, not when it is written.
"""

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from zoneinfo import ZoneInfo

from accounts.text import escape

DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>\n'

STRING, INTEGER, DATETIME = "string", "integer", "datetime"


class Shape:
    """An element whose children are single values; `fields` maps their names (with hyphens) to their types."""

    def __init__(self, name: str, /, **fields: str):
        self.name = name
        self.fields = {field.replace("_", "-"): kind for field, kind in fields.items()}
        if list(self.fields) != sorted(self.fields):
            raise ValueError("the wire lists children alphabetically")
        self.columns = tuple(field.replace("-", "_") for field in self.fields)

    def write(self, values: Sequence, zone: ZoneInfo, *, depth: int = 0) -> str:
        """The element, indented by two spaces a level; `values` in the order of the fields."""
        margin = "  " * depth
        lines = [f"{margin}<{self.name}>\n"]
        for (field, kind), value in zip(self.fields.items(), values, strict=True):
            typed = "" if kind == STRING else f' type="{kind}"'
            if value is None:
                lines.append(f'{margin}  <{field}{typed} nil="true"/>\n')
            else:
                lines.append(f"{margin}  <{field}{typed}>{_TEXTS[kind](value, zone)}</{field}>\n")
        lines.append(f"{margin}</{self.name}>\n")
        return "".join(lines)


_TEXTS: dict[str, Callable[[object, ZoneInfo], str]] = {
    STRING: lambda value, _: escape(value),
    INTEGER: lambda value, _: str(value),
    DATETIME: lambda value, zone: local(value, zone),
}


def local(moment: datetime, zone: ZoneInfo) -> str:
    return moment.astimezone(zone).isoformat(timespec="seconds")


def array(name: str, shape: Shape, rows: Iterable[Sequence], zone: ZoneInfo, *, depth: int = 0) -> str:
    margin = "  " * depth
    items = "".join(shape.write(row, zone, depth=depth + 1) for row in rows)
    if not items:
        return f'{margin}<{name} type="array"/>\n'
    return f'{margin}<{name} type="array">\n{items}{margin}</{name}>\n'


def document(*elements: str) -> bytes:
    return (DECLARATION + "".join(elements)).encode()


USER = Shape(
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

POST_ITEM = Shape(
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

POST = Shape(
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

COMMENT = Shape(
    "comment",
    agent=STRING,
    comment=STRING,
    created_at=DATETIME,
    id=INTEGER,
    kind=STRING,
    updated_at=DATETIME,
)

CATEGORY = Shape("category", id=INTEGER, name=STRING)
