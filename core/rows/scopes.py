"""The scopes of API tokens: `read` and `write`, and the areas of the Account API. Each room registers its areas."""

from collections.abc import Iterable

from django.utils.functional import Promise

READ, WRITE = "read", "write"
# Stands for all areas that have rows, in the declaration of a view.
ALL_ROWS = "*"


class Areas:
    """The labels of the areas, by the name of the scope."""

    def __init__(self) -> None:
        self._of_rows: dict[str, str | Promise] = {}
        self._others: dict[str, str | Promise] = {}

    def register(self, name: str, label: str | Promise, *, has_rows: bool = True) -> None:
        (self._of_rows if has_rows else self._others)[name] = label

    def expand(self, names: Iterable[str]) -> list[str]:
        """Return the names with those of all areas that have rows in the place of `ALL_ROWS`."""
        return [name for each in names for name in (self._of_rows if each == ALL_ROWS else (each,))]

    @property
    def choices(self) -> list[tuple[str, str | Promise]]:
        return [*self._of_rows.items(), *self._others.items()]

    @property
    def names(self) -> list[str]:
        return [name for name, _label in self.choices]


areas = Areas()
