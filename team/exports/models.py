"""Exports that are written in the background: their progress, and the file, which is kept for a day for the user who asked for it.

A job writes the whole file, because a workbook can't be continued. If its worker is killed, the job writes the file again. Each kind of exports has
a writer (`register_kind`), which calls `advance` as it goes on.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from tempfile import TemporaryFile
from time import monotonic
from typing import Any, BinaryIO, Self

from django.core.exceptions import PermissionDenied
from django.db import models, transaction
from django.db.models import F, Q
from django.utils import timezone, translation
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from accounts.account.models import Account
from accounts.audit.models import record
from accounts.users.models import User
from core.db.tenancy import TenantModel, foreign_object
from core.db.time_limit import TooSlow, without_statement_timeout
from core.errors import FieldError, FieldErrors
from core.files.models import StoredFile
from core.jobs.registry import MAX_TIME_LIMIT, has_time_left, job, periodic_job, register_queue
from team.exports.declarations import EXPORTS
from team.exports.formats import CONTENT_TYPES, MAX_SHEET_ROWS, CSVFormat, Format, XLSXFormat
from team.exports.sources import JOB_TIME_LIMIT_MS, Source, source_of

# The kind of the exports of lists.
LIST = "list"
# The maximum number of rows of a file.
MAX_ROWS = {Format.CSV: 5_000_000, Format.XLSX: MAX_SHEET_ROWS - 1}
MAX_BYTES = 5 * 1024**3
# The exports of an account in progress, and how long a finished one is kept.
MAX_RUNNING, KEPT_FOR = 10, timedelta(days=1)
# An export without progress for this time is started again: its job may have failed too often. After this number of attempts, it has failed.
STALLED_AFTER, MAX_ATTEMPTS = timedelta(minutes=15), 5
MAX_CONTINUED = 100
MAX_QUERY_LENGTH = 4000
# The bytes of the file that are stored together.
CHUNK_BYTES = 1024 * 1024
# An account writes one file at a time. With two threads, a long one does not delay the first one of another account.
QUEUE = "exports"

register_queue(QUEUE, threads=2, max_running=1)


class ExportQuerySet(models.QuerySet["Export"]):
    def locked(self) -> Self:
        return self.select_for_update(no_key=True, of=("self",))

    def visible_to(self, user: User) -> Self:
        """Return the exports of the user, of the kinds that they may have. A file has what its author may access, so no one else may read it."""
        kinds = [key for key, kind in KINDS.items() if kind.is_allowed(user)]
        return self.filter(author_id=user.id, kind__in=kinds)

    def running(self) -> Self:
        return self.filter(state=Export.State.RUNNING)

    def available(self) -> Self:
        """Return the exports with a file."""
        return self.filter(file_id__isnull=False, expires_at__gt=timezone.now())

    def outdated(self) -> Self:
        return self.filter(expires_at__lt=timezone.now())

    def discard(self) -> int:
        """Delete the exports and their files. Return their number."""
        exports = list(self.select_related("account"))
        for export in exports:
            export.discard()
        return len(exports)


class Export(TenantModel):
    """A file that a job writes for a user."""

    class State(models.TextChoices):
        RUNNING = "running", _("Running")
        DONE = "done", _("Done")
        # `failure` says why.
        FAILED = "failed", _("Failed")

    class Failure(models.TextChoices):
        NONE = "", ""
        USER = "user", _("The person who asked for it has left the team.")
        FILTERS = "filters", _("A filter of the list can no longer be read. Open the list and export it again.")
        ROWS = "rows", _("The file would have too many rows. Add a filter, or choose CSV, which may have more.")
        TIME = "time", _("It took too long. Add a filter, or export the shown columns only.")
        SPACE = "space", _("There is no space left for the file. Delete files that are no longer needed.")
        ERROR = "error", _("The file could not be written.")

    class Columns(models.TextChoices):
        SHOWN = "shown", _("The shown columns")
        ALL = "all", _("All columns")

    author_id = models.BigIntegerField(editable=False)
    author = foreign_object(User, "author_id")
    # A key of `KINDS`, and what is exported: for a list, a key of `EXPORTS`.
    kind = models.CharField(max_length=255, default=LIST)
    resource = models.CharField(max_length=255, blank=True, default="")
    # The parameters of the list.
    query = models.TextField(blank=True, default="")
    columns = models.CharField(max_length=255, choices=Columns.choices, default=Columns.SHOWN)
    format = models.CharField(max_length=255, choices=Format.choices, default=Format.CSV)
    # The language of the file, and the `separator` and the `decimal_sign` of CSV, if they are not those of the language.
    options = models.JSONField(default=dict)
    state = models.CharField(max_length=255, choices=State.choices, default=State.RUNNING)
    failure = models.CharField(max_length=255, choices=Failure.choices, default=Failure.NONE)
    # Numbers of rows. The total is null until the rows are counted.
    total = models.IntegerField(null=True)
    written = models.IntegerField(default=0)
    attempts = models.IntegerField(default=0)
    # What the page says about the file: the cells that were cut (`XLSXFormat`).
    notes = models.JSONField(default=dict)
    file_id = models.BigIntegerField(null=True, editable=False)
    file = foreign_object(StoredFile, "file_id", null=True)
    expires_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    updated_at = models.DateTimeField(default=timezone.now, editable=False)
    finished_at = models.DateTimeField(null=True)

    # When the progress was stored, by the monotonic clock.
    recorded_at = 0.0

    objects = ExportQuerySet.as_manager()

    class Meta:
        default_related_name = "exports"
        indexes = [
            models.Index(fields=["account", "author_id", "id"], name="export_of_author"),
            # The conditions of housekeeping, which reads the exports of all accounts.
            models.Index(fields=["expires_at"], name="export_expired", condition=Q(expires_at__isnull=False)),
            models.Index(fields=["updated_at"], name="export_running", condition=Q(state="running")),
            # The foreign key uses it when a file is erased.
            models.Index(fields=["account", "file_id"], name="export_of_file", condition=Q(file_id__isnull=False)),
        ]

    def __str__(self) -> str:
        return f"{self.format} of {self.resource or self.kind}"

    @classmethod
    @transaction.atomic(savepoint=False)
    def start(cls, account: Account, *, by: User, **values: Any) -> Self:
        """Begin to write a file. `values` are columns of the export. Raise FieldErrors or PermissionDenied."""
        export = cls(account=account, author_id=by.id, **values)
        kind = KINDS[export.kind]
        if not kind.is_allowed(by):
            raise PermissionDenied("Your role does not allow this export")
        kind.check_start(export, by)
        if account.exports.running().count() >= MAX_RUNNING:
            raise FieldError("", _("The account has too many exports in progress"), "too_many")
        export.save(force_insert=True)
        write_export.defer(account_id=account.id, export_id=export.id)
        record(account.id, "export.started", by=by, resource=export.resource or export.kind)
        return export

    def source(self, user: User) -> Source:
        """Return the rows. Raise FieldErrors."""
        try:
            all_columns = self.columns == self.Columns.ALL
            return source_of(self.resource, self.query, account=self.account, user=user, all_columns=all_columns)
        except FieldErrors as caught:
            raise FieldErrors(error.move_into("query") for error in caught.errors) from None

    @property
    def title(self) -> str:
        format = self.get_format_display()
        return f"{EXPORTS[self.resource].label}: {format}" if self.resource else str(KINDS[self.kind].label)

    @property
    def is_running(self) -> bool:
        return self.state == self.State.RUNNING

    @transaction.atomic(savepoint=False)
    def discard(self) -> None:
        """Delete the export and its file. A job that is writing the file stops."""
        if self.file_id is not None:
            self.account.stored_files.filter(id=self.file_id).expire()
        self.delete()

    def write(self, source: Source, file: BinaryIO, advance: Callable[[int], object] = lambda written: None) -> None:
        """Write the rows of a source to a file. Call `advance` with the number of rows written so far."""

        def chunks() -> Iterator[list[list[Any]]]:
            written = 0
            for chunk in source.chunks():
                yield chunk
                written += len(chunk)
                advance(written)

        if self.format == Format.CSV:
            csv = CSVFormat(self.options.get("separator", ""), self.options.get("decimal_sign", ""))
            file.writelines(csv.write(source.headings, chunks()))
        else:
            workbook = XLSXFormat(str(EXPORTS[self.resource].label))
            workbook.write(file, source.headings, chunks())
            self.notes = {"cut_number": workbook.cut_number, "cut_cells": workbook.cut_cells}

    @property
    def file_name(self) -> str:
        name = f"{self.resource}s" if self.resource else self.account.prefix
        return f"{name}-{timezone.localdate().isoformat()}.{KINDS[self.kind].extension or self.format}"

    # The methods of the job

    def run(self) -> None:
        """Write and store the file."""
        user = self.account.users.filter(id=self.author_id, is_active=True, role__in=User.TEAM).first()
        try:
            if user is None or not KINDS[self.kind].is_allowed(user):
                raise ExportEnd(self.Failure.USER)
            if self.attempts > MAX_ATTEMPTS:
                raise ExportEnd(self.Failure.ERROR)
            user.account = self.account
            with translation.override(self.options["language"]), TemporaryFile() as file:
                content_type = KINDS[self.kind].write(self, user, file)
                file.seek(0)
                self.store(file, content_type)
        except ExportEnd as end:
            # An export that was deleted stays so.
            self.finish(self.State.FAILED, failure=end.failure)

    def store(self, file: BinaryIO, content_type: str) -> None:
        def chunks() -> Iterator[bytes]:
            while chunk := file.read(CHUNK_BYTES):
                self.advance(self.written)
                yield chunk

        limit = KINDS[self.kind].max_bytes
        values: dict[str, Any] = {"name": self.file_name, "content_type": content_type}
        values |= {"max_bytes": limit or MAX_BYTES, "is_counted": limit is None}
        try:
            expires_at = timezone.now() + KEPT_FOR
            stored = StoredFile.objects.store(self.account, chunks=chunks(), expires_at=expires_at, **values)
        except FieldErrors:
            raise ExportEnd(self.Failure.SPACE) from None
        progress = {"written": self.written, "total": self.total}
        if not self.finish(self.State.DONE, file_id=stored.id, notes=self.notes, **progress):
            stored.expire()

    def advance(self, written: int) -> None:
        """Store the progress, at most once in a second. Raise ExportEnd if the export was deleted, or takes too long."""
        self.written = written
        if not has_time_left():
            raise ExportEnd(self.Failure.TIME)
        if monotonic() - self.recorded_at >= 1:
            self.recorded_at = monotonic()
            if not self.record(written=written, total=self.total):
                raise ExportEnd

    def record(self, **values: Any) -> int:
        """Write columns. Return 0 if the export was deleted, or if another job has ended it."""
        rows = Export.objects.running().filter(account_id=self.account_id, id=self.id)
        return rows.update(**values, updated_at=timezone.now())

    def finish(self, state: str, **values: Any) -> int:
        now = timezone.now()
        return self.record(state=state, finished_at=now, expires_at=now + KEPT_FOR, **values)


class ExportEnd(Exception):
    """The end of a job before the file is complete, with the failure that another attempt would not repair."""

    def __init__(self, failure: str = "") -> None:
        super().__init__(failure)
        self.failure = failure


# Write the file of an export, with what a user may access, and return its content type.
Writer = Callable[[Export, User, BinaryIO], str]


@dataclass(frozen=True)
class ExportKind:
    label: str | Promise
    write: Writer
    # Whether a user of the team may have the file.
    is_allowed: Callable[[User], bool] = lambda user: True
    # Raise FieldErrors if a user must not start the export. The number of exports in progress has a limit besides.
    check_start: Callable[[Export, User], object] = lambda export, user: None
    # The end of the names of the files. Without it, it is that of the format.
    extension: str = ""
    # The limit of files that the quota of the account leaves out.
    max_bytes: int | None = None


KINDS: dict[str, ExportKind] = {}


def register_kind(key: str, label: str | Promise, write: Writer, **options: Any) -> None:
    """Register what writes the files of a kind of exports."""
    KINDS[key] = ExportKind(label, write, **options)


def write_list(export: Export, user: User, file: BinaryIO) -> str:
    """Write the rows of a list."""
    limit = MAX_ROWS[Format(export.format)]
    try:
        source = export.source(user)
        with without_statement_timeout():
            export.total = source.count(limit, time_limit_ms=JOB_TIME_LIMIT_MS)
    except FieldErrors:
        raise ExportEnd(Export.Failure.FILTERS) from None
    except TooSlow:
        raise ExportEnd(Export.Failure.TIME) from None
    if export.total > limit:
        raise ExportEnd(Export.Failure.ROWS)
    export.write(source, file, export.advance)
    return CONTENT_TYPES[Format(export.format)]


register_kind(LIST, _("List"), write_list, check_start=Export.source)


# Jobs


@job(time_limit=MAX_TIME_LIMIT, queue=QUEUE, runs_when_closed=True)
def write_export(*, account_id: int, export_id: int) -> None:
    """Write the file of an export from its beginning."""
    rows = Export.objects.running().filter(account_id=account_id, id=export_id)
    rows.update(attempts=F("attempts") + 1, written=0, updated_at=timezone.now())
    export = rows.select_related("account").first()
    if export is not None:
        export.run()


@periodic_job(minutes=15)
def continue_exports() -> None:
    """Start exports without progress again, such as those whose job failed during an outage of the database."""
    stalled = Export.objects.running().filter(updated_at__lt=timezone.now() - STALLED_AFTER).order_by("updated_at")
    for account_id, id in stalled.values_list("account_id", "id")[:MAX_CONTINUED]:
        write_export.defer(account_id=account_id, export_id=id, _key=f"export {account_id}/{id}")
