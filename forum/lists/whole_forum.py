"""The list of a whole forum, with filters.

Without a filter, each order has an index, as in the lists of categories (`forum.lists.queries`). A filter can be combined with any other filter and
with any order, so no single index serves the query. The number of posts that match (`forum.lists.facets`) selects one of two ways:

- More than `MAX_COLLECTED` posts match: a scan in the order of the list soon finds a page of them.
- At most `MAX_COLLECTED` posts match: such a scan could read the whole forum. Instead the query collects the posts from the indexes of
  the filters, and sorts them.

The number only affects the speed: both ways return the same posts.

The team has further orders and filters (`forum.lists.team_filters`). PostgreSQL chooses the way for these.
"""

from typing import Any

from django.db import models
from django.db.models.expressions import RawSQL

from accounts.account.models import Account
from accounts.users.models import User
from forum.lists.facets import NO_SELECTION, FacetSelection, count_facets
from forum.lists.queries import Columns, PostQuerySet, closed_author_id, merge_partitions, values_by_id
from forum.lists.team_filters import NO_FILTER, TeamFilter, TeamOrder

MAX_COLLECTED = 1000


def page_of_forum(
    user: User | None,
    columns: Columns,
    *,
    account: Account,
    forum_id: int,
    selection: FacetSelection,
    matches: int | None = None,
    order: str,
    start: int,
    size: int,
) -> list[tuple[Any, ...]]:
    """Return the columns of `size` posts of a forum's list, from the offset `start`.

    `matches` is the number of posts in the selection, if the caller knows it.
    """
    if selection == NO_SELECTION or can_use_category_index(selection, order):
        return account.posts.page(
            user,
            columns,
            account_id=account.id,
            forum_id=forum_id,
            category_id=selection.category_id,
            whole_forum=selection == NO_SELECTION,
            order=order,
            status_id=selection.status_id,
            start=start,
            size=size,
        )
    if matches is None:
        is_team = user is not None and user.is_team
        matches = count_facets(account.id, forum_id, selection, include_closed=is_team).total
    if matches <= MAX_COLLECTED:
        page = _collected(account, forum_id, user, selection, order, start=start, size=size)
    else:
        page = _merged(account, forum_id, user, selection, order, start=start, size=size)
    return list(page.values_list(*columns))


def page_of_team(
    user: User,
    columns: Columns,
    *,
    account: Account,
    forum_id: int,
    selection: FacetSelection,
    order: str | TeamOrder,
    team_filter: TeamFilter = NO_FILTER,
    start: int,
    size: int,
) -> list[tuple[object, ...]]:
    """Return the columns of `size` posts of a forum's list for the team, from the offset `start`.

    `order` is one of `PostQuerySet.PAGE_ORDERS`, or an order of the team. Raise `TooSlow` if the filter takes too long.
    """
    with team_filter.limited(account):
        if isinstance(order, TeamOrder):
            posts = account.posts.of_forum(forum_id).selected(selection)
            page = order.sort(team_filter.select(posts.listed_for(user)), account)[start : start + size]
        else:
            page = _merged(account, forum_id, user, selection, order, team_filter, start=start, size=size)
        # The texts of a post are read only for the page.
        ids = list(page.values_list("id", flat=True))
    return values_by_id(account, ids, columns)


def can_use_category_index(selection: FacetSelection, order: str) -> bool:
    """Return whether an index of categories serves the list.

    Such an index exists for each order of a category's list. For a status in a category, an index exists only for the order `new`.
    """
    if selection.category_id is None or selection.kind is not None or selection.tag is not None:
        return False
    return order == "new" if selection.status_id is not None else order in PostQuerySet.ORDERS


def _merged(
    account: Account,
    forum_id: int,
    user: User | None,
    selection: FacetSelection,
    order: str,
    team_filter: TeamFilter = NO_FILTER,
    *,
    start: int,
    size: int,
) -> models.QuerySet[models.Model]:
    columns = {"category_id": selection.category_id, "status_id": selection.status_id}
    others = FacetSelection(kind=selection.kind, tag=selection.tag)

    def select(posts: PostQuerySet) -> models.QuerySet[models.Model]:
        return team_filter.select(posts.selected(others))

    return merge_partitions(
        account,
        closed_author_id(user),
        order,
        {"forum_id": forum_id, **{name: value for name, value in columns.items() if value is not None}},
        select if team_filter or others != NO_SELECTION else None,
        start=start,
        size=size,
        stop=start + size,
    )


def _collected(
    account: Account, forum_id: int, user: User | None, selection: FacetSelection, order: str, *, start: int, size: int
) -> models.QuerySet[models.Model]:
    order_by = PostQuerySet.PAGE_ORDERS[order]
    rows = account.posts.listed_for(user).of_forum(forum_id).selected(selection).order_by()
    text, values = rows.values(*(name.removeprefix("-") for name in order_by)).query.sql_with_params()
    keys = ", ".join(f"{name.removeprefix('-')} {'DESC' if name.startswith('-') else 'ASC'}" for name in order_by)
    # Without MATERIALIZED, PostgreSQL would scan the posts in the order of the list if it expects many matches.
    page = f"WITH found AS MATERIALIZED ({text}) SELECT id FROM found ORDER BY {keys} LIMIT %s OFFSET %s"  # noqa: S608
    ids = RawSQL(page, (*values, size, start))  # noqa: S611
    return account.posts.filter(id__in=ids).order_by(*order_by)
