"""Additional fields of a resource: names and values that have no column of their own, in one JSON column.

Most keys are free and hold a text, a number, true or false. `core.api.additional_fields` gives some names a type.
"""

import json
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import orjson
from django.db import migrations, models

from core.decimals import encode_decimal

# Why a search does not find them.
NOT_SEARCHED = "may hold any data of an integration, which the documented interface does not search"

MAX_FIELDS = 200
MAX_JSON_LENGTH = 262_144  # characters, all fields as JSON


class _Encoder(json.JSONEncoder):
    """Write decimals with all their digits, without a detour through binary floating point."""

    def encode(self, o: Any) -> str:
        return to_json(o)


class _Decoder(json.JSONDecoder):
    def __init__(self, **kwargs):
        super().__init__(parse_float=Decimal, **kwargs)


def to_json(values: dict[str, Any]) -> str:
    return orjson.dumps(values, default=encode_decimal).decode()


def to_json_value(value: Any) -> Any:
    """Return a value as it is stored: dates and times as ISO 8601 text, times in UTC."""
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat()
    return value.isoformat() if isinstance(value, date) else value


def merge(before: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """Return the fields after `changes`: a key that is not named stays, and null removes its key."""
    return {key: value for key, value in {**before, **changes}.items() if value is not None}


def additional_fields() -> models.JSONField:
    return models.JSONField(default=dict, encoder=_Encoder, decoder=_Decoder)


def add_additional_fields(model: str, table: str) -> list[migrations.operations.base.Operation]:
    """Return the operations that add the column, with a default for the processes that do not know it yet."""
    return [
        migrations.AddField(model, "additional_fields", additional_fields()),
        migrations.RunSQL(f"ALTER TABLE {table} ALTER additional_fields SET DEFAULT '{{}}'", migrations.RunSQL.noop),
    ]
