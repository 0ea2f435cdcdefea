"""Transactions that are retried when a concurrent transaction came first."""

from collections.abc import Callable
from typing import TypeVar

from django.db import IntegrityError, OperationalError, transaction
from psycopg.errors import DeadlockDetected, ForeignKeyViolation, UniqueViolation

from core.errors import ConcurrentUpdate

Result = TypeVar("Result")

MAX_ATTEMPTS = 4
# Errors that another transaction causes by committing first.
RETRIED_ERRORS = (DeadlockDetected, ForeignKeyViolation, UniqueViolation)


def in_transaction(function: Callable[[], Result]) -> Result:
    """Call `function` in a transaction and return its result; retry when a concurrent transaction committed first.

    Validation belongs in `function`: the retry then reads the other transaction's rows and refuses the input with a
    message. After `MAX_ATTEMPTS` attempts the error is raised.
    """
    for _ in range(MAX_ATTEMPTS - 1):
        try:
            with transaction.atomic():
                return function()
        except ConcurrentUpdate:
            continue
        except (OperationalError, IntegrityError) as error:
            if not isinstance(error.__cause__, RETRIED_ERRORS):
                raise
    with transaction.atomic():
        return function()
