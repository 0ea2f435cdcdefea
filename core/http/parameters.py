"""The bracket notation of forms, and the conversion of request bodies to query parameters."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeVar

from rest_framework.exceptions import ParseError

Container = TypeVar("Container")

# The maximum number of keys in a name of a form. `deal[client][external_ids][shop]` has 4.
MAX_DEPTH = 8
# An object with a longer name is not split into parameters, because the name of each parameter would repeat the long name.
MAX_NAME_LENGTH = 64

_NAME = re.compile(r"([^\[\]]+)((?:\[[^\[\]]*\])*)", re.DOTALL)
_PART = re.compile(r"\[([^\[\]]*)\]", re.DOTALL)


def nest(pairs: Iterable[tuple[str, str]]) -> dict[str, object]:
    """Return the object that the names of a form describe in the notation of Rails and PHP.

    `client[name]=Ann&client[tags][]=vip` is `{"client": {"name": "Ann", "tags": ["vip"]}}`. Of several values with the same name the
    last one is used, as for a checkbox after a hidden field. In `deals[][name]`, a repeated name begins the next object of the list.
    Raise ParseError for contradicting names.
    """
    root: dict[str, object] = {}
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
    """A form uses a name in contradicting ways: as a value, as a list or as an object."""


def _put(target: dict[str, object], keys: list[str], value: str) -> None:
    name, *inner = keys
    if not inner:
        if not isinstance(target.get(name), dict | list):
            target[name] = value
        elif value.strip():
            raise _ConflictError
    elif inner[0]:
        _put(_inner(target, name, dict), inner, value)
    else:
        items = _inner(target, name, list)
        if len(inner) == 1:
            items.append(value)
        elif not inner[1]:
            raise _ConflictError
        else:
            if not items or (isinstance(items[-1], dict) and _has_value(items[-1], inner[1:])):
                items.append({})
            if not isinstance(items[-1], dict):
                raise _ConflictError
            _put(items[-1], inner[1:], value)


def _inner(target: dict[str, object], name: str, kind: type[Container]) -> Container:
    container = target.get(name, "")
    if isinstance(container, str) and not container.strip():
        # A form may have a hidden field with a blank value, for a list without items.
        container = target[name] = kind()
    if not isinstance(container, kind):
        raise _ConflictError
    return container


def _has_value(target: object, keys: list[str]) -> bool:
    """Return whether the object already has a value under these keys, so that another value begins the next object of the list.

    A list in an object accepts any number of values.
    """
    for key in keys:
        if not key:
            return False
        if not isinstance(target, dict) or key not in target:
            return False
        target = target[key]
    return True


def as_parameters(body: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """Yield the members of a JSON object as parameters: `{"external_ids": {"shop": 5}}` becomes `external_ids[shop]=5`.

    Each item of a list is a value of the same parameter. An object in an object, which a query cannot express, becomes blank.
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


def _as_text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None or isinstance(value, dict | list) else str(value)
