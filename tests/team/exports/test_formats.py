"""The formats of exported files: the guard against formulas, CSV, and XLSX, whose cells another library reads back."""

import csv
import io
from datetime import date, datetime
from decimal import Decimal

import pytest
from django.utils import translation
from hypothesis import given
from hypothesis import strategies as st
from python_calamine import CalamineWorkbook

from core.http.spreadsheets import guard, unguard
from team.exports import formats
from team.exports.formats import Amount, CSVFormat, PhoneText, XLSXFormat, join_list, split_list
from tests.support.tables import table

# What may begin a formula, be a guard, or precede either.
TEXTS = st.text(st.sampled_from("'=+-@\t\r\n a1\u00a0\u2003")) | st.text()
ROW = ["=1+1", "", None, 7, Decimal("-1234.500000"), Amount(Decimal("1234.5"), "PLN"), True, date(2026, 3, 1)]
ROW += [datetime(2026, 3, 1, 9, 30), PhoneText("+48 601 234 567")]  # noqa: DTZ001
LABELS = [f"Column {number}" for number in range(len(ROW) - 1)] + ["@phone"]


def csv_of(rows: list[list], **options: str) -> str:
    chunks = CSVFormat(**options).write(LABELS[: len(rows[0])], [rows])
    return b"".join(chunks).decode("utf-8-sig")


def xlsx_of(rows: list[list]) -> tuple[CalamineWorkbook, XLSXFormat]:
    file, xlsx = io.BytesIO(), XLSXFormat("Clients")
    xlsx.write(file, LABELS[: len(rows[0])], [rows])
    return CalamineWorkbook.from_filelike(io.BytesIO(file.getvalue())), xlsx


def test_it_works():
    headings = ",".join(LABELS[:-1])
    assert csv_of([ROW]) == (
        f"{headings},'@phone\r\n'=1+1,,,7,-1234.5,1234.50,Yes,2026-03-01,2026-03-01 09:30:00,+48 601 234 567\r\n"
    )
    with translation.override("pl"):
        assert csv_of([ROW]).splitlines()[1] == (
            "'=1+1;;;7;-1234,5;1234,50;Tak;2026-03-01;2026-03-01 09:30:00;+48 601 234 567"
        )
        assert csv_of([[Decimal("1.5"), "a,b"]], separator="comma", decimal_sign="point").splitlines()[1] == '1.5,"a,b"'
        assert csv_of([[Decimal("1.5"), "a"]], separator="tab").splitlines()[1] == "1,5\ta"
    book, _xlsx = xlsx_of([ROW])
    assert book.sheet_names == ["Clients"]
    first, second = book.get_sheet_by_index(0).to_python()
    assert first == LABELS
    assert second == ["=1+1", "", "", 7, -1234.5, 1234.5, "Yes", date(2026, 3, 1), ROW[8], "+48 601 234 567"]


@given(TEXTS)
def test_a_guarded_text_is_read_back_and_is_no_formula(text):
    guarded = guard(text)
    assert unguard(guarded) == text
    assert not guarded.lstrip().startswith(("=", "+", "-", "@"))
    assert not guarded.startswith(("\t", "\r"))


@given(st.lists(TEXTS, min_size=1))
def test_a_row_is_read_back_from_csv(texts):
    content = b"".join(CSVFormat("semicolon").write(texts, [[texts]])).decode("utf-8-sig")
    rows = csv.reader(io.StringIO(content, newline=""), delimiter=";")
    assert [[unguard(cell) for cell in row] for row in rows if row] == ([texts, texts] if texts != [""] else [[""]] * 2)


@given(st.lists(st.text(st.sampled_from("ab,\"' \n\t"), min_size=1)))
def test_a_list_is_read_back(items):
    assert split_list(join_list(items)) == items


PHONES = [
    ("+48 601 234 567", "+48 601 234 567"),
    ("+1 (555) 010-99.88", "+1 (555) 010-99.88"),
    ("+48 22 123 45 67 wew. 12", "+48 22 123 45 67 wew. 12"),
    ("+1+1", "'+1+1"),
    ("+48 cmd|' /C calc'!A0", "'+48 cmd|' /C calc'!A0"),
    ("'+48 601 234 567", "''+48 601 234 567"),
    ("=1+1", "'=1+1"),
]


@table("phone, cell", PHONES)
def test_a_telephone_number_stays_as_it_is(phone, cell):
    assert CSVFormat().text(PhoneText(phone)) == cell
    assert unguard(cell) == phone


@table(
    "value, cell",
    [
        (Decimal("12345678901234.123456"), "12345678901234.123456"),
        (10**15 + 1, "1000000000000001"),
        (Decimal("0.100000"), 0.1),
        (Decimal("123456789012345.000000"), 123456789012345.0),
        (date(1899, 12, 31), "1899-12-31"),
        (datetime(1066, 10, 14, 9), "1066-10-14 09:00:00"),  # noqa: DTZ001
        ("a_x0041_\r\n\t😀 ", "a_x0041_\r\n\t😀 "),
        ("x" * 32_767, "x" * 32_767),
    ],
)
def test_a_cell_of_xlsx_has_the_exact_value(value, cell):
    book, xlsx = xlsx_of([[value]])
    assert book.get_sheet_by_index(0).to_python()[1] == [cell]
    assert (xlsx.cut_number, book.sheet_names) == (0, ["Clients"])


@pytest.mark.parametrize("text", ["x" * 32_768, "😀" * 16_384])
def test_the_file_says_which_texts_are_cut(text, monkeypatch):
    monkeypatch.setattr(formats, "MAX_CUT_CELLS", 1)
    book, xlsx = xlsx_of([["a"], [text], [text]])
    rows = book.get_sheet_by_index(0).to_python()
    assert len(rows[2][0].encode("utf-16-le")) // 2 in (32_766, 32_767)
    assert text.startswith(rows[2][0].removesuffix("…"))
    assert (xlsx.cut_number, xlsx.cut_cells) == (2, [(3, "Column 0")])
    assert book.get_sheet_by_name("Cut texts").to_python()[1:] == [[3, "Column 0"], ["…", ""]]
