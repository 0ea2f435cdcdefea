"""Additional fields of a resource: keys and values in one JSON column.

A client may use any key. Its value is a text, a number, true or false. `core.api.additional_fields` declares types for some keys.
"""

import json
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import orjson
from django.db import models

from core.db.fields import JSONField, encode_decimal

# The reason that `Search.not_searched` of a model gives.
NOT_SEARCHED = "may hold any data of an integration, which the documented interface does not search"

MAX_FIELDS = 200
MAX_JSON_LENGTH = 262_144  # characters of the whole object as JSON


class _Encoder(json.JSONEncoder):
    """An encoder that writes decimals with all of their digits. The standard encoder would convert them to floats."""

    def encode(self, o: Any) -> str:
        return to_json(o)


class _Decoder(json.JSONDecoder):
    def __init__(self, **kwargs: Any) -> None:
        super().__init__(parse_float=Decimal, **kwargs)


def to_json(values: object) -> str:
    return orjson.dumps(values, default=encode_decimal).decode()


def to_json_value(value: object) -> object:
    """Return the stored form of a value: a date or a time (in UTC) as a text in ISO 8601, any other value unchanged."""
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat()
    return value.isoformat() if isinstance(value, date) else value


def merge(stored: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """Return the stored fields with `changes`. The value None removes a key. Keys that are not in `changes` stay."""
    return {key: value for key, value in {**stored, **changes}.items() if value is not None}


def additional_fields() -> models.JSONField:
    """Return the column of the additional fields."""
    return JSONField(default=dict, encoder=_Encoder, decoder=_Decoder)
