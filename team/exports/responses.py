"""Exports of few rows: the file is the response."""

import logging
from collections.abc import Iterator
from functools import partial
from http import HTTPStatus
from tempfile import SpooledTemporaryFile
from time import monotonic

from django.db import Error, connection
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.utils import translation
from django.utils.http import content_disposition_header
from django.utils.translation import gettext as _

from accounts.account.models import Account
from core.error_responses import error_response
from core.limits import leases
from core.limits.leases import Lease
from core.limits.pace import Pace
from team.exports.formats import CONTENT_TYPES, CSVFormat, Format, XLSXFormat
from team.exports.sources import Source

logger = logging.getLogger("rostrum.export")

# The exports of an account that run at a time.
MAX_EXPORTS = 2
# The bytes of a workbook that are sent together, and those that are kept in memory.
CHUNK_BYTES, MAX_IN_MEMORY = 64 * 1024, 1024 * 1024


def respond_with_file(
    request: HttpRequest, account: Account, source: Source, format: str, options: CSVFormat, *, name: str
) -> HttpResponse:
    """Return the rows of a source as a file. `Source.count` has found them."""
    chunks = options.write(source.headings, source.chunks()) if format == Format.CSV else workbook_chunks(source)
    return stream_file(request, account, chunks, format, name=name)


def stream_file(
    request: HttpRequest, account: Account, chunks: Iterator[bytes], format: str, *, name: str
) -> HttpResponse:
    """Return the chunks of a file, which are made while they are sent. An account may receive a few files at a time."""
    lease = leases.acquire(f"export:{account.id}", limit=MAX_EXPORTS)
    if lease is None:
        message = _("Your account is exporting as many lists as it may. Try again when one of them is complete.")
        return error_response(request, HTTPStatus.TOO_MANY_REQUESTS, message=message, headers={"Retry-After": "10"})
    # The view has returned when the chunks are made, so its language is no longer active.
    chunks = use_language(translation.get_language(), chunks)
    response = StreamingHttpResponse(ExportStream(chunks, lease), content_type=CONTENT_TYPES[Format(format)])
    response.headers["Content-Disposition"] = content_disposition_header(True, name) or "attachment"
    response.headers["Cache-Control"] = "private, no-store"
    return response  # type: ignore[return-value]  # the stubs have no common base


def workbook_chunks(source: Source) -> Iterator[bytes]:
    """Write the workbook, and yield it in chunks."""
    with SpooledTemporaryFile(MAX_IN_MEMORY) as file:
        workbook = XLSXFormat(str(source.resource.label))
        workbook.write(file, source.headings, source.chunks())  # type: ignore[arg-type]  # it is a binary file
        file.seek(0)
        yield from iter(partial(file.read, CHUNK_BYTES), b"")


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
