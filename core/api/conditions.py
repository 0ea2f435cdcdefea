"""The filters of lists of the Account API that accept the conditions and saved views of the lists on the team's pages.

The parameters of such a page work here too: conditions such as `city__contains=gda`, special filters such as `no_task`, `sort`, and `view`,
the id of a saved view. A parameter that the list of the API declares itself keeps its meaning. The room of the pages registers how the
others are read (`register_reader`).
"""

from collections.abc import Callable, Collection
from typing import Any, Protocol

from django.db.models import Model, OrderBy, QuerySet
from django.http import QueryDict
from django.utils.translation import gettext_lazy as _

from core.api.filters import ListFilters
from core.api.views import remove_key
from core.errors import FieldError
from core.tenants import TenantUser

# Parameters that are not conditions, although a page of the list has some of them.
OTHER_PARAMETERS = frozenset({"page", "per_page", "order", "columns"})


class FurtherFilters(Protocol):
    """The filters in the parameters that the list of the API does not declare."""

    q: str
    sort: str
    # An error with the code `unknown` belongs to a parameter that is no filter. The list ignores it.
    errors: list[FieldError]

    # The areas of tokens (`core.rows.scopes`) with the related rows of the conditions.
    @property
    def related_areas(self) -> Collection[str]: ...

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
