"""Deep pages of a category's list: start near the page instead of skipping all posts before it.

`OFFSET 100000` makes PostgreSQL read 100,000 entries of an index. To avoid that, *checkpoints* divide a category's posts, ordered by
age, into segments of about SEGMENT_LENGTH posts. The posts of each segment are counted by visibility partition (column `shelf`) and
status. The query of a deep page adds up these counts, starts at the last checkpoint before the page, and skips only the posts
between the checkpoint and the page.

A write inserts a delta at the place of its post (`core.db.counters`), and the reader adds the deltas to the counts. If there are many
deltas, or if a segment has become too long, the reader runs `compact`, which also divides long segments.

Only the lists of categories use the counts, and the counts may be deleted at any time. Without counts a list skips the posts before the
page, and the next reader of a deep page counts the posts again. After changing posts with triggers disabled, delete the counts.
"""

from datetime import datetime
from functools import cache
from typing import NamedTuple

from django.db import models
from psycopg.types.numeric import Int8

from core.db.counters import Counter, CountModel
from core.db.prepared import fetch

# The number of posts in a new segment. A segment with more than twice as many posts is divided.
SEGMENT_LENGTH = 1000
# A category with more deltas than this is compacted.
MAX_DELTAS = 1000
# Below this offset, skipping posts is as fast as looking up a checkpoint.
MIN_OFFSET = 2500

# The orders that have checkpoints: the ORDER BY clause, and the frame of the counts that precede a checkpoint. In descending order
# the list reaches the posts of a segment before its checkpoint.
ORDERS = {
    "new": ("created_at DESC, id DESC", "GROUPS UNBOUNDED PRECEDING"),
    "old": ("created_at, id", "GROUPS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING"),
}


class PostCountQuerySet(models.QuerySet["PostCount"]):
    def clean_up(self) -> None:
        """Compact the categories that have collected many deltas because nobody has opened their deep pages."""
        for account_id, category_id in COUNTER.groups_to_compact(MAX_DELTAS):
            compact(account_id, category_id)


class PostCount(CountModel):
    """A number of posts in one visibility partition and status: of the segment that begins here, or a delta at this place."""

    pk = models.CompositePrimaryKey("account_id", "category_id", "created_at", "id", "number")
    category_id = models.BigIntegerField()
    created_at = models.DateTimeField()
    id = models.BigIntegerField()
    # True for the counts of a checkpoint, false for a delta.
    is_mark = models.BooleanField()
    shelf = models.SmallIntegerField()
    status_id = models.BigIntegerField()
    posts = models.IntegerField()

    objects = PostCountQuerySet.as_manager()

    def __str__(self) -> str:
        return f"{self.posts:+} {'after' if self.is_mark else 'at'} {self.created_at} {self.id}"


class Checkpoint(NamedTuple):
    """A place in a list from which a page can be read. Without an `id`, the place is the beginning of the list."""

    # None if the forum has no category.
    category_id: int | None
    # The number of deltas before the checkpoint.
    deltas: int
    created_at: datetime | None
    id: int | None
    # The number of posts of the list before the checkpoint.
    skipped: int


def find_checkpoint(order: str, offset: int, **selection: int) -> Checkpoint:
    """Return the last checkpoint at or before the offset. `selection` selects the list, as for `page_of_posts`."""
    values = {name: Int8(value) for name, value in (*selection.items(), ("offset", offset))}
    rows = fetch(_checkpoint_sql(order, frozenset(selection)), values)
    return Checkpoint(*rows[0]) if rows else Checkpoint(None, 0, None, None, 0)


def compact(account_id: int, category_id: int) -> None:
    """Replace the counts and deltas by new counts, and divide long segments. The first compaction counts all posts of the category."""
    COUNTER.compact(account_id, category_id, length=SEGMENT_LENGTH)


@cache
def _checkpoint_sql(order: str, parameters: frozenset[str]) -> str:
    if "category_id" in parameters:
        category = "SELECT %(category_id)s AS id"
    else:
        category = """SELECT id FROM forum_category WHERE account_id = %(account_id)s AND forum_id = %(forum_id)s
            ORDER BY position, id LIMIT 1"""
    of_category = "account_id = %(account_id)s AND category_id = (SELECT id FROM category)"
    conditions = ["true"]
    if "status_id" in parameters:
        conditions.append("status_id = %(status_id)s")
    if "author_id" in parameters:
        conditions.append("(shelf = 1 OR is_mark IS NULL)")
    # The author's own closed posts are counted one by one. Their `is_mark` is null.
    own = f"""
        UNION ALL SELECT created_at, id, NULL::boolean, 1, shelf, status_id FROM forum_post
        WHERE {of_category} AND shelf = 2 AND user_id = %(author_id)s"""  # noqa: S608
    order_by, frame = ORDERS[order]
    # PostgreSQL reads the index in order, and only as far as the first checkpoint after the offset.
    return f"""
    WITH category AS ({category})
    SELECT category.id, coalesce(deltas, 0), created_at, checkpoint.id, coalesce(skipped, 0) FROM category LEFT JOIN (
        SELECT * FROM (
            SELECT *, lead(skipped) OVER (ORDER BY {order_by}) AS next_skipped FROM (
                SELECT created_at, id, is_mark, count(*) FILTER (WHERE NOT is_mark) OVER preceding AS deltas,
                    coalesce(sum(posts) FILTER (WHERE {" AND ".join(conditions)}) OVER preceding, 0)::bigint AS skipped
                FROM (
                    SELECT created_at, id, is_mark, posts, shelf, status_id FROM forum_postcount WHERE {of_category}
                    {own if "author_id" in parameters else ""}
                ) AS counts WINDOW preceding AS (ORDER BY {order_by} {frame})
            ) AS summed WHERE is_mark
        ) AS checkpoints WHERE skipped <= %(offset)s AND (next_skipped > %(offset)s OR next_skipped IS NULL) LIMIT 1
    ) AS checkpoint ON true
    """  # noqa: S608


# The counts after a compaction, from the rows that it deleted.
NEW_COUNTS = """
WITH numbered AS (
    -- The posts before the first checkpoint form a segment too, which begins at year 1.
    SELECT *, count(*) FILTER (WHERE is_mark) OVER (ORDER BY created_at, id) AS segment
    FROM (
        SELECT created_at, id, is_mark, shelf, status_id, posts FROM deleted
        UNION ALL VALUES ('0001-01-01 UTC'::timestamptz, 0, true, 0, 0, 0)
    ) AS rows
), counted AS (
    -- All counts of a checkpoint are at the same place.
    SELECT segment, shelf, status_id, sum(posts) AS posts,
        min(min(created_at) FILTER (WHERE is_mark)) OVER within AS created_at,
        min(min(id) FILTER (WHERE is_mark)) OVER within AS id,
        sum(sum(posts)) OVER within > 2 * %(length)s OR NOT EXISTS (SELECT FROM deleted WHERE is_mark) AS is_long
    FROM numbered GROUP BY segment, shelf, status_id WINDOW within AS (PARTITION BY segment)
), bounded AS (
    SELECT *, min(created_at) OVER following AS next_created_at, min(id) OVER following AS next_id
    FROM counted WINDOW following AS (ORDER BY segment GROUPS BETWEEN 1 FOLLOWING AND 1 FOLLOWING)
), divided AS (
    SELECT segment, post.created_at, post.id, shelf, status_id,
        (row_number() OVER (PARTITION BY segment ORDER BY post.created_at, post.id) - 1) / %(length)s AS piece
    FROM (SELECT DISTINCT segment, created_at, id, next_created_at, next_id FROM bounded WHERE is_long) AS long
    JOIN forum_post AS post ON account_id = %(account_id)s AND category_id = %(group_id)s AND shelf IN (1, 2)
        AND (post.created_at, post.id) >= (long.created_at, long.id)
        AND (post.created_at, post.id) < (coalesce(next_created_at, 'infinity'), coalesce(next_id, 0))
), pieces AS (
    SELECT first_value(created_at) OVER piece AS created_at, first_value(id) OVER piece AS id, shelf, status_id
    FROM divided WINDOW piece AS (PARTITION BY segment, piece ORDER BY created_at, id)
)
SELECT %(account_id)s, %(group_id)s, created_at, id, true, shelf, status_id, posts
FROM (
    SELECT created_at, id, shelf, status_id, posts FROM counted WHERE posts <> 0 AND NOT is_long
    UNION ALL
    SELECT created_at, id, shelf, status_id, count(*) FROM pieces GROUP BY created_at, id, shelf, status_id
) AS new_counts
"""

COUNTER = Counter(
    table="forum_postcount",
    count="posts",
    columns=("category_id", "created_at", "id", "is_mark", "shelf", "status_id"),
    group="category_id",
    source="forum_post",
    values=(
        (
            "{row}.shelf > 0",
            "SELECT {row}.category_id, {row}.created_at, {row}.id, false, {row}.shelf, {row}.status_id",
        ),
    ),
    deltas="SELECT account_id, category_id, 1 AS deltas FROM forum_postcount WHERE NOT is_mark",
    compacted=NEW_COUNTS,
)
