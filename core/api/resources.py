"""The base of the views of JSON resources: create, read, update, delete."""

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

from django.db.models import Model, QuerySet
from django.http import Http404, HttpResponse
from django.urls import reverse

from core.api.serializers import ResourceSerializer
from core.api.views import JSONViewSet
from core.db.prepared import PreparedQuery, prepared
from core.db.tenancy import account_of
from core.db.transactions import in_transaction
from core.errors import ConcurrentUpdate, FieldErrors

if TYPE_CHECKING:
    from accounts.account import Account


class ResourceViewSet(JSONViewSet):
    """Create, read, update and delete one kind of resource of the account."""

    # Both as in `core.registry`.
    key: str
    # The name of the route of one row.
    route: str
    model: type[Model]

    @staticmethod
    def rows_of(account: "Account") -> QuerySet:
        """Return the account's rows that are not in the trash, with everything that an answer needs."""
        raise NotImplementedError

    def rows(self) -> QuerySet:
        return self.rows_of(self.account)

    def location_of(self, row) -> str:
        """Return the URL of the row."""
        return self.base_url + reverse(self.route, args=[row.id])

    def find(self, id: int, *, locked: bool = False):
        """Return the row of that id. Raises Http404."""
        row = row_query(type(self)).first(account_id=self.account.id, id=id, locked=locked)
        if row is None:
            raise Http404
        row.account = self.account
        return row

    def context(self) -> dict[str, Any]:
        """Return the context of the serializer, by which its fields look up what the input names."""
        return {"account": self.account}

    def serializer(self, data, row=None, context: dict | None = None) -> ResourceSerializer:
        return self.serializer_class(row, data=data, partial=row is not None, context=context or self.context())

    def create(self, request) -> HttpResponse:
        return self.write(lambda: self.find_existing(self.read_content(None)))

    def retrieve(self, request, id: int) -> HttpResponse:
        values = values_query(type(self)).first(account_id=self.account.id, ids=[id])
        if values is None:
            raise Http404
        return self.answer(self.serializer_class.represent_values(values, self.account.zone))

    def update(self, request, id: int) -> HttpResponse:
        return self.write(lambda: self.find(id, locked=True))

    def find_existing(self, given: Any):
        """Return the row, locked, that a create updates instead of adding one; None unless the resource has such a rule."""
        return

    def read_content(self, row) -> Any:
        """Return the input for the row, or for a new one: the value under the body's key."""
        return self.complete(self.body.get(self.key), row)

    def complete(self, given: Any, row=None) -> Any:
        """Return the input for one resource, with fields that are given beside it."""
        return given

    def write(self, find: Callable[[], Any], read: Callable[[Any], Any] | None = None) -> HttpResponse:
        """Update the row that `find` returns, locked, or create one if it returns None; answer with the row.

        `read` returns the input for the row, by default `read_content`.
        """

        def write_row():
            row = find()
            serializer = self.serializer((read or self.read_content)(row), row)
            try:
                ignored = self.check(**{self.key: serializer})
            except FieldErrors:
                # Another request may have created the row meanwhile, in which case the conflict with it is the only error.
                if row is None and find() is not None:
                    raise ConcurrentUpdate("Another request made it meanwhile") from None
                raise
            pending = serializer.pending_links
            if row is None:
                return self.create_row(serializer.values), ignored, pending, True
            self.update_row(row, serializer.values)
            return row, ignored, pending, False

        row, ignored, pending, created = in_transaction(write_row)
        headers = {"Location": self.location_of(row)} if created else {}
        status = 201 if created else 200
        return self.answer(self.represent(row), status=status, ignored=ignored, pending=pending, headers=headers)

    def destroy(self, request, id: int) -> HttpResponse:
        in_transaction(lambda: self.find(id, locked=True).trash(by=request.user))
        return self.answer("ok")

    def create_row(self, values: dict[str, Any]):
        raise NotImplementedError

    def update_row(self, row, values: dict[str, Any]) -> None:
        raise NotImplementedError


@cache
def row_query(viewset: type[ResourceViewSet]) -> PreparedQuery:
    """Return the query for the row of an id."""

    @prepared(account_id=int, id=int)
    def query(account_id, id, locked):
        rows = viewset.rows_of(account_of(account_id)).filter(id=id)[:1]
        return rows.locked() if locked else rows

    return query


@cache
def values_query(viewset: type[ResourceViewSet]) -> PreparedQuery:
    """Return the query for the values that are answered for rows of some ids, in no particular order."""

    @prepared(account_id=int, ids=list)
    def query(account_id, ids):
        rows = viewset.rows_of(account_of(account_id)).order_by().filter(id__any=ids)
        return rows.values_list(*viewset.serializer_class.columns)

    return query
