"""The response with the bytes of a stored file (RFC 9110: ranges and conditions; RFC 6266: the name)."""

import re
from collections.abc import Iterator
from time import monotonic

from django.http import FileResponse, HttpRequest, HttpResponse
from django.utils.cache import get_conditional_response
from django.utils.http import content_disposition_header, quote_etag

from core.files.models import StoredFile
from core.limits.pace import Pace

# Scripts of the file do not run, and it loads nothing, if a browser shows it as a page.
POLICY = "sandbox; default-src 'none'"
DEFAULT_TYPE = "application/octet-stream"

_RANGE = re.compile(r"bytes=(?:(\d{1,18})-(\d{0,18})|-(\d{1,18}))", re.ASCII)


def file_response(request: HttpRequest, file: StoredFile, *, inline: bool) -> HttpResponse:
    """Return the file, or the part of it that the request names. `inline` is for types that browsers may show."""
    etag = quote_etag(file.sha256)
    headers = {
        "ETag": etag,
        "Accept-Ranges": "bytes",
        "Cache-Control": "private, no-cache",
        "X-Content-Type-Options": "nosniff",
        "Content-Security-Policy": POLICY,
        "Content-Disposition": content_disposition_header(not inline, file.name) or "inline",
    }
    conditional = get_conditional_response(request, etag=etag)
    if conditional is not None:
        return HttpResponse(status=conditional.status_code, headers=headers)
    status, start, end = 200, 0, file.size
    if request.method == "GET" and request.META.get("HTTP_IF_RANGE", etag) == etag:
        part = requested_part(request.META.get("HTTP_RANGE", ""), file.size)
        if part is not None:
            status, (start, end) = 206, part
            if start >= end:
                return HttpResponse(status=416, headers={**headers, "Content-Range": f"bytes */{file.size}"})
            headers["Content-Range"] = f"bytes {start}-{end - 1}/{file.size}"
    headers["Content-Length"] = str(end - start)
    chunks = iter(()) if request.method == "HEAD" else in_pace(file.read(start, end - start))
    content_type = file.content_type if inline else DEFAULT_TYPE
    # A FileResponse, which is not streamed if it is small (`config.wsgi`).
    return FileResponse(chunks, status=status, headers=headers, content_type=content_type)  # type: ignore[return-value]  # the stubs have no common base


def requested_part(text: str, size: int) -> tuple[int, int] | None:
    """Return the start and the end of the only range in a Range header, or None if the whole file has to be sent.

    The start is not before the end if the file has no such part.
    """
    match = _RANGE.fullmatch(text.strip())
    if match is None:
        return None
    first, last, suffix = match.groups()
    if suffix:
        return max(0, size - int(suffix)), size
    if last and int(last) < int(first):
        return None
    return int(first), min(size, int(last) + 1) if last else size


def in_pace(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the chunks. End early, so that the response is incomplete, if the client reads them too slowly."""
    pace = Pace()
    for chunk in chunks:
        started_at = monotonic()
        yield chunk
        pace.add(len(chunk), monotonic() - started_at)
        if pace.is_too_slow:
            return
