"""Imports of spreadsheets: the uploaded file, its settings, the check of all rows, the import itself, and its undo.

    read      the file is converted to rows of texts (`team.spreadsheets`), and its columns are guessed
    settings  a user maps the columns to fields
    check     every line is written in transactions that are rolled back, which shows what the import would do
    run       the lines are written in parts, each in one transaction with the progress (`team.batches`)
    undo      for 30 days, rows that nobody has changed since get their values back, and new rows go to the trash

The canonical file of a part is read from a byte offset. A line is counted as created, changed, unchanged or faulty; its rows are recorded for
the undo. Unless its author wants otherwise, the changes of an import are silent: the change feed marks them, and nobody is notified.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar, Self, cast

from django.db import models, transaction
from django.db.models import Exists, OuterRef, Q
from django.utils import timezone, translation
from django.utils.translation import gettext_lazy as _

from accounts.account.models import Account
from accounts.users.models import User
from core.changes.models import mark_changes
from core.db.tenancy import foreign_object
from core.db.transactions import in_transaction
from core.errors import Conflict, FieldError, FieldErrors
from core.files.models import MEBIBYTE, StoredFile
from core.http.spreadsheets import unguard
from core.jobs.registry import MAX_TIME_SLICE, has_time_left, job
from team.batches.models import QUEUE, RETRY, UNDO_PERIOD, Batch, BatchQuerySet, BatchRow, RowResult
from team.import_lines.combining import combine
from team.import_lines.fields import NEW_FIELD, RowKind
from team.import_lines.guessing import guess_settings
from team.import_lines.lines import Line, LineReader
from team.import_lines.settings import ImportPlan, ImportSettings, plan_import
from team.imports.checking import (
    MAX_SIMILAR,
    count_outcome,
    describe,
    find_missing_rows,
    find_similar_rows,
    new_check,
)
from team.imports.faults import ImportFault, record_faults, stored_error, text_of
from team.imports.keys import ImportKey, record_keys
from team.imports.parts import ImportPart, writer_of
from team.imports.writing import PartOutcome, define_field
from team.spreadsheets.reading import convert, detect
from team.spreadsheets.sheets import Sheet, SheetRow, read_rows

MAX_FILE_BYTES = 200 * MEBIBYTE
# The canonical file of a sheet of 1,000,000 rows.
MAX_SHEET_BYTES = 2048 * MEBIBYTE
# A file up to this size is converted in the request.
SMALL_FILE_BYTES = 2 * MEBIBYTE
# An import that was not started is kept for this time.
DRAFT_KEPT_FOR = timedelta(days=7)
# The number of lines that the preview writes and rolls back.
PREVIEWED_LINES = 1000
# The drafts and unfinished imports of an account.
MAX_DRAFTS = 50


class ImportQuerySet(BatchQuerySet):
    def drafts(self) -> Self:
        return self.filter(state=Import.State.DRAFT)

    def outdated(self) -> Self:
        """Return drafts that were not changed for long, and finished imports whose rows are erased already."""
        old_draft = Q(state=Import.State.DRAFT, updated_at__lt=timezone.now() - DRAFT_KEPT_FOR)
        rows = ImportRow.objects.filter(account_id=OuterRef("account_id"), batch_id=OuterRef("id"))
        old = Q(created_at__lt=timezone.now() - UNDO_PERIOD) & ~Exists(rows) & ~Q(state=Import.State.DRAFT)
        return self.filter(old_draft | old)


class Import(Batch):
    """An import of a file by a user."""

    # A part of 500 lines takes a tenth more time for each line.
    PART_SIZE = 2000
    COUNTS: ClassVar[tuple[str, ...]] = (*Batch.COUNTS, "created", "faults", "line", "offset")

    author = foreign_object(User, "author_id")
    name = models.CharField(max_length=255)
    # The uploaded file, and the canonical file that was converted from it.
    source_id = models.BigIntegerField(null=True, editable=False)
    source = foreign_object(StoredFile, "source_id", null=True)
    rows_id = models.BigIntegerField(null=True, editable=False)
    rows = foreign_object(StoredFile, "rows_id", null=True)
    # `Reading.as_json`, `Sheet.as_json` and `ImportSettings.as_json`. The sheet is empty until the file is converted.
    reading = models.JSONField(default=dict)
    sheet = models.JSONField(default=dict)
    settings = models.JSONField(default=dict)
    # The name of the recognized format, such as "HubSpot".
    format = models.CharField(max_length=255, default="")
    # Why the file can't be read (`stored_error`).
    error = models.JSONField(null=True)
    # The numbers of the check of all lines, its progress, and what it found. Null if there was none with these settings.
    checked = models.JSONField(null=True)
    created = models.IntegerField(default=0)
    faults = models.IntegerField(default=0)
    # The number of the next line, and where it begins in the canonical file.
    line = models.IntegerField(null=True)
    offset = models.BigIntegerField(default=0)

    objects = ImportQuerySet.as_manager()  # type: ignore[misc]  # the base has another manager

    class Meta:
        default_related_name = "imports"
        indexes = [
            models.Index(fields=["account", "author_id", "id"], name="import_of_author"),
            # The conditions of housekeeping, which reads the imports of all accounts.
            models.Index(fields=["created_at"], name="import_by_creation"),
            models.Index(fields=["updated_at"], name="import_active", condition=Q(state__in=("running", "undoing"))),
            models.Index(fields=["updated_at", "id"], name="import_draft", condition=Q(state="draft")),
            # The foreign keys use them when a file is erased.
            models.Index(
                fields=["account", "source_id"], name="import_of_source", condition=Q(source_id__isnull=False)
            ),
            models.Index(fields=["account", "rows_id"], name="import_of_rows", condition=Q(rows_id__isnull=False)),
        ]

    def __str__(self) -> str:
        return self.name

    audit_group = "import"

    def audit_details(self) -> dict[str, object]:
        return {"rows": self.total, "kinds": [kind.value for kind in self.plan().kinds]}

    @property
    def keys(self) -> models.QuerySet["ImportKey"]:
        """The keys of the lines that the check has read."""
        return ImportKey.objects.filter(account_id=self.account_id, import_id=self.id)

    @property
    def fault_rows(self) -> models.QuerySet["ImportFault"]:
        return ImportFault.objects.filter(account_id=self.account_id, import_id=self.id)

    # Reading the file

    @classmethod
    def upload(
        cls,
        account: Account,
        *,
        by: User,
        name: str,
        chunks: Iterable[bytes],
        kinds: Sequence[str] = (),
        in_job: bool | None = None,
    ) -> Self:
        """Store a file, and convert it (`convert_or_defer`). Raise FieldErrors. Call this outside of a transaction."""
        if account.imports.drafts().count() >= MAX_DRAFTS:
            message = _("The account has {most} imports that were not started: delete some of them")
            raise FieldError("file", message, "too_many", {"most": MAX_DRAFTS})
        stored = StoredFile.objects.store(
            account,
            name=name,
            chunks=chunks,
            content_type="application/octet-stream",
            max_bytes=MAX_FILE_BYTES,
            expires_at=timezone.now() + UNDO_PERIOD,
        )
        row = cls(account=account, author_id=by.id, name=name[-255:], source_id=stored.id, state=cls.State.DRAFT)
        row.settings = {"kinds": [kind.value for kind in RowKind if kind.value in kinds]}
        in_transaction(lambda: row.save(force_insert=True))
        row.source = stored
        row.convert_or_defer(in_job=in_job)
        return row

    def convert_or_defer(self, *, in_job: bool | None) -> None:
        """Convert the file in a job, by default if it is large. Only a job may convert it for a caller in a transaction."""
        if in_job or (in_job is None and self.source.size > SMALL_FILE_BYTES):
            read_import.defer(account_id=self.account_id, import_id=self.id)
        else:
            self.convert()

    @property
    def is_read(self) -> bool:
        return bool(self.sheet)

    @property
    def is_draft(self) -> bool:
        return bool(self.state == self.State.DRAFT)

    def convert(self) -> None:
        """Convert the file to rows of texts, and guess the settings. An error of the file is stored in `error`."""
        values: dict[str, Any] = {"error": None}
        wanted = {
            key: self.reading[key] for key in ("encoding", "separator", "sheet", "has_header") if key in self.reading
        }
        kinds = self.settings.get("kinds", ())
        try:
            with self.source.local_path() as path, TemporaryDirectory(prefix="rostrum-") as directory:
                reading = detect(path, **wanted)
                output = Path(directory) / "rows"
                combined = None if "sheet" in wanted else combine(path, reading, Path(directory))
                sheet, service = combined or (convert(path, reading, output), "")
                with output.open("rb") as file:
                    stored = StoredFile.objects.store(
                        self.account,
                        name=f"{self.name[:200]}.rows",
                        chunks=iter(lambda: file.read(MEBIBYTE), b""),
                        content_type="application/x-ndjson",
                        max_bytes=MAX_SHEET_BYTES,
                        expires_at=timezone.now() + UNDO_PERIOD,
                    )
            settings, recognized = guess_settings(self.account, sheet, kinds, admin=self.author_is_admin())
            values |= {
                "reading": {**reading.as_json(), **wanted},
                "sheet": sheet.as_json(),
                "settings": {**settings.as_json(), "kinds": list(kinds)},
                "format": service or recognized,
                "total": sheet.rows,
                "rows_id": stored.id,
                "checked": None,
            }
        except FieldErrors as caught:
            values |= {"error": stored_error(caught.errors[0]), "sheet": {}}

        def save() -> None:
            rows = Import.objects.locked().filter(account_id=self.account_id, id=self.id, state=self.State.DRAFT)
            row = rows.first()
            if row is not None:
                self.account.stored_files.filter(id=row.rows_id or 0).expire()
                for name, value in values.items():
                    setattr(row, name, value)
                row.save_progress(*values)

        in_transaction(save)
        self.refresh_from_db()

    def author_is_admin(self) -> bool:
        return bool(self.account.users.filter(id=self.author_id, role__in=User.ADMINS).exists())

    @property
    def shown_error(self) -> dict[str, Any] | None:
        """The code and the message of the error of the file, in the active language."""
        return None if self.error is None else {"code": self.error["code"], "message": text_of(self.error)}

    def reread(self, options: Mapping[str, Any], *, in_job: bool | None = None) -> None:
        """Convert the file again, with another encoding, separator or sheet (`convert_or_defer`). Raise Conflict."""

        def act() -> None:
            if not Import.objects.locked().drafts().filter(account_id=self.account_id, id=self.id).exists():
                raise Conflict(_("It was started already."))
            self.reading = {name: value for name, value in options.items() if value is not None}
            self.sheet = {}
            self.save_progress("reading", "sheet")

        in_transaction(act)
        self.convert_or_defer(in_job=in_job)

    def check_draft(self) -> None:
        if not self.is_draft:
            raise Conflict(_("It was started already."))

    # Settings

    @property
    def parsed_sheet(self) -> Sheet:
        return Sheet.from_json(self.sheet)

    @property
    def parsed_settings(self) -> ImportSettings:
        values = {name: value for name, value in self.settings.items() if name != "kinds"}
        return ImportSettings.from_json(values)

    def plan(self, settings: ImportSettings | None = None) -> ImportPlan:
        """Return the plan of the import. Raise FieldErrors."""
        self.check_read()
        return plan_import(self.account, settings or self.parsed_settings, self.parsed_sheet)

    def check_read(self) -> None:
        if not self.is_read:
            raise FieldError("file", _("is not read yet, or can't be read"), "unread")

    def set_settings(self, settings: ImportSettings) -> None:
        """Store valid settings. The caller has locked the import. Raise FieldErrors or Conflict."""
        self.check_draft()
        self.plan(settings)
        self.settings = {**settings.as_json(), "kinds": self.settings.get("kinds", [])}
        self.checked = None
        self.save_progress("settings", "checked")

    # Writing lines

    @property
    def part_size(self) -> int:
        """The number of lines of a part. Each suggestion or task takes several statements, so a part has fewer of them."""
        codes = [column["field"] for column in self.settings.get("columns", ())]
        has_posts = any(code.startswith(("task.", "suggestion.")) for code in codes)
        return min(self.PART_SIZE, Batch.PART_SIZE) if has_posts else self.PART_SIZE

    def read_lines(self, plan: ImportPlan, number: int) -> tuple[list[Line], SheetRow | None]:
        """Return the next lines of the file, and the last row that was read. Raise FileNotFoundError if the file is gone."""
        reader = LineReader(self.account, plan)
        found = read_rows(self.rows.lines(self.offset), self.parsed_sheet, offset=self.offset, number=self.line)
        rows = list(islice(found, number))
        return [reader.read(row) for row in rows], rows[-1] if rows else None

    def write_lines(self, plan: ImportPlan, lines: Sequence[Line], user: User) -> PartOutcome:
        """Write the rows of lines. The caller has begun a transaction."""
        self.mark_changes()
        return ImportPart(self.account, user, plan).write(lines)

    def mark_changes(self) -> None:
        """Mark the changes of the transaction, unless people are to be notified of them."""
        if not self.settings.get("notify"):
            mark_changes(self.id)

    def run_part(self, user: User) -> bool:
        self.mark_changes()
        return super().run_part(user)

    def preview(self, user: User) -> dict[str, Any]:
        """Return what the first `PREVIEWED_LINES` lines would do, by writing them in a transaction that is rolled back."""
        self.offset, self.line = 0, None
        with transaction.atomic():
            plan = self.plan(self.define_fields(user))
            lines, _last = self.read_lines(plan, PREVIEWED_LINES)
            found = describe(self.write_lines(plan, lines, user))
            transaction.set_rollback(True)
        return {**found, "lines": len(lines)}

    def begin_check(self, *, in_job: bool = True) -> None:
        """Check all lines in a job. The caller has locked the import. Without `in_job`, the caller checks them by `process_check`."""
        self.check_draft()
        self.plan()
        self.checked = new_check()
        self.keys.delete()
        self.fault_rows.delete()
        self.save_progress("checked")
        if in_job:
            check_import.defer(account_id=self.account_id, import_id=self.id, check_id=self.checked["id"])

    def check_part(self, user: User) -> bool:
        """Check the next lines, and return whether more follow. The caller has locked the import."""
        check = cast(dict[str, Any], self.checked)
        self.offset, self.line = check["offset"], check["line"]
        with transaction.atomic():
            with language_of(user):
                plan = self.plan(self.define_fields(user))
            plan.settings.stop = False
            lines, last = self.read_lines(plan, self.part_size)
            outcome = self.write_lines(plan, lines, user)
            similar = find_similar_rows(self.account, user, outcome, room=MAX_SIMILAR - len(check["similar"]))
            transaction.set_rollback(True)
        count_outcome(check, outcome, repeated=record_keys(self.account_id, self.id, outcome))
        check["similar"] += similar
        check["position"] += len(lines)
        record_faults(self.account_id, self.id, outcome.faulty)
        if last is not None:
            check["offset"], check["line"] = last.end, last.number + 1
        check["is_done"] = len(lines) < self.part_size
        if check["is_done"]:
            matched = [kind for kind in plan.kinds if plan.settings.match.get(kind)]
            rows = {kind: writer_of(self.account, user, plan, kind).find_rows() for kind in matched}
            check["missing"] = find_missing_rows(rows, self.keys)
        self.faults = check["faults"]
        self.save_progress("checked", "faults")
        return not check["is_done"]

    def apply(self, user: User) -> bool:
        with language_of(user):
            plan = self.plan()
        lines, last = self.read_lines(plan, self.part_size)
        outcome = self.write_lines(plan, lines, user)
        self.batch_rows.record(self, outcome.recorded_rows())
        record_faults(self.account_id, self.id, outcome.faulty)
        results = Counter(row.result for row in (*outcome.linked, *outcome.rows))
        self.created += results[RowResult.CREATED]
        self.changed += results[RowResult.CREATED] + results[RowResult.CHANGED]
        self.unchanged += results[RowResult.UNCHANGED]
        self.faults += len(outcome.faulty)
        self.skipped += len(outcome.faulty)
        if outcome.faulty and plan.settings.stop:
            self.position += lines.index(outcome.faulty[-1]) + 1
            self.fail(self.Failure.FAULT)
            self.advance(is_last=False)
            return False
        self.position += len(lines)
        if last is not None:
            self.offset, self.line = last.end, last.number + 1
        return self.advance(is_last=len(lines) < self.part_size)

    @property
    def processed(self) -> int:
        return super().processed if self.is_undo else self.position

    # Starting

    @transaction.atomic(savepoint=False)
    def start(self, *, by: User, in_job: bool = True) -> None:
        """Begin to write the lines. The caller has locked the import. Raise FieldErrors or Conflict.

        Without `in_job`, the caller writes them by `process_part`.
        """
        self.check_draft()
        settings = self.define_fields(by)
        self.plan(settings)
        self.settings = {**settings.as_json(), "kinds": self.settings.get("kinds", [])}
        self.keys.delete()
        self.fault_rows.delete()
        self.state, self.offset, self.line, self.position = self.State.RUNNING, 0, None, 0
        self.created_at = timezone.now()
        names = ("state", "offset", "line", "position", "created_at", "settings", "faults")
        self.faults = 0
        self.save_progress(*names)
        self.record_act("started", by=by)
        self.account.stored_files.filter(id__in=[self.source_id or 0, self.rows_id or 0]).update(
            expires_at=timezone.now() + UNDO_PERIOD
        )
        if in_job:
            self.run_or_defer(by)

    def define_fields(self, by: User) -> ImportSettings:
        """Define the new fields to which columns are mapped, such as `client.+number`. Return the settings with them. Raise FieldErrors."""
        self.check_read()
        settings = self.parsed_settings
        header = self.sheet["header"]
        for heading, mapping in zip(header, settings.columns, strict=True):
            kind, _dot, type = mapping.field.partition(f".{NEW_FIELD}")
            if type:
                mapping.field = f"{kind}.{define_field(self.account, kind, heading, type, mapping, by=by)}"
        return settings

    def discard(self) -> None:
        """Delete a draft and its files. The caller has locked it. Raise Conflict."""
        self.check_draft()
        self.account.stored_files.filter(id__in=[self.source_id or 0, self.rows_id or 0]).expire()
        self.delete()

    def faulty_rows(self) -> Iterator[list[str]]:
        """Yield the header and the rows with faults of the file, each with the faults in a last column."""
        sheet = self.parsed_sheet
        yield [*sheet.header, str(_("Errors"))]
        faults = self.fault_rows.order_by("number")
        found = faults.iterator(chunk_size=1000)
        following = next(found, None)
        for row in read_rows(self.rows.lines(), sheet):
            if following is None:
                return
            if row.number == following.number:
                # As `unguard` is applied when the file is imported again.
                yield [*map(unguard, row.cells), "; ".join(fault["message"] for fault in following.shown)]
                following = next(found, None)


class ImportRow(BatchRow):
    """A row that an import created or changed."""

    batch = foreign_object(Import, "batch_id", related_name="batch_rows")


def language_of(user: User) -> translation.override:
    """Activate the language of a user, for the labels of fields in the faults that a job finds."""
    return translation.override(user.language or user.account.language)


# Jobs


@job(time_limit=300, queue=QUEUE)
def read_import(*, account_id: int, import_id: int) -> None:
    """Convert the file of an import."""
    row = (
        Import.objects.drafts().select_related("account", "source").filter(account_id=account_id, id=import_id).first()
    )
    if row is not None and row.source is not None:
        row.convert()


def process_check(account_id: int, import_id: int, check_id: str) -> bool:
    """Check the next lines of an import. Return whether more follow. A newer check ends this one."""

    def act() -> bool:
        rows = Import.objects.locked().drafts().select_related("account", "rows")
        row = rows.filter(account_id=account_id, id=import_id).first()
        if row is None or not row.checked or row.checked["id"] != check_id or row.checked["is_done"]:
            return False
        user = row.account.users.filter(id=row.author_id, is_active=True, role__in=User.TEAM).first()
        if user is None or row.rows is None:
            return False
        user.account = row.account
        return bool(row.check_part(user))

    return in_transaction(act)


@job(time_limit=300, retry=RETRY, queue=QUEUE, time_slice=MAX_TIME_SLICE)
def check_import(*, account_id: int, import_id: int, check_id: str) -> None:
    """Check the lines of an import for one time slice. Add a job for the rest."""
    follows = True
    while follows and has_time_left():
        follows = process_check(account_id, import_id, check_id)
    if follows:
        check_import.defer(account_id=account_id, import_id=import_id, check_id=check_id)
