"""Writes of clients, contacts, contact lists and deals by pages and imports, with the same validation as in the JSON API."""

from collections.abc import Mapping
from typing import Any, TypeVar

from accounts.models import Account, User
from core.api.serializers import ResourceSerializer
from core.errors import FieldError, FieldErrors
from crm.api.lookup import Lookup
from crm.api.serializers import ClientSerializer, ContactListSerializer, ContactSerializer, DealSerializer
from crm.base import Resource
from crm.fields import defined_name

RowT = TypeVar("RowT", bound=Resource)

SERIALIZERS: dict[str, type[ResourceSerializer]] = {
    "client": ClientSerializer,
    "contact": ContactSerializer,
    "contactlist": ContactListSerializer,
    "deal": DealSerializer,
}


def write_row(row: RowT, data: Mapping[str, Any], *, by: User) -> RowT:
    """Validate the data, and create the row, which is a new instance of its account, or update it.

    Call this function in a transaction. To update, the caller must have locked the row. `data` has the values by the names of
    `crm.fields`, such as `email` or `additional_fields[size]`. Raise FieldErrors. The errors of defined fields have the same names.
    """
    resource = str(row._meta.model_name)
    existing = None if row._state.adding else row
    account: Account = row.account
    context = {"account": account, "access": by.access, "lookup": Lookup(account, by.access)}
    serializer = SERIALIZERS[resource](existing, data=nested(data), partial=existing is not None, context=context)
    try:
        values = serializer.read()
    except FieldErrors as caught:
        raise FieldErrors(map(by_field, caught.errors)) from None
    row.write(values, by=by)
    return row


def by_field(error: FieldError) -> FieldError:
    """Return the error with the name of the defined field that it is about."""
    params = error.params or {}
    if error.field == "additional_fields" and "key" in params and isinstance(params.get("error"), FieldError):
        inner: FieldError = params["error"]
        return FieldError(defined_name(params["key"]), inner.message, inner.code, inner.params)
    return error


def nested(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the data with the values of `additional_fields[key]` in an object, as the JSON API takes them."""
    values: dict[str, Any] = {}
    fields: dict[str, Any] = {}
    for name, value in data.items():
        key = key_in(name)
        if key is None:
            values[name] = value
        else:
            fields[key] = value
    return {**values, "additional_fields": fields} if fields else values


def key_in(name: str) -> str | None:
    """Return the key in a name such as `additional_fields[size]`, or None for another name."""
    return (
        name[len("additional_fields[") : -1] if name.startswith("additional_fields[") and name.endswith("]") else None
    )
