"""A field for a name that is unique within the account."""

from collections.abc import Callable
from typing import Any, cast

from django.db.models import QuerySet
from django.utils.translation import gettext_lazy as _

from core.api.fields import TextField
from core.rows.trimmed import name_key


class UniqueNameField(TextField):
    """A name that no other row has, without regard to case and blanks. `rows_of` returns the rows of an account, with a `name_key`."""

    default_error_messages = {"taken": _("is already taken")}

    def __init__(self, rows_of: Callable[[Any], QuerySet[Any]], **options: Any) -> None:
        super().__init__(**options)
        self.rows_of = rows_of

    def to_internal_value(self, data: object) -> str:
        name = cast(str, super().to_internal_value(data))
        row = self.parent.instance
        others = self.rows_of(self.context["account"]).exclude(id=row.id if row else None)
        if others.filter(name_key=name_key(name)).exists():
            self.fail("taken")
        return name
