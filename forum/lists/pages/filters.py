"""The filters of the list of suggestions: category, status, kind and tag. Their values are part of the URL."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from django.http import Http404, QueryDict
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from accounts.statuses.default_names import status_name
from accounts.statuses.models import Status
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
    """A value of a filter: a link to the list with this value instead of the present one."""

    name: str
    filters: Filters
    count: int
    is_selected: bool
    # The colour of a status.
    color: str | None = None


@dataclass(frozen=True)
class FilterGroup:
    """A filter with its values."""

    key: str
    title: str
    any_name: str
    any_filters: Filters
    options: list[FilterOption]
    is_selected: bool


def filter_groups(
    filters: Filters, facets: Facets, categories: Sequence[Category], statuses: Sequence[Status]
) -> list[FilterGroup]:
    """Return the filters with their values. Values that no post has are left out, except categories and selected values."""
    groups = [
        FilterGroup(
            "category",
            gettext("Categories"),
            gettext("All categories"),
            filters.remove("category"),
            [
                FilterOption(
                    row.name,
                    replace(filters, category=row),
                    facets.categories.get(row.id, 0),
                    filters.category is not None and filters.category.id == row.id,
                )
                for row in categories
            ]
            if len(categories) > 1
            else [],
            filters.category is not None,
        ),
        FilterGroup(
            "status",
            gettext("Status"),
            gettext("Any status"),
            filters.remove("status"),
            [
                FilterOption(
                    status_name(row),
                    replace(filters, status=row),
                    facets.statuses.get(row.id, 0),
                    filters.status is not None and filters.status.id == row.id,
                    row.color or "",
                )
                for row in statuses
            ],
            filters.status is not None,
        ),
        FilterGroup(
            "kind",
            gettext("Kind"),
            gettext("Any kind"),
            filters.remove("kind"),
            [
                FilterOption(str(name), replace(filters, kind=kind), facets.kinds.get(kind, 0), filters.kind == kind)
                for kind, name in KIND_NAMES.items()
            ],
            filters.kind is not None,
        ),
        FilterGroup(
            "tag",
            gettext("Tags"),
            gettext("Any tag"),
            filters.remove("tag"),
            [
                FilterOption(tag, replace(filters, tag=tag), count, filters.tag == tag)
                for tag, count in facets.tags.items()
            ],
            filters.tag is not None,
        ),
    ]
    return [
        replace(group, options=options)
        for group in groups
        if (
            options := [
                option for option in group.options if option.count or option.is_selected or group.key == "category"
            ]
        )
        # A filter with a single value offers no choice.
        and (len(options) > 1 or group.is_selected or group.key == "tag")
    ]
