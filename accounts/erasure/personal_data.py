"""The registry of the rows that the account keeps about a person: a user, a client or a contact.

Each subject registers its rows in its module `registration`. Their erasure deletes them or counts them as kept.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.db.models import Q, QuerySet
from django.utils.functional import Promise

from core.registry import registry

Rows = Callable[[Any], "QuerySet[Any, Any]"]


def delete_rows(rows: "QuerySet[Any, Any]") -> int:
    number = rows.order_by().count()
    if number:
        rows.order_by().delete()
    return number


@dataclass(frozen=True)
class PersonalData:
    """Rows about a person."""

    # The key and the name in receipts.
    key: str
    label: str | Promise
    # Return the rows about a person, who is a row of `subjects`.
    rows: Rows
    # The kinds of persons: names of models.
    subjects: tuple[str, ...]
    # False if the rows stay, under the name of a deleted user or without the link.
    is_erased: bool
    # Delete rows, and return their number.
    delete: Callable[[Any], int]
    # The columns that members may read in the file about themselves. Without any, they get none of the rows.
    public_columns: tuple[str, ...]
    # The condition of the rows that members may read: who was in the team before has written others.
    public_rows: Q
    # True if `rows` are found by other rows of the person, so that they are erased before these.
    is_first: bool


CUSTOMERS = ("client", "contact")
_registered: list[PersonalData] = []
_labels: dict[str, str | Promise] = {}


def register(
    key: str,
    label: str | Promise,
    rows: Rows,
    *,
    subjects: tuple[str, ...] = ("user",),
    is_erased: bool = True,
    delete: Callable[[Any], int] = delete_rows,
    public_columns: tuple[str, ...] = (),
    public_rows: Q = Q(),  # noqa: B008, it never changes
    is_first: bool = False,
) -> None:
    data = PersonalData(key, label, rows, subjects, is_erased, delete, public_columns, public_rows, is_first)
    _registered.insert(0 if is_first else len(_registered), data)


def linked_to(customer: Any) -> Q:
    """Return the condition of rows that link to a client or a contact, also while it is in the trash."""
    key = customer.api_resource.key
    return Q(**{f"{key}_id": customer.id}) | Q(**{f"trashed_{key}_id": customer.id})


def personal_data_of(person: Any) -> list[PersonalData]:
    """Return the kinds of rows about a person, in the order in which they are erased."""
    return [data for data in _registered if person._meta.model_name in data.subjects]


def label_of(key: str) -> str:
    """Return the name of a kind of rows for people: of registered rows, or of a resource."""
    labels = {data.key: data.label for data in _registered} | _labels
    if key in labels:
        return str(labels[key])
    resource = registry.get(key)
    return str(resource.label) if resource else key


def register_label(key: str, label: str | Promise) -> None:
    """Register the name of rows that a receiver of `user_erasing` counts, or of a kind of persons."""
    _labels[key] = label
