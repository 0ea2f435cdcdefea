"""The file with everything that the account keeps about a person, as JSON."""

import json
from collections.abc import Iterator
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
# The columns that derive from others, and those of the service.
DERIVED = ("_key", "_skeleton")


def columns_of(model: type[Model]) -> list[str]:
    """Return the columns of a model without digests and derived values."""
    fields = [field for field in model._meta.concrete_fields if not isinstance(field, BinaryField)]
    names = [field.attname for field in fields if field.name not in ("pk", "password", "account")]
    return [name for name in names if not name.endswith(DERIVED) and not name.startswith("search_")]


def read_rows(rows: "QuerySet[Any, Any]") -> Iterator[dict[str, Any]]:
    values, start = rows.order_by("pk").values(*columns_of(rows.model)), 0
    while chunk := list(values[start : start + CHUNK_ROWS]):
        yield from chunk
        start += CHUNK_ROWS


def write_person(person: Any, file: IO[bytes]) -> None:
    """Write a JSON object: the row of the person, and the rows of each kind."""

    def dump(value: object) -> bytes:
        return json.dumps(value, cls=DjangoJSONEncoder, ensure_ascii=False).encode()

    row = type(person)._base_manager.filter(pk=person.pk).values(*columns_of(type(person))).get()
    file.write(b'{"%s": ' % person._meta.model_name.encode() + dump(row))
    for data in personal_data_of(person):
        file.write(b",\n" + dump(data.key) + b": [")
        for number, values in enumerate(read_rows(data.rows(person))):
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
        write_person(person, file)
        file.seek(0)
        headers = {"Cache-Control": "private, no-store"}
        name = f"{self.kind}-{id}.json"
        return FileResponse(file, as_attachment=True, filename=name, content_type="application/json", headers=headers)  # type: ignore[return-value]  # the stubs have no common base
