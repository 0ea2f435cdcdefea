"""Prepared statements written with the ORM.

Django builds and compiles a query each time it runs, and PostgreSQL plans it each time. For a short query, this takes longer than
the execution. A function decorated with `@prepared` builds its QuerySet once for each shape of its arguments. Later calls put new
values into the compiled text, and the connection executes it as a prepared statement, which PostgreSQL plans once. Use it for a
query that runs in most requests; write any other query with the ORM alone.

    @prepared(account_id=int, ids=list)
    def items(account_id, ids):
        return Post.objects.filter(account_id=account_id, id__any=ids).values_list("id", "title")

    items(account_id=7, ids=[1, 2])
"""

import json
import operator
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from itertools import count
from typing import Any, cast

from django.db import DEFAULT_DB_ALIAS, DatabaseError, InterfaceError, OperationalError, connection, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import (
    BigIntegerField,
    BooleanField,
    CharField,
    DateTimeField,
    Field,
    FloatField,
    ForeignKey,
    JSONField,
    Lookup,
    Model,
    QuerySet,
    TextField,
)
from django.db.models.expressions import Expression
from django.db.models.fields.json import KeyTransform
from django.db.models.query import (
    FlatValuesListIterable,
    ModelIterable,
    ValuesIterable,
    ValuesListIterable,
    get_related_populators,
)
from django.db.models.sql.compiler import SQLCompiler
from psycopg import Binary
from psycopg.errors import ConnectionTimeout
from psycopg.types.numeric import Int2, Int4, Int8

from core.db.derived import comparison_of, ctes_of, inserted, inserting, writing, writing_row
from core.db.fields import AnyField, TenantRow

# Values that stand for arguments while a query is compiled. Each is unique, so that it can be found in the compiled query, and within
# the range of every column.
_number = count(1_900_000_000)
_STAND_INS: dict[type, Callable[..., object]] = {
    int: lambda: next(_number),
    str: lambda: f"stand-in-{next(_number)}",
    bytes: lambda: f"stand-in-{next(_number)}".encode(),
    list: lambda number: [next(_number) for _ in range(number)],
    datetime: lambda: datetime(1999, 1, 1, microsecond=next(_number) % 1_000_000, tzinfo=UTC),
}

# The parameters of a statement, positional or named.
Parameters = Sequence[Any] | Mapping[str, Any]
# A row of a result, whose types depend on the statement.
ResultRow = tuple[Any, ...]
# A function that converts a value between Python and PostgreSQL.
Adapter = Callable[[Any], object]

# PostgreSQL assumes this length for an array parameter when it plans a generic query.
ASSUMED_ARRAY_LENGTH = 10


@BigIntegerField.register_lookup
class AnyOf(Lookup):
    """The lookup `id__any=[…]`: like `id__in`, but with the same statement for all lists of `ASSUMED_ARRAY_LENGTH` ids or more.

    The statement for a shorter list has its length as a LIMIT. Otherwise PostgreSQL would estimate a custom plan for fewer ids as
    cheaper than the generic plan, and so plan each execution anew. An empty list is allowed.
    """

    lookup_name = "any"

    def get_prep_lookup(self) -> str:
        self.number = len(self.rhs)
        return array_literal(self.rhs)

    def as_sql(self, compiler: SQLCompiler, connection: BaseDatabaseWrapper) -> tuple[str, tuple[str | int, ...]]:
        column, parameters = self.process_lhs(compiler, connection)
        limit = f" LIMIT {self.number}" if self.number < ASSUMED_ARRAY_LENGTH else ""
        return f"{column} IN (SELECT unnest(%s::bigint[]){limit})", (*parameters, self.rhs)


def array_literal(ids: Iterable[int]) -> str:
    """Return the ids as an array literal. psycopg would derive the type of a list from its largest number."""
    return f"{{{','.join(map(str, map(int, ids)))}}}"


class Statement:
    """The compiled SQL of a query for one shape of its arguments, with the order of its parameters and the conversion of its rows."""

    def __init__(self, rows: QuerySet[Model, object], stand_ins: dict[str, object]) -> None:
        compiler = rows.query.get_compiler(connection=connection)
        text, constants = compiler.as_sql()
        names = {self._key(value): name for name, value in stand_ins.items()}
        parameters = iter(constants)
        # For an argument: its name and the function that adapts it to its column. For a constant: None and the constant.
        self.values: list[tuple[str | None, Any]] = []

        def placeholder(match: re.Match[str]) -> str:
            # Django writes a limit or an offset into the text.
            value = next(parameters) if match[0] == "%s" else int(match[0])
            name = names.get(self._key(value))
            if name is None and match[0] != "%s":
                return match[0]
            self.values.append((name, self._adapter(value, stand_ins[name])) if name else (None, value))
            return "%s"

        self.text = re.sub(r"%s|\b19\d{8}\b", placeholder, text)
        unused = stand_ins.keys() - {name for name, _ in self.values}
        if unused:
            raise TypeError(f"the query does not use {', '.join(sorted(unused))}")
        self._read_select(rows, compiler)

    @staticmethod
    def _key(value: object) -> object:
        if isinstance(value, list):
            return array_literal(value)
        return value.obj if isinstance(value, Binary) else value

    @staticmethod
    def _adapter(value: object, stand_in: object) -> Adapter | None:
        """Return the function that converts an argument to a parameter, or None if the argument is sent unchanged.

        A number gets the type of its column. psycopg would send the smallest type that holds it, and the statement would be
        prepared once for each type.
        """
        if isinstance(stand_in, list):
            return array_literal
        if isinstance(stand_in, int):
            return Int8 if type(value) is int else type(value)
        return None

    def _read_select(self, rows: QuerySet[Model, object], compiler: SQLCompiler) -> None:
        self._build: Callable[[ResultRow], object] | None
        converters = compiler.get_converters([column for column, _, _ in compiler.select])
        self._converters = [(index, _converter(*pair)) for index, pair in converters.items()]
        if issubclass(rows._iterable_class, ModelIterable):
            select, info = compiler.select, compiler.klass_info
            first, last = info["select_fields"][0], info["select_fields"][-1] + 1
            names = [column.target.attname for column, _, _ in select[first:last]]
            model = info["model"]
            related = get_related_populators(info, select, connection.alias)  # type: ignore[call-arg]  # the stubs are of Django 6
            annotations = list(compiler.annotation_col_map.items())

            def build(row: ResultRow) -> Model:
                built: Model = model.from_db(connection.alias, names, row[first:last])
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
        elif issubclass(rows._iterable_class, ValuesIterable):
            columns = list(rows.query.selected or ())
            self._build = lambda row: dict(zip(columns, row, strict=True))
        else:
            raise TypeError("a prepared query has to return instances, values() or values_list()")

    def parameters(self, arguments: Mapping[str, object]) -> list[object]:
        """Return the parameters of the text."""
        values = []
        for name, adapter in self.values:
            if name is None:
                values.append(adapter)
            else:
                values.append(arguments[name] if adapter is None else adapter(arguments[name]))
        return values

    def run(self, arguments: Mapping[str, object]) -> list[Any]:
        rows = fetch(self.text, self.parameters(arguments))
        if self._converters:
            rows = [self._convert(row) for row in rows]
        return rows if self._build is None else [self._build(row) for row in rows]

    def _convert(self, row: ResultRow) -> ResultRow:
        values = list(row)
        for index, convert in self._converters:
            values[index] = convert(values[index])
        return tuple(values)


def _converter(functions: Sequence[Callable[..., object]], expression: Expression) -> Adapter:
    """Return the function that converts a value of a column as Django's converters do.

    Django creates a decoder for each JSON value. Most rows have no additional fields and no external ids, so they need none.
    """
    field = getattr(functions[0], "__self__", None)
    if len(functions) == 1 and isinstance(field, JSONField) and not isinstance(expression, KeyTransform):
        decode = (field.decoder or json.JSONDecoder)().decode
        return lambda text: text if text is None else {} if text == "{}" else decode(text)

    def convert(value: object) -> object:
        for function in functions:
            value = function(value, expression, connection)
        return value

    return convert


def prepares_statements() -> bool:
    """Return whether the database backend is `config.database`. With Django's own, the ORM alone executes the queries."""
    return hasattr(connection, "commits")


class PreparedQuery:
    """A function of keyword arguments that returns the rows of a query.

    It has a statement for each shape of the arguments. A shape consists of the names of the arguments, the lengths of short lists,
    and the values of arguments that `types` does not name.
    """

    def __init__(self, build: Callable[..., QuerySet[Model, object]], types: dict[str, type]) -> None:
        self.build = build
        self.types = types
        self._statements: dict[tuple[tuple[str, object], ...], Statement] = {}

    def __call__(self, **arguments: object) -> list[Any]:
        if not prepares_statements():
            return list(self.build(**arguments))
        return self.statement(arguments).run(arguments)

    def statement(self, arguments: Mapping[str, object]) -> Statement:
        """Return the statement for the shape of the arguments."""
        shape = tuple((name, self._shape_of(name, value)) for name, value in arguments.items())
        statement = self._statements.get(shape)
        if statement is None:
            stand_ins = {
                name: _STAND_INS[self.types[name]](*([part] if self.types[name] is list else []))
                for name, part in shape
                if name in self.types
            }
            statement = self._statements[shape] = Statement(self.build(**{**arguments, **stand_ins}), stand_ins)
        return statement

    def _shape_of(self, name: str, value: Any) -> object:
        if name not in self.types:
            return value
        return min(len(value) or ASSUMED_ARRAY_LENGTH, ASSUMED_ARRAY_LENGTH) if self.types[name] is list else True

    def first(self, **arguments: object) -> Any:
        """Return the first row, or None. All rows of the query are read, so the query itself should have a limit."""
        rows = self(**arguments)
        return rows[0] if rows else None


def prepared(**types: type) -> Callable[[Callable[..., QuerySet[Model, object]]], PreparedQuery]:
    """Turn a function that returns a QuerySet into a `PreparedQuery`. `types` are the types of the arguments that are sent as values."""
    return lambda build: PreparedQuery(build, types)


def insert(row: TenantRow) -> None:
    """Insert a new row, as `save(force_insert=True)` does, and read the columns that the database sets."""
    insertion = insertion_of(type(row))
    text = f"INSERT INTO {insertion.into} VALUES ({insertion.values}) RETURNING"  # noqa: S608
    if ctes := ctes_of(type(row)):
        text = f"WITH row AS ({text} *){ctes} SELECT {insertion.returning} FROM row"  # noqa: S608
    else:
        text = f"{text} {insertion.returning}"
    with inserting(row):
        [returned] = fetch(text, insertion.values_of(row))
        insertion.complete(row, returned)


def insert_many(rows: Sequence[TenantRow]) -> None:
    """Insert new rows of one account and model, whose ids are set, and read the columns that the database computes.

    COPY takes a third of the time of an INSERT with as many values.
    """
    insertion = insertion_of(type(rows[0]))
    database = connections[DEFAULT_DB_ALIAS]
    with (
        database.cursor() as cursor,
        database.wrap_database_errors,
        cursor.copy(f"COPY {insertion.into} FROM STDIN") as copy,
    ):
        for row in rows:
            copy.write_row(insertion.values_of(row))
    names = [field.attname for field in insertion.returned]
    by_id: dict[int, ResultRow] = {row.id: (row.id,) for row in rows}
    if names != ["id"]:
        found = type(rows[0])._default_manager.filter(account_id=rows[0].account_id, id__any=list(by_id))
        by_id = {values[names.index("id")]: values for values in found.values_list(*names)}
    for row in rows:
        insertion.complete(row, by_id[row.id])
    inserted(rows)


@dataclass(frozen=True)
class Insertion:
    """The parts of an INSERT statement for a model."""

    into: str
    values: str
    returning: str
    columns: "list[ColumnValue]"
    returned: list[AnyField]

    def values_of(self, row: Model) -> list[object]:
        return [column(row, True) for column in self.columns]

    def complete(self, row: Model, returned: ResultRow) -> None:
        """Set the columns of the row that the database returned, and mark the row as saved."""
        for field, value in zip(self.returned, returned, strict=True):
            setattr(row, field.attname, value)
        row._state.adding, row._state.db = False, DEFAULT_DB_ALIAS


def update(row: TenantRow, names: Collection[str]) -> None:
    """Update fields of a row, as `save(update_fields=…)` does. Raise the model's DoesNotExist if the row was deleted."""
    text, columns = _update_statement(type(row), tuple(sorted(names)))
    with writing_row(row, names, is_compared=True):
        rows = fetch(text, [column(row, False) for column in columns])
        if (comparison := comparison_of(type(row), names)) and rows and rows[0][-1]:
            comparison.add_ids(row.account_id, [row.id])
    if not rows:
        raise type(row).DoesNotExist


def update_many(rows: Sequence[TenantRow], names: Collection[str]) -> None:
    """Update the same fields of several locked rows of one account and model, as `update` does for one row, in one statement."""
    model = type(rows[0])
    meta = model._meta
    fields = [*(cast(AnyField, meta.get_field(name)) for name in sorted(names)), *meta.pk_fields]
    columns = list(map(_column_value, fields))
    # Without its length, a type does not cut the values.
    casts = ", ".join(f"%s::{re.sub('[(].*?[)]', '', str(field.db_type(connection)))}" for field in fields)
    changes = ", ".join(f'"{field.column}" = given."{field.column}"' for field in fields[: len(names)])
    given = ", ".join(f'"{field.column}"' for field in fields)
    text = f"""
        UPDATE "{meta.db_table}" AS updated SET {changes} FROM (VALUES {", ".join([f"({casts})"] * len(rows))}) AS given ({given})
        WHERE {" AND ".join(f'updated."{key.column}" = given."{key.column}"' for key in meta.pk_fields)}
    """  # noqa: S608
    account_id = rows[0].account_id
    ids = [row.id for row in rows]
    values: list[Any] = [column(row, False) for row in rows for column in columns]
    if comparison := comparison_of(model, names):
        old = f'SELECT {comparison.old_columns(names)} FROM "{meta.db_table}" WHERE account_id = %s AND id = ANY (%s)'  # noqa: S608
        values = [account_id, ids, *values]
        text = f"""
            WITH before AS ({old}), row AS ({text} RETURNING updated.*){comparison.ctes(names)}
            SELECT row.id FROM row JOIN before USING (account_id, id) WHERE {comparison.condition}
        """  # noqa: S608
    with writing(model, account_id, ids, names, is_compared=True), connection.cursor() as cursor:
        cursor.execute(text, values)
        if comparison:
            comparison.add_ids(account_id, [id for (id,) in cursor.fetchall()])


@cache
def insertion_of(model: type[Model]) -> Insertion:
    """Return the parts of the INSERT statement for a model."""
    meta = model._meta
    fields = [field for field in meta.local_concrete_fields if not field.generated]
    columns = ", ".join(f'"{field.column}"' for field in fields)
    # RETURNING needs at least one column.
    returned = list(meta.db_returning_fields) or [fields[0]]
    return Insertion(
        into=f'"{meta.db_table}" ({columns})',
        values=", ".join(map(_placeholder, fields)),
        returning=", ".join(f'"{field.column}"' for field in returned),
        columns=list(map(_column_value, fields)),
        returned=returned,
    )


@cache
def _update_statement(model: type[Model], names: tuple[str, ...]) -> tuple[str, "list[ColumnValue]"]:
    meta = model._meta
    fields, keys = [cast(AnyField, meta.get_field(name)) for name in names], list(meta.pk_fields)
    changes = ", ".join(f'"{field.column}" = {_placeholder(field)}' for field in fields)
    condition = " AND ".join(f'"{key.column}" = %s' for key in keys)
    text = f'UPDATE "{meta.db_table}" SET {changes} WHERE {condition} RETURNING'  # noqa: S608
    columns = [_column_value(field) for field in (*fields, *keys)]
    if comparison := comparison_of(model, names):
        old = f'SELECT {comparison.old_columns(names)} FROM "{meta.db_table}" WHERE {condition}'  # noqa: S608
        text = f"""
            WITH before AS ({old}), row AS ({text} *){comparison.ctes(names)}
            SELECT {comparison.condition} FROM row JOIN before USING (account_id, id)
        """  # noqa: S608
        return text, [*map(_column_value, keys), *columns]
    # RETURNING needs at least one column.
    return f"{text} true", columns


# A function that returns the parameter for the column of a field, from the row and whether the row is new.
ColumnValue = Callable[[Model, bool], object]

_INTEGERS = {"SmallIntegerField": Int2, "IntegerField": Int4, "BigIntegerField": Int8, "BigAutoField": Int8}
# The types of values that psycopg sends as Django would, and the classes of their fields.
_UNCHANGED: tuple[tuple[type[AnyField], type], ...] = (
    (CharField, str),
    (TextField, str),
    (BooleanField, bool),
    (FloatField, float),
    (DateTimeField, datetime),
)


def _column_value(field: AnyField) -> ColumnValue:
    """Return the function for a field. It calls Django's methods only for values that they may change."""

    def prepared_by_django(row: Model, is_new: bool) -> object:
        return field.get_db_prep_save(field.pre_save(row, is_new), connections[DEFAULT_DB_ALIAS])

    def saved_text(row: Model, is_new: bool) -> object:
        value = field.pre_save(row, is_new)
        is_prepared = value is None or isinstance(value, str)
        return value if is_prepared else field.get_db_prep_save(value, connections[DEFAULT_DB_ALIAS])

    is_automatic = isinstance(field, DateTimeField) and (field.auto_now or field.auto_now_add)
    if is_automatic or type(field).pre_save not in (Field.pre_save, DateTimeField.pre_save):
        return saved_text if isinstance(field, CharField | TextField) else prepared_by_django
    target = field.target_field if isinstance(field, ForeignKey) else field
    name, integer = field.attname, _INTEGERS.get(target.get_internal_type())
    unchanged = next((kind for field_class, kind in _UNCHANGED if isinstance(field, field_class)), None)
    if integer is None and unchanged is None:
        return prepared_by_django

    def column_value(row: Model, is_new: bool) -> object:
        value = getattr(row, name)
        if value is None or (unchanged is not None and isinstance(value, unchanged)):
            return value
        return integer(value) if integer is not None and type(value) is int else prepared_by_django(row, is_new)

    return column_value


def _placeholder(field: AnyField) -> str:
    return field.get_placeholder(None, None, connection) if hasattr(field, "get_placeholder") else "%s"


def fetch(text: str, values: Parameters) -> list[ResultRow]:
    """Return the rows of a statement. If the connection was lost outside a transaction, reconnect and execute the statement again.

    The first statement of a request, which authenticates the request, is executed by this function. Connections thus need no check
    before they are reused.
    """
    try:
        return _execute(text, values)
    except (OperationalError, InterfaceError) as error:
        # If the server did not respond in time, a second attempt would only double the wait.
        timed_out = isinstance(error.__cause__, ConnectionTimeout)
        if connection.in_atomic_block or timed_out or connection.is_usable():
            raise
        connection.close()
        return _execute(text, values)


def _execute(text: str, values: Parameters) -> list[ResultRow]:
    database = connections[DEFAULT_DB_ALIAS]
    if not prepares_statements() or database.queries_logged or database.execute_wrappers:
        with database.cursor() as cursor:
            cursor.execute(text, values)
            return list(cursor)
    if database.connection is None:
        database.ensure_connection()
    database.validate_no_broken_transaction()
    with database.wrap_database_errors:
        rows: list[ResultRow] = database.connection.execute(text, values, prepare=True).fetchall()
        return rows


def execute_on_hot_row(text: str, values: Parameters) -> list[ResultRow]:
    """Return the rows of a statement that writes and locks a row for which other transactions wait.

    Outside of a transaction, the statement commits itself, so the lock is not held while Python works. PostgreSQL keeps the locks of a
    transaction until its commit is on the disk, so the row could change only once for each write to the disk. Therefore the statement is
    committed without waiting for the disk, and then another transaction waits. When this function returns, both are on the disk, because
    the log is written in order. If the server crashes before, both are lost.

    `{setting}` in the text is a column of the result that has no meaning for the caller.
    """
    database: Any = connections[DEFAULT_DB_ALIAS]
    if database.in_atomic_block or not prepares_statements():
        return _execute(text.replace("{setting}", "NULL"), values)
    database.commits += 1
    try:
        rows = _execute(text.replace("{setting}", "set_config('synchronous_commit', 'off', true)"), values)
    except DatabaseError:
        # If the connection was lost, the outcome was lost with it. Otherwise the server has refused the statement.
        if database.connection is not None and not database.connection.closed:
            database.commits -= 1
        raise
    _execute("SELECT pg_logical_emit_message(true, 'rostrum', '')", [])
    return rows
