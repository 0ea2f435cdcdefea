"""Tables are read from CSV, other separated text, XLSX and ZIP files. Each error of a file names its place."""

import csv
import io
import random
import struct
import time
import zipfile
from datetime import date, datetime
from datetime import time as time_of_day

import pytest
import xlsxwriter
from django.utils import translation
from hypothesis import given, settings
from hypothesis import strategies as st

from team.spreadsheets import reading as reading_module
from team.spreadsheets import sheets as sheets_module
from team.spreadsheets.errors import MESSAGES, SpreadsheetError, file_error
from team.spreadsheets.reading import Reading, convert, detect
from team.spreadsheets.sheets import Sheet, read_rows
from tests.support.tables import table

POLISH = "Nazwa firmy;Miasto\r\nŻółw Sp. z o.o.;Łódź\r\nŚwit;Gdańsk\r\nJaźń;Kraków\r\n"


@pytest.fixture
def read(tmp_path):
    """Return a function that writes a file, and returns its reading, its sheet and its rows with their numbers."""

    def read_file(data, **overrides):
        path, output = tmp_path / "upload.bin", tmp_path / "canonical.jsonl"
        path.write_bytes(data.encode() if isinstance(data, str) else data)
        reading = detect(path, **overrides)
        sheet = convert(path, reading, output)
        with output.open("rb") as file:
            rows = [(row.number, row.cells) for row in read_rows(file, sheet)]
        return reading, sheet, rows

    return read_file


def make_xlsx(fill):
    """Return an XLSX file whose workbook `fill` writes."""
    file = io.BytesIO()
    with xlsxwriter.Workbook(file, {"in_memory": True}) as book:
        fill(book)
    return file.getvalue()


def make_zip(members):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return file.getvalue()


def message_of(action, *args, **kwargs):
    with pytest.raises(SpreadsheetError) as caught:
        action(*args, **kwargs)
    return caught.value.text


def test_it_works(read, tmp_path):
    data = 'Name,E-mail,Since,Revenue\n"Acme, Ltd",a@acme.example,2025-09-28,"1,234.50"\n\nWayne,,2025-09-30,7\n'
    reading, sheet, rows = read(data)
    assert reading.as_json() == {
        "format": "text",
        "sheets": [],
        "sheet": "",
        "encoding": "utf-8",
        "separator": ",",
        "quote": '"',
        "has_header": True,
    }
    assert rows == [
        (2, ["Acme, Ltd", "a@acme.example", "2025-09-28", "1,234.50"]),
        (4, ["Wayne", "", "2025-09-30", "7"]),
    ]
    assert (sheet.header, sheet.rows, sheet.first_row) == (["Name", "E-mail", "Since", "Revenue"], 2, 2)
    name, email, since, revenue = sheet.columns
    assert (name.filled, name.max_length, name.samples) == (2, 9, ["Acme, Ltd", "Wayne"])
    assert (email.filled, email.distinct, email.more, email.fits("email")) == (1, ["a@acme.example"], False, True)
    assert email.misfits["integer"] == ("a@acme.example", 2)
    assert since.fits("date:YYYY-MM-DD")
    assert revenue.misfits["integer"] == ("1,234.50", 2)
    assert revenue.fits("number:1,234.50")
    # Everything can be stored as JSON.
    assert Sheet.from_json(sheet.as_json()) == sheet
    assert Reading.from_json(reading.as_json()) == reading
    # The import continues after any row.
    with (tmp_path / "canonical.jsonl").open("rb") as file:
        first = next(read_rows(file, sheet))
        file.seek(first.end)
        assert [row.number for row in read_rows(file, sheet, offset=first.end, number=first.number + 1)] == [4]


@table(
    ("encoding", "expected"),
    [
        ("utf-8", "utf-8"),
        ("utf-8-sig", "utf-8-sig"),
        ("utf-16", "utf-16-le"),
        ("utf-16-le", "utf-16-le"),
        ("utf-16-be", "utf-16-be"),
        ("cp1250", "cp1250"),
        ("iso8859-2", "iso8859-2"),
    ],
)
def test_it_detects_encodings(encoding, expected, read):
    reading, sheet, rows = read(POLISH.encode(encoding))
    assert (reading.encoding, reading.separator) == (expected, ";")
    assert sheet.header == ["Nazwa firmy", "Miasto"]
    assert rows[0] == (2, ["Żółw Sp. z o.o.", "Łódź"])


def test_it_detects_encodings_of_other_languages(read):
    russian = "Имя;Город\nПётр Ильич;Санкт-Петербург\nАнна Сергеевна;Нижний Новгород\n" * 20
    assert read(russian.encode("cp1251"))[0].encoding == "cp1251"
    german = "Größe;Straße\nMüller;Königsallee\nJäger;Düsseldorfer Straße\n" * 20
    assert read(german.encode("cp1252"))[1].header == ["Größe", "Straße"]


def test_polish_capitals_are_not_utf_8(read):
    data = "Nazwa\nSPÓŁKA Z O.O.\n".encode("cp1250")
    data.decode("utf-8")  # The bytes of ÓŁ are valid in UTF-8.
    reading, _sheet, rows = read(data)
    assert (reading.encoding, rows) == ("cp1250", [(2, ["SPÓŁKA Z O.O."])])


@table(
    ("data", "separator", "header"),
    [
        ("a@x.example\nb@x.example\n", "", ["Column A"]),
        ("E-mail\na@x.example\nb@x.example\n", "", ["E-mail"]),
        ("a\tb\n1\t2,5\n2\t3,5\n", "\t", ["a", "b"]),
        ("a|b\n1|2\n", "|", ["a", "b"]),
        ('"a;b",c\n"x;y",1\n', ",", ["a;b", "c"]),
        ("a;b;c\n1,5;2;3\n2,5;3;4\n", ";", ["a", "b", "c"]),
        ("sep=;\r\na;b\r\n1;2\r\n", ";", ["a", "b"]),
        ("'a';'b'\n'x;y';'2'\n", ";", ["a", "b"]),
        ("a,b\r1,2\r", ",", ["a", "b"]),
        ("Text\nHello, world\nOne\nTwo\n", "", ["Text"]),
    ],
)
def test_it_detects_separators(data, separator, header, read):
    reading, sheet, _rows = read(data)
    assert (reading.separator, sheet.header) == (separator, header)


@table(
    ("first", "has_header"),
    [
        ("Name,E-mail", True),
        ("2023,2024", False),
        ("2023,Name", True),
        ("Acme,a@acme.example", False),
        ("Acme,28.09.2025", False),
        ("Acme,https://acme.example/", False),
    ],
)
def test_it_detects_headers(first, has_header, read):
    assert read(f"{first}\nx,y\n")[0].has_header is has_header


def test_arguments_replace_what_is_detected(read):
    reading, sheet, rows = read("1;ą\n2;b\n".encode("cp1250"), encoding="iso8859-2", separator=",", has_header=True)
    assert (reading.encoding, reading.separator, sheet.header) == ("iso8859-2", ",", ["1;š"])
    assert rows == [(2, ["2;b"])]
    _reading, sheet, rows = read("a,b\n1,2\n", has_header=False)
    assert (sheet.header, sheet.first_row, rows[0]) == (["Column A", "Column B"], 1, (1, ["a", "b"]))


def test_empty_names_rows_and_columns(read):
    with translation.override("pl"):
        _reading, sheet, rows = read("\n;;\nA;;C;;;\n1;2;3;;;\n;;\n4\n;;;;\n\n")
    assert sheet.header == ["A", "Kolumna B", "C"]
    assert rows == [(4, ["1", "2", "3"]), (6, ["4", "", ""])]
    assert (sheet.first_row, sheet.rows, sheet.warnings) == (4, 2, [])


def test_a_row_with_more_cells_than_the_header_and_a_header_twice(read, tmp_path):
    _reading, sheet, rows = read("E-mail,Name,E-mail\na,b,c\nd,e,f,g\n")
    assert sheet.header == ["E-mail", "Name", "E-mail"]
    assert rows[1] == (3, ["d", "e", "f", "g"])
    with (tmp_path / "canonical.jsonl").open("rb") as file:
        assert [row.is_too_wide for row in read_rows(file, sheet)] == [False, True]
    assert [file_error(code=w["code"], params=w).text for w in sheet.warnings] == [
        "has several columns with the name “E-mail”: A, C",
        "has 4 cells in row 3, but only 3 columns",
    ]


# XLSX


def fill_book(book):
    clients, hidden, deals = (book.add_worksheet(name) for name in ("Klienci", "Ukryty", "Szanse"))
    hidden.hide()
    day, moment, hour, percent = (
        book.add_format({"num_format": name}) for name in ("yyyy-mm-dd", "yyyy-mm-dd hh:mm", "hh:mm", "0%")
    )
    clients.write_row(2, 0, ["Nazwa", "Kwota", "Data", "Czas", "Godzina", "Zgoda", "NIP", "Udział", "Błąd"])
    clients.write_string(3, 0, "Żółw\nSp. z o.o.")
    clients.write_number(3, 1, 0.1 + 0.2)
    clients.write_datetime(3, 2, date(2025, 9, 28), day)
    clients.write_datetime(3, 3, datetime(2025, 9, 28, 14, 30), moment)  # noqa: DTZ001  # Excel has no time zones
    clients.write_datetime(3, 4, time_of_day(14, 30), hour)
    clients.write_boolean(3, 5, True)
    clients.write_number(3, 6, 5252344078)
    clients.write_number(3, 7, 0.23, percent)
    clients.write_formula(3, 8, "=1/0", None, "#DIV/0!")
    clients.merge_range(5, 0, 5, 2, "Razem")
    clients.write_row(6, 0, ["x", 1.0, 48600100200, 1e26, -0.5, 1e-7])
    clients.write_blank(40, 20, None, day)
    deals.write_row(0, 0, ["Tytuł"])


def test_xlsx(read):
    reading, sheet, rows = read(make_xlsx(fill_book))
    assert (reading.format, reading.sheets, reading.sheet) == ("xlsx", ["Klienci", "Szanse"], "Klienci")
    assert sheet.header == ["Nazwa", "Kwota", "Data", "Czas", "Godzina", "Zgoda", "NIP", "Udział", "Błąd"]
    assert rows == [
        (
            4,
            [
                "Żółw\nSp. z o.o.",
                "0.3",
                "2025-09-28",
                "2025-09-28 14:30:00",
                "14:30:00",
                "true",
                "5252344078",
                "23%",
                "",
            ],
        ),
        (6, ["Razem", *[""] * 8]),
        (7, ["x", "1", "48600100200", "100000000000000000000000000", "-0.5", "0.0000001", "", "", ""]),
    ]
    assert sheet.columns[2].misfits["date:YYYY-MM-DD"] == ("48600100200", 7)
    assert read(make_xlsx(fill_book), sheet="Szanse")[1].header == ["Tytuł"]


# ZIP


def test_zip(read):
    votes = '[{"a": 1, "b": null}, {"c": [true]}]'
    data = make_zip({"posts.csv": "number,title\n1,Żółw\n", "__MACOSX/._posts.csv": "x", "votes.json": votes})
    reading, _sheet, rows = read(data)
    assert (reading.format, reading.sheets, reading.sheet) == ("zip", ["posts.csv", "votes.json"], "posts.csv")
    assert rows == [(2, ["1", "Żółw"])]
    reading, sheet, rows = read(data, sheet="votes.json")
    assert (sheet.header, rows) == (["a", "b", "c"], [(2, ["1", "", ""]), (3, ["", "", "[true]"])])


# Errors


def fill_corners(book, row, column):
    sheet = book.add_worksheet()
    sheet.write(0, 0, "first")
    sheet.write(row, column, "last")


def lying_zip(size):
    """Return a ZIP file with a CSV file that declares another size than it has."""
    data = bytearray(make_zip({"x.csv": b"a,b\n" * 1000}))
    place = data.rindex(b"PK\x01\x02")
    data[place + 24 : place + 28] = struct.pack("<I", size)
    return bytes(data)


def zip_with_flag():
    data = bytearray(make_zip({"x.csv": "a\n"}))
    data[data.rindex(b"PK\x01\x02") + 8] |= 1
    return bytes(data)


@table(
    ("data", "message"),
    [
        ("", "has no rows"),
        ("\n\n;;\n", "has no rows"),
        # A lying extension: the contents decide.
        (b"\x89PNG\r\n\x1a\n" + bytes(50), "is not a table. Save it as CSV or XLSX"),
        ("%PDF-1.7\nx", "is not a table. Save it as CSV or XLSX"),
        ("<html><table><tr><td>x</td></tr></table></html>", "is not a table. Save it as CSV or XLSX"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), "is not a table. Save it as CSV or XLSX"),
        # Polyglots: what is appended to an image or before an archive is not read.
        (b"GIF89a;a,b\n" + make_zip({"x.csv": "a,b\n1,2\n"}), "is not a table. Save it as CSV or XLSX"),
        (
            b"a,b\n1,2\n" + make_zip({"x.csv": "a,b\n"}),
            "contains bytes that are not text, in row 3. Save the table as CSV or XLSX",
        ),
        ("a,b\n1,2\n3,\0\n", "contains bytes that are not text, in row 3. Save the table as CSV or XLSX"),
        (",".join(map(str, range(10_001))) + "\n", "has 10,001 columns, and at most 1,000 are possible"),
        ("a,b\n1,2\n" + "," * 1500 + "x\n", "has 1,501 columns, and at most 1,000 are possible"),
        ("a\nb\n" + "x" * 10_000_000 + "\n", "has more than 1,000,000 characters in row 3"),
        ('a,b\n"' + ("x\n" * 100_000), "has a quotation mark in row 2 that is not closed, or a very long cell"),
        ("a,b\n1,2\n" + '"' * 1_000_000 + "\n", "has more than 1,000,000 characters in row 3"),
        ("a,b\n1,2\n" + '"' * 900_000 + "\n", "has a quotation mark in row 3 that is not closed, or a very long cell"),
        ("a,b\n1,2\n3," + "x" * 65_537 + "\n", "has more than 65,536 characters in cell B3"),
        ('a,b\n1,2\n3,"x\n', "ends within a quotation mark that is opened in row 3. The file may be incomplete"),
        (
            "Nazwa;Miasto\nŻółw;Łódź\nŚwit;".encode() + b"\xb9\n",
            (
                "has several encodings: it is in UTF-8, but cell B3 contains the byte 0xB9. "
                "Save it in UTF-8, or choose an encoding such as windows-1250"
            ),
        ),
        (make_zip({"x": "a"}), "contains no CSV file"),
        (make_zip({"x.json": "{}"}), "has no rows"),
        (make_zip({"x.json": "[1]"}), "is not a table. Save it as CSV or XLSX"),
        (zip_with_flag(), "has a password. Save it without the password"),
        (make_zip({"x.csv": "a,b\n1,2\n"})[:-40], "is damaged or incomplete. Save it again and upload it again"),
        (lying_zip(3000), "is damaged or incomplete. Save it again and upload it again"),
        (lying_zip(201_000_000), "is too large: at most 200 MB are possible"),
        (make_xlsx(fill_book)[:3000], "is damaged or incomplete. Save it again and upload it again"),
        (make_zip({"xl/workbook.xml": "<x/>"}), "is damaged or incomplete. Save it again and upload it again"),
        (
            make_xlsx(lambda book: fill_corners(book, 29_999, 100)),
            "has 3,030,000 cells in one sheet, and at most 2,000,000 are possible. Save the sheet as CSV",
        ),
        (
            make_xlsx(lambda book: fill_corners(book, 1_048_575, 16_383)),
            "is too large to be read as a spreadsheet. Save the sheet as CSV",
        ),
    ],
)
def test_it_rejects_bad_files(data, message, read):
    assert message_of(read, data) == message


@table(
    ("overrides", "message"),
    [
        ({"encoding": "rot13"}, "can't be read in this encoding"),
        ({"separator": "ab"}, "can't be read with this separator: it must be one character"),
        ({"separator": '"'}, "can't be read with this separator: it must be one character"),
        (
            {"encoding": "cp1250"},
            "contains the byte 0x81 in cell B2, which the encoding does not have. Choose another encoding",
        ),
    ],
)
def test_it_rejects_bad_arguments(overrides, message, read):
    assert message_of(read, b"a,b\n1,\x81\xf0\n", **overrides) == message
    header = "contains the byte 0x81 in cell B1, which the encoding does not have. Choose another encoding"
    assert message_of(read, b"a,\x81\xf0\n", encoding="cp1250", has_header=True) == header
    assert message_of(read, make_zip({"x.csv": "a\n"}), sheet="y.csv") == "has no sheet with the name “y.csv”"
    assert message_of(read, make_xlsx(fill_book), sheet="y") == "has no sheet with the name “y”"


def test_it_rejects_a_file_above_its_limits(read, monkeypatch):
    monkeypatch.setattr(reading_module, "MAX_BYTES", 1000)
    assert message_of(read, "a\n" * 501) == "is too large: at most 0 MB are possible"
    monkeypatch.setattr(sheets_module, "MAX_ROWS", 2)
    assert message_of(read, "a\n1\n2\n3\n") == "has more than 2 rows"


def test_a_zip_bomb_is_not_unpacked(read):
    """A part of an XLSX file says that it is too large, or is much larger than it says."""
    data = bytearray(make_zip({"xl/workbook.xml": b" " * 10_000_000}))
    place = data.rindex(b"PK\x01\x02")
    data[place + 24 : place + 28] = struct.pack("<I", 600_000_000)
    assert message_of(read, bytes(data)) == "is too large to be read as a spreadsheet. Save the sheet as CSV"
    data[place + 24 : place + 28] = struct.pack("<I", 100)
    assert message_of(read, bytes(data)) == "is damaged or incomplete. Save it again and upload it again"


def test_mixed_encodings_can_be_read_by_choice(read):
    data = "Nazwa;Miasto\nŚwit;".encode() + b"\xb9\n"
    with pytest.raises(SpreadsheetError) as caught:
        read(data)
    error = caught.value
    assert (error.code, error.row, error.column, error.params["byte"]) == ("mixed_encodings", 2, "B", "0xB9")
    assert read(data, encoding="cp1250")[2] == [(2, ["Ĺšwit", "ą"])]


def test_every_message_has_its_parameters():
    for code, message in MESSAGES.items():
        assert str(message), code


# Any table is read back


CELLS = st.text(st.characters(codec="utf-8", exclude_characters="\0", exclude_categories=("Cs",)), max_size=8)
LATIN = st.text("aąćęłńóśźżĄĆĘŁŃÓŚŹŻ xyz019,;|\t\"'\n\r=-", max_size=8)


@settings(max_examples=60, deadline=None)
@given(
    data=st.data(),
    separator=st.sampled_from(",;\t|"),
    encoding=st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "cp1250", "iso8859-2"]),
)
def test_any_rows_are_read_back(tmp_path_factory, data, separator, encoding):
    cells = CELLS if encoding.startswith("utf") else LATIN
    width = data.draw(st.integers(2, 5))
    rows = data.draw(st.lists(st.lists(cells, min_size=width, max_size=width), min_size=1, max_size=10))
    directory = tmp_path_factory.mktemp("rows")
    path, output = directory / "x.csv", directory / "x.jsonl"
    with path.open("w", encoding=encoding, newline="") as file:
        csv.writer(file, delimiter=separator).writerows([["Header"] * width, *rows])
    name = {"utf-16": "utf-16-le"}.get(encoding, encoding)
    reading = detect(path, encoding=name, separator=separator, has_header=True)
    sheet = convert(path, reading, output)
    with output.open("rb") as file:
        found = [row.cells for row in read_rows(file, sheet)]
    assert found == [row for row in rows if any(row)]


@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_any_bytes_are_read_or_rejected(tmp_path_factory, data):
    """A changed file is read, or rejected with a message."""
    seeds = [POLISH.encode(), POLISH.encode("utf-16"), make_zip({"x.csv": POLISH, "y.csv": "a"}), b'a,"b\n\nc",\r\n']
    seed = data.draw(st.sampled_from(seeds))
    start, length = data.draw(st.integers(0, len(seed))), data.draw(st.integers(0, 20))
    middle = data.draw(st.binary(max_size=4) | st.sampled_from([b'"', b"\r", b"\0", b"sep=;\n", b"\xff\xfe"]))
    path = tmp_path_factory.mktemp("bytes") / "x"
    path.write_bytes(seed[:start] + middle + seed[start + length :])
    try:
        convert(path, detect(path), path.with_suffix(".jsonl"))
    except SpreadsheetError as error:
        text = error.text
    else:
        return
    assert text


@pytest.mark.soak
def test_a_million_rows(tmp_path):
    """A million rows take less than 40 seconds of a processor."""
    path, chance = tmp_path / "x.csv", random.Random(1)
    with path.open("w", newline="") as file:
        writer = csv.writer(file, delimiter=";")
        writer.writerow(["Nazwa", "E-mail", "NIP", "Telefon", "Kwota", "Data", "Miasto", "Utworzono"])
        for i in range(1_000_000):
            day = f"{i % 28 + 1:02}.{i % 12 + 1:02}.2025"
            row = [
                f"Firma {i}",
                f"osoba{i}@firma.example",
                5250000000 + i,
                f"+48 600 {i % 1000:03} 200",
                f"{chance.randrange(10**7)},50",
            ]
            writer.writerow([*row, day, "Łódź", f"2025-01-{i % 28 + 1:02} {i % 24:02}:{i % 60:02}:00"])
    started = time.process_time()
    sheet = convert(path, detect(path), tmp_path / "x.jsonl")
    assert time.process_time() - started < 40
    assert sheet.rows == 1_000_000
    assert [sheet.columns[4].fits("number:1 234,50"), sheet.columns[7].fits("datetime:YYYY-MM-DD")] == [True, True]
