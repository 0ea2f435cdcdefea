"""Write values as forms in bracket notation."""

from collections.abc import Iterator
from typing import Any

from core.http.formats import MAX_DEPTH


def form_of(value: Any, name: str = "", depth: int = 1) -> Iterator[tuple[str, str]]:
    """Return the names and values of a form for a value.

    Nulls, empty objects and names with brackets are left out: a form cannot express them.
    """
    if isinstance(value, dict):
        pairs = [
            pair
            for key, inner in value.items()
            if key and not set(key) & set("[]") and inner is not None and depth < MAX_DEPTH
            for pair in form_of(inner, f"{name}[{key}]" if name else key, depth + 1)
        ]
        # An empty resource is expressed by an unknown field, which is ignored.
        yield from pairs or ([(f"{name}[_]", "")] if depth == 2 else [])
    elif isinstance(value, list):
        if all(isinstance(inner, dict) for inner in value) and depth < MAX_DEPTH - 1:
            # A repeated name begins the next object: the name of a text with which all of them begin, or else an unknown one.
            first = {next((key for key in inner if isinstance(inner[key], str)), "") for inner in value}
            is_first = all(next(iter(inner), "") in first for inner in value)
            start = {} if is_first and len(first) == 1 and "" not in first else {"_": ""}
            for inner in value:
                yield from form_of({**start, **inner}, f"{name}[]", depth + 1)
        if not any(isinstance(inner, list | dict) for inner in value):
            yield from ((f"{name}[]", "" if inner is None else text_of(inner)) for inner in value)
        if depth == 2:
            # A blank item marks an empty list.
            yield from [] if value and all(isinstance(inner, dict) for inner in value) else [(f"{name}[]", "")]
    else:
        yield name, text_of(value)


def text_of(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    # 1 and 1.0 are the same number in JSON, but different texts.
    return str(int(value)) if isinstance(value, float) and value in (0, 1) else str(value)
