"""Writes of clients, contacts, contact lists and deals by pages and imports, with the same validation as in the JSON API."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeVar, cast

from accounts.users.models import User
from core.errors import FieldError, FieldErrors
from core.registry import registry
from crm.fields.catalogue import defined_name
from crm.resources.models import CRMResource

if TYPE_CHECKING:
    from crm.resources.api.views import CRMViewSet

RowT = TypeVar("RowT", bound=CRMResource)


def write_row(row: RowT, data: Mapping[str, object], *, by: User) -> RowT:
    """Validate the data, and create the row, which is a new instance of its account, or update it.

    Call this function in a transaction. To update, the caller must have locked the row. `data` has the values by the names of
    `crm.fields.catalogue`, such as `email` or `additional_fields[size]`. Raise FieldErrors. The errors of defined fields have the same names.
    """
    try:
        values = read_values(row, data, by=by, is_new=row._state.adding)
    except FieldErrors as caught:
        raise FieldErrors(map(name_defined_field, caught.errors)) from None
    row.write(values, by=by)
    return row


def read_values(row: CRMResource, data: Mapping[str, object], *, by: User, is_new: bool) -> dict[str, object]:
    """Return the valid values for a row, as the JSON API reads them. Raise FieldErrors. With `is_new`, required fields must be there."""
    viewset = cast("type[CRMViewSet]", registry.find_by_model(type(row)).viewset)
    context = {"account": row.account, "access": by.access, "lookup": viewset.lookup_class(row.account, by.access)}
    serializer = viewset.serializer_class(
        None if is_new else row, data=nested(data), partial=not is_new, context=context
    )
    return serializer.read()


def name_defined_field(error: FieldError) -> FieldError:
    """Return the error with the name of the defined field that it is about."""
    params = error.params or {}
    inner = params.get("error")
    if error.field == "additional_fields" and "key" in params and isinstance(inner, FieldError):
        return FieldError(defined_name(str(params["key"])), inner.message, inner.code, inner.params)
    return error


def nested(data: Mapping[str, object]) -> dict[str, object]:
    """Return the data with the values of `additional_fields[key]` in an object, as the JSON API takes them."""
    values: dict[str, object] = {}
    fields: dict[str, object] = {}
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
