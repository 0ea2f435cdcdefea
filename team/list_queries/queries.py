"""The query of a list: read from the parameters of its URL, and executed within limits of rows and time. The selection of its rows."""

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import cached_property, reduce
from operator import or_
from typing import Any, Self
from urllib.parse import urlencode

from django.db.models import Exists, Expression, Model, OuterRef, Q, QuerySet
from django.db.models.expressions import F, OrderBy
from django.http import QueryDict
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.account.models import Account
from accounts.fields.catalogue import Field
from accounts.users.models import User
from core.api.lists import COMMON_ROWS, SORT_LIMIT, TooManyToSort, collect_and_sort, scan_in_order
from core.api.paging import ListPage
from core.db.text import replace_non_xml
from core.db.time_limit import TooSlow
from core.errors import FieldError
from core.registry import registry
from core.rows.declared import FieldType
from core.rows.last_changes import has_last_changes, last_changes_of, order_by_change
from core.rows.values import ValuesRow
from core.search.queries import MAX_QUERY_LENGTH, estimate_counts, search, search_transaction
from core.search.terms import Query
from crm.contacts.models import ContactListMembership
from crm.deals.stage_history import StageFilter
from team.conditions.conditions import MAX_CONDITIONS, SEVERAL, Condition, Operator, QueryPurpose, Target, find_target
from team.conditions.relations import Relation
from team.conditions.values import BOOLEANS, OUTCOME
from team.fields.names import LINKS
from team.list_queries.declarations import LISTS, RecordList
from team.list_queries.sorting import sort_expression
from team.summaries.models import SUM_NAMES, revenue_of, with_revenue, with_summary

# A list is counted up to this number.
MAX_COUNT = 1000
MAX_INACTIVE_DAYS = 3650
# Rows in an order without an index are sorted if PostgreSQL estimates at most this many times `SORT_LIMIT`.
ESTIMATE_FACTOR = 3
# Parameters that only pages read: of the list and of the form that adds a filter.
FORM_PARAMETERS = ("add", "edit", "field", "operator", "value", "value-meant", "period", "days", "group", "replace")
PAGE_PARAMETERS = ("page", "per_page", "view", "sums", "at", *FORM_PARAMETERS)
SPECIAL = ("mine", "no_task", "inactive_days", "contact_list_id", "post_id", "stage_history")
# The lists that have the other special filters.
LISTS_OF_FILTERS = {"contact_list_id": ("contact",), "post_id": ("client", "deal"), "stage_history": ("deal",)}


@dataclass
class ListQuery:
    """The conditions, the order and the columns of a list."""

    declaration: RecordList
    account: Account
    user: User
    fields: list[Field]
    q: str = ""
    conditions: list[Condition] = field(default_factory=list)
    # The special filters, by the name of their parameter.
    special: dict[str, Any] = field(default_factory=dict)
    # A column, with a minus sign for a descending order; empty for the default, which is by rank for a search.
    sort: str = ""
    columns: list[str] = field(default_factory=list)
    # The columns that the pages remember for the user. They count if the URL has none.
    remembered_columns: list[str] = field(default_factory=list)
    errors: list[FieldError] = field(default_factory=list)
    # The id of the saved view that the list began with.
    view_id: int | None = None
    # The language in which a person typed the numbers of the conditions; None for those of programs and of saved views.
    language: str | None = None
    # The ids of the rows that a search found, after `find`.
    found_ids: list[int] | None = None
    _related_fields: dict[str, dict[str, Field]] = field(default_factory=dict)

    @classmethod
    def read(
        cls,
        declaration: RecordList,
        parameters: QueryDict,
        *,
        account: Account,
        user: User,
        language: str | None = None,
        fields_of_list: list[Field] | None = None,
    ) -> Self:
        """Return the query. Parameters with errors are left out of it, and `errors` has their errors.

        `fields_of_list` are the fields of the list, if they have been read already.
        """
        query = cls(declaration, account, user, fields_of_list or declaration.fields(account), language=language)
        fields = {field.name: field for field in query.fields}
        for name, values in parameters.lists():
            try:
                query._read(name, values, fields)
            except FieldError as error:
                query.errors.append(error)
        query.number_groups()
        return query

    def number_groups(self) -> None:
        """Number the groups from 1. The conditions of a single group apply always."""
        numbers = [number for number in self.groups if number]
        new = {number: place for place, number in enumerate(numbers, start=1)} if len(numbers) > 1 else {}
        self.conditions = [condition.in_group(new.get(condition.target.group, 0)) for condition in self.conditions]

    def _read(self, name: str, values: list[str], fields: dict[str, Field]) -> None:
        text = values[-1].strip()
        if name in PAGE_PARAMETERS:
            return
        if name == "columns":
            self._read_columns([name.strip() for value in values for name in value.split(",")], fields)
        elif name == "q":
            self.q = replace_non_xml(text)[:MAX_QUERY_LENGTH]
        elif name == "sort":
            column = text.removeprefix("-")
            if text and column not in self.declaration.orders and column not in fields:
                raise FieldError(name, _("is not a column by which the list can be ordered"), "choice")
            self._check_access(name, text.removeprefix("-"))
            self.sort = text
        elif name in SPECIAL:
            if text:
                self._read_special(name, text)
        else:
            self._read_conditions(name, values)

    def _read_conditions(self, name: str, values: list[str]) -> None:
        target = self.find_target(name)
        if target is None:
            raise FieldError(name, _("is not a filter of this list"), "unknown")
        self._check_access(name, target.field.name)
        texts = list(filter(str.strip, values))
        # The values of `any` and `none` are one condition. Several values of another operator are conditions that all apply.
        for group in [texts] if target.operator in SEVERAL and texts else [[text] for text in texts]:
            if len(self.conditions) >= MAX_CONDITIONS:
                raise FieldError(name, _("is one filter too many"), "too_many")
            self.conditions.append(
                Condition.read(target, group, account=self.account, user=self.user, language=self.language)
            )

    def find_target(self, name: str) -> Target | None:
        """Return the field, the operator, the relation and the group that a parameter names, or None for another parameter."""
        return find_target(name, self.filter_fields, self.declaration.relations, self.related_fields)

    @cached_property
    def filter_fields(self) -> dict[str, Field]:
        """The fields by which the list is filtered, by name."""
        return {field.name: field for field in (*self.fields, *self.declaration.filters)}

    def related_fields(self, relation: Relation) -> dict[str, Field]:
        """Return the fields of the rows of a relation, by name."""
        if relation.name not in self._related_fields:
            declaration = LISTS[relation.resource]
            # Each relation to open deals has the outcome already.
            filters = [field for field in declaration.filters if not (relation.are_open and field.name == OUTCOME)]
            fields = (*declaration.fields(self.account), *filters)
            self._related_fields[relation.name] = {field.name: field for field in fields}
        return self._related_fields[relation.name]

    def _check_access(self, parameter: str, column: str) -> None:
        """Raise FieldError for a sum if the user may access only a part of the deals that it adds up."""
        if column in SUM_NAMES and self.user.access.is_limited:
            raise FieldError(parameter, _("can't use sums of deals, because you see only some of the deals"), "access")

    def _read_columns(self, names: list[str], fields: dict[str, Field]) -> None:
        unknown = [name for name in names if name and name not in fields]
        self.columns = list(dict.fromkeys(name for name in names if name in fields))
        if unknown:
            raise FieldError("columns", _("has a column that this list does not have"), "unknown")

    def _read_special(self, name: str, text: str) -> None:
        if name in ("mine", "no_task"):
            if text.lower() not in BOOLEANS:
                raise FieldError(name, _("is not true or false"), "boolean")
            is_known = self.declaration.has_responsible if name == "mine" else self.declaration.has_tasks
            if not is_known:
                raise FieldError(name, _("is not a filter of this list"), "unknown")
            if BOOLEANS[text.lower()]:
                self.special[name] = True
            return
        if name in LISTS_OF_FILTERS and self.declaration.resource not in LISTS_OF_FILTERS[name]:
            raise FieldError(name, _("is not a filter of this list"), "unknown")
        if name == "stage_history":
            if (read := StageFilter.read(text)) is None:
                raise FieldError(name, _("is not a filter of a report"), "format")
            self.special[name] = read
            return
        is_number = re.fullmatch(r"[0-9]{1,18}", text, re.ASCII)
        if not is_number or (name == "inactive_days" and not 0 < int(text) <= MAX_INACTIVE_DAYS):
            raise FieldError(name, _("is not a number that is possible here"), "number")
        self.special[name] = int(text)

    # The URL

    def parameters(self) -> list[tuple[str, str]]:
        pairs = [("q", self.q)] if self.q else []
        pairs += [(condition.parameter, text) for condition in self.conditions for text in condition.texts]
        pairs += [(name, "true" if value is True else str(value)) for name, value in self.special.items()]
        if self.sort:
            pairs.append(("sort", self.sort))
        if self.columns:
            pairs.append(("columns", ",".join(self.columns)))
        return pairs

    @property
    def normal_form(self) -> str:
        """The query string of a saved view, without a question mark. Lists with the same rows, order and columns have the same one."""
        return urlencode(sorted(self.parameters()))

    def add_view(self, pairs: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
        """Return the parameters that have a value, and the saved view that the list began with.

        Other parameters in a URL replace those of the view. A blank order therefore stands for a list without any.
        """
        filled = [(name, value) for name, value in pairs if value]
        return filled if self.view_id is None else [("view", str(self.view_id)), *(filled or [("sort", "")])]

    def link(self, pairs: Iterable[tuple[str, str]]) -> str:
        """Return the query string of a list with these parameters, in the same saved view."""
        return "?" + urlencode(self.add_view(pairs))

    @property
    def hidden(self) -> list[tuple[str, str]]:
        """The parameters of the list, for hidden inputs."""
        return self.add_view(self.parameters())

    def query_string(self, **changes: str) -> str:
        """Return the query string with `changes`. A blank value removes the parameter."""
        kept = [(name, value) for name, value in self.parameters() if name not in changes]
        return self.link([*kept, *changes.items()])

    def query_string_without(self, condition: Condition) -> str:
        return self.link(self.parameters_without(condition))

    def parameters_without(self, condition: Condition) -> list[tuple[str, str]]:
        return replace(self, conditions=[other for other in self.conditions if other is not condition]).parameters()

    def leave_out(self, condition: Condition, kept: Collection[int]) -> None:
        """Remove the values of a condition, except for those with these indexes, and the whole condition if none is kept."""
        texts, values = ([items[number] for number in kept] for items in (condition.texts, condition.values))
        reduced = [replace(condition, texts=tuple(texts), values=tuple(values))] if kept else []
        place = self.conditions.index(condition)
        self.conditions[place : place + 1] = reduced

    @property
    def groups(self) -> dict[int, list[Condition]]:
        """The conditions by the number of their group. Group 0 has those that always apply."""
        groups: dict[int, list[Condition]] = {}
        for condition in sorted(self.conditions, key=lambda condition: condition.target.group):
            groups.setdefault(condition.target.group, []).append(condition)
        return groups

    @property
    def common_conditions(self) -> list[Condition]:
        """The conditions on the rows themselves that always apply."""
        return [condition for condition in self.conditions if not (condition.target.group or condition.target.relation)]

    @property
    def related_areas(self) -> list[str]:
        """The areas of tokens with the related rows of the conditions."""
        relations = {relation for condition in self.conditions if (relation := condition.target.relation) is not None}
        return sorted({area for relation in relations for area in registry[relation.resource].viewset.areas})

    @property
    def link_conditions(self) -> list[Condition]:
        """The conditions that name another row."""
        links = [condition for condition in self.conditions if condition.field.type in LINKS]
        return [condition for condition in links if condition.operator != Operator.EMPTY]

    @property
    def links(self) -> list[tuple[FieldType, int]]:
        """The types of fields and the ids in these conditions, for `Names`."""
        return [(condition.field.type, value) for condition in self.link_conditions for value in condition.values]

    @property
    def is_filtered(self) -> bool:
        return bool(self.q or self.conditions or self.special)

    @property
    def shown_fields(self) -> list[Field]:
        """The fields of the columns, without the name, which is always the first column."""
        by_name = {field.name: field for field in self.fields}
        names = self.columns or [name for name in self.remembered_columns if name in by_name]
        chosen = [by_name[name] for name in names] if names else [f for f in self.fields if f.in_lists]
        return [field for field in chosen if field.name != self.declaration.name_field]

    # The rows

    @property
    def list_rows(self) -> QuerySet[Model]:
        """The rows of the list with their stored fields. PostgreSQL leaves out the join if a statement uses none of these."""
        return self._annotate_stored(self.declaration.rows_of(self.account, self.user))

    def _annotate_stored(self, rows: QuerySet[Model]) -> QuerySet[Model]:
        used = {condition.field.name for condition in self.conditions if not condition.target.relation}
        used.add(self.sort.removeprefix("-"))
        has_special = not {"inactive_days", "no_task"}.isdisjoint(self.special)
        return annotate_stored(rows, self.declaration, used, is_used=has_special)

    def values(self, ids: Collection[int], columns: set[str]) -> dict[int, ValuesRow]:
        """Return the columns of the rows with these ids, by id. The value of a sum is the list of the `Revenue` of the client."""
        if not ids:
            return {}
        rows = self.list_rows.order_by().filter(id__in=list(ids))
        if columns.isdisjoint(SUM_NAMES):
            return {row["id"]: row for row in rows.values(*columns)}
        revenues = with_revenue(rows, self.account, self.user.access)
        found = revenues.values("revenue", *columns.difference(SUM_NAMES))
        return {row["id"]: row | dict.fromkeys(SUM_NAMES, revenue_of(row["revenue"], self.account)) for row in found}

    @cached_property
    def rows(self) -> QuerySet[Model]:
        """The rows that pass the filters, without the search."""
        return self.filter(self.declaration.rows_of(self.account, self.user))

    def filter(self, rows: QuerySet[Model], purpose: QueryPurpose = QueryPurpose.FIND) -> QuerySet[Model]:
        """Return those of `rows` that pass the filters, without the search."""
        rows = self._annotate_stored(rows)
        for condition in self.common_conditions:
            rows = condition.filter(rows, purpose)
        groups = self.groups
        if common := [condition for condition in groups.pop(0, []) if condition.target.relation]:
            rows = rows.filter(self._all_of(common, rows.model, purpose))
        if groups:
            found = (self._all_of(conditions, rows.model, purpose) for conditions in groups.values())
            rows = rows.filter(reduce(or_, found))
        if "mine" in self.special:
            rows = rows.filter(responsible_id=self.user.id)
        if (list_id := self.special.get("contact_list_id")) is not None:
            lists = self.account.contact_lists.live().filter(id=list_id)
            members = ContactListMembership.objects.filter(account_id=self.account.id, contact_list_id=list_id)
            rows = rows.filter(Exists(lists), Exists(members.filter(contact_id=OuterRef("id"))))
        if (post_id := self.special.get("post_id")) is not None:
            rows = self._filter_by_suggestion(post_id, rows)
        if (history := self.special.get("stage_history")) is not None:
            stages = history.stages(self.account, self.account.deal_statuses())
            rows = rows.filter(Exists(stages.filter(deal_id=OuterRef("id"))))
        if (days := self.special.get("inactive_days")) is not None:
            # Neither the row changed since then, nor did any row that belongs to it.
            column = "last_activity_at" if self.declaration.stored else "updated_at"
            rows = rows.filter(**{f"{column}__lt": timezone.now() - timedelta(days=days)})
        if "no_task" in self.special:
            rows = rows.filter(next_task_at=None)
        return rows

    def filter_for_estimate(self, rows: QuerySet[Model]) -> QuerySet[Model]:
        """Return those of `rows` that pass the parts of the filters whose number of rows PostgreSQL can estimate."""
        return self.filter(rows, QueryPurpose.ESTIMATE)

    def _filter_by_suggestion(self, post_id: int, rows: QuerySet[Model]) -> QuerySet[Model]:
        """Return the clients behind a suggestion, or their deals, as far as the user may access the clients."""
        column = "id" if self.declaration.resource == "client" else "client_id"
        backers = self.account.post_backers.filter(post_id=post_id, client_id=OuterRef(column))
        if self.user.access.is_limited:
            backers = backers.filter(client_id__in=self.account.clients.accessible_to(self.user).values("id"))
        return rows.filter(Exists(backers))

    def _all_of(self, conditions: Iterable[Condition], model: type[Model], purpose: QueryPurpose) -> Q:
        """Return the conjunction of conditions. One related row meets all those on the same relation."""
        found, by_relation = Q(), defaultdict[Relation, list[Condition]](list)
        for condition in conditions:
            if condition.target.relation is None:
                found &= condition.to_q(model, purpose)
            else:
                by_relation[condition.target.relation].append(condition)
        for relation, related in by_relation.items():
            used = {condition.field.name for condition in related}
            rows = annotate_stored(relation.rows(self.account, self.user), LISTS[relation.resource], used)
            for condition in related:
                rows = condition.filter(rows, purpose)
            found &= Q(relation.exists(rows))
        return found

    def order_by(self) -> list[OrderBy]:
        order = self.sort or self.declaration.default_order
        name, descending = order.removeprefix("-"), order.startswith("-")
        if name in self.declaration.sort_keys:
            return [OrderBy(F(f"sort_key__{column}"), descending=descending) for column in (name, "id")]
        if not self.has_index:
            field = next(field for field in self.fields if field.name == name)
            expression = sort_expression(field, self.declaration.resource, self.account, self.user)
            by_field = OrderBy(expression, descending=descending, nulls_last=True)
            return [by_field, OrderBy(F("id"), descending=descending)]
        names = [name] if name == "id" else [name, "id"]
        expressions = [self._order_expressions.get(column, F(column)) for column in names]
        return [OrderBy(expression, descending=descending) for expression in expressions]

    @property
    def has_index(self) -> bool:
        """True if an index has the order of the list."""
        return self._order_column in self.declaration.orders

    @property
    def _order_expressions(self) -> Mapping[str, Expression]:
        """The expressions of the indexes of orders."""
        resource = registry.get(self.declaration.resource)
        found: Mapping[str, Expression] = getattr(resource.viewset, "order_expressions", {}) if resource else {}
        return found

    def find(self, page: ListPage, then: Callable[[int], object] = lambda count: None) -> tuple[list[int], int | None]:
        """Return the ids of a page, with one more if another page follows, and the number of rows.

        `then` is called with the number in the same transaction, which has the settings for long lists.

        The number is None if counting takes too long, and `MAX_COUNT + 1` if there are more than `MAX_COUNT` rows. Raise `TooSlow` if no
        index serves the filters and too many rows would have to be compared, and `TooManyToSort`.
        """
        ids: list[int] | None = None
        try:
            # A search without filters limits the rows that it reads itself.
            is_limited = bool(self.conditions or self.special or not self.q)
            with search_transaction(self.account.id, self.q, is_limited=is_limited) as text:
                if self.q:
                    self.found_ids = self.search_ids(text)
                    then(len(self.found_ids))
                    return self.found_ids[page.start : page.stop], len(self.found_ids)
                ids, count = self._filtered_ids(page.start, page.stop)
                if count is None:
                    is_last = len(ids) <= page.size and (ids or page.number == 1)
                    count = page.start + len(ids) if is_last else self.rows.order_by()[: MAX_COUNT + 1].count()
                count = min(count, MAX_COUNT + 1)
                then(count)
                return ids, count
        except TooSlow:
            if ids is None:
                raise
            return ids, None

    def id_at(self, position: int) -> int | None:
        """Return the id of the row at a position, counted from 0, or None. The work is that of a page. Raise as `find` does."""
        is_limited = bool(self.conditions or self.special or not self.q)
        with search_transaction(self.account.id, self.q, is_limited=is_limited) as text:
            if self.q:
                ids = self.search_ids(text)[position : position + 1]
            else:
                ids = self._filtered_ids(position, position + 1)[0]
        return ids[0] if ids else None

    def search_ids(self, text: Query) -> list[int]:
        """Return the ids of all rows that a search finds, in the order of the list."""
        ids = self.matching_ids(text, ranked=not self.sort)
        if self.sort:
            ids = list(self.list_rows.filter(id__in=ids).order_by(*self.order_by()).values_list("id", flat=True))
        return ids

    def matching_ids(self, text: Query, *, ranked: bool) -> list[int]:
        """Return the ids of the rows that match the folded text of `search_transaction` and the filters."""
        # Similar words are searched only if no row has the words themselves.
        return search(self.rows, text, list_rows=self.list_rows, ranked=ranked, is_fuzzy_fallback=True)

    def _filtered_ids(self, start: int, stop: int) -> tuple[list[int], int | None]:
        """Return the ids as `Listing.filtered_ids` does: scan the first rows of the list, or else collect all rows that pass and sort them.

        If all rows were collected, also return their number.
        """
        rows = self._sort(self._filter_by_completion(self.rows))
        if not self.has_index:
            estimated = self.filter_for_estimate(self.declaration.rows_of(self.account, self.user))
            return self.sorted_ids(rows, estimated, start=start, stop=stop)
        if self.is_filtered and stop <= SORT_LIMIT:
            all_rows = self.declaration.rows_of(self.account, self.user)
            is_common = estimate_counts(self.filter_for_estimate(all_rows))[0] > COMMON_ROWS
            # The index of a stored order is that of another table, so `scan_in_order` would read all first rows and sort them. If many rows
            # pass, PostgreSQL finds a page sooner in the index. The time limit holds if it does not.
            stored = {*self.declaration.sort_keys, *(field.name for field in self.declaration.stored)}
            if is_common and self._order_column in stored:
                rows = self._sort(self.filter(all_rows, QueryPurpose.SCAN))
                return list(rows.values_list("id", flat=True)[start:stop]), None
            if is_common:
                list_rows, passing = self.list_rows, rows
                has_relations = any(condition.target.relation for condition in self.conditions)
                if self._is_by_last_change:
                    list_rows = last_changes_of(list_rows.model, self.account)
                if self._is_by_last_change or has_relations:
                    # Each row is looked up by its id, so leave out the parts that the search index finds.
                    passing = self.filter(all_rows, QueryPurpose.SCAN)
                list_rows = self._filter_by_order(list_rows).order_by(*self.order_by())
                found = scan_in_order(passing, list_rows, start=start, stop=stop, has_relations=has_relations)
                if found is not None:
                    return found, None
            if (collected := collect_and_sort(rows, start=start, stop=stop)) is not None:
                return collected
        elif self._is_by_last_change and not self.is_filtered and not self.user.access.is_limited:
            rows = last_changes_of(self.list_rows.model, self.account).order_by(*self.order_by())
        return list(rows.values_list("id", flat=True)[start:stop]), None

    def sorted_ids(
        self, rows: QuerySet[Model], estimated: QuerySet[Model], *, start: int, stop: int
    ) -> tuple[list[int], int]:
        """Return the ids of rows in an order without an index, and their number. Raise TooManyToSort if there are too many to sort.

        An estimate of the number of `estimated` rows spares reading `SORT_LIMIT` rows of a much longer list. It may be too high.
        """
        if estimate_counts(estimated)[0] <= ESTIMATE_FACTOR * SORT_LIMIT:
            collected = collect_and_sort(rows.order_by(*self.order_by()), start=start, stop=stop)
            if collected is not None:
                return collected
        raise TooManyToSort

    def _sort(self, rows: QuerySet[Model]) -> QuerySet[Model]:
        """Return the rows in the order of the list, with the condition of the index of sort keys, which holds for all rows."""
        if self._order_column in self.declaration.sort_keys:
            rows = rows.filter(sort_key__category_id__isnull=self.declaration.resource == "task")
        rows = rows.order_by(*self.order_by())
        return order_by_change(rows) if self._is_by_last_change else rows

    @cached_property
    def _is_by_last_change(self) -> bool:
        """True if the order of the list is that of a table of last changes (`core.rows.last_changes`)."""
        return self._order_column == "updated_at" and has_last_changes(self.list_rows.model)

    @property
    def _order_column(self) -> str:
        return (self.sort or self.declaration.default_order).removeprefix("-")

    def _filter_by_order(self, rows: QuerySet[Model]) -> QuerySet[Model]:
        """Return the rows that meet the conditions on the column of the order, which shorten the list at its beginning.

        The index of the order does not serve a condition on a text.
        """
        for condition in self.common_conditions:
            if condition.field.name == self._order_column and condition.field.type in (FieldType.TIME, FieldType.DATE):
                rows = condition.shorten(rows, self._order_expressions.get(self._order_column))
        return self._filter_by_completion(rows)

    def _filter_by_completion(self, rows: QuerySet[Model]) -> QuerySet[Model]:
        """Add to a condition on closed tasks, in the order of completion, that a task is closed if and only if it has this time."""
        for condition in self.common_conditions if self._order_column == "completed_at" else ():
            if (condition.field.name, condition.operator) == ("closed", Operator.IS):
                rows = rows.filter(completed_at__isnull=not condition.value)
        return rows


def annotate_stored(
    rows: QuerySet[Model], declaration: RecordList, used: set[str], *, is_used: bool = False
) -> QuerySet[Model]:
    """Return the rows with their stored fields, and if one of them is used, with the condition of its index."""
    stored = {field.name for field in declaration.stored}
    rows = with_summary(rows, *stored)
    if stored and (is_used or not stored.isdisjoint(used)):
        # The condition of the indexes. It holds for all live rows.
        rows = rows.filter(last_activity_at__isnull=False)
    return rows
