"""The file with everything that the account keeps about a person: a ZIP with the rows as JSON, and with attachments."""

import io
import json
from collections.abc import Iterable, Iterator
from contextlib import closing
from tempfile import TemporaryFile
from typing import IO, Any
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from django.core.exceptions import PermissionDenied
from django.core.serializers.json import DjangoJSONEncoder
from django.db.models import BinaryField, Model, Q, QuerySet
from django.http import HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404
from django.utils import timezone

from accounts.attachments.holders import holders
from accounts.attachments.models import Attachment
from accounts.audit.models import record
from accounts.erasure.personal_data import personal_data_of
from accounts.hosts.requests import UserRequest
from accounts.users.models import User
from core.db.tenancy import rows_of
from core.files.responses import in_pace
from core.files.store import CHUNK_SIZE
from core.http import throttling
from core.pages.base import Page
from core.registry import registry

# The rows that are read together.
CHUNK_ROWS = 500
# What members read about themselves.
PUBLIC_COLUMNS = (
    *(
        "id",
        "login",
        "email",
        "name",
        "role",
        "description",
        "www",
        "language",
        "time_zone",
        "last_login",
        "created_at",
    ),
    *("updated_at", "notification", "shows_votes", "delivery", "digest_hour", "digest_weekday", "shortcuts"),
)
# The columns that derive from others, and those of the service.
DERIVED = ("_key", "_skeleton")


def columns_of(model: type[Model]) -> list[str]:
    """Return the columns of a model without digests and derived values."""
    fields = [field for field in model._meta.concrete_fields if not isinstance(field, BinaryField)]
    names = [field.attname for field in fields if field.name not in ("pk", "password", "account")]
    return [name for name in names if not name.endswith(DERIVED) and not name.startswith("search_")]


def read_rows(rows: "QuerySet[Any, Any]", columns: Iterable[str]) -> Iterator[dict[str, Any]]:
    values, start = rows.order_by("pk").values(*columns), 0
    while chunk := list(values[start : start + CHUNK_ROWS]):
        yield from chunk
        start += CHUNK_ROWS


def write_person(person: Any, file: IO[bytes], *, is_for_team: bool) -> None:
    """Write a JSON object: the row of the person, and the rows of each kind. Members get no column that only the team may read."""

    def dump(value: object) -> bytes:
        return json.dumps(value, cls=DjangoJSONEncoder, ensure_ascii=False).encode()

    columns: Iterable[str] = columns_of(type(person)) if is_for_team else PUBLIC_COLUMNS
    row = type(person)._base_manager.filter(pk=person.pk).values(*columns).get()
    file.write(b'{"%s": ' % person._meta.model_name.encode() + dump(row))
    for data in personal_data_of(person):
        rows = data.rows(person) if is_for_team else data.rows(person).filter(data.public_rows)
        columns = columns_of(rows.model) if is_for_team else data.public_columns
        if not columns:
            continue
        file.write(b",\n" + dump(data.key) + b": [")
        for number, values in enumerate(read_rows(rows, columns)):
            file.write((b",\n" if number else b"\n") + dump(values))
        file.write(b"]")
    file.write(b"}\n")


def attachments_of(person: Any, reader: User) -> Iterator[Attachment]:
    """Yield the attachments that a person added, or those of a client or contact. Members get those that they see on pages."""
    visible = Q()
    if not reader.is_team:
        for holder in holders.values():
            rows = holder.visible_to(person.account, reader).order_by().values("id")
            visible |= Q(resource=holder.key, row_id__in=rows)
    for data in personal_data_of(person):
        found: Any = data.rows(person)
        if found.model is not Attachment or not (reader.is_team or data.public_columns):
            continue
        rest = found.current().filter(visible).order_by("id")
        while chunk := list(rest[:CHUNK_ROWS]):
            yield from chunk
            rest = rest.filter(id__gt=chunk[-1].id)


class ZipOutput(io.RawIOBase):
    """The output of a `ZipFile`, which is taken in chunks."""

    def __init__(self) -> None:
        self.written = bytearray()

    def write(self, data: Any) -> int:
        self.written += data
        return len(data)

    def take(self) -> bytes:
        taken, self.written = bytes(self.written), bytearray()
        return taken


def zip_chunks(person: IO[bytes], attachments: Iterable[Attachment]) -> Iterator[bytes]:
    """Yield a ZIP with `person.json` and the attachments, of which one chunk at a time is in memory."""

    def parts() -> Iterator[tuple[str, Iterator[bytes]]]:
        yield "person.json", iter(lambda: person.read(CHUNK_SIZE), b"")
        for attachment in attachments:
            yield f"attachments/{attachment.id}-{attachment.file.name}", attachment.file.read()

    output, now = ZipOutput(), timezone.localtime().timetuple()[:6]
    with closing(person), ZipFile(output, "w") as archive:
        for name, chunks in parts():
            info = ZipInfo(name, now)
            info.compress_type = ZIP_DEFLATED
            with archive.open(info, "w", force_zip64=True) as part:
                for chunk in chunks:
                    part.write(chunk)
                    if written := output.take():
                        yield written
    yield output.take()


class PersonFilePage(Page):
    """The file about a user, for the user and admins, or about a client or a contact, for admins."""

    request: UserRequest
    access = "user"
    kind = "user"

    def find(self, id: int) -> Any:
        account, reader = self.request.account, self.request.user
        if not (reader.is_admin or (self.kind == "user" and id == reader.id)):
            raise PermissionDenied
        is_user = self.kind == "user"
        rows: Any = account.users.filter(erased_at=None) if is_user else rows_of(account, registry[self.kind].model)
        person = get_object_or_404(rows, id=id)
        person.account = account
        return person

    def get(self, request: UserRequest, id: int) -> HttpResponse:
        person = self.find(id)
        throttling.count_export(request)
        record(request.account.id, "export.started", resource=self.kind, id=id)
        file = TemporaryFile()  # noqa: SIM115, `zip_chunks` closes it
        write_person(person, file, is_for_team=request.user.is_team)
        file.seek(0)
        headers = {
            "Cache-Control": "private, no-store",
            "Content-Disposition": f'attachment; filename="{self.kind}-{id}.zip"',
        }
        chunks = in_pace(zip_chunks(file, attachments_of(person, request.user)))
        return StreamingHttpResponse(chunks, content_type="application/zip", headers=headers)  # type: ignore[return-value]  # the stubs have no common base
