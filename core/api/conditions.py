"""Lists of the Account API that accept the conditions and saved views of the lists on the team's pages.

The parameters of such a page work here too: conditions such as `city__contains=gda`, special filters such as `no_task`, `sort`, and `view`,
the id of a saved view. A parameter that the list of the API declares itself keeps its meaning. The room of the pages registers how the
others are read (`register_reader`).
"""

from collections.abc import Callable, Collection
from typing import Any, Protocol, cast

from django.db.models import Model, OrderBy, QuerySet
from django.http import QueryDict
from django.utils.translation import gettext_lazy as _

from core.api.filters import ListFilters
from core.api.lists import SORT_LIMIT, TOO_MANY_TO_SORT, Listing, TooManyToSort
from core.api.views import REPEATED, remove_key
from core.db.time_limit import TooSlow
from core.errors import FieldError, FieldErrors
from core.search.queries import search, search_transaction
from core.tenants import TenantAccount, TenantUser

# Parameters that are not conditions, although a page of the list has some of them.
OTHER_PARAMETERS = frozenset({"page", "per_page", "order", "columns"})
TOO_SLOW = _(
    "takes too long, because too many rows would have to be compared: add a search, or one of the filters {filters}"
)


class FurtherFilters(Protocol):
    """The filters in the parameters that the list of the API does not declare."""

    q: str
    sort: str
    # An error with the code `unknown` belongs to a parameter that is no filter. The list ignores it.
    errors: list[FieldError]

    @property
    def is_filtered(self) -> bool: ...

    # False if no index has the order `sort`.
    @property
    def has_index(self) -> bool: ...

    def order_by(self) -> list[OrderBy]: ...

    def sorted_ids(
        self, rows: QuerySet[Model], estimated: QuerySet[Model], *, start: int, stop: int
    ) -> tuple[list[int], int]: ...

    def filter(self, rows: QuerySet[Model]) -> QuerySet[Model]: ...

    def filter_for_estimate(self, rows: QuerySet[Model]) -> QuerySet[Model]: ...


# A function with the arguments list, parameters, account and user. Only the room of the pages knows the models of both.
Reader = Callable[[str, QueryDict, Any, Any], FurtherFilters]
_readers: list[Reader] = []


def register_reader(reader: Reader) -> None:
    """Let `reader` read the further parameters of the lists."""
    _readers[:] = [reader]


class ConditionFilters(ListFilters):
    """The filters of a list that also has conditions on fields."""

    further: FurtherFilters | None = None
    # The parameters that `further` has read.
    further_names: Collection[str] = ()
    # The rows that pass the declared filters, without those of `further`.
    _declared_rows: QuerySet[Model]

    def read_further(self, record_list: str, *, user: TenantUser, ignored: Collection[str]) -> None:
        """Read the parameters that no filter of the class declares."""
        declared = {*self.parameters(), *OTHER_PARAMETERS, *ignored}
        names = [name for name in self.data if name not in declared and remove_key(name) not in declared]
        if not names:
            return
        parameters = QueryDict(mutable=True)
        for name in names:
            parameters.setlist(name, self.data.getlist(name))
        self.further = _readers[0](record_list, parameters, self.account, user)
        unknown = {error.field for error in self.further.errors if error.code == "unknown"}
        self.further_names = [name for name in names if name not in unknown]

    def find_errors(self) -> dict[str, FieldError]:
        errors = super().find_errors()
        if self.further is not None:
            errors |= {error.field: error for error in self.further.errors if error.code != "unknown"}
            if self.data.get("order", "").strip() and self.data.get("sort", "").strip():
                errors["sort"] = FieldError("sort", _("can't be given together with order, which has the same meaning"))
        return errors

    def filter_queryset(self, queryset: QuerySet[Model]) -> QuerySet[Model]:
        self._declared_rows = super().filter_queryset(queryset)
        return self._declared_rows if self.further is None else self.further.filter(self._declared_rows)

    @property
    def rows_for_estimate(self) -> QuerySet[Model]:
        rows = self.qs
        return rows if self.further is None else self.further.filter_for_estimate(self._declared_rows)

    @property
    def are_used(self) -> bool:
        return super().are_used or self.has_time_limit

    @property
    def has_time_limit(self) -> bool:  # type: ignore[override]  # computed here
        return self.further is not None and self.further.is_filtered

    @property
    def search_text(self) -> str | None:
        return super().search_text or (self.further.q if self.further is not None else None) or None


class ConditionListing(Listing):
    """A mixin for the list of a resource that also has conditions on fields."""

    key: str
    account: TenantAccount
    filterset_class: type[ConditionFilters]
    # The list of the pages with the conditions, if its name is not `key`.
    record_list = ""
    # The names of the further parameters of the request.
    further_names: Collection[str] = ()

    def read_filters(self) -> ListFilters:
        filters = cast(ConditionFilters, super().read_filters())
        filters.read_further(self.record_list or self.key, user=self.request.user, ignored=self.common_keys)
        self.further_names = filters.further_names
        return filters

    def ignore_parameters(self, known: Collection[str]) -> dict[str, FieldError]:
        """Accept the conditions too. A list may have several conditions on one field."""
        errors = super().ignore_parameters(known)
        self.ignored_parameters = [name for name in self.ignored_parameters if name not in self.further_names]
        errors = {name: error for name, error in errors.items() if name not in self.further_names}
        for name in ("sort", "view"):
            if name in self.further_names and len(self.parameters.getlist(name)) > 1:
                errors[name] = FieldError(name, REPEATED)
        return errors

    def ids(self, filters: ListFilters | None, order: str | None, *, start: int, stop: int) -> list[int]:
        further = filters.further if isinstance(filters, ConditionFilters) else None
        by_further = further is not None and not order and bool(further.sort)
        try:
            if filters is not None and further is not None and by_further and not further.has_index:
                return self.sorted_ids(filters, further, start=start, stop=stop)
            return super().ids(filters, further.sort if further and by_further else order, start=start, stop=stop)
        except TooManyToSort:
            raise FieldError("sort", TOO_MANY_TO_SORT, "too_many", {"most": f"{SORT_LIMIT:,}"}) from None
        except TooSlow:
            names = [name for name in self.further_names if name != "sort"]
            raise FieldErrors(self.too_slow(name) for name in names) from None

    def sorted_ids(self, filters: ListFilters, further: FurtherFilters, *, start: int, stop: int) -> list[int]:
        """Return the ids in the order of the parameter `sort`, which has no index. Raise TooManyToSort."""
        text = filters.search_text
        with search_transaction(self.account.id, text or "", is_limited=True) as query:
            rows = filters.qs
            if text is None:
                ids, _number = further.sorted_ids(rows, filters.rows_for_estimate, start=start, stop=stop)
                return ids
            found = search(rows, query, list_rows=self.unlimited.get_list_queryset(), ranked=False)
            rows = self.get_list_queryset().filter(id__in=found).order_by(*further.order_by())
            return [*rows.values_list("id", flat=True)[start:stop]]

    @classmethod
    def too_slow(cls, name: str) -> FieldError:
        """Return the error of a parameter for which too many rows would have to be compared."""
        # Every list has the condition `tags`.
        known, model = {*cls.filterset_class.base_filters, "tags"}, cast(Any, cls.serializer_class.model)
        filters = ", ".join(indexed for indexed in model.search.filters if indexed in known)
        return FieldError(name, TOO_SLOW, "too_slow", {"filters": filters})
