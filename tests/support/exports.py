"""Exports of lists as the pages send them."""

import csv
import io

from tests.support.writing import sender


def export(visitor, resource: str, query: str = "", **values):
    """Send the form that exports a list, with its shown columns as CSV by default. Return the response."""
    values = {"resource": resource, "query": query, "format": "csv", "columns": "shown"} | values
    return sender(visitor)("/app/exports", values, expect_errors=True)


def rows_of(content: bytes, **options: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(content.decode("utf-8-sig"), newline=""), **options))


def exported(visitor, resource: str, query: str = "", **values) -> list[list[str]]:
    """Return the rows of the CSV file of a list."""
    response = export(visitor, resource, query, **values)
    assert response.headers["Content-Type"] == "text/csv; charset=utf-8", response.text
    return rows_of(response.body)
