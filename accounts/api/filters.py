"""Filters of lists that need the account."""

from typing import Any

from django.db.models import QuerySet

from accounts.models import Tag
from core.api.fields import TextField
from core.api.filters import WireFilter
from core.db.tenancy import fold
from core.db.trimmed import trim


class TagName(TextField):
    blank_is_null = True


class TagFilter(WireFilter):
    """A filter by the name of a tag, ignoring case."""

    def __init__(self) -> None:
        super().__init__(TagName())

    def filter(self, rows: QuerySet[Any], value: str | None) -> QuerySet[Any]:
        if value is None:
            return rows
        # Rows store the name of the tag. The name in the request may have letters of other case.
        tag = Tag.objects.filter(account=self.parent.account, name_key=fold(" ".join(trim(value).split()))).first()
        return rows.filter(tags__contains=[tag.name]) if tag else rows.none()
