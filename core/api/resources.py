"""The base of the views of JSON resources: create, read, update, delete."""

from collections.abc import Callable, Collection
from contextlib import suppress
from functools import cache
from typing import Any

from django.db.models import Model, QuerySet
from django.http import Http404, HttpResponse
from rest_framework.response import Response

from core.api.fields import to_object
from core.api.routing import path_of
from core.api.serializers import ResourceSerializer
from core.api.views import JSONViewSet
from core.db.prepared import PreparedQuery, prepared
from core.db.tenancy import account_of
from core.db.transactions import in_transaction
from core.errors import ConcurrentUpdate, FieldErrors
from core.registry import Resource
from core.rows.access import ALL_ROWS, prepared_access


class ResourceViewSet(JSONViewSet):
    """The base of views that create, read, update and delete one kind of resource.

    `get_queryset` is also called on a view without a request (`for_account`), so it depends on nothing but `account` and `access`. The
    statements of `retrieve` and `get_object` are prepared once. `retrieve` reads a tuple, without `check_object_permissions`: a user may read
    all rows of `get_queryset`.
    """

    model: type[Model]
    # The key of the resource, and the name of the route of a single row: those of the resource that the model declares, unless the view
    # has others.
    key: str
    route: str

    def __init_subclass__(cls, **options: object) -> None:
        super().__init_subclass__(**options)
        if isinstance(resource := getattr(vars(cls).get("model"), "api_resource", None), Resource):
            cls.key = vars(cls).get("key", resource.key)
            cls.route = vars(cls).get("route", resource.route)

    def get_success_headers(self, data: dict[str, Any]) -> dict[str, str]:
        """Return the header with the URL of a new row."""
        return {"Location": self.base_url + path_of(self.route, data["id"])}

    def find_object(self, id: int, *, locked: bool) -> object:
        query = row_query(hashable(type(self)))
        return query.first(account_id=self.account.id, id=id, locked=locked, **access_arguments(self))

    def lock_row(self) -> None:
        if self.lookup_field in self.kwargs:
            with suppress(Http404):
                self.get_object(locked=True)

    def create(self, request: Any) -> HttpResponse:
        return self.write(lambda: self.find_existing(self.read_content(None)))

    def retrieve(self, request: Any, id: int) -> HttpResponse:
        query = values_query(hashable(type(self)))
        values = query.first(account_id=self.account.id, ids=[id], **access_arguments(self))
        if values is None:
            raise Http404
        return Response(self.serializer_class.represent_values(values, self.account.zone))

    def update(self, request: Any, id: int) -> HttpResponse:
        return self.write(lambda: self.get_object(locked=True))

    def find_existing(self, data: object) -> object:
        """Return the locked row that a create request updates instead of creating a row, or None. The default is None."""
        return None

    def read_content(self, row: object) -> object:
        """Return the input for a row, or for a new row if `row` is None: the value under the key of the resource."""
        return self.complete(to_object(self.body.get(self.key)), row)

    def complete(self, data: Any, row: Any = None) -> Any:
        """Return the input for one resource, completed with fields that are outside the resource's object in the body."""
        return data

    def write(self, find: Callable[[], Any], read: Callable[[Any], Any] | None = None) -> HttpResponse:
        """Update the locked row that `find` returns, or create a row if `find` returns None. Return the response with the row.

        `read` returns the input for the row. The default is `read_content`.
        """

        def write_row() -> tuple[Any, bool]:
            row = find()
            data = (read or self.read_content)(row)
            serializer = self.get_serializer(row, data=data, partial=row is not None)
            try:
                self.check(**{self.key: serializer})
            except FieldErrors:
                # If another request has created the row meanwhile, the only error to report is the conflict with that request.
                if row is None and find() is not None:
                    raise ConcurrentUpdate("Another request made it meanwhile") from None
                raise
            if row is None:
                self.perform_create(serializer)
            else:
                self.perform_update(serializer)
            return serializer.instance, row is None

        row, created = in_transaction(write_row)
        data = self.represent(row)
        headers = self.get_success_headers(data) if created else {}
        return Response(data, status=201 if created else 200, headers=headers | self.handover_header(row))

    def handover_header(self, row: Any) -> dict[str, str]:
        """Return the header that says that the user, who has just written the row, can't access it any more."""
        return {} if self.access.includes(row) else {"X-Handed-Over": "true"}

    def destroy(self, request: Any, id: int) -> HttpResponse:
        in_transaction(lambda: self.perform_destroy(self.get_object(locked=True)))
        return Response("ok")

    def perform_create(self, serializer: ResourceSerializer) -> None:
        """Create a row with the valid values, as the instance of the serializer."""
        serializer.instance = self.model(account=self.account)
        self.perform_update(serializer)

    def perform_update(self, serializer: ResourceSerializer) -> None:
        """Write the valid values to the instance of the serializer."""
        serializer.instance.write(serializer.values, by=self.request.user)

    def perform_destroy(self, row: Any) -> None:
        row.trash(by=self.request.user)


def hashable(view: type[Any]) -> Any:
    """Return the class of a view unchanged, but typed as Any. For an argument of a cached function, mypy would reject the class."""
    return view


def access_arguments(view: JSONViewSet) -> dict[str, Any]:
    """Return the arguments of `row_query` and `values_query` for the access; none if the access makes no difference."""
    return view.access.arguments if view.access.is_limited and depends_on_access(hashable(type(view))) else {}


@cache
def depends_on_access(view: type[Any], method: str = "get_queryset") -> bool:
    """Return whether the rows that a method of a view returns differ between users."""
    account, statements = account_of(0), []
    for access in (ALL_ROWS, prepared_access([0])):
        rows = getattr(view.for_account(account, access), method)()
        statements.append(rows.query.sql_with_params())
    return statements[0] != statements[1]


@cache
def row_query(viewset: type[Any]) -> PreparedQuery:
    """Return the query for a row of a `ResourceViewSet` by its id."""

    @prepared(account_id=int, id=int, responsible_ids=list)
    def query(account_id: int, id: int, locked: bool, responsible_ids: Collection[int] | None = None) -> QuerySet[Any]:
        view = viewset.for_account(account_of(account_id), prepared_access(responsible_ids))
        rows: Any = view.get_queryset().filter(id=id)[:1]
        return rows.locked() if locked else rows

    return query


@cache
def values_query(viewset: type[Any]) -> PreparedQuery:
    """Return the query for the values of the columns that a response shows, in no particular order of rows.

    `viewset` is a `ResourceViewSet` or a `Listing`.
    """

    @prepared(account_id=int, ids=list, responsible_ids=list)
    def query(account_id: int, ids: list[int], responsible_ids: Collection[int] | None = None) -> QuerySet[Any, Any]:
        view = viewset.for_account(account_of(account_id), prepared_access(responsible_ids))
        rows: Any = view.get_queryset().order_by().filter(id__any=ids)
        return rows.values_list(*viewset.serializer_class.columns)

    return query
