"""Files with separated values: their encoding, their separator and quotation mark, and their records."""

import codecs
import contextlib
import csv
import io
import re
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from typing import BinaryIO, TextIO

import charset_normalizer

from team.spreadsheets.sheets import SAMPLE_ROWS, Refused

MAX_RECORD_LENGTH = 1_000_000
SAMPLE_BYTES = 1_000_000
CHUNK_BYTES = 1_000_000
SEPARATORS = (",", ";", "\t", "|")
# The separator of a file with one column. The csv module needs one, which the file must not contain.
NO_SEPARATOR = "\x1f"
# The encodings that can be chosen, most frequent first, by their names in Python.
ENCODINGS = (
    *("utf-8", "cp1250", "iso8859-2", "cp1252", "iso8859-15", "utf-16-le", "utf-16-be", "cp852", "mac_latin2"),
    *("cp1251", "koi8-r", "cp1253", "cp1254", "cp1257", "shift_jis", "euc_kr", "gb18030", "big5"),
)
BYTE_ORDER_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}
# Sequences of UTF-8. Not those of rare letters, which are pairs of Polish capital letters in windows-1250, as in SPÓŁKA and CIĘŻKI.
_SEQUENCE = re.compile(rb"[\xc2-\xc9\xcb-\xd2\xd4-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}")
_ASCII = bytes(range(128))
# Bytes of Polish letters in windows-1250 and ISO-8859-2: those of both, and those of one.
_POLISH, _ONLY_1250, _ONLY_8859 = (
    b"\xc6\xca\xa3\xd1\xd3\xaf\xe6\xea\xb3\xf1\xf3\xbf",
    b"\xb9\x9c\x9f\xa5\x8c\x8f",
    b"\xb1\xb6\xbc\xa1\xa6\xac",
)
# The part of all letters beyond ASCII that are Polish in a Polish text.
MIN_POLISH = 0.8


def detect_encoding(file: BinaryIO) -> str:
    """Return the encoding of a file: a name of `ENCODINGS`, or `utf-8-sig`. Reads all bytes.

    Raise Refused("mixed_encodings") if the file is UTF-8 with single bytes that are not.
    """
    start = file.read(CHUNK_BYTES)
    for mark, name in BYTE_ORDER_MARKS.items():
        if start.startswith(mark):
            return name
    zeros = [start[parity:1000:2].count(0) / len(start[parity:1000:2] or b"x") for parity in (0, 1)]
    if max(zeros) > 0.3 and min(zeros) < 0.1:
        return "utf-16-be" if zeros[0] > zeros[1] else "utf-16-le"
    decoder, chunk, is_ascii, is_common = codecs.getincrementaldecoder("utf-8")(), start, True, False
    try:
        while chunk:
            decoder.decode(chunk)
            is_ascii = is_ascii and chunk.isascii()
            is_common = is_common or _SEQUENCE.search(chunk) is not None
            chunk = file.read(CHUNK_BYTES)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        is_ascii = is_common = False
    if is_ascii or is_common:
        return "utf-8"
    file.seek(0)
    return _detect_single_byte(file)


def _detect_single_byte(file: BinaryIO) -> str:
    sequences, counts, sample = 0, Counter[int](), bytearray()
    for chunk in iter(lambda: file.read(CHUNK_BYTES) + file.readline(CHUNK_BYTES), b""):
        if not chunk.isascii():
            sequences += len(_SEQUENCE.findall(chunk))
            counts.update(_SEQUENCE.sub(b"", chunk).translate(None, _ASCII))
            if len(sample) < SAMPLE_BYTES:
                sample += b"\n".join(line for line in chunk.split(b"\n") if not line.isascii())
    if sequences > counts.total() / 10:
        raise Refused("mixed_encodings")
    both, only_1250, only_8859 = (sum(counts[byte] for byte in each) for each in (_POLISH, _ONLY_1250, _ONLY_8859))
    letters = sum(count for byte, count in counts.items() if byte >= 0xA1 or byte in _ONLY_1250)
    if letters and both + only_1250 + only_8859 >= MIN_POLISH * letters:
        return "iso8859-2" if only_8859 > only_1250 else "cp1250"
    isolation = [name for name in ENCODINGS if not name.startswith("utf")]
    best = charset_normalizer.from_bytes(bytes(sample[:SAMPLE_BYTES]), cp_isolation=isolation).best()
    found = codecs.lookup(best.encoding).name if best else "cp1252"
    return next((name for name in ENCODINGS if codecs.lookup(name).name == found), "cp1252")


def decode(file: BinaryIO, encoding: str, errors: str = "surrogateescape") -> TextIO:
    """Return the text of a file. By default, a byte that the encoding does not have becomes a lone surrogate."""
    # Both `BufferedReader` and `ZipExtFile` have this method.
    start: bytes = file.peek(4)  # type: ignore[attr-defined]
    has_mark = start.startswith(tuple(BYTE_ORDER_MARKS))
    codecs_with_mark = {"utf-8": "utf-8-sig", "utf-16-le": "utf-16", "utf-16-be": "utf-16"}
    return io.TextIOWrapper(
        file, codecs_with_mark.get(encoding, encoding) if has_mark else encoding, errors, newline=""
    )


def read_sample(file: BinaryIO, encoding: str) -> tuple[str, bool]:
    """Return the text of the first `SAMPLE_BYTES`, and whether this is the whole file."""
    data = file.read(SAMPLE_BYTES + 1)
    with decode(io.BufferedReader(io.BytesIO(data[:SAMPLE_BYTES])), encoding, "replace") as text:
        return text.read(), len(data) <= SAMPLE_BYTES


def detect_quote(sample: str) -> str:
    """Return the quotation mark of the values: an apostrophe only if values begin and end with it, and none with a quotation mark."""
    by_quote = [
        len(re.findall(rf"(?:^|[,;\t|]){quote}[^\n{quote}]*{quote}(?=[,;\t|\r\n]|$)", sample, re.MULTILINE))
        for quote in "\"'"
    ]
    return "'" if by_quote[1] > 1 and not by_quote[0] else '"'


def detect_separator(sample: str, quote: str, *, is_whole: bool) -> str:
    """Return the separator that gives the most columns of constant width. Without one, there is one column: return ""."""
    if hint := re.match(r"sep=([^\w\s\"']|\t)\r?\n", sample, re.IGNORECASE):
        return hint[1]
    best, found = (False, 0, 0.0), ""
    for separator in SEPARATORS:
        rows: list[list[str]] = []
        records = csv.reader(io.StringIO(sample, newline=""), delimiter=separator, quotechar=quote)
        with contextlib.suppress(csv.Error):
            rows.extend(cells for cells in islice(records, SAMPLE_ROWS) if cells)
        if not is_whole and len(rows) < SAMPLE_ROWS:
            # The last record may be cut off.
            rows = rows[:-1] or rows
        widths = Counter(len(cells) for cells in rows if any(cells)) or Counter(map(len, rows))
        if not widths:
            continue
        width, number = max(widths.items(), key=lambda item: (item[1], item[0]))
        share = number / widths.total()
        is_separated = share > 0.5 or widths[1] <= widths.total() / 10
        if width > 1 and is_separated and (share >= 0.9, width, share) > best:
            best, found = (share >= 0.9, width, share), separator
    return found


def read_records(file: TextIO, separator: str, quote: str) -> Iterator[list[str]]:
    """Return the records, with an empty list for an empty line. Raise Refused for an error, with the number of its record."""
    number = length = 0

    def lines() -> Iterator[str]:
        nonlocal length
        while line := file.readline(MAX_RECORD_LENGTH + 1):
            length += len(line)
            if length > MAX_RECORD_LENGTH:
                raise Refused("record_too_long", row=number + 1, limit=MAX_RECORD_LENGTH)
            if "\0" in line:
                raise Refused("binary", row=number + 1)
            yield line
        # Without an open quotation mark, this is a record of its own.
        yield "\0"

    try:
        for cells in csv.reader(lines(), delimiter=separator or NO_SEPARATOR, quotechar=quote):
            number, length = number + 1, 0
            if cells and cells[-1][-1:] == "\0":
                if cells == ["\0"]:
                    return
                raise Refused("open_quote", row=number)
            if number == 1 and cells and cells[0].lower() in ("sep=", f"sep={separator}") and not any(cells[1:]):
                # An instruction for spreadsheet programs, which do not show it as a row.
                number = 0
                continue
            yield cells
    except csv.Error:
        raise Refused("cell_or_quote", row=number + 1) from None
    except UnicodeDecodeError:
        raise Refused("binary", row=number + 1) from None
