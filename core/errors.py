"""The errors that models and the engine raise. Each interface turns them into responses in its own format.

A message continues the name of its field ("can't be blank"). It is a format string with named values in braces. A message that a page
may show is marked with `gettext_lazy`: pages use the language of the reader, and the APIs always respond in English.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Self

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy

# Seconds until a client may repeat a request that failed because the database was unavailable or the service overloaded.
RETRY_AFTER = 5

# The message of all requests to a closed account.
ACCOUNT_CLOSED = gettext_lazy("This account is closed; its owners can sign in to read why")


class FieldErrors(Exception):
    def __init__(self, errors: Iterable["FieldError"]) -> None:
        super().__init__()
        self._errors = list(errors)

    @property
    def errors(self) -> list["FieldError"]:
        return self._errors

    def __str__(self) -> str:
        return "; ".join(f"{error.field or 'request'} {error.text}" for error in self.errors)


class FieldError(FieldErrors):
    """The error of one field. Raise it directly, or several together as `FieldErrors`.

    `field` has dots for a nested field, and is empty for an error of the whole object.
    """

    def __init__(
        self, field: str, message: str | Promise, code: str = "invalid", params: Mapping[str, object] | None = None
    ) -> None:
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
        """The message with its parameters, in the active language."""
        return str(self.message).format(**self.params) if self.params else str(self.message)

    def move_into(self, field: str) -> Self:
        """Return the same error for an outer object whose field `field` contains the object of this error."""
        return type(self)(f"{field}.{self.field}" if self.field else field, self.message, self.code, self.params)


class Conflict(Exception):
    """A conflict with a simultaneous request. The client may repeat the request."""

    def __init__(self, message: str | Promise) -> None:
        super().__init__(message)
        self.message = message


class ConcurrentUpdate(Conflict):
    """A conflict with a value that another transaction has committed meanwhile. `in_transaction` retries the transaction."""


class Throttled(Exception):
    """An exceeded rate limit. The client may repeat the request after `wait` seconds.

    `message` is a sentence that says more than the usual response.
    """

    def __init__(self, wait: int, message: str | Promise | None = None) -> None:
        super().__init__(wait)
        self.wait = wait
        self.message = message


class MissingScopes(Exception):
    """A request with a token that lacks these scopes."""

    def __init__(self, scopes: Sequence[str]) -> None:
        super().__init__(scopes)
        self.scopes = scopes


class ShareExceeded(Exception):
    """The account or the user has its share of the requests in progress. The client may repeat the request."""


class StoreUnavailable(Exception):
    """The store of files does not answer, or refuses. The client may repeat the request."""
