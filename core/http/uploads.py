"""Long bodies: forms with files, for views that declare `max_body_bytes`. They are received outside of the slots of requests."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic
from typing import IO

from django.conf import settings

from core.limits import leases
from core.limits.leases import Lease
from core.limits.pace import Pace

# The long bodies of an account that are received at a time, in all processes.
MAX_UPLOADS = 2
# The bytes that are received together.
CHUNK_SIZE = 64 * 1024


@contextmanager
def holding_lease(account_id: int) -> Iterator[Lease | None]:
    """Yield a lease for one upload of the account, or None if the account has as many uploads as it may have."""
    lease = leases.acquire(f"upload:{account_id}", limit=MAX_UPLOADS)
    try:
        yield lease
    finally:
        if lease is not None:
            lease.release()


def receive(body: IO[bytes], length: int, lease: Lease) -> IO[bytes] | None:
    """Return a temporary file with the body. Return None if it is incomplete, or if the client sends it too slowly."""
    file = tempfile.TemporaryFile(dir=settings.FILE_UPLOAD_TEMP_DIR)  # noqa: SIM115  # the caller closes it
    pace = Pace()
    while pace.bytes < length:
        started_at = monotonic()
        chunk = body.read(min(CHUNK_SIZE, length - pace.bytes))
        pace.add(len(chunk), monotonic() - started_at)
        if not chunk or pace.is_too_slow or not lease.renew():
            file.close()
            return None
        file.write(chunk)
    file.seek(0)
    return file
