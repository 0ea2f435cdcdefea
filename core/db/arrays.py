"""Conditions on the values of arrays."""

from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import BooleanField, Func, Model, QuerySet


class EqualsAny(Func):
    """The condition that an array contains the value of a column. PostgreSQL uses an index of the column for it, but not for `contains`."""

    template = "%(expressions)s)"
    arg_joiner = " = ANY("
    output_field = BooleanField()


def equals_any_of(column: str, values: QuerySet[Model, object]) -> EqualsAny:
    """Return the condition that the value of a column is among those of a subquery.

    Unlike with `__in`, PostgreSQL executes the subquery once, before it reads the rows, and assumes that it yields few values. Without
    statistics, as in a new database, it would execute a subquery of several tables again for each row.
    """
    return EqualsAny(column, ArraySubquery(values))
