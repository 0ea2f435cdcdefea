"""The errors that models and the engine raise. They know nothing of HTTP: each interface turns them into its own answer.

A message continues the name of its field ("can't be blank"). It is a format string with named values in braces, and is marked
with `gettext_lazy` if a page may show it: pages answer in the reader's language, programs are always answered in English.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Self

# Seconds after which a request may be sent again that failed because the database was not available or the service was full.
RETRY_AFTER = 5


class FieldErrors(Exception):
    """The errors of one or more fields."""

    def __init__(self, errors: Iterable["FieldError"]):
        super().__init__()
        self._errors = list(errors)

    @property
    def errors(self) -> list["FieldError"]:
        return self._errors

    def __str__(self) -> str:
        return "; ".join(f"{error.field or 'request'} {error.text}" for error in self.errors)


class FieldError(FieldErrors):
    """The error of one field, to be raised by itself or as one of several `FieldErrors`.

    The name of a nested field is dotted. It is empty if the error is of the object that is being read as a whole.
    """

    def __init__(self, field: str, message: str, code: str = "invalid", params: Mapping[str, Any] | None = None):
        super().__init__([])
        self.field = field
        self.message = message
        self.code = code
        self.params = params

    @property
    def errors(self) -> list["FieldError"]:
        return [self]

    @property
    def text(self) -> str:
        """The message with its values, in the active language."""
        return str(self.message).format(**self.params) if self.params else str(self.message)

    def within(self, field: str) -> Self:
        """Return the same error as seen from the object that has this one in a field."""
        return type(self)(f"{field}.{self.field}" if self.field else field, self.message, self.code, self.params)


class Conflict(Exception):
    """The request cannot be carried out because of another one at the same time; it may be sent again."""

    def __init__(self, message: str):
        super().__init__(message)
        self.message = message


class ConcurrentUpdate(Conflict):
    """Another transaction took what this one had found free. The transaction is to be tried again from its beginning."""


class Throttled(Exception):
    """A limit is exceeded. After `wait` seconds the request may be sent again."""

    def __init__(self, wait: int):
        super().__init__(wait)
        self.wait = wait
