"""Fields that an account gives its clients itself, all of them in one column.

Most have any name and hold a text, a number, true or false. The names `string1` … `datetime10` have the type that they
say, and are fields of the client as well.
"""

import json
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import orjson
from django.db import models

from accounts.api.formats import exact

MOST = 100
LONGEST = 262_144  # characters, all of them as JSON


class _Encoder(json.JSONEncoder):
    """Decimals as they are, without a detour through binary floating point."""

    def encode(self, o: Any) -> str:
        return as_json(o)


class _Decoder(json.JSONDecoder):
    def __init__(self, **kwargs):
        super().__init__(parse_float=Decimal, **kwargs)


def as_json(values: dict[str, Any]) -> str:
    return orjson.dumps(values, default=exact).decode()


def storable(value: Any) -> Any:
    """A value as JSON has it: a date as ISO 8601 writes it, a time likewise and in UTC."""
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat()
    return value.isoformat() if isinstance(value, date) else value


def merged(before: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """What is there after `changes`: keys not named stay, a null removes its key."""
    return {key: value for key, value in {**before, **changes}.items() if value is not None}


def additional_fields() -> models.JSONField:
    return models.JSONField(default=dict, encoder=_Encoder, decoder=_Decoder)
