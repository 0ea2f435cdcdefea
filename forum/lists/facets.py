"""The numbers of posts by category, status, kind and tag, which the list of a forum shows beside its filters.

The table `FacetCount` has the numbers for each combination of values (`core.rows.counters`), so its size depends on the number of
combinations, not on the number of posts.

Each post counts in one row of the level `POST`, with its category, status and kind. Each tag of the post counts in two more rows: one of
the level `TAG` with the tag alone, and one of the level `TAG_OF_POST` with the tag, category, status and kind.
"""

from functools import cache
from typing import Any, NamedTuple

from django.db import models
from psycopg.types.numeric import Int8

from core.db.prepared import fetch
from core.rows.counters import Counter, CountModel

# The filters show at most this number of tags, the most common ones.
MAX_TAGS = 20
# A forum is compacted if it has more deltas than this.
MAX_DELTAS = 500


class Level(models.IntegerChoices):
    """The kind of a row of `FacetCount`. It determines which columns of the row have values."""

    POST = 0
    TAG = 1
    TAG_OF_POST = 2


class FacetCountQuerySet(models.QuerySet["FacetCount"]):
    def clean_up(self) -> None:
        """Compact the forums that have collected many deltas."""
        for account_id, forum_id in COUNTER.groups_to_compact(MAX_DELTAS):
            COUNTER.compact(account_id, forum_id)


class FacetCount(CountModel):
    """A number of posts of a forum with the same values."""

    pk = models.CompositePrimaryKey(
        "account_id", "forum_id", "level", "tag", "category_id", "status_id", "kind", "visibility", "number"
    )
    forum_id = models.BigIntegerField()
    level = models.SmallIntegerField(choices=Level.choices)
    # Empty, except for rows of a tag.
    tag = models.TextField()
    # 0 for rows of a tag alone, and an empty kind.
    category_id = models.BigIntegerField()
    status_id = models.BigIntegerField()
    kind = models.TextField()
    visibility = models.SmallIntegerField()
    posts = models.IntegerField()

    objects = FacetCountQuerySet.as_manager()

    def __str__(self) -> str:
        return (
            f"{self.posts:+} in category {self.category_id}, status {self.status_id}, kind {self.kind}, tag {self.tag}"
        )


COUNTER = Counter(
    table="forum_facetcount",
    count="posts",
    columns=("forum_id", "level", "tag", "category_id", "status_id", "kind", "visibility"),
    group="forum_id",
    source="forum_post",
    values=(
        (
            "{row}.visibility > 0",
            "SELECT {row}.forum_id, 0, '', {row}.category_id, {row}.status_id, {row}.kind, {row}.visibility",
        ),
        (
            "{row}.visibility > 0 AND {row}.tags <> '{{}}'",
            """
            SELECT {row}.forum_id, 1, tag, 0, 0, '', {row}.visibility FROM unnest({row}.tags) AS tag
            UNION ALL
            SELECT {row}.forum_id, 2, tag, {row}.category_id, {row}.status_id, {row}.kind, {row}.visibility
            FROM unnest({row}.tags) AS tag
            """,
        ),
    ),
)


class FacetSelection(NamedTuple):
    """The values by which a list is filtered: posts with one of the values of each filter. No values stand for all."""

    category_ids: tuple[int, ...] = ()
    status_ids: tuple[int, ...] = ()
    kinds: tuple[str, ...] = ()
    tag: str | None = None

    @property
    def values(self) -> dict[str, tuple[Any, ...]]:
        """The selected values of columns, by the name of the column."""
        values = {"category_id": self.category_ids, "status_id": self.status_ids, "kind": self.kinds}
        return {column: found for column, found in values.items() if found}


def condition_of(column: str, values: tuple[Any, ...]) -> dict[str, Any]:
    """Return the arguments of `filter` for the rows with one of the values in the column."""
    return {column: values[0]} if len(values) == 1 else {f"{column}__in": values}


NO_SELECTION = FacetSelection()


class Facets(NamedTuple):
    """The numbers of posts by value. Each is the length that the list would have with its filter changed to that value."""

    total: int
    categories: dict[int, int]
    statuses: dict[int, int]
    kinds: dict[str, int]
    # The `MAX_TAGS` most common tags and the selected tag. The tags that most posts of the whole forum have come first.
    tags: dict[str, int]

    @property
    def of_any_status(self) -> int:
        """The length of the list without its filter by status."""
        return sum(self.statuses.values())


def count_facets(account_id: int, forum_id: int, selection: FacetSelection, *, include_closed: bool) -> Facets:
    """Return the numbers of posts of a forum by value. `include_closed` is for the team, which sees all closed posts."""
    parameters: dict[str, Any] = {
        column: [Int8(value) if isinstance(value, int) else value for value in values]
        for column, values in selection.values.items()
    }
    if selection.tag is not None:
        parameters["tag"] = selection.tag
    statement = _facets_sql(frozenset(parameters))
    parameters |= {
        "account_id": Int8(account_id),
        "forum_id": Int8(forum_id),
        "max_visibility": 2 if include_closed else 1,
    }
    counts: dict[str, dict[str, int]] = {"category": {}, "status": {}, "kind": {}, "tag": {}, "total": {}}
    for dimension, value, posts in fetch(statement, parameters):
        counts[dimension][value] = posts
    return Facets(
        total=sum(counts["total"].values()),
        categories={int(value): posts for value, posts in counts["category"].items()},
        statuses={int(value): posts for value, posts in counts["status"].items()},
        kinds=counts["kind"],
        tags=counts["tag"],
    )


COLUMNS = {"category": "category_id", "status": "status_id", "kind": "kind"}


@cache
def _facets_sql(selected: frozenset[str]) -> str:
    def others(dimension: str) -> str:
        columns = (column for column in COLUMNS.values() if column in selected and column != dimension)
        return "".join(f" AND {column} = ANY(%({column})s)" for column in columns)

    of_forum = "account_id = %(account_id)s AND forum_id = %(forum_id)s AND visibility <= %(max_visibility)s"
    of_posts = "level = 2 AND tag = %(tag)s" if "tag" in selected else "level = 0"
    total = "SELECT coalesce(sum(posts), 0)::bigint FROM cube"
    selected_tag = f"UNION ALL SELECT %(tag)s::text, ({total})" if "tag" in selected else ""
    tag_counts = "posts"
    if selected - {"tag"}:
        tag_counts = f"""(
            SELECT coalesce(sum(posts), 0)::bigint FROM forum_facetcount
            WHERE {of_forum} AND level = 2 AND tag = tags.tag{others("")}
        )"""  # noqa: S608
    counts = [
        f"""UNION ALL SELECT '{name}', {column}::text, sum(posts)::bigint FROM cube
        WHERE true{others(column)} GROUP BY {column} HAVING sum(posts) > 0"""  # noqa: S608
        for name, column in COLUMNS.items()
    ]
    return f"""
    WITH cube AS MATERIALIZED (
        SELECT category_id, status_id, kind, sum(posts)::bigint AS posts FROM forum_facetcount
        WHERE {of_forum} AND {of_posts} GROUP BY category_id, status_id, kind
    ), common_tags AS MATERIALIZED (
        SELECT tag, sum(posts)::bigint AS posts FROM forum_facetcount WHERE {of_forum} AND level = 1
        GROUP BY tag HAVING sum(posts) > 0 ORDER BY sum(posts) DESC, tag LIMIT {MAX_TAGS}
    )
    SELECT 'total', '', coalesce(sum(posts), 0)::bigint AS posts FROM cube WHERE true{others("")}
    {" ".join(counts)}
    UNION ALL SELECT * FROM (
        SELECT 'tag', tag, {tag_counts} FROM (
            SELECT tag, max(posts) AS posts FROM (SELECT tag, posts FROM common_tags {selected_tag}) AS rows GROUP BY tag
        ) AS tags ORDER BY posts DESC, tag
    ) AS counted
    """  # noqa: S608
