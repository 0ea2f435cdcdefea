"""The move of the data of an older server into an account: its progress, its report, and which row became which.

A page of the older server is read without a transaction. Its rows are written in one transaction with the progress, so that a page counts once,
even if a worker is killed. A further run reads all pages again, and changes only what has changed there since.
"""

from collections import Counter
from datetime import timedelta
from typing import Any, Self, cast

from django.db import models, transaction
from django.db.models import Q
from django.utils import timezone, translation
from django.utils.translation import gettext_lazy as _

from accounts.account.models import Account
from accounts.audit.models import record
from accounts.users.models import User
from core.changes.models import mark_changes
from core.db.tenancy import TenantModel, foreign_object
from core.db.transactions import in_transaction
from core.errors import Conflict, FieldError
from core.jobs.registry import MAX_TIME_SLICE, has_time_left, job, periodic_job
from core.sealing import SealError, seal, unseal
from team.batches.models import MAX_CONTINUED, QUEUE, RETRY, STALLED_AFTER
from team.move_in.client import BusyError, OldServer, OldServerError, address_of
from team.move_in.reading import KINDS, LINKS, SECOND_PASS, SINGLE, OldPage, OldRow, id_of, read_page, read_single
from team.move_in.services import SERVICES, Service
from team.move_in.writing import RowWriter

PURPOSE = "move in"
# The attempts to read a page from a busy server, and the rows that the report names.
MAX_ATTEMPTS, MAX_REPORTED = 20, 500
MAX_SECRET_LENGTH = 255


class MoveInQuerySet(models.QuerySet["MoveIn"]):
    def locked(self) -> Self:
        return self.select_for_update(no_key=True, of=("self",))

    def running(self) -> Self:
        return self.filter(state=MoveIn.State.RUNNING)


class MoveIn(TenantModel):
    """The move from one older server or service. A further run continues with the same row, which knows what was moved."""

    class State(models.TextChoices):
        RUNNING = "running", _("Running")
        DONE = "done", _("Done")
        CANCELLED = "cancelled", _("Cancelled")
        FAILED = "failed", _("Failed")

    author_id = models.BigIntegerField(editable=False)
    author = foreign_object(User, "author_id")
    address = models.CharField(max_length=255)
    forum = models.CharField(max_length=255, default="")
    # The sealed token, login and password. They are erased when the run ends.
    credentials = models.TextField(default="")
    state = models.CharField(max_length=255, choices=State.choices, default=State.RUNNING)
    # Why it failed, in the language of the author.
    failure = models.TextField(default="")
    # The number of the run, and what is read next: the index in `KINDS` and the page.
    run = models.IntegerField(default=0)
    position = models.JSONField(default=dict)
    attempts = models.IntegerField(default=0)
    # By kind, the numbers of rows by result. `report` has what was not moved.
    counts = models.JSONField(default=dict)
    report = models.JSONField(default=dict)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    updated_at = models.DateTimeField(default=timezone.now, editable=False)
    finished_at = models.DateTimeField(null=True)

    objects = MoveInQuerySet.as_manager()

    class Meta:
        default_related_name = "move_ins"
        constraints = [models.UniqueConstraint(fields=["account", "address"], name="move_in_address_unique")]
        # The condition of the job that continues moves, which reads the moves of all accounts.
        indexes = [models.Index(fields=["updated_at"], name="move_in_running", condition=Q(state="running"))]

    def __str__(self) -> str:
        return self.address

    @classmethod
    def find_server(cls, account: Account, *, url: str, forum: str = "", **secrets: str) -> OldServer:
        """Return the older server, or the service if `url` is a key of `SERVICES`. Raise FieldErrors.

        `secrets` are the `token`, the `login` and the `password`.
        """
        service = SERVICES.get(url)
        for name, value in secrets.items():
            # Services get these values in headers.
            if len(value) > MAX_SECRET_LENGTH or not value.isprintable() or (service and not value.isascii()):
                raise FieldError(name, _("is too long or has a character that can't be used"), "secret")
        if service:
            if not secrets.get("token"):
                raise FieldError("token", _("can't be blank"), "required")
            return service(account.id, service.ADDRESS, **cast(Any, secrets))
        address = address_of(url, "url")
        forum = address_of(forum, "forum", address.partition(":")[0]) if forum else ""
        if not secrets.get("token") and not (forum and secrets.get("login")):
            raise FieldError("token", _("can't be blank, unless there are a forum, a login and a password"), "required")
        if max(len(address), len(forum)) > MAX_SECRET_LENGTH:
            raise FieldError("url", _("is too long"), "too_long")
        return OldServer(account.id, address, forum, **cast(Any, secrets))

    @classmethod
    def plan(cls, account: Account, service: Service) -> list[tuple[OldRow, Any]]:
        """Return the boards and statuses with the category or status here, or None for a new one. Raise OldServerError."""
        writer = RowWriter(cls(account=account), account.users.model())
        return [(row, getattr(writer, f"find_{row.kind}")(row.data)) for row in service.read_outline()]

    @classmethod
    @transaction.atomic
    def start(cls, account: Account, *, by: User, in_job: bool = True, **values: str) -> Self:
        """Begin a run, and return its row. `values` are those of `find_server`. Raise FieldErrors or Conflict.

        Without `in_job`, the caller moves the pages by `process_page`.
        """
        server = cls.find_server(account, **values)
        secrets = {name: getattr(server, name) for name in ("token", "login", "password")}
        # One move of an account runs at a time.
        Account.objects.select_for_update(no_key=True).get(id=account.id)
        if account.move_ins.running().exists():
            raise Conflict(_("A move is running already."))
        row = cast(
            Self,
            account.move_ins.locked().filter(address=server.address).first()
            or cls(account=account, address=server.address),
        )
        row.author_id, row.forum, row.credentials = by.id, server.forum, seal(secrets, PURPOSE)
        row.state, row.failure, row.run, row.position = cls.State.RUNNING, "", row.run + 1, {"kind": 0, "page": 1}
        row.attempts, row.counts, row.report, row.finished_at = 0, {}, {}, None
        row.updated_at = timezone.now()
        row.save()
        record(account.id, "move_in.started", by=by, target=row)
        if in_job:
            run_move_in.defer(account_id=account.id, move_in_id=row.id)
        return row

    @property
    def is_running(self) -> bool:
        return self.state == self.State.RUNNING

    def cancel(self, *, by: User) -> None:
        """End the run. What was moved stays. The caller has locked the move. Raise Conflict."""
        if not self.is_running:
            raise Conflict(_("It is finished already."))
        self.finish(self.State.CANCELLED)
        self.save()
        record(self.account_id, "move_in.cancelled", by=by, target=self)

    @property
    def source(self) -> str:
        """The key in `SERVICES`, or "" for an older server."""
        return next((key for key, service in SERVICES.items() if self.address == service.ADDRESS), "")

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of rows in the order in which they are read."""
        return SERVICES[self.source].KINDS if self.source else tuple(kind for kind, _path in KINDS)

    @property
    def server(self) -> OldServer:
        """The older server or the service. Raise OldServerError if SECRET_KEY was replaced since the start."""
        try:
            server_class = SERVICES.get(self.source, OldServer)
            return server_class(self.account_id, self.address, self.forum, **unseal(self.credentials, PURPOSE))
        except SealError:
            raise OldServerError(_("The credentials can't be read. Enter them again.")) from None

    def finish(self, state: str, failure: object = "") -> None:
        with translation.override(self.author.language or self.account.language):
            self.failure = str(failure).strip()
        self.state, self.credentials, self.finished_at = state, "", timezone.now()

    def linked_rows(self, server: OldServer, rows: list[OldRow], depth: int = 2) -> list[OldRow]:
        """Return the rows to which others link and that no list has shown, read one by one, before those that link to them."""
        links = {
            (LINKS[name], id)
            for row in rows
            for name, value in row.data.items()
            if LINKS.get(name) in SINGLE and not (row.kind == "client" and name == "contact_id")
            for each in (value if isinstance(value, list) else [value])
            if (id := id_of(each))
        }
        keys = {(row.kind, row.key) for row in rows}
        links = {link for link in links if (link[0], str(link[1])) not in keys}
        known = self.moved_rows.filter(kind__in=SINGLE, source__in=[str(id) for _kind, id in links])
        links -= {(kind, int(source)) for kind, source in known.values_list("kind", "source")}
        found = [row for kind, id in sorted(links) if (row := read_single(server, kind, id))]
        return (self.linked_rows(server, found, depth - 1) if found and depth else []) + found

    def write(self, rows: list[OldRow], user: User, page: OldPage) -> None:
        """Write the rows of a page. The caller has begun a transaction."""
        mark_changes(self.id)
        writer = RowWriter(self, user)
        writer.lost.update(page.lost)
        for row in {(row.kind, row.key): row for row in page.linked}.values():
            if writer.find(row.kind, row.key) is None:
                writer.write(row)
        for row in rows:
            writer.write(row)
        writer.finish()
        if self.position["kind"] == SECOND_PASS:
            # The clients were counted before. A link that is still missing is lost.
            self.report.pop("late", None)
            writer.counts, writer.lost = Counter(), {"links": writer.lost["late"]}
        for (kind, result), number in writer.counts.items():
            counts = self.counts.setdefault(kind, {})
            counts[result] = counts.get(result, 0) + number
        for name, numbers in writer.lost.items():
            if numbers:
                self.report[name] = dict(Counter(self.report.get(name, {})) + numbers)
        for name, entries in (("refused", writer.refused), ("kept", writer.kept)):
            listed = self.report.setdefault(name, [])
            listed += [entry for entry in entries if entry not in listed][: MAX_REPORTED - len(listed)]


class MovedRow(models.Model):
    """Which row of the account a row of the older server became."""

    pk = models.CompositePrimaryKey("account_id", "move_in_id", "kind", "source")
    account = models.ForeignKey(Account, models.CASCADE, related_name="+", db_index=False)
    move_in_id = models.BigIntegerField()
    move_in = foreign_object(MoveIn, "move_in_id", related_name="moved_rows")
    kind = models.CharField(max_length=255)
    # The id of the row there, or a digest of another key, such as the login of a user (`stored_key`).
    source = models.CharField(max_length=255)
    target = models.BigIntegerField()
    # By field, the digests of the value there and of the value that was written here.
    taken = models.JSONField(default=dict)
    written = models.JSONField(default=dict)

    def __str__(self) -> str:
        return f"{self.kind} {self.source}: {self.target}"


def process_page(account_id: int, move_in_id: int) -> bool:
    """Move the next page. Return whether more pages follow. Raise BusyError if the older server wants to be asked later."""
    rows = MoveIn.objects.running().select_related("account", "author").filter(account_id=account_id, id=move_in_id)
    move_in = rows.first()
    if move_in is None:
        return False
    kind, error = move_in.kinds[move_in.position["kind"]], None
    step = move_in.run, move_in.position
    try:
        server = move_in.server
        page = server.read_page(step[1]) if isinstance(server, Service) else read_page(server, step[1])
        linked = move_in.linked_rows(server, page.rows)
    except OldServerError as caught:
        error = caught

    def act() -> bool:
        row = rows.locked().first()
        # Another worker may have moved this page.
        if row is None or (row.run, row.position) != step:
            return row is not None
        user = row.author
        user.account = row.account
        row.attempts += 1
        if user.role != User.Role.OWNER or not user.is_active:
            row.finish(row.State.FAILED, _("The person who started it is no longer the owner."))
        elif error is None:
            with translation.override(user.language or row.account.language):
                row.write([*linked, *page.rows], user, page)
            if page.is_missing:
                row.report.setdefault("missing", []).append(kind)
            row.position, row.attempts = page.next, 0
            if row.position == {"kind": SECOND_PASS, "page": 1} and "late" not in row.report:
                row.position["kind"] += 1
            if row.position["kind"] == len(row.kinds):
                row.finish(row.State.DONE)
        elif row.attempts >= MAX_ATTEMPTS or not isinstance(error, BusyError):
            row.finish(row.State.FAILED, error)
        row.updated_at = timezone.now()
        row.save()
        return row.is_running

    follows = in_transaction(act)
    if follows and isinstance(error, BusyError):
        raise error
    return follows


@job(time_limit=300, retry=RETRY, queue=QUEUE, time_slice=MAX_TIME_SLICE)
def run_move_in(*, account_id: int, move_in_id: int) -> None:
    """Move pages for one time slice. Add a job for the rest, which waits as long as the older server asks for."""
    arguments: dict[str, Any] = {"account_id": account_id, "move_in_id": move_in_id}
    follows = True
    try:
        while follows and has_time_left():
            follows = process_page(**arguments)
    except BusyError as error:
        run_move_in.defer(**arguments, _schedule_at=timezone.now() + timedelta(seconds=error.seconds))
        return
    if follows:
        run_move_in.defer(**arguments)


@periodic_job(minutes=15)
def continue_moves() -> None:
    """Continue moves without progress, such as those whose job failed during an outage of the database."""
    stalled = MoveIn.objects.running().filter(updated_at__lt=timezone.now() - STALLED_AFTER).order_by("updated_at")
    for account_id, id in stalled.values_list("account_id", "id")[:MAX_CONTINUED]:
        run_move_in.defer(account_id=account_id, move_in_id=id, _key=f"MoveIn {account_id}/{id}")
