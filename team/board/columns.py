"""The deal board: the deals of a pipeline in one column for each status. `team.board.moves` moves deals on it.

Deals without a status are in a column of the first pipeline, which comes first and is only shown while it has deals. Its id is
`Status.NONE_ID`.

The numbers and sums of the columns come from `DealCount`, and their first cards from the indexes by `board_position`, so the board takes
the same time however many deals there are. This holds for all deals and for those of some users (`mine`, a limited agent).

With other filters, at most `MAX_COUNTED` matching deals are read, counted and added up. If more deals match, the board has the first cards
of each column, but no numbers.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time
from decimal import Decimal
from functools import cached_property
from typing import Any

from django.db import connection
from django.db.models import Exists, Model, OuterRef, Q, QuerySet, Subquery
from django.db.models.expressions import RawSQL
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.account.exchange_rates import ConvertedSum
from accounts.account.models import Account
from accounts.fields.catalogue import Field
from accounts.statuses.models import Pipeline, Status
from core.db.prepared import array_literal, prepared
from core.db.tenancy import account_of
from core.errors import FieldError
from core.rows.access import prepared_access
from core.search.queries import estimate_counts, search_transaction
from crm.deals.models import COLUMN_ID, DealCount
from forum.posts.tasks import IS_OPEN_TASK
from team.conditions.conditions import Condition, Target
from team.conditions.values import PIPELINE
from team.fields.names import name_of_user
from team.list_queries.declarations import LISTS
from team.list_queries.queries import ListQuery

# The number of cards of a column, before more are shown: in the API, and on the pages.
COLUMN_SIZE, COLUMN_SIZE_OF_PAGES = 50, 20
# With filters that no stored number serves, matching deals are counted up to this number.
MAX_COUNTED = 5000
# If PostgreSQL estimates that more deals than this number match, none are counted: collecting them takes longer than reading the first cards.
MAX_ESTIMATED = 50_000
# The lowest value of `board_position`.
LOWEST = -(2**63)

_ID = re.compile(r"[0-9]{1,18}", re.ASCII)
_CURSOR = re.compile(r"(-?[0-9]{1,18})_([0-9]{1,18})", re.ASCII)


@dataclass
class BoardQuery(ListQuery):
    """The pipeline and the filters of a board, which are those of the list of deals. The order and the columns of the list have no effect."""

    pipeline_id: int | None = None
    # One column from a card on: its id, and the position and the id of the card before.
    column: int | None = None
    after: tuple[int, int] | None = None
    # True on the pages. They show fewer cards at first than the API, and of won and lost deals those of this month.
    is_page: bool = False

    @property
    def column_size(self) -> int:
        return COLUMN_SIZE_OF_PAGES if self.is_page else COLUMN_SIZE

    def _read(self, name: str, values: list[str], fields: dict[str, Field]) -> None:
        text = values[-1].strip()
        if name not in ("pipeline_id", "column", "after"):
            super()._read(name, values, fields)
        elif text and name == "after":
            if (match := _CURSOR.fullmatch(text)) is None:
                raise FieldError(name, _("is not the `next` of a column"), "cursor")
            self.after = int(match[1]), int(match[2])
        elif text:
            if not _ID.fullmatch(text):
                raise FieldError(name, _("is not an id"), "number")
            setattr(self, name, int(text))

    def parameters(self) -> list[tuple[str, str]]:
        """Return the parameters of the URL with the pipeline and the filters, without the place in a column."""
        pipeline = [("pipeline_id", str(self.pipeline_id))] if self.pipeline_id is not None else []
        return pipeline + super().parameters()

    @cached_property
    def filter_fields(self) -> dict[str, Field]:
        """The fields of the list of deals, without the pipeline, which the board has as a whole."""
        return {name: field for name, field in super().filter_fields.items() if name != PIPELINE}

    @property
    def is_stored(self) -> bool:
        """True if the filters select deals by their responsible user alone, so that `DealCount` has the numbers."""
        has_others = not all(map(is_responsible, self.conditions))
        return not (self.q or has_others or self.special.keys() - {"mine"})

    @property
    def responsible_ids(self) -> set[int] | None:
        """The users who may be responsible for the deals, by the user's access and the filters; None for any user and for nobody."""
        sets = [{condition.value} for condition in self.conditions if is_responsible(condition)]
        if "mine" in self.special:
            sets.append({self.user.id})
        if self.user.access.responsible_ids is not None:
            sets.append(set(self.user.access.responsible_ids))
        return set.intersection(*sets) if sets else None


def is_responsible(condition: Condition) -> bool:
    """Return whether the condition is that one user is responsible."""
    return condition.target == Target(condition.field) and condition.field.name == "responsible_id"


@dataclass(frozen=True)
class Total:
    """The number of deals with a currency, the sum of their prices, and the sum weighted with the probability of the status."""

    currency: str
    count: int
    sum: Decimal
    weighted_sum: Decimal


@dataclass(frozen=True)
class Card:
    """A deal on the board. A client that the user may not access has no name."""

    id: int
    name: str
    column_id: int
    client_id: int | None
    client_name: str | None
    price: Decimal | None
    currency: str
    responsible_id: int | None
    responsible_name: str | None
    expected_close_date: date | None
    stage_entered_at: datetime | None
    board_position: int | None
    # True if an open task belongs to the deal.
    is_planned: bool
    is_open: bool
    rot_days: int | None
    # The day on which the deal was read, in the time zone of the account.
    today: date

    @property
    def days_in_stage(self) -> int:
        return days_since(self.stage_entered_at)

    @property
    def is_rotting(self) -> bool:
        return is_rotting(self.days_in_stage, self.rot_days if self.is_open else None, is_planned=self.is_planned)

    @property
    def is_overdue(self) -> bool:
        """True if an open deal should have been closed on an earlier day."""
        return self.is_open and self.expected_close_date is not None and self.expected_close_date < self.today


def days_since(moment: datetime | None) -> int:
    return 0 if moment is None else max(0, (timezone.now() - moment).days)


def is_rotting(days_in_stage: int, rot_days: int | None, *, is_planned: bool) -> bool:
    """Return whether a deal is too long in its status. A planned task keeps it from rotting."""
    return rot_days is not None and days_in_stage >= rot_days and not is_planned


@dataclass
class BoardColumn:
    """A status with its first deals, or those after a card. `Status.make_placeholder` has the deals without a status."""

    status: Status
    # None if more deals match than are counted.
    totals: list[Total] | None = None
    cards: list[Card] = field(default_factory=list)
    has_more: bool = False
    # True if the column has only the deals that were closed this month.
    is_folded: bool = False

    @property
    def count(self) -> int | None:
        return None if self.totals is None else sum(total.count for total in self.totals)

    def converted(self, account: Account) -> ConvertedSum | None:
        """Return the sum in the currency of the account, or None if all deals have this currency."""
        return converted_sum(account, self.totals or [])

    @property
    def is_shown(self) -> bool:
        """True for a status, and if there are deals without one."""
        return self.status.id != Status.NONE_ID or bool(self.cards or self.count)

    @property
    def next(self) -> str:
        """The parameter `after` for the cards after these; blank if there are no more."""
        last = self.cards[-1] if self.cards and self.has_more else None
        return f"{last.board_position}_{last.id}" if last else ""


@dataclass
class Board:
    pipelines: list[Pipeline]
    pipeline: Pipeline
    columns: list[BoardColumn]

    def open_sum(self, account: Account) -> ConvertedSum:
        """Return the sum of the open deals in the currency of the account."""
        is_open = [column for column in self.columns if column.status.outcome == Status.Outcome.OPEN]
        return account.convert([(total.currency, total.sum) for column in is_open for total in column.totals or []])


def converted_sum(account: Account, totals: list[Total]) -> ConvertedSum | None:
    is_foreign = any(total.currency != account.currency for total in totals)
    return account.convert([(total.currency, total.sum) for total in totals]) if is_foreign else None


def read_board(query: BoardQuery, *, status_ids: Iterable[int] | None = None) -> Board:
    """Return the board, or only the columns of `status_ids` or of `query.column`, which may be `Status.NONE_ID`.

    Raise TooSlow if no index serves the filters and too many deals would have to be compared. An unknown `pipeline_id` or `column` adds an
    error to the query, and has no effect.
    """
    account = query.account
    pipelines: list[Pipeline] = _pipelines(account_id=account.id)
    statuses = account.deal_statuses()
    pipeline = chosen_pipeline(query, pipelines, statuses)
    shown = [status for status in statuses if status.pipeline_id == pipeline.id]
    chosen = [status for status in shown if status.id == query.column]
    if status_ids is not None:
        wanted = set(status_ids)
        shown = [status for status in statuses if status.id in wanted]
    elif chosen:
        shown = chosen
    elif query.column is not None:
        query.errors.append(FieldError("column", _("is not a status of this pipeline any more"), "missing"))
    if status_ids is not None or not chosen:
        # A card is after another one in a single column.
        query.column = query.after = None
    columns = read_columns(query, shown)
    if status_ids is None and not chosen:
        columns = [column for column in columns if column.is_shown]
    return Board(pipelines, pipeline, columns)


@prepared(account_id=int)
def _pipelines(account_id: int) -> QuerySet[Pipeline]:
    return Pipeline.objects.filter(account_id=account_id).order_by("position", "id")


def chosen_pipeline(query: BoardQuery, pipelines: list[Pipeline], statuses: list[Status]) -> Pipeline:
    """Return the pipeline that the query names, or that of its column, or the first one."""
    by_id = {pipeline.id: pipeline for pipeline in pipelines}
    if query.pipeline_id is not None and query.pipeline_id not in by_id:
        query.errors.append(FieldError("pipeline_id", _("is not a pipeline of this account any more"), "missing"))
        query.pipeline_id = None
    if query.pipeline_id is not None:
        return by_id[query.pipeline_id]
    of_column = next((status.pipeline_id for status in statuses if status.id == query.column), None)
    return by_id.get(of_column or 0, pipelines[0])


def read_columns(query: BoardQuery, statuses: list[Status]) -> list[BoardColumn]:
    """Return the columns with their numbers and cards. The number of statements does not depend on the number of columns."""
    columns = {status.id: BoardColumn(status) for status in statuses}
    if not columns:
        return []
    whole, folded = dict[int, BoardColumn](), dict[int, BoardColumn]()
    for id, column in columns.items():
        column.is_folded = query.is_page and column.status.outcome != Status.Outcome.OPEN
        (folded if column.is_folded else whole)[id] = column
    ids: dict[int, list[int]] = {}
    if whole and query.is_stored:
        ids, whole = read_stored(query, whole), {}
    # A search finds the deals of all columns at once. Other filters use the index of open or of closed deals.
    for part in [whole | folded] if query.q else [whole, folded]:
        if part:
            ids |= read_matching(query, part)
    shown = {status_id: found[: query.column_size] for status_id, found in ids.items()}
    cards = read_cards(query, [id for found in shown.values() for id in found], columns)
    for status_id, found in shown.items():
        # Another transaction may have moved a deal since its id was read.
        columns[status_id].cards = [cards[id] for id in found if id in cards and cards[id].column_id == status_id]
        columns[status_id].has_more = len(ids[status_id]) > query.column_size
    return list(columns.values())


def read_cards(query: BoardQuery, ids: list[int], columns: dict[int, BoardColumn]) -> dict[int, Card]:
    """Return the cards of the deals in these columns, by the ids of the deals."""
    cards, today = {}, timezone.localdate()
    for row in _cards(account_id=query.account.id, ids=ids, **query.user.access.arguments) if ids else ():
        if row["column_id"] in columns:
            status = columns[row["column_id"]].status
            is_open = status.outcome == Status.Outcome.OPEN
            cards[row["id"]] = Card(**row, is_open=is_open, rot_days=status.rot_days, today=today)
    return cards


@prepared(account_id=int, ids=list, responsible_ids=list)
def _cards(account_id: int, ids: list[int], responsible_ids: Collection[int] | None = None) -> QuerySet[Model, object]:
    account: Account = account_of(account_id)
    access = prepared_access(responsible_ids)
    clients = account.clients.live().limited_to(access).filter(id=OuterRef("client_id"))
    deals = account.deals.live().limited_to(access).filter(id__any=ids)
    found: QuerySet[Model, object] = deals.values(
        "id",
        "name",
        "client_id",
        "price",
        "currency",
        "responsible_id",
        "expected_close_date",
        "stage_entered_at",
        "board_position",
        column_id=COLUMN_ID,
        client_name=Subquery(clients.values("name")),
        responsible_name=name_of_user("responsible_id"),
        is_planned=Exists(account.posts.filter(IS_OPEN_TASK, deal_id=OuterRef("id"))),
    )
    return found


def total_of(status: Status, currency: str, deals: int, price: Decimal) -> Total:
    return Total(currency, deals, price, price * (status.probability or 0) / 100)


# Deals of the account, or of some users: their numbers are stored.


def read_stored(query: BoardQuery, columns: dict[int, BoardColumn]) -> dict[int, list[int]]:
    """Set the totals of the columns, and return the ids of their first deals, one more than are shown."""
    counts = DealCount.objects.filter(account=query.account, status_id__in=columns)
    user_ids = query.responsible_ids
    if user_ids is not None:
        counts = counts.filter(responsible_id__in=user_ids)
    totals: defaultdict[int, list[Total]] = defaultdict(list)
    for status_id, currency, deals, price in counts.totals():
        totals[status_id].append(total_of(columns[status_id].status, currency, deals, price))
    for status_id, column in columns.items():
        column.totals = totals[status_id]
    return first_ids(query, query.account.deals.live(), columns, user_ids=user_ids)


def first_ids(
    query: BoardQuery, rows: QuerySet[Model], columns: Iterable[int], *, user_ids: Iterable[int] | None = None
) -> dict[int, list[int]]:
    """Return the ids of the first of `rows` in each column, read from the index of the column.

    With `user_ids`, the first deals of each user are read from the index of the user, and merged.
    """
    if query.after is not None:
        rows = rows.filter(is_after(*query.after))
    people, values = "", []
    if user_ids is not None:
        rows = rows.filter(responsible_id=RawSQL("person.id", []))
        people, values = "CROSS JOIN unnest(%s::bigint[]) AS person (id)", [array_literal(sorted(user_ids))]
    ids: dict[int, list[int]] = {status_id: [] for status_id in columns}
    # Deals without a status have indexes of their own, so they need a query of their own.
    parts = [
        ([id for id in ids if id != Status.NONE_ID], rows.filter(status_id=RawSQL("board_column.id", []))),
        ([id for id in ids if id == Status.NONE_ID], rows.filter(status_id=None)),
    ]
    queries, parameters = [], list[Any]()
    for column_ids, found in parts:
        if column_ids:
            first = found.order_by("board_position", "id").values("id", "board_position")[: query.column_size + 1]
            sql, of_rows = first.query.sql_with_params()
            queries.append(f"""
                SELECT board_column.id AS column_id, card.id, card.board_position
                FROM unnest(%s::bigint[]) AS board_column (id) {people} CROSS JOIN LATERAL ({sql}) AS card
            """)  # noqa: S608
            parameters += [array_literal(column_ids), *values, *of_rows]
    with connection.cursor() as cursor:
        cursor.execute(f"{' UNION ALL '.join(queries)} ORDER BY board_position, id", parameters)
        for column_id, id, _position in cursor.fetchall():
            ids[column_id].append(id)
    return {status_id: found[: query.column_size + 1] for status_id, found in ids.items()}


def is_after(position: int, id: int) -> Q:
    """Return the condition of the deals of a column after a place. The first part limits the scan of the index."""
    return Q(board_position__gte=position) & (Q(board_position__gt=position) | Q(id__gt=id))


# Other filters


def read_matching(query: BoardQuery, columns: dict[int, BoardColumn]) -> dict[int, list[int]]:
    """Set the totals of the columns, and return the ids of their first deals that match the filters, one more than are shown.

    A folded column has the deals that were closed this month.
    """
    folded = [id for id, column in columns.items() if column.is_folded]
    with search_transaction(query.account.id, query.q, is_limited=True) as text:
        rows: Any = query.rows
        if query.q:
            found = query.matching_ids(text, ranked=False)
            rows = query.list_rows.filter(id__in=found) if found else query.list_rows.none()
        rows = rows.in_statuses(columns)
        if folded:
            month = timezone.make_aware(datetime.combine(timezone.localdate().replace(day=1), time()))
            of_month = Q(closed_at__gte=month)
            rows = rows.filter(of_month if len(folded) == len(columns) else of_month | ~Q(status_id__in=folded))
        is_long = not folded and not query.q and is_common(query, columns)
        ids = None if is_long else count_and_rank(query, rows, columns)
        return first_ids(query, rows, columns) if ids is None else ids


def is_common(query: BoardQuery, columns: dict[int, BoardColumn]) -> bool:
    """Return whether PostgreSQL estimates that more than `MAX_ESTIMATED` deals match the filters."""
    deals = LISTS["deal"].rows_of(query.account, query.user).in_statuses(columns)  # type: ignore[attr-defined]  # of deals
    return estimate_counts(query.filter_for_estimate(deals))[0] > MAX_ESTIMATED


def count_and_rank(
    query: BoardQuery, rows: QuerySet[Any], columns: dict[int, BoardColumn]
) -> dict[int, list[int]] | None:
    """Set the totals and return the ids. Return None if more than `MAX_COUNTED` rows match.

    MATERIALIZED makes PostgreSQL plan the subquery for all rows. The subquery still ends at the limit.
    """
    ids: dict[int, list[int]] = {status_id: [] for status_id in columns}
    rows = rows.order_by().values("id", "currency", "price", "board_position", column_id=COLUMN_ID)
    if rows.query.is_empty():
        for column in columns.values():
            column.totals = []
        return ids
    sql, parameters = rows.query.sql_with_params()
    with connection.cursor() as cursor:
        cursor.execute(
            f"""
            WITH found AS MATERIALIZED ({sql}), collected AS (SELECT * FROM found LIMIT %s),
            compared AS (SELECT *, (board_position, id) > (%s, %s) AS follows FROM collected),
            numbered AS (
                SELECT *, row_number() OVER (PARTITION BY column_id, follows ORDER BY board_position, id) AS number FROM compared
            )
            SELECT column_id, currency, count(*), coalesce(sum(price), 0),
                array_agg(ARRAY[number, id]) FILTER (WHERE follows AND number <= %s)
            FROM numbered GROUP BY column_id, currency ORDER BY 3 DESC, currency
            """,  # noqa: S608
            [*parameters, MAX_COUNTED + 1, *(query.after or (LOWEST, 0)), query.column_size + 1],
        )
        found = cursor.fetchall()
    if sum(count for _status, _currency, count, *_ in found) > MAX_COUNTED:
        return None
    numbered: defaultdict[int, list[Sequence[int]]] = defaultdict(list)
    totals: defaultdict[int, list[Total]] = defaultdict(list)
    for status_id, currency, count, price, pairs in found:
        totals[status_id].append(total_of(columns[status_id].status, currency, count, price))
        numbered[status_id] += pairs or []
    for status_id, column in columns.items():
        column.totals = totals[status_id]
        ids[status_id] = [id for _number, id in sorted(map(tuple, numbered[status_id]))]
    return ids
