"""Texts in files for spreadsheet programs, which execute a cell that begins like a formula."""

import re

_FORMULA = re.compile(r"'*\s*[=+\-@\t\r]")


def guard(text: str) -> str:
    """Return the text with one more apostrophe before it if a spreadsheet program would execute it, or if `unguard` would change it."""
    return f"'{text}" if _FORMULA.match(text) else text


def unguard(text: str) -> str:
    """Return the text that `guard` was called with."""
    return text[1:] if text.startswith("'") and _FORMULA.match(text) else text
