"""JSON encoding of decimals."""

from decimal import Decimal
from typing import Any

import orjson


def encode_decimal(value: Any) -> orjson.Fragment:
    """Return a decimal as JSON, with all of its digits but without trailing zeros. Pass this function to `orjson.dumps` as `default`."""
    if isinstance(value, Decimal):
        plain = f"{value:f}"
        return orjson.Fragment((plain.rstrip("0").rstrip(".") if "." in plain else plain).encode())
    raise TypeError(type(value).__name__)
