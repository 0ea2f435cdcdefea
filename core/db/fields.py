"""Fields of the project that migrations write as the fields of Django on which they are based, and the encoding of decimals in JSON.

Migrations import nothing of the project, so that a later change of the code does not change them.
"""

from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any, ClassVar, Self, TypeAlias

import orjson
from django.conf import settings
from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper

# Django's classes of fields have no type arguments at run time.
AnyField: TypeAlias = "models.Field[Any, Any]"


class PlainField(models.Field):
    """A mixin for a field class. It comes first of the bases; the next base is a field of Django."""

    # The names of arguments that exist in Python only. Migrations do not contain them.
    python_arguments: ClassVar[tuple[str, ...]] = ()
    # The names of arguments whose default differs from that of Django's field.
    changed_defaults: ClassVar[tuple[str, ...]] = ()

    def deconstruct(self) -> tuple[str, str, Sequence[object], dict[str, object]]:
        name, _path, args, kwargs = super().deconstruct()
        base = next(base for base in type(self).__mro__ if base.__module__.startswith("django."))
        package = "django.db.models" if base.__module__.startswith("django.db.") else base.__module__.rpartition(".")[0]
        kwargs = {key: value for key, value in kwargs.items() if key not in self.python_arguments}
        return name, f"{package}.{base.__name__}", args, kwargs

    def clone(self) -> Self:
        _name, _path, args, kwargs = self.deconstruct()
        names = (*self.python_arguments, *self.changed_defaults)
        field_class: Callable[..., Self] = type(self)
        return field_class(*args, **{**kwargs, **{name: getattr(self, name) for name in names}})


class JSONField(PlainField, models.JSONField):
    """A JSON field with an encoder and a decoder of the project."""

    python_arguments = ("encoder", "decoder")


def encode_decimal(value: object) -> orjson.Fragment:
    """Return a decimal as JSON, with all of its digits but without trailing zeros. Pass this function to `orjson.dumps` as `default`."""
    if isinstance(value, Decimal):
        plain = f"{value:f}"
        return orjson.Fragment((plain.rstrip("0").rstrip(".") if "." in plain else plain).encode())
    raise TypeError(type(value).__name__)


class AccountIdField(PlainField, models.BigIntegerField):
    """The id of a row within its account. If a row is inserted without an id, a trigger sets the account's next id."""

    db_returning = True

    def __init__(self, **options: Any) -> None:
        super().__init__(**{**options, "editable": False})

    def get_db_prep_save(self, value: object, connection: BaseDatabaseWrapper) -> object:
        # The trigger replaces NULL with the next id.
        return None if value is None else super().get_db_prep_save(value, connection)


class TenantRow(models.Model):
    """The columns that each table of tenants has (`core.db.tenancy`)."""

    pk = models.CompositePrimaryKey("account_id", "id")
    account = models.ForeignKey(settings.ACCOUNT_MODEL, models.CASCADE, db_index=False)
    id = AccountIdField()

    class Meta:
        abstract = True
