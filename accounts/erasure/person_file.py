"""The file with everything that the account keeps about a person, as JSON."""

import json
from collections.abc import Iterable, Iterator
from tempfile import TemporaryFile
from typing import IO, Any

from django.core.exceptions import PermissionDenied
from django.core.serializers.json import DjangoJSONEncoder
from django.db.models import BinaryField, Model, QuerySet
from django.http import FileResponse, HttpResponse
from django.shortcuts import get_object_or_404

from accounts.audit.models import record
from accounts.erasure.personal_data import personal_data_of
from accounts.hosts.requests import UserRequest
from core.db.tenancy import rows_of
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
        file = TemporaryFile()  # noqa: SIM115, the response closes it
        write_person(person, file, is_for_team=request.user.is_team)
        file.seek(0)
        headers = {"Cache-Control": "private, no-store"}
        name = f"{self.kind}-{id}.json"
        return FileResponse(file, as_attachment=True, filename=name, content_type="application/json", headers=headers)  # type: ignore[return-value]  # the stubs have no common base
