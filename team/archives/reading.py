"""Reading an archive, which may come from a stranger: the sizes and checksums of its files, and the values of its rows."""

import hashlib
import re
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date, datetime
from io import BufferedReader
from typing import IO, Any, cast
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile

import orjson
from django.contrib.postgres.fields import ArrayField
from django.db import connection, models
from django.db.migrations.recorder import MigrationRecorder

from core.db.fields import AccountIdField, AnyField
from core.db.tenancy import FoldedField
from core.db.text import is_xml_text
from core.errors import FieldError
from core.files.store import CHUNK_SIZE
from forum.texts.markdown import render
from team.archives.tables import RENDERED, TABLES, ArchivedTable, fields_of
from team.archives.writing import FORMAT, MANIFEST, VERSION

# The sizes of the manifest, of a line, and of all files together, uncompressed.
MAX_MANIFEST_BYTES, MAX_LINE_BYTES, MAX_BYTES = 1024**2, 8 * 1024**2, 64 * 1024**3
# The file that describes the stored files, and the names of their bytes.
FILES, STORED = "files.jsonl", re.compile(r"files/[1-9][0-9]{0,15}")
# The highest id that is exact in a JSON number.
MAX_ID = 2**53 - 1


class ArchiveError(FieldError):
    """A rule that an archive breaks, after the name of the file in it and the number of the line."""

    def __init__(self, rule: str, file: str = "", line: int = 0) -> None:
        place = f"{file}, line {line}: " if line else f"{file}: " if file else ""
        super().__init__("archive", "{text}", "archive", {"text": place + rule})


@dataclass(frozen=True)
class ArchivedLine:
    """A line of a file: its number, its JSON, and the row."""

    number: int
    json: bytes
    row: dict[str, Any]


class ArchivedFile:
    """A file of rows, as the manifest describes it, with the rules for its rows.

    PostgreSQL checks lengths, ranges, links and uniqueness when the rows are inserted.
    """

    def __init__(self, entry: Any) -> None:
        try:
            self.name, self.columns, self.rows = entry["name"], list[str](entry["columns"]), int(entry["rows"])
            self.sha256 = str(entry["sha256"])
            self.table: ArchivedTable = TABLES[self.name.removesuffix(".jsonl")]
        except (KeyError, TypeError, ValueError, AttributeError):
            raise ArchiveError("it describes a file that this version does not know", MANIFEST) from None
        fields = fields_of(self.table.model)
        if unknown := [column for column in self.columns if column not in self.table.columns]:
            raise ArchiveError(f"this version knows no column {str(unknown[0])[:100]}", self.name)
        required = {name for name, each in self.table.fields.items() if not each.null}
        if missing := {name for name in required if not fields[name].has_db_default()}.difference(self.columns):
            raise ArchiveError(f"the column {min(missing)} is missing", self.name)
        self._required = required.intersection(self.columns)
        self._rules = [
            (name, *rule)
            for name in self.columns
            for rule in rules_of(self.table.fields.get(name), self.table.checks.get(name))
        ]
        # The column, the column of its text, and the function that computes its value. Texts are trimmed first.
        derived = [(name, name, each.normalize) for name, each in fields.items() if hasattr(each, "normalize")]
        derived += [(name, each.source, each.derive) for name, each in fields.items() if isinstance(each, FoldedField)]
        self._derived: list[tuple[str, str, Callable[[str], str]]] = [
            *derived,
            *((name, source, render) for name, source in RENDERED.items() if name in fields),
        ]

    def read(self, line: bytes) -> dict[str, Any]:
        """Return the row of a line. Raise ValueError for the rule that it breaks."""
        row = orjson.loads(line)
        if not isinstance(row, dict) or row.keys() != set(self.columns):
            different = set(self.columns).symmetric_difference(row if isinstance(row, dict) else ())
            raise ValueError(f"it has not exactly the columns of the manifest: {', '.join(sorted(different))[:200]}")
        for name in self._required:
            if row[name] is None:
                raise ValueError(f"{name} is null")
        for name, is_allowed, rule in self._rules:
            if row[name] is not None and not holds(is_allowed, row[name]):
                raise ValueError(f"{name} {rule}")
        return cast("dict[str, Any]", row)

    def derive(self, row: dict[str, Any]) -> dict[str, Any]:
        """Return the values of the columns that depend on others of the row."""
        derived: dict[str, Any] = {}
        for name, source, derive in self._derived:
            if (text := derived.get(source, row.get(source))) is not None:
                derived[name] = derive(text)
        return derived


class Archive:
    """An opened archive. Raise ArchiveError if this version cannot import it."""

    def __init__(self, file: IO[bytes]) -> None:
        try:
            self._zip = ZipFile(file)
        except (BadZipFile, OSError, ValueError, NotImplementedError) as error:
            raise ArchiveError(f"it is not a ZIP file, or is incomplete ({error})") from None
        names = self._check_files()
        manifest = self._read_manifest()
        self.last_id: int = manifest["last_id"]
        self.files = {file.name: file for file in map(ArchivedFile, manifest["files"])}
        names, stored = [
            [name for name in names if bool(STORED.fullmatch(name)) is is_stored] for is_stored in (False, True)
        ]
        if sorted([MANIFEST, *self.files]) != sorted(names) or len(self.files) < len(manifest["files"]):
            raise ArchiveError("it does not name each file of the archive once", MANIFEST)
        if len(set(stored)) < len(stored) or len(stored) != (self.files[FILES].rows if FILES in self.files else 0):
            raise ArchiveError("it does not describe each stored file once", FILES)

    def _check_files(self) -> list[str]:
        """Check what the ZIP declares, before anything is decompressed. Return the names of the files."""
        infos = self._zip.infolist()
        known = {MANIFEST, *(f"{name}.jsonl" for name in TABLES)}
        for info in infos:
            if info.filename not in known and not STORED.fullmatch(info.filename):
                raise ArchiveError("this version knows no such file", info.filename[:100])
            if info.compress_type not in (ZIP_STORED, ZIP_DEFLATED) or info.flag_bits & 1:
                raise ArchiveError("it is encrypted, or not compressed by deflate", info.filename)
            if info.filename == MANIFEST and info.file_size > MAX_MANIFEST_BYTES:
                raise ArchiveError(f"it is too large (maximum is {MAX_MANIFEST_BYTES:,} bytes)", MANIFEST)
        if sum(info.file_size for info in infos) > MAX_BYTES:
            raise ArchiveError(f"its files are too large (maximum is {MAX_BYTES:,} bytes together)")
        return [info.filename for info in infos]

    def _read_manifest(self) -> dict[str, Any]:
        try:
            manifest = orjson.loads(b"".join(self._read_lines(MANIFEST)))
        except (KeyError, orjson.JSONDecodeError):
            raise ArchiveError("it is missing or damaged", MANIFEST) from None
        if not isinstance(manifest, dict) or (manifest.get("format"), manifest.get("version")) != (FORMAT, VERSION):
            raise ArchiveError(f"it is not of the format {FORMAT}, version {VERSION}", MANIFEST)
        for name, kind in (("schema", dict), ("last_id", int), ("files", list)):
            if not isinstance(manifest.get(name), kind):
                raise ArchiveError(f"{name} is missing or of another type", MANIFEST)
        if not 0 <= manifest["last_id"] <= MAX_ID:
            raise ArchiveError(f"last_id is not between 0 and {MAX_ID}", MANIFEST)
        if newer := set(manifest["schema"].items()) - MigrationRecorder(connection).applied_migrations().keys():
            raise ArchiveError(f"a newer version wrote it, with the migration {'.'.join(min(newer))[:100]}", MANIFEST)
        return cast("dict[str, Any]", manifest)

    def lines(self, file: ArchivedFile) -> Iterator[ArchivedLine]:
        """Yield the checked lines of a file, and check its number of rows and its checksum at the end."""
        digest, number = hashlib.sha256(), 0
        for number, line in enumerate(self._read_lines(file.name), 1):
            digest.update(line)
            if len(line) > MAX_LINE_BYTES:
                raise ArchiveError(f"it is too long (maximum is {MAX_LINE_BYTES:,} bytes)", file.name, number)
            try:
                row = file.read(line)
            except ValueError as error:
                raise ArchiveError(str(error), file.name, number) from None
            yield ArchivedLine(number, line.strip(), row)
        if (number, digest.hexdigest()) != (file.rows, file.sha256):
            raise ArchiveError("the number of its rows or its checksum is not that of the manifest", file.name)

    def stored_bytes(self, line: ArchivedLine) -> Iterator[bytes]:
        """Yield the bytes of the stored file that a line of `FILES` describes, and check their number and checksum at the end."""
        name, digest, size = f"files/{line.row['id']}", hashlib.sha256(), 0
        try:
            with self._zip.open(name) as stream:
                while chunk := stream.read(CHUNK_SIZE):
                    digest.update(chunk)
                    size += len(chunk)
                    yield chunk
        except (KeyError, BadZipFile, EOFError, zlib.error):
            raise ArchiveError("it is missing, damaged or incomplete", name) from None
        if (size, digest.hexdigest()) != (line.row["size"], line.row["sha256"]):
            raise ArchiveError("its size or its checksum is not that of files.jsonl", name)

    def _read_lines(self, name: str) -> Iterator[bytes]:
        try:
            # No more is read than the ZIP declares.
            with self._zip.open(name) as stream, BufferedReader(cast("Any", stream)) as lines:
                while line := lines.readline(MAX_LINE_BYTES + 1):
                    yield line
        except (BadZipFile, EOFError, zlib.error):
            raise ArchiveError("it is damaged or incomplete", name) from None


# A function that says whether a value that is not null is allowed, and the rule in words.
Rule = tuple[Callable[[Any], bool], str]


def rules_of(column: "AnyField | None", check: Callable[[Any], bool] | None) -> list[Rule]:
    """Return the rules for the values of a column. `check` is a further one."""
    rules = [next((rule for kind, rule in TYPE_RULES.items() if isinstance(column, kind)), PLAIN)]
    if column is not None and column.choices:
        rules.append((dict(column.flatchoices).__contains__, UNKNOWN))
    return [*rules, (check, UNKNOWN)] if check else rules


def holds(is_allowed: Callable[[Any], bool], value: Any) -> bool:
    try:
        return is_allowed(value)
    except (ValueError, TypeError, RecursionError):
        return False


def is_plain(value: Any) -> bool:
    """Return whether all texts of a JSON value can be written as XML."""
    if isinstance(value, dict):
        return all(is_xml_text(key) and is_plain(each) for key, each in value.items())
    return is_xml_text(value) if isinstance(value, str) else not isinstance(value, list) or all(map(is_plain, value))


UNKNOWN = "has a value that this version does not know"
PLAIN: Rule = (is_plain, "has characters that XML does not allow, or is nested too deeply")
TEXT: Rule = (
    lambda value: isinstance(value, str) and is_xml_text(value),
    "is not a text, or has characters that XML does not allow",
)
# The first class of which a field is an instance counts.
TYPE_RULES: "dict[type[AnyField], Rule]" = {
    AccountIdField: (lambda value: type(value) is int and 0 < value <= MAX_ID, f"is not an id from 1 to {MAX_ID}"),
    models.BooleanField: (lambda value: isinstance(value, bool), "is neither true nor false"),
    models.IntegerField: (lambda value: type(value) is int, "is not a whole number"),
    models.DecimalField: (lambda value: type(value) in (int, float), "is not a number"),
    models.DateTimeField: (
        lambda value: datetime.fromisoformat(value).tzinfo is not None,
        "is not a time with an offset in ISO 8601",
    ),
    models.DateField: (lambda value: bool(date.fromisoformat(value)), "is not a date in ISO 8601"),
    models.CharField: TEXT,
    models.TextField: TEXT,
    ArrayField: (
        lambda value: all(is_plain(each) and not isinstance(each, list | dict) for each in value),
        "is not a list of simple values",
    ),
    models.BinaryField: (
        lambda value: re.fullmatch(r"\\x(?:[0-9a-f]{2})*", value) is not None,
        "is not a sequence of bytes in hexadecimal",
    ),
    models.JSONField: PLAIN,
}
