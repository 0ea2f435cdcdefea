"""Transactions that are retried after a conflict with a concurrent transaction."""

from collections.abc import Callable
from functools import partial, wraps
from typing import ParamSpec, TypeVar

from django.db import IntegrityError, OperationalError, connection, transaction
from psycopg.errors import DeadlockDetected, ForeignKeyViolation, UniqueViolation

from core.db.derived import compute_at_end
from core.errors import ConcurrentUpdate

Params = ParamSpec("Params")
Result = TypeVar("Result")

MAX_ATTEMPTS = 4
# Errors that another transaction causes by committing first.
RETRIED_ERRORS = (DeadlockDetected, ForeignKeyViolation, UniqueViolation)


def in_transaction(function: Callable[[], Result]) -> Result:
    """Call `function` in a transaction and return its result. Retry it if a concurrent transaction committed first.

    Validate the input inside `function`: the retry then reads the rows of the other transaction and rejects the input with a
    message. Raise the error after `MAX_ATTEMPTS` attempts.
    """

    def act() -> Result:
        with transaction.atomic(), compute_at_end():
            return function()

    return _retry(act)


def transactional(function: Callable[Params, Result]) -> Callable[Params, Result]:
    """Decorate a function whose calls are each a transaction (`in_transaction`)."""

    @wraps(function)
    def call(*args: Params.args, **kwargs: Params.kwargs) -> Result:
        return in_transaction(partial(function, *args, **kwargs))

    return call


def without_transaction(function: Callable[[], Result]) -> Result:
    """Call `function` and return its result. Retry it as `in_transaction` does.

    `function` writes by one statement, which commits itself (`core.db.prepared.execute_on_hot_row`). Within a transaction, it is called
    in that transaction.
    """
    return in_transaction(function) if connection.in_atomic_block else _retry(function)


def _retry(function: Callable[[], Result]) -> Result:
    for _ in range(MAX_ATTEMPTS - 1):
        try:
            return function()
        except ConcurrentUpdate:
            continue
        except (OperationalError, IntegrityError) as error:
            if not isinstance(error.__cause__, RETRIED_ERRORS):
                raise
    return function()
