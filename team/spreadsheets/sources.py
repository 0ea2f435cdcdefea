"""Files of known services, which are recognized by their headings, and guesses for the columns of other files.

`sources/` has a file for each service, and `aliases.yaml` the names of columns in other files. A table of a service has these keys:

- `kinds`: the kind of the rows, and the kinds of rows that are linked to them. A table that only completes others has none.
- `recognized_by`: keys of `columns` and `left_out`, or `key`. A file with all these columns is recognized.
- `key`: the headings of the id to which other tables refer. Several rows with the same id are one suggestion.
- `columns`: for each field, the headings of its column. The first one that a file has is used.
- `left_out`: columns that are not imported.
- `joins`: `by`, a column of `left_out` with the key of a row of `table`, and `columns`, the fields that get values of that row. Without
  `columns`, the values of this row are added to that row.
- `values`: what values of a field mean.
- `dates`, `numbers`: codes of `DATE_FORMATS` and `NUMBER_FORMATS`. Without them, the formats are guessed.
- `has_labels`: all other headings are labels that the caller knows.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from core.db.tenancy import fold
from team.spreadsheets.sheets import ColumnStatistics
from team.spreadsheets.values import DATE_FORMATS

DIRECTORY = Path(__file__).parent
# How certain a guess is: the label of a field, another name of it, a name within a longer heading, and only the values of the column.
LABEL, ALIAS, PART, VALUES = 1.0, 0.9, 0.6, 0.4
# The factor for a column whose values do not fit the field.
MISFIT = 0.5
# The type of the values of a field, by the last part of its code.
TYPES = {"email": "email", "phone": "phone", "mobile_phone": "phone", "fax": "phone", "www": "url"}


@dataclass(frozen=True)
class Join:
    by: str
    table: str
    columns: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class SourceTable:
    """A table that a service exports. For the attributes, see the module."""

    source: str
    name: str
    table: str
    kinds: tuple[str, ...]
    recognized_by: tuple[str, ...]
    columns: Mapping[str, tuple[str, ...]]
    left_out: Mapping[str, tuple[str, ...]]
    key: tuple[str, ...]
    joins: tuple[Join, ...]
    values: Mapping[str, Mapping[str, str]]
    dates: str
    numbers: str
    has_labels: bool

    def headings_of(self, key: str) -> tuple[str, ...]:
        """Return the folded headings of a field, of a column that is left out, or of the `key`."""
        return self.key if key == "key" else self.columns.get(key) or self.left_out[key]


@dataclass(frozen=True)
class Recognition:
    """The columns of a file of a known service. All lists have one entry for each column of the file."""

    table: SourceTable
    # The codes of fields; None for other columns.
    fields: list[str | None]
    # Whether the columns are not imported on purpose. A column without a field that is not left out is not known.
    left_out: list[bool]
    # The indexes of the key, and of the columns that joins refer to.
    key: int | None
    joins: dict[str, int]


@dataclass(frozen=True)
class ColumnGuess:
    field: str | None
    confidence: float


def fold_heading(text: str) -> str:
    """Return a heading without differences of case, accents, spaces and punctuation."""
    return "".join(_words(text))


def _words(text: str) -> list[str]:
    plain = fold(unicodedata.normalize("NFKD", text).replace("ł", "l").replace("Ł", "l"))
    letters = (sign for sign in unicodedata.normalize("NFKD", plain) if not unicodedata.combining(sign))
    return re.findall(r"[^\W_]+", "".join(letters))


@cache
def tables() -> tuple[SourceTable, ...]:
    return tuple(
        _make_table(path.stem, data["name"], table, values)
        for path in sorted((DIRECTORY / "sources").glob("*.yaml"))
        for data in [yaml.safe_load(path.read_text("utf-8"))]
        for table, values in data["tables"].items()
    )


def _make_table(source: str, name: str, table: str, data: dict[str, Any]) -> SourceTable:
    def folded(groups: dict[str, list[str]]) -> dict[str, tuple[str, ...]]:
        return {key: tuple(map(fold_heading, headings)) for key, headings in groups.items()}

    return SourceTable(
        source,
        name,
        table,
        kinds=tuple(data["kinds"]),
        recognized_by=tuple(data["recognized_by"]),
        columns=folded(data["columns"]),
        left_out=folded(data.get("left_out", {})),
        key=tuple(map(fold_heading, data.get("key", []))),
        joins=tuple(Join(**join) for join in data.get("joins", [])),
        values=data.get("values", {}),
        dates=data.get("dates", ""),
        numbers=data.get("numbers", ""),
        has_labels=data.get("has_labels", False),
    )


def recognize(header: Sequence[str], labels: Mapping[str, str] | None = None) -> Recognition | None:
    """Return the columns of a file if a known service wrote it. `labels` are the codes of fields by their labels, for files of this service."""
    places: dict[str, int] = {}
    for index, heading in enumerate(header):
        places.setdefault(fold_heading(heading), index)
    folded = {fold_heading(label): code for label, code in (labels or {}).items()}
    found = [
        _recognize(table, len(header), places, folded)
        for table in tables()
        if all(any(heading in places for heading in table.headings_of(key)) for key in table.recognized_by)
        and (not table.has_labels or all(heading in folded for heading in places))
    ]
    return max(found, key=lambda each: len(header) - _unknown(each), default=None)


def _unknown(recognition: Recognition) -> int:
    return sum(code is None and not left for code, left in zip(recognition.fields, recognition.left_out, strict=True))


def _recognize(table: SourceTable, width: int, places: Mapping[str, int], labels: Mapping[str, str]) -> Recognition:
    fields: list[str | None] = [None] * width
    left_out = [False] * width
    for code, headings in table.columns.items():
        free = [places[heading] for heading in headings if heading in places and fields[places[heading]] is None]
        if free:
            fields[free[0]] = code
        for index in free[1:]:
            left_out[index] = True
    for headings in (table.key, *table.left_out.values()):
        for heading in headings:
            if heading in places:
                left_out[places[heading]] = True
    if table.has_labels:
        fields = [None] * width
        for heading, index in places.items():
            if labels[heading] not in fields:
                fields[index] = labels[heading]
    left_out = [left and code is None for left, code in zip(left_out, fields, strict=True)]
    key = next((places[heading] for heading in table.key if heading in places), None)
    joins = {
        join.by: next(places[heading] for heading in table.headings_of(join.by) if heading in places)
        for join in table.joins
        if any(heading in places for heading in table.headings_of(join.by))
    }
    return Recognition(table, fields, left_out, key, joins)


@cache
def _aliases() -> dict[str, list[list[str]]]:
    """Return the words of the names of each field."""
    data = yaml.safe_load((DIRECTORY / "aliases.yaml").read_text("utf-8"))
    return {code: [_words(name) for name in names] for code, names in data.items()}


def guess_columns(
    header: Sequence[str], kinds: Sequence[str], statistics: Sequence[ColumnStatistics], labels: Mapping[str, str]
) -> list[ColumnGuess]:
    """Return a field for each column of a file, if its heading or its values suggest one. No field has two columns.

    `labels` are the codes of fields by their labels, which take precedence. Of equal candidates, the field of the first kind is guessed.
    """
    folded = [(fold_heading(label), code) for label, code in labels.items()]
    guesses = [
        (confidence, -order, -index, code)
        for index, (heading, column) in enumerate(zip(header, statistics, strict=True))
        for order, (code, confidence) in enumerate(_candidates(heading, kinds, column, folded))
    ]
    chosen: dict[int, ColumnGuess] = {}
    for confidence, _order, index, code in sorted(guesses, reverse=True):
        if -index not in chosen and all(guess.field != code for guess in chosen.values()):
            chosen[-index] = ColumnGuess(code, confidence)
    return [chosen.get(index, ColumnGuess(None, 0.0)) for index in range(len(header))]


def _candidates(
    heading: str, kinds: Sequence[str], statistics: ColumnStatistics, labels: Sequence[tuple[str, str]]
) -> Iterator[tuple[str, float]]:
    """Yield the fields that a column may have, and how certain they are. Those of the first kind come first. The labels are folded."""
    words = _words(heading)
    folded = "".join(words)
    codes = [code for label, code in labels if label == folded]
    yield from ((code, LABEL) for kind in kinds for code in codes if folded and code.startswith(f"{kind}."))
    aliases = [(code, names) for kind in kinds for code, names in _aliases().items() if code.startswith(f"{kind}.")]
    confidence = ALIAS
    found = [code for code, names in aliases if any("".join(name) == folded for name in names)]
    if not found:
        confidence = PART
        parts = {
            code: max((len(name) for name in names if _contains(words, name)), default=0) for code, names in aliases
        }
        found = [code for code, length in parts.items() if length == max(parts.values()) > 0]
    if not found and statistics.filled:
        confidence = VALUES
        # A number or a date may look like a telephone number.
        is_number = any(statistics.fits(name) for name in ("integer", *(f"date:{code}" for code in DATE_FORMATS)))
        found = [code for code, _names in aliases if code.endswith((".email",) if is_number else (".email", ".phone"))]
        found = [code for code in found if code.count(".") == 1 and statistics.fits(TYPES[code.rpartition(".")[2]])]
    for code in found:
        value_type = TYPES.get(code.rpartition(".")[2])
        fits = not value_type or not statistics.filled or statistics.fits(value_type)
        yield code, confidence if fits else confidence * MISFIT


def _contains(words: list[str], name: list[str]) -> bool:
    width = len(name)
    return any(words[start : start + width] == name for start in range(len(words) - width + 1))
