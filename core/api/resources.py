"""The base of the views of JSON resources: create, read, update, delete."""

from collections.abc import Callable, Collection
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Any

from django.db.models import Model, QuerySet
from django.http import Http404, HttpResponse

from core.api.fields import to_object
from core.api.requests import APIRequest
from core.api.routing import path_of
from core.api.serializers import ResourceSerializer
from core.api.views import JSONViewSet
from core.db.access import Access, prepared_access
from core.db.limited_rows import LimitedQuerySet, limit
from core.db.prepared import PreparedQuery, prepared
from core.db.tenancy import account_of
from core.db.transactions import in_transaction
from core.errors import ConcurrentUpdate, FieldErrors

if TYPE_CHECKING:
    from accounts.account import Account


class LimitedRows(JSONViewSet):
    """The base of views of rows of which some users access only a part."""

    @staticmethod
    def rows_of(account: "Account") -> QuerySet[Any]:
        """Return the rows of the account that are not in the trash, with the annotations that a response needs."""
        raise NotImplementedError

    @classmethod
    def accessible_rows_of(cls, account: "Account", access: Access) -> QuerySet[Any]:
        """Return those of `rows_of` that are accessible. Override it if an annotation depends on the access."""
        rows: QuerySet[Any] = limit(cls.rows_of(account), access)
        return rows

    @property
    def access_arguments(self) -> dict[str, Any]:
        """The arguments of `row_query` and `values_query` for the access; none if the access makes no difference."""
        return self.access.arguments if self.access.is_limited and depends_on_access(hashable(type(self))) else {}


class ResourceViewSet(LimitedRows):
    """The base of views that create, read, update and delete one kind of resource."""

    # The key and the model of the resource, as in `core.registry`.
    key: str
    # The name of the route of a single row.
    route: str
    model: type[Model]

    def rows(self) -> QuerySet[Any]:
        return self.accessible_rows_of(self.account, self.access)

    def location_of(self, row: Any) -> str:
        """Return the URL of the row."""
        return self.base_url + path_of(self.route, row.id)

    def find(self, id: int, *, locked: bool = False) -> Any:
        """Return the row with an id. Raise Http404 if there is none, or if the user may not access it."""
        query = row_query(hashable(type(self)))
        row = query.first(account_id=self.account.id, id=id, locked=locked, **self.access_arguments)
        if row is None:
            raise Http404
        row.account = self.account
        return row

    def lock_row(self) -> None:
        if "id" in self.kwargs:
            with suppress(Http404):
                self.find(self.kwargs["id"], locked=True)

    def context(self) -> dict[str, Any]:
        """Return the context of the serializer, which its fields use for lookups."""
        return {"account": self.account, "access": self.access}

    def serializer(self, data: Any, row: Any = None, context: dict[str, Any] | None = None) -> ResourceSerializer:
        return self.serializer_class(row, data=data, partial=row is not None, context=context or self.context())

    def create(self, request: APIRequest) -> HttpResponse:
        return self.write(lambda: self.find_existing(self.read_content(None)))

    def retrieve(self, request: APIRequest, id: int) -> HttpResponse:
        query = values_query(hashable(type(self)))
        values = query.first(account_id=self.account.id, ids=[id], **self.access_arguments)
        if values is None:
            raise Http404
        return self.respond(self.serializer_class.represent_values(values, self.account.zone))

    def update(self, request: APIRequest, id: int) -> HttpResponse:
        return self.write(lambda: self.find(id, locked=True))

    def find_existing(self, data: Any) -> Any:
        """Return the locked row that a create request updates instead of creating a row, or None. The default is None."""
        return None

    def read_content(self, row: Any) -> Any:
        """Return the input for a row, or for a new row if `row` is None: the value under the key of the resource."""
        return self.complete(to_object(self.body.get(self.key)), row)

    def complete(self, data: Any, row: Any = None) -> Any:
        """Return the input for one resource, completed with fields that are outside the resource's object in the body."""
        return data

    def write(self, find: Callable[[], Any], read: Callable[[Any], Any] | None = None) -> HttpResponse:
        """Update the locked row that `find` returns, or create a row if `find` returns None. Return the response with the row.

        `read` returns the input for the row. The default is `read_content`.
        """

        def write_row() -> tuple[Any, list[str], list[str], bool]:
            row = find()
            serializer = self.serializer((read or self.read_content)(row), row)
            try:
                ignored = self.check(**{self.key: serializer})
            except FieldErrors:
                # If another request has created the row meanwhile, the only error to report is the conflict with that request.
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
        headers |= self.handover_header(row)
        status = 201 if created else 200
        return self.respond(self.represent(row), status=status, ignored=ignored, pending=pending, headers=headers)

    def handover_header(self, row: Any) -> dict[str, str]:
        """Return the header that says that the user, who has just written the row, can't access it any more."""
        return {} if self.access.includes(row) else {"X-Handed-Over": "true"}

    def destroy(self, request: APIRequest, id: int) -> HttpResponse:
        in_transaction(lambda: self.find(id, locked=True).trash(by=request.user))
        return self.respond("ok")

    def create_row(self, values: dict[str, Any]) -> Any:
        """Create a row with valid values, and return it."""
        raise NotImplementedError

    def update_row(self, row: Any, values: dict[str, Any]) -> None:
        """Update a row with valid values."""
        raise NotImplementedError


def hashable(view: type[Any]) -> Any:
    """Return the class of a view unchanged, but typed as Any. For an argument of a cached function, mypy would reject the class."""
    return view


@cache
def depends_on_access(view: type[Any]) -> bool:
    """Return whether the rows of a `LimitedRows` view differ between users."""
    overrides = view.accessible_rows_of.__func__ is not LimitedRows.accessible_rows_of.__func__  # type: ignore[attr-defined]
    return overrides or isinstance(view.rows_of(account_of(0)), LimitedQuerySet)


@cache
def row_query(viewset: type[Any]) -> PreparedQuery:
    """Return the query for a row of a `ResourceViewSet` by its id."""

    @prepared(account_id=int, id=int, responsible_ids=list)
    def query(account_id: int, id: int, locked: bool, responsible_ids: Collection[int] | None = None) -> QuerySet[Any]:
        access = prepared_access(responsible_ids)
        rows: Any = viewset.accessible_rows_of(account_of(account_id), access).filter(id=id)[:1]
        return rows.locked() if locked else rows

    return query


@cache
def values_query(viewset: type[Any]) -> PreparedQuery:
    """Return the query for the values of the columns that a response shows, in no particular order of rows.

    `viewset` is a `ResourceViewSet` or a `Listing`.
    """

    @prepared(account_id=int, ids=list, responsible_ids=list)
    def query(account_id: int, ids: list[int], responsible_ids: Collection[int] | None = None) -> QuerySet[Any, Any]:
        access = prepared_access(responsible_ids)
        rows = viewset.accessible_rows_of(account_of(account_id), access).order_by().filter(id__any=ids)
        return rows.values_list(*viewset.serializer_class.columns)

    return query
