"""Writing a row from the form of a page, with the rules of the API."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol, TypeVar

from django.db import models

from core.api.serializers import ResourceSerializer

if TYPE_CHECKING:
    from accounts.account.models import Account


class WritableRow(Protocol):
    account: "Account"
    _state: models.base.ModelState

    def write(self, values: dict[str, object]) -> None: ...


Row = TypeVar("Row", bound=WritableRow)


def write_row(serializer_class: type[ResourceSerializer], row: Row, values: Mapping[str, object]) -> Row:
    """Validate the values as the API does, and insert the row if it is new, or else update it. Call this function in a transaction."""
    instance = None if row._state.adding else row
    serializer = serializer_class(instance, data=values, partial=instance is not None, context={"account": row.account})
    row.write(serializer.read())
    return row
