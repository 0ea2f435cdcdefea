"""The primary keys, ids and foreign keys of the tables of tenants.

Every tenant table has the primary key `(account_id, id)`, and each account has its own counter of ids. An id thus reveals nothing
about other tenants, data can be imported from another server with its ids, and no row can be found by its id alone. Foreign keys
between tenant tables are composite (`account_id, client_id`), so that the database rejects a link from one tenant to another.
"""

import unicodedata
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any

from django.apps import apps
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import DatabaseError, connection, models
from django.utils.translation import gettext_lazy as _

from core.db.derived import writing, writing_row
from core.db.fields import PlainField, TenantRow
from core.errors import Conflict


class FoldedField(PlainField, models.TextField):
    """The folded text of another field, for case-insensitive uniqueness and lookups.

    Python folds the text, because the result in PostgreSQL would depend on the locale of the database.
    """

    python_arguments = ("source",)

    def __init__(self, *, source: str, **options: Any) -> None:
        self.source = source
        super().__init__(**{**options, "editable": False})

    @staticmethod
    def derive(text: str) -> str:
        """Return the value for the text of the source field. A subclass may override this method."""
        return fold(text)

    def pre_save(self, model_instance: models.Model, add: bool) -> object:
        text = getattr(model_instance, self.source)
        value = None if text is None else self.derive(text)
        setattr(model_instance, self.attname, value)
        return value


def folded_fields(model: type[models.Model], names: Iterable[str]) -> set[str]:
    """Return the names of the folded fields of the model whose source is among the fields with these names."""
    names = set(names)
    return {name for name, source in _folded_sources(model).items() if source in names}


@cache
def _folded_sources(model: type[models.Model]) -> dict[str, str]:
    return {field.name: field.source for field in model._meta.fields if isinstance(field, FoldedField)}


def fold(text: str) -> str:
    """Return the text in NFC and without differences of case."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())


def account_of(account_id: int) -> Any:
    """Return an unsaved account instance that has only an id, to build querysets of the account's rows without reading the account."""
    return apps.get_model(settings.ACCOUNT_MODEL)(id=account_id)


def rows_of(account: object, model: type[models.Model]) -> "models.QuerySet[Any]":
    """Return the account's rows of a model, which has to set `default_related_name`."""
    name = model._meta.default_related_name
    if name is None:
        raise ImproperlyConfigured(f"{model.__name__} has no default_related_name.")
    rows: models.QuerySet[Any] = getattr(account, name).all()
    return rows


class StrictSave(models.Model):
    """A mixin whose `save` raises Conflict if the row was deleted meanwhile. Django's would insert it again, or raise DatabaseError."""

    class Meta:
        abstract = True

    def save(self, *args: Any, **kwargs: Any) -> None:
        is_update = not self._state.adding and not kwargs.get("force_insert")
        if is_update and kwargs.get("update_fields") is None:
            kwargs["force_update"] = True
        try:
            super().save(*args, **kwargs)
        except DatabaseError as error:
            # Errors of the database itself have a cause.
            if error.__cause__ is None and is_update:
                raise Conflict(_("This was deleted in the meantime")) from error
            raise


class TenantModel(StrictSave, TenantRow):
    """A row of one tenant. Query it through the account: `account.clients.get(id=12)`. What depends on the row follows its writes."""

    class Meta:
        abstract = True

    def save(self, *args: Any, **kwargs: Any) -> None:
        with writing_row(self, kwargs.get("update_fields")):
            super().save(*args, **kwargs)

    def delete(self, using: str | None = None, keep_parents: bool = False) -> tuple[int, dict[str, int]]:
        with writing(type(self), self.account_id, [self.id], act="delete"):
            return super().delete(using, keep_parents)


def foreign_object(
    to: type[models.Model] | str,
    column: str,
    *,
    on_delete: Callable[..., None] = models.DO_NOTHING,
    related_name: str = "+",
    null: bool = False,
) -> "models.ForeignObject[Any, Any]":
    """Return the field for the row of the same account whose id is in `column`.

    The foreign key in the database, which `composite_foreign_key` creates, decides what happens when that row is deleted. With
    `on_delete`, Django does that first.
    """
    return models.ForeignObject(
        to,
        on_delete,
        from_fields=["account_id", column],
        to_fields=["account_id", "id"],
        related_name=related_name,
        null=null,
    )


def next_ids(account_id: int, number: int) -> Sequence[int]:
    """Take ids from the account's counter, for rows that refer to each other before they are inserted."""
    if not number:
        return ()
    with connection.cursor() as cursor:
        cursor.execute("SELECT account_ids.reserve(%s, %s)", [account_id, number])
        [first] = cursor.fetchone()
        return range(first, first + number)
