"""The table of routes in docs/interface.md."""

import re
from typing import NamedTuple

from tests.support.examples import ROOT

DOCUMENT = ROOT / "docs" / "interface.md"
LINE = re.compile(
    r"^\| ([A-Z, ]+) \| `(/\S*?|/\{category name\})` \| (.+?) \| (\d+) \| `(tests/\S+)` \|$", re.MULTILINE
)


class Line(NamedTuple):
    """A line of the table of routes."""

    methods: tuple[str, ...]
    path: str
    who: str
    statements: int
    test: str

    @property
    def route(self) -> str:
        return self.path[1:].replace("{id}", "<id:id>").replace("{category name}", "<category_name:category_name>")


def read_line(match: re.Match) -> Line:
    methods, path, who, statements, test = match.groups()
    return Line(tuple(methods.split(", ")), path, who, int(statements), test)


def lines() -> list[Line]:
    return [read_line(match) for match in LINE.finditer(DOCUMENT.read_text())]
