"""The archive of an account as a kind of export: a job writes it for an owner."""

from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import BinaryIO

from django.db import connections
from django.utils.translation import gettext_lazy as _

from accounts.users.models import User
from core.db import locks
from core.errors import Conflict, FieldError
from team.archives.writing import count_rows, write_archive
from team.exports.models import Export, register_kind

ARCHIVE = "archive"
# The archives of an account that are kept at a time. The quota of its files leaves them out, so that an owner can always leave.
MAX_ARCHIVES = 3
# A bucket stores a file in at most 10,000 parts of 5 MiB.
MAX_ARCHIVE_BYTES = 48 * 1024**3


def check_start(export: Export, user: User) -> None:
    """Raise Conflict if an archive of the account is in progress, and FieldError if the account has too many."""
    locks.acquire((ARCHIVE, export.account.id))
    archives = export.account.exports.filter(kind=ARCHIVE)
    if archives.running().exists():
        raise Conflict(_("An archive of the account is already being written"))
    if archives.available().count() >= MAX_ARCHIVES:
        message = _("The account has {n} archives. Each is deleted after a day, or earlier by the owner who created it")
        raise FieldError("", message, "too_many", {"n": MAX_ARCHIVES})


def write_file(export: Export, user: User, file: BinaryIO) -> str:
    """Write the archive. The transaction of its rows is read-only, so another connection stores the progress."""
    export.total, written = count_rows(export.account), dict[str, int]()
    with ThreadPoolExecutor(1, thread_name_prefix="archive") as thread:

        def advance(name: str, number: int) -> None:
            written[name] = number
            thread.submit(copy_context().run, export.advance, sum(written.values())).result()

        try:
            write_archive(export.account, file, progress=advance)
        finally:
            thread.submit(connections.close_all).result()
    return "application/zip"


OPTIONS = {"check_start": check_start, "extension": "zip", "max_bytes": MAX_ARCHIVE_BYTES}
register_kind(ARCHIVE, _("The whole account"), write_file, is_allowed=lambda user: user.is_owner, **OPTIONS)
