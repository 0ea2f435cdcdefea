"""Parameters by their names: the bracket notation of forms, and bodies that stand in for a query."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from rest_framework.exceptions import ParseError

# How deeply a form may nest: `deal[client][external_ids][shop]` is 4.
MAX_DEPTH = 8
# A longer name of an object in a body is no parameter, and is not repeated in the name of each of its members.
MAX_NAME_LENGTH = 64

_NAME = re.compile(r"([^\[\]]+)((?:\[[^\[\]]*\])*)", re.DOTALL)
_PART = re.compile(r"\[([^\[\]]*)\]", re.DOTALL)


def nest(pairs: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """Return the object that the names of a form describe, as Rails and PHP write them.

    `client[name]=Ann&client[tags][]=vip` is `{"client": {"name": "Ann", "tags": ["vip"]}}`. The last of several values counts, as
    for a checkbox behind a hidden field. In `deals[][name]` an object ends where a name comes again. Raises ParseError.
    """
    root: dict[str, Any] = {}
    for name, value in pairs:
        match = _NAME.fullmatch(name)
        keys = [match[1], *_PART.findall(match[2])] if match else [name]
        if len(keys) > MAX_DEPTH:
            raise ParseError(f"The form has a name that is nested too deeply (maximum is {MAX_DEPTH})")
        try:
            _put(root, keys, value)
        except _ConflictError:
            raise ParseError(f"The form gives {name[:MAX_NAME_LENGTH]} two kinds of values") from None
    return root


class _ConflictError(Exception):
    """A name stands for a value, a list or an object, and for another one of these too."""


def _put(target: dict[str, Any], keys: list[str], value: str) -> None:
    name, *inner = keys
    if not inner:
        if isinstance(target.get(name), dict | list):
            raise _ConflictError
        target[name] = value
    elif inner[0]:
        _put(_inner(target, name, dict), inner, value)
    else:
        items = _inner(target, name, list)
        if len(inner) == 1:
            items.append(value)
        elif not inner[1]:
            raise _ConflictError
        else:
            if not items or (isinstance(items[-1], dict) and _has(items[-1], inner[1:])):
                items.append({})
            if not isinstance(items[-1], dict):
                raise _ConflictError
            _put(items[-1], inner[1:], value)


def _inner(target: dict[str, Any], name: str, kind: type) -> Any:
    found = target.setdefault(name, kind())
    if not isinstance(found, kind):
        raise _ConflictError
    return found


def _has(target: Any, keys: list[str]) -> bool:
    """Return whether a value is there under these keys, so that another one belongs to the next object of a list.

    A list in an object takes any number of values.
    """
    for key in keys:
        if not key:
            return False
        if not isinstance(target, dict) or key not in target:
            return False
        target = target[key]
    return True


def as_parameters(body: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The members of a JSON object as a query would have them: `{"external_ids": {"shop": 5}}` is `external_ids[shop]=5`.

    Each value of a list is a value of its name. What a query cannot say, an object in an object, is blank.
    """
    for name, value in body.items():
        if isinstance(value, dict) and len(name) <= MAX_NAME_LENGTH:
            for key, inner in value.items():
                yield f"{name}[{key}]", _as_text(inner)
        elif isinstance(value, list):
            for item in value:
                yield name, _as_text(item)
        else:
            yield name, _as_text(value)


def _as_text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None or isinstance(value, dict | list) else str(value)
