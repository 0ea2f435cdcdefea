"""The list of a whole forum, with filters.

Without a filter, each order has an index, as in the lists of categories (`forum.lists.queries`). A filter can be combined with any other filter and
with any order, so no single index serves the query. The number of posts that match (`forum.lists.facets`) selects one of two ways:

- More than `MAX_COLLECTED` posts match: a scan in the order of the list soon finds a page of them.
- At most `MAX_COLLECTED` posts match: such a scan could read the whole forum. Instead the query collects the posts from the indexes of
  the filters, and sorts them.

The list of open suggestions, which a forum begins with, is scanned if the open ones are at least a tenth of the forum. This query is
prepared, because most requests for a list are requests for this one.

The number only affects the speed: both ways return the same posts.

The team has further orders and filters (`forum.lists.team_filters`). PostgreSQL chooses the way for these.
"""

from dataclasses import dataclass
from typing import Any

from django.db import models
from django.db.models.expressions import RawSQL

from accounts.account.models import Account
from accounts.users.models import User
from core.db.text import is_xml_text
from core.search.queries import search, search_transaction
from forum.lists.facets import NO_SELECTION, Facets, FacetSelection, condition_of, count_facets
from forum.lists.queries import (
    Columns,
    PostQuerySet,
    closed_author_id,
    merge_partitions,
    page_limits,
    page_of_posts,
    values_by_id,
)
from forum.lists.team_filters import NO_FILTER, TeamFilter, TeamOrder

MAX_COLLECTED = 1000


@dataclass(frozen=True)
class ForumList:
    """The list of a forum as a user, or a visitor (None), sees it: the columns of `size` posts from the offset `start`."""

    account: Account
    forum_id: int
    user: User | None
    columns: Columns
    start: int
    size: int
    selection: FacetSelection = NO_SELECTION
    team_filter: TeamFilter = NO_FILTER

    def page(self, order: str | TeamOrder, *, facets: Facets | None = None) -> list[tuple[Any, ...]]:
        """Return the posts in one of `PostQuerySet.PAGE_ORDERS`, or in an order of the team.

        `facets` are those of the selection, if the caller knows them. Raise `TooSlow` if the filter of the team takes too long.
        """
        selection = self.selection
        if isinstance(order, TeamOrder) or self.team_filter:
            return self._page_of_team(order)
        if selection == NO_SELECTION or can_use_category_index(selection, order):
            return self.page_of_category(order, whole_forum=selection == NO_SELECTION)
        if facets is None:
            is_team = self.user is not None and self.user.is_team
            facets = count_facets(self.account.id, self.forum_id, selection, include_closed=is_team)
        matches = facets.total
        if selection.values.keys() == {"status_id"} and selection.tag is None and matches * 10 >= facets.of_any_status:
            return self.page_of_category(order, whole_forum=True)
        page = self._collected(order) if matches <= MAX_COLLECTED else self._merged(order)
        return list(page.values_list(*self.columns))

    def page_of_category(self, order: str, *, whole_forum: bool = False) -> list[tuple[Any, ...]]:
        """Return the posts of the selected category, by default of the forum's first category, or those of the whole forum.

        Each order has one index, of the posts or of their sort keys. The query merges the open partition of the category with the part of
        the closed partition that the user may see, and reads no other row of the table. It skips the entries of the index before the page.
        """
        conditions = {
            "account_id": self.account.id,
            "forum_id": None if self.selection.category_ids else self.forum_id,
            "category_id": only(self.selection.category_ids),
            "status_id": only(self.selection.status_ids),
            "status_ids": [*self.selection.status_ids] if len(self.selection.status_ids) > 1 else None,
            "author_id": closed_author_id(self.user),
        }
        arguments = {name: value for name, value in conditions.items() if value is not None}
        arguments |= page_limits(self.start, self.size)
        return page_of_posts(columns=self.columns, order=order, whole_forum=whole_forum, **arguments)

    def search(self, text: str) -> list[tuple[Any, ...]]:
        """Return the posts that match the text, best matches first. Raise `TooSlow` if the filter of the team takes too long."""
        if not is_xml_text(text):
            return []
        stop = self.start + self.size
        with search_transaction(self.account.id, text, is_limited=bool(self.team_filter)) as query:
            list_rows = self.account.posts.live().without_tasks()
            ids = search(self.team_filter.select(self._posts()), query, list_rows=list_rows, enough=stop)
            return values_by_id(self.account, ids[self.start : stop], self.columns)

    def _posts(self) -> PostQuerySet:
        return self.account.posts.listed_for(self.user).of_forum(self.forum_id).selected(self.selection)

    def _page_of_team(self, order: str | TeamOrder) -> list[tuple[Any, ...]]:
        with self.team_filter.limited(self.account):
            if isinstance(order, TeamOrder):
                rows = order.sort(self.team_filter.select(self._posts()), self.account)
                page = rows[self.start : self.start + self.size]
            else:
                page = self._merged(order)
            # The texts of a post are read only for the page.
            ids = list(page.values_list("id", flat=True))
        return values_by_id(self.account, ids, self.columns)

    def _merged(self, order: str) -> models.QuerySet[models.Model]:
        columns: dict[str, Any] = {"forum_id": self.forum_id}
        for column, values in self.selection.values.items():
            if column != "kind":
                columns |= condition_of(column, values)
        others = FacetSelection(kinds=self.selection.kinds, tag=self.selection.tag)

        def select(posts: PostQuerySet) -> models.QuerySet[models.Model]:
            return self.team_filter.select(posts.selected(others))

        return merge_partitions(
            self.account,
            closed_author_id(self.user),
            order,
            columns,
            select if self.team_filter or others != NO_SELECTION else None,
            start=self.start,
            size=self.size,
            stop=self.start + self.size,
        )

    def _collected(self, order: str) -> models.QuerySet[models.Model]:
        order_by = PostQuerySet.PAGE_ORDERS[order]
        rows = self._posts().order_by().values(*(name.removeprefix("-") for name in order_by))
        text, values = rows.query.sql_with_params()
        keys = ", ".join(f"{name.removeprefix('-')} {'DESC' if name.startswith('-') else 'ASC'}" for name in order_by)
        # Without MATERIALIZED, PostgreSQL would scan the posts in the order of the list if it expects many matches.
        page = f"WITH found AS MATERIALIZED ({text}) SELECT id FROM found ORDER BY {keys} LIMIT %s OFFSET %s"  # noqa: S608
        ids = RawSQL(page, (*values, self.size, self.start))  # noqa: S611
        return self.account.posts.filter(id__in=ids).order_by(*order_by)


def can_use_category_index(selection: FacetSelection, order: str) -> bool:
    """Return whether an index of categories serves the list.

    Such an index exists for each order of a category's list. For a status in a category, an index exists only for the order `new`.
    """
    if (
        len(selection.category_ids) != 1
        or selection.kinds
        or selection.tag is not None
        or len(selection.status_ids) > 1
    ):
        return False
    return order == "new" if selection.status_ids else order in PostQuerySet.ORDERS


def only(values: tuple[int, ...]) -> int | None:
    return values[0] if len(values) == 1 else None
