"""The type of the rows of `QuerySet.values`."""

from typing import Any

# The values of a row by the names of its columns and annotations, whose types are only known where the columns are chosen.
ValuesRow = dict[str, Any]
