"""The export of a list as a CSV file for spreadsheet programs, in the format that they expect in the language of the reader.

Where the comma is the decimal sign, a semicolon separates the values.
"""

import csv
import logging
import re
from collections.abc import Iterator, Sequence
from datetime import date, datetime
from http import HTTPStatus
from time import monotonic
from typing import Any

from django.contrib import messages
from django.db import Error, connection
from django.http import HttpResponse, StreamingHttpResponse
from django.urls import reverse
from django.utils import formats, timezone, translation
from django.utils.translation import get_language
from django.utils.translation import gettext as _

from accounts.statuses.models import reason_text
from core.api.fields import to_decimal
from core.db.time_limit import TooSlow
from core.error_responses import error_response
from core.http import throttling
from core.limits import leases
from core.limits.leases import Lease
from core.limits.pace import Pace
from core.pages.base import redirect
from core.pages.formatting import amount_text, number_text
from core.rows.declared import FieldType
from core.rows.values import ValuesRow
from crm.fields.catalogue import REASON_NAMES, Field
from team.fields.cells import currency_in, sums_text, value_in
from team.fields.names import LINKS, Names
from team.lists.declarations import LISTS
from team.lists.queries import ListQuery, selected_ids
from team.menu.pages import TeamPage, TeamRequest
from team.summaries.models import SUM_NAMES

logger = logging.getLogger("rostrum.export")
# The action of a list that exports the selected rows.
EXPORT = "export"


# Spreadsheet programs recognize UTF-8 by this mark.
BYTE_ORDER_MARK = "\ufeff"
# Spreadsheet programs execute a cell that begins with one of these characters as a formula.
FORMULA = re.compile(r"\s*[=+\-@\t\r]")
# A telephone number in the international format, which may have an extension. It has no letters that could name a function or a cell.
PHONE_NUMBER = re.compile(r"\s*\+\s*[0-9(][0-9\s()./\-\u2011]*(?:(?:ext|x|wew)\.?\s?[0-9]+)?\s*", re.IGNORECASE)
# The maximum number of rows of a file. A sheet of a spreadsheet program has 1,048,576 rows.
MAX_EXPORTED = 1_000_000
# The number of rows that are read together.
CHUNK_SIZE = 1000
# The exports of an account that run at a time.
MAX_EXPORTS = 2


class ExportPage(TeamPage):
    """The rows of a list as a CSV file, with its filters, its order and its columns."""

    resource = ""

    def get(self, request: TeamRequest) -> HttpResponse:
        throttling.count_export(request)
        declaration = LISTS[self.resource]
        account, user, language = request.account, request.user, get_language()
        query = ListQuery.read(declaration, request.GET, account=account, user=user, language=language)
        back = reverse(declaration.route) + query.query_string()
        if query.errors:
            # The list names the errors.
            return redirect(reverse(declaration.route) + f"?{request.GET.urlencode()}")
        try:
            ids = selected_ids(query, limit=MAX_EXPORTED, ordered=True)
        except TooSlow:
            messages.error(request, _("This takes too long, because too many entries would have to be compared."))
            return redirect(back)
        if len(ids) > MAX_EXPORTED:
            messages.error(request, too_many(MAX_EXPORTED))
            return redirect(back)
        return respond_with_csv(request, query, ids)


def respond_with_csv(request: TeamRequest, query: ListQuery, ids: Sequence[int]) -> HttpResponse:
    lease = leases.acquire(f"export:{request.account.id}", limit=MAX_EXPORTS)
    if lease is None:
        message = _("Your account is exporting as many lists as it may. Try again when one of them is complete.")
        return error_response(request, HTTPStatus.TOO_MANY_REQUESTS, message=message, headers={"Retry-After": "10"})
    chunks = ExportStream(export(query, ids), lease)
    response = StreamingHttpResponse(chunks, content_type="text/csv; charset=utf-8")
    name = f"{query.declaration.collection}-{timezone.localdate().isoformat()}.csv"
    response.headers["Content-Disposition"] = f'attachment; filename="{name}"'
    response.headers["Cache-Control"] = "private, no-store"
    return response  # type: ignore[return-value]  # the stubs have no common base


def too_many(limit: int) -> str:
    return _("At most %(n)s entries are possible at a time. Add a filter.") % {"n": number_text(limit)}


def csv_writer(file: Any) -> Any:
    """Return a writer of the `csv` module for the active language."""
    return csv.writer(file, delimiter=";" if formats.get_format("DECIMAL_SEPARATOR") == "," else ",")


def guarded(text: str) -> str:
    """Return the text with an apostrophe before it if a spreadsheet program would execute it as a formula."""
    return f"'{text}" if FORMULA.match(text) else text


class ExportStream:
    """The chunks of a file, while the client reads them.

    The file ends early if the client reads too slowly, as it occupies a thread meanwhile. (A client that does not read at all is
    disconnected by the server.)
    """

    def __init__(self, chunks: Iterator[bytes], lease: Lease) -> None:
        self.chunks, self.lease = chunks, lease
        self.pace = Pace()
        # The bytes of the last chunk, and when the client got it.
        self.sent, self.sent_at = 0, 0.0
        self.is_over = False
        self.too_slow = _("The file is incomplete: it was read too slowly. Export the list again.")

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        if self.is_over:
            raise StopIteration
        if self.sent:
            self.pace.add(self.sent, monotonic() - self.sent_at)
        if self.pace.is_too_slow or not self.lease.renew():
            self.close()
            return f"{self.too_slow}\r\n".encode()
        chunk = next(self.chunks, None)
        if chunk is None:
            self.close()
            raise StopIteration
        self.sent, self.sent_at = len(chunk), monotonic()
        return chunk

    def close(self) -> None:
        """Release the lease. If the client has disconnected, the thread may have no connection to the database."""
        if self.is_over:
            return
        self.is_over = True
        was_connected = connection.connection is not None
        try:
            self.lease.release()
        except Error:
            # The lease ends by itself.
            logger.warning("the lease of an export could not be released")
        finally:
            if not was_connected:
                connection.close()


class Echo:
    """A file that keeps nothing: `csv.writer` returns what it would write."""

    def write(self, text: str) -> str:
        return text


def export(query: ListQuery, ids: Sequence[int]) -> Iterator[bytes]:
    """Return the CSV of the rows with these ids, in this order, in chunks of `CHUNK_SIZE` rows.

    The columns are the number, the name and the columns of the list. The price of a deal is followed by its currency. Rows that were deleted
    meanwhile are left out. Each chunk takes at most five statements.
    """
    writer = csv_writer(Echo())
    by_name = {field.name: field for field in query.fields}
    fields = [by_name["name"], *query.shown_fields]
    names = [field.name for field in fields]
    if "price" in names and "currency" not in names:
        fields.insert(names.index("price") + 1, by_name["currency"])
    # `writerow` returns what `write` of the file returns.
    language = translation.get_language()

    def chunks() -> Iterator[bytes]:
        heading: str = writer.writerow([_("Number"), *(guarded(str(field.label)) for field in fields)])
        yield (BYTE_ORDER_MARK + heading).encode()
        for start in range(0, len(ids), CHUNK_SIZE):
            chunk = rows_of(query, fields, ids[start : start + CHUNK_SIZE])
            lines: list[str] = [writer.writerow(cells) for cells in chunk]
            yield "".join(lines).encode()

    # The view has returned when the chunks are made, so its language is no longer active.
    return use_language(language, chunks())


def use_language(language: str | None, chunks: Iterator[bytes]) -> Iterator[bytes]:
    while True:
        with translation.override(language):
            try:
                chunk = next(chunks, None)
            except Error:
                # The server would end the response as if it were complete.
                logger.exception("an export was cut off")
                message = _("The file is incomplete: the database was not available. Export the list again.")
                yield f"{message}\r\n".encode()
                return
        if chunk is None:
            return
        yield chunk


def rows_of(query: ListQuery, fields: list[Field], ids: Sequence[int]) -> Iterator[list[str]]:
    columns = {"id", *(field.column for field in fields)}
    if query.declaration.resource == "deal":
        columns.add("currency")
    found = query.values(ids, columns)
    rows = [found[id] for id in ids if id in found]
    links = [(field.type, value_in(row, field)) for row in rows for field in fields if field.type in LINKS]
    names = Names.read(query.account, query.user, links)
    for row in rows:
        yield [row["id"], *(cell(row, field, names, query) for field in fields)]


def cell(row: ValuesRow, field: Field, names: Names, query: ListQuery) -> str:
    """Return a value as a spreadsheet program reads it: names instead of ids, numbers without grouping, dates as in ISO 8601."""
    value = value_in(row, field)
    if value is None:
        return ""
    if field.type in LINKS:
        return guarded(names.get_name(field.type, value))
    if field.name in SUM_NAMES:
        return guarded(sums_text(value, field.name, is_grouped=False))
    if isinstance(value, bool):
        return _("Yes") if value else _("No")
    if isinstance(value, datetime):
        return value.astimezone(query.account.zone).strftime("%Y-%m-%d %H:%M:%S")
    if isinstance(value, date):
        return value.isoformat()
    # An additional field may have numbers as texts, from the time before it was defined.
    if field.is_amount and (number := to_decimal(value)) is not None:
        if field.type == FieldType.MONEY:
            return amount_text(number, currency_in(row, field, query.account.currency), is_grouped=False)
        return number_text(number, is_grouped=False)
    if isinstance(value, list):
        return guarded(", ".join(map(str, value)))
    # A telephone number stays as it is, so that other programs can dial and import it.
    if field.type == FieldType.PHONE and PHONE_NUMBER.fullmatch(str(value)):
        return str(value)
    return guarded(reason_text(value) if field.name in REASON_NAMES else str(value))
