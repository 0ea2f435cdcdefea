"""The filters of the list of suggestions: category, status, kind and tag. Their values are part of the URL."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.http import Http404, QueryDict
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from accounts.statuses.models import Status, status_name
from accounts.tags.models import Tag
from core.db.text import replace_non_xml
from forum.categories.models import Category
from forum.lists.facets import Facets, FacetSelection
from forum.lists.queries import PostKind

# The kinds that a form offers.
KINDS = [
    (PostKind.SUGGESTION, _("Suggestion")),
    (PostKind.ERROR, _("Bug")),
    (PostKind.QUESTION, _("Question")),
    (PostKind.PRAISE, _("Praise")),
]
KIND_NAMES: dict[str, object] = {**{kind.value: name for kind, name in KINDS}, PostKind.PRIVATE.value: _("Private")}


def kind_name(kind: str) -> str:
    """Return the name of a kind of posts."""
    return str(KIND_NAMES.get(kind, kind))


@dataclass(frozen=True)
class Filters:
    """The values by which a list is filtered. None stands for all values."""

    category: Category | None = None
    status: Status | None = None
    kind: str | None = None
    tag: str | None = None

    @classmethod
    def read(cls, parameters: QueryDict, categories: Iterable[Category], statuses: Iterable[Status]) -> "Filters":
        """Return the filters in a query string. Raise Http404 for a category, status or kind that does not exist.

        A tag that no post has is allowed, and the list is empty: links with a tag must work even after the tag was removed from all posts.
        """
        category = status = None
        if id := parameters.get("category"):
            category = next((row for row in categories if str(row.id) == id), None)
            if category is None:
                raise Http404
        if code := parameters.get("status"):
            status = next((row for row in statuses if row.code == code), None)
            if status is None:
                raise Http404
        kind = parameters.get("kind") or None
        if kind is not None and kind not in KIND_NAMES:
            raise Http404
        tag = replace_non_xml(parameters.get("tag", ""))[: Tag.MAX_LENGTH].strip() or None
        return cls(category, status, kind, tag)

    @property
    def selection(self) -> FacetSelection:
        category_id = self.category.id if self.category else None
        status_id = self.status.id if self.status else None
        return FacetSelection(category_id, status_id, self.kind, self.tag)

    @property
    def parameters(self) -> dict[str, object]:
        """The parameters of a query string."""
        return {
            "category": self.category and self.category.id,
            "status": self.status and self.status.code,
            "kind": self.kind,
            "tag": self.tag,
        }

    @property
    def names(self) -> dict[str, str]:
        """The names of the selected values, by the name of their filter."""
        names = {
            "category": self.category and self.category.name,
            "status": self.status and status_name(self.status),
            "kind": self.kind and str(KIND_NAMES[self.kind]),
            "tag": self.tag,
        }
        return {filter: name for filter, name in names.items() if name}

    def __bool__(self) -> bool:
        return self != Filters()

    def remove(self, filter: str) -> "Filters":
        return replace(self, **{filter: None})


@dataclass(frozen=True)
class FilterOption:
    """A value of a filter, with the path of the list with this value instead of the present one."""

    name: str
    path: str
    count: int
    is_selected: bool
    # The colour of a status.
    color: str | None = None


@dataclass(frozen=True)
class FilterGroup:
    """A filter with its values, and with the path of the list without the filter."""

    key: str
    title: str
    any_name: str
    any_path: str
    options: list[FilterOption]
    is_selected: bool


def filter_groups(
    filters: Filters,
    facets: Facets,
    categories: Sequence[Category],
    statuses: Sequence[Status],
    link: Callable[[Filters], str],
) -> list[FilterGroup]:
    """Return the filters with their values. Values that no post has are left out, except categories and selected values.

    `link` returns the path of the list with other filters.
    """
    # The name, the title, the name for all values, and each value with its name, the number of its posts, and the colour of a status.
    values: list[tuple[str, str, str, list[tuple[Any, str, int, str | None]]]] = [
        (
            "category",
            gettext("Categories"),
            gettext("All categories"),
            [(row, row.name, facets.categories.get(row.id, 0), None) for row in categories],
        ),
        (
            "status",
            gettext("Status"),
            gettext("Any status"),
            [(row, status_name(row), facets.statuses.get(row.id, 0), row.color or "") for row in statuses],
        ),
        (
            "kind",
            gettext("Kind"),
            gettext("Any kind"),
            [(kind, str(name), facets.kinds.get(kind, 0), None) for kind, name in KIND_NAMES.items()],
        ),
        ("tag", gettext("Tags"), gettext("Any tag"), [(tag, tag, count, None) for tag, count in facets.tags.items()]),
    ]
    groups = []
    for key, title, any_name, choices in values:
        selected = getattr(filters, key)
        options = [
            FilterOption(name, link(replace(filters, **{key: value})), count, value == selected, color)
            for value, name, count, color in choices
            if count or value == selected or key == "category"
        ]
        # A filter with a single value offers no choice, unless it can be removed.
        is_offered = key == "tag" or (key != "category" and selected is not None)
        if len(options) > 1 or (options and is_offered):
            any_path = link(filters.remove(key))
            groups.append(FilterGroup(key, title, any_name, any_path, options, selected is not None))
    return groups
