"""Prepared statements written with the ORM.

Django builds and compiles a query each time it runs, and PostgreSQL plans it each time. For a short query both take longer than
its execution. A function decorated with `@prepared` builds its QuerySet once for each shape of its arguments. Later calls put new
values into the compiled text, and the connection executes it as a prepared statement, which PostgreSQL plans once. Use it for a
query that runs in most requests; write any other query with the ORM alone.

    @prepared(account_id=int, ids=list)
    def items(account_id, ids):
        return Post.objects.filter(account_id=account_id, id__any=ids).values_list("id", "title")

    items(account_id=7, ids=[1, 2])
"""

import operator
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from itertools import count
from typing import Any

from django.db import DEFAULT_DB_ALIAS, InterfaceError, OperationalError, connection, connections
from django.db.models import BigIntegerField, Field, Lookup, Model, QuerySet
from django.db.models.query import FlatValuesListIterable, ModelIterable, ValuesListIterable, get_related_populators
from psycopg import Binary, Connection
from psycopg.errors import ConnectionTimeout
from psycopg.pq import TransactionStatus
from psycopg.types.numeric import Int8

# What stands for a value while a query is compiled: of its type, within the range of every column, and like nothing else.
_number = count(1_900_000_000)
_STAND_INS: dict[type, Callable[..., Any]] = {
    int: lambda: next(_number),
    str: lambda: f"stand-in-{next(_number)}",
    bytes: lambda: f"stand-in-{next(_number)}".encode(),
    list: lambda number: [next(_number) for _ in range(number)],
    datetime: lambda: datetime(1999, 1, 1, microsecond=next(_number) % 1_000_000, tzinfo=UTC),
}


# The database takes an array that it does not know for so long.
ASSUMED_ARRAY_LENGTH = 10


@BigIntegerField.register_lookup
class AnyOf(Lookup):
    """`id__any=[…]`: as `id__in`, but the statement is the same for any number of ids from ten on, and none is no error.

    Fewer it counts, or the database would find a plan of their own, for fewer than ten, cheaper each time than the one for all.
    """

    lookup_name = "any"

    def get_prep_lookup(self):
        self.number = len(self.rhs)
        return array_literal(self.rhs)

    def as_sql(self, compiler, connection):
        column, parameters = self.process_lhs(compiler, connection)
        limit = f" LIMIT {self.number}" if self.number < ASSUMED_ARRAY_LENGTH else ""
        return f"{column} IN (SELECT unnest(%s::bigint[]){limit})", [*parameters, self.rhs]


def array_literal(ids: Iterable[int]) -> str:
    """An array as PostgreSQL writes it. As a list it would be of the type that its largest number needs."""
    return f"{{{','.join(map(str, map(int, ids)))}}}"


class Statement:
    """One shape of a query: its text, where its values come from, and what becomes of a row."""

    def __init__(self, rows: QuerySet, stand_ins: dict[str, Any]):
        compiler = rows.query.get_compiler(connection=connection)
        text, constants = compiler.as_sql()
        names = {self._key(value): name for name, value in stand_ins.items()}
        places = iter(constants)
        # The name of a value and what sends it; of what is always the same, itself.
        self.values: list[tuple[str | None, Any]] = []

        def place(match: re.Match) -> str:
            # A limit or an offset is written into the text.
            value = next(places) if match[0] == "%s" else int(match[0])
            name = names.get(self._key(value))
            if name is None and match[0] != "%s":
                return match[0]
            self.values.append((name, self._sender(value, stand_ins[name])) if name else (None, value))
            return "%s"

        self.text = re.sub(r"%s|\b19\d{8}\b", place, text)
        missing = stand_ins.keys() - {name for name, _ in self.values}
        if missing:
            raise TypeError(f"the query does not ask for {', '.join(sorted(missing))}")
        self._locks = rows.query.select_for_update
        self._read_select(rows, compiler)

    @staticmethod
    def _key(value: Any) -> Any:
        if isinstance(value, list):
            return array_literal(value)
        return value.obj if isinstance(value, Binary) else value

    @staticmethod
    def _sender(value: Any, stand_in: Any) -> Callable[[Any], Any] | None:
        """What makes a value such as is sent: a number is of its column's type, and not of the least that would do."""
        if isinstance(stand_in, list):
            return array_literal
        if isinstance(stand_in, int):
            return Int8 if type(value) is int else type(value)
        return None

    def _read_select(self, rows: QuerySet, compiler) -> None:
        self._converters = compiler.get_converters([column for column, _, _ in compiler.select])
        self._apply = compiler.apply_converters
        if issubclass(rows._iterable_class, ModelIterable):
            select, info = compiler.select, compiler.klass_info
            first, last = info["select_fields"][0], info["select_fields"][-1] + 1
            names = [column.target.attname for column, _, _ in select[first:last]]
            model, related = info["model"], get_related_populators(info, select, connection.alias)
            annotations = list(compiler.annotation_col_map.items())

            def build(row):
                built = model.from_db(connection.alias, names, row[first:last])
                for populator in related:
                    populator.populate(row, built)
                for name, position in annotations:
                    setattr(built, name, row[position])
                return built

            self._build = build
        elif issubclass(rows._iterable_class, FlatValuesListIterable):
            self._build = operator.itemgetter(0)
        elif issubclass(rows._iterable_class, ValuesListIterable):
            self._build = None
        else:
            raise TypeError("a prepared query gives objects or values_list()")

    def run(self, given: dict[str, Any]) -> list:
        values = []
        for name, sender in self.values:
            if name is None:
                values.append(sender)
            else:
                values.append(given[name] if sender is None else sender(given[name]))
        rows = fetch(self.text, values, single_statement=not self._locks)
        if self._converters:
            rows = list(map(tuple, self._apply(rows, self._converters)))
        return rows if self._build is None else [self._build(row) for row in rows]


class PreparedQuery:
    """A query by name. Which arguments are given, how long short lists are, and the arguments that are not declared with a type,
    are its shape: there is a statement for each."""

    def __init__(self, build: Callable[..., QuerySet], types: dict[str, type]):
        self.build = build
        self.types = types
        self._statements: dict[tuple, Statement] = {}

    def __call__(self, **given) -> list:
        shape = tuple((name, self._shape_of(name, value)) for name, value in given.items())
        statement = self._statements.get(shape)
        if statement is None:
            stand_ins = {
                name: _STAND_INS[self.types[name]](*([what] if self.types[name] is list else []))
                for name, what in shape
                if name in self.types
            }
            statement = self._statements[shape] = Statement(self.build(**{**given, **stand_ins}), stand_ins)
        return statement.run(given)

    def _shape_of(self, name: str, value: Any) -> Any:
        if name not in self.types:
            return value
        return min(len(value) or ASSUMED_ARRAY_LENGTH, ASSUMED_ARRAY_LENGTH) if self.types[name] is list else True

    def first(self, **given):
        """The first of the rows, or None. The query itself says how many are read."""
        rows = self(**given)
        return rows[0] if rows else None


def prepared(**types: type) -> Callable[[Callable[..., QuerySet]], PreparedQuery]:
    return lambda build: PreparedQuery(build, types)


def insert(row: Model, *, single_statement: bool = False) -> None:
    """Insert a new row, as `save(force_insert=True)` does, and read what the database gives it.

    `alone` says that nothing else is written in its transaction.
    """
    insertion = insertion_of(type(row))
    text = f"INSERT INTO {insertion.into} VALUES ({insertion.values}) RETURNING {insertion.returning}"  # noqa: S608
    [given] = execute(text, insertion.values_of(row), single_statement=single_statement)
    insertion.complete(row, given)


@dataclass(frozen=True)
class Insertion:
    """What a statement needs to insert a row of a model."""

    into: str
    values: str
    returning: str
    fields: list[Field]
    returned: list[Field]

    def values_of(self, row: Model) -> list:
        database = connections[DEFAULT_DB_ALIAS]
        return [field.get_db_prep_save(field.pre_save(row, True), database) for field in self.fields]

    def complete(self, row: Model, given: Sequence) -> None:
        """Take over what the database gave the row."""
        for field, value in zip(self.returned, given, strict=True):
            setattr(row, field.attname, value)
        row._state.adding, row._state.db = False, DEFAULT_DB_ALIAS


def update(row: Model, names: Collection[str]) -> None:
    """Update these fields of a row that is held, as `save(update_fields=…)` does."""
    text, fields, keys = _change(type(row), tuple(sorted(names)))
    database = connections[DEFAULT_DB_ALIAS]
    values = [field.get_db_prep_save(field.pre_save(row, False), database) for field in fields]
    values += [key.get_db_prep_save(getattr(row, key.attname), database) for key in keys]
    if not execute(text, values):
        raise row.DoesNotExist


@cache
def insertion_of(model: type[Model]) -> Insertion:
    meta = model._meta
    fields = [field for field in meta.local_concrete_fields if not field.generated]
    columns = ", ".join(f'"{field.column}"' for field in fields)
    # What an insert always gives back has a row to be read from.
    returned = list(meta.db_returning_fields) or [fields[0]]
    return Insertion(
        into=f'"{meta.db_table}" ({columns})',
        values=", ".join(map(_placeholder, fields)),
        returning=", ".join(f'"{field.column}"' for field in returned),
        fields=fields,
        returned=returned,
    )


@cache
def _change(model: type[Model], names: tuple[str, ...]) -> tuple[str, list[Field], list[Field]]:
    meta = model._meta
    fields, keys = [meta.get_field(name) for name in names], list(meta.pk_fields)
    changes = ", ".join(f'"{field.column}" = {_placeholder(field)}' for field in fields)
    which = " AND ".join(f'"{key.column}" = %s' for key in keys)
    return f'UPDATE "{meta.db_table}" SET {changes} WHERE {which} RETURNING true', fields, keys  # noqa: S608


def _placeholder(field: Field) -> str:
    return field.get_placeholder(None, None, connection) if hasattr(field, "get_placeholder") else "%s"


def fetch(text: str, values: Sequence | Mapping[str, Any], *, single_statement: bool = False) -> list[tuple]:
    """The rows of a statement that may be asked twice: outside of a transaction, a connection that was lost is made again.

    So no connection is tried out before it is used: what a request asks first, who it is from, is asked here.
    `alone` says that it locks nothing.
    """
    try:
        return execute(text, values, single_statement=single_statement)
    except (OperationalError, InterfaceError) as error:
        # A server that did not answer in time would not answer a second time either.
        timed_out = isinstance(error.__cause__, ConnectionTimeout)
        if connection.in_atomic_block or timed_out or connection.is_usable():
            raise
        connection.close()
        return execute(text, values, single_statement=single_statement)


def execute(text: str, values: Sequence | Mapping[str, Any], *, single_statement: bool = False) -> list[tuple]:
    """The rows of a statement. One that is `alone` needs no transaction around it, and opens none: its own is enough."""
    database = connections[DEFAULT_DB_ALIAS]
    with database.cursor() as cursor:
        if database.queries_logged or database.execute_wrappers:
            cursor.execute(text, values)
        else:
            database.validate_no_broken_transaction()
            with (
                database.wrap_database_errors,
                _single_statement_transaction(database.connection) if single_statement else nullcontext(),
            ):
                cursor.cursor.execute(text, values, prepare=True)
        return cursor.fetchall()


@contextmanager
def _single_statement_transaction(connection: Connection) -> Iterator[None]:
    """Run one statement in a transaction of its own, if no statement of Django's current transaction has run yet.

    psycopg sends BEGIN with the first statement of a transaction. A transaction that consists of one statement needs neither BEGIN
    nor COMMIT, so this saves two round trips. It also saves the ROLLBACK of a request that is refused before it has written. After
    a ROLLBACK psycopg drops all prepared statements of the connection, and the next requests plan them again. A statement that
    follows this one begins the transaction as usual.
    """
    if connection.autocommit or connection.info.transaction_status != TransactionStatus.IDLE:
        yield
        return
    connection.autocommit = True
    try:
        yield
    finally:
        if not connection.closed:
            connection.autocommit = False
