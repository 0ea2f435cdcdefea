"""Columns whose values triggers set."""

from typing import Any

from django.db import models

from core.db.fields import PlainField


class TriggerField(PlainField):
    """A mixin for a column that a trigger sets with inserts and updates. The instance gets the value with the write."""

    db_returning = True

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs["editable"] = False
        super().__init__(*args, **kwargs)


class TriggerDateTimeField(TriggerField, models.DateTimeField):
    """A time that a trigger sets."""


class TriggerBigIntegerField(TriggerField, models.BigIntegerField):
    """A number that a trigger sets."""
