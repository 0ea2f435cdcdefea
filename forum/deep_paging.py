"""Deep pages of a category's list: start near the page instead of skipping all posts before it.

`OFFSET 100000` makes PostgreSQL read 100,000 entries of an index. To avoid that, *checkpoints* divide a category's posts, ordered by
age, into segments of about SEGMENT_LENGTH posts. The posts of each segment are counted by visibility partition (column `shelf`) and
status. The query of a deep page adds up these counts, starts at the last checkpoint before the page, and skips only the posts
between the checkpoint and the page.

A write does not change the counts, because then all writes in a category would wait for each other. Instead, a trigger inserts a
*delta*: a row with one post more, or one less, at the place of that post. A reader adds the deltas to the counts, so that the sum is
correct in every snapshot. If there are many deltas, or if a segment has become too long, the reader runs `compact`: one statement
deletes the counts and deltas of its snapshot and inserts new counts. Deltas that are committed meanwhile are not part of that snapshot,
nor are their posts, so these deltas stay for the next compaction.

Only the lists of categories use the counts, and the counts may be deleted at any time. Without counts a list skips the posts before the
page, and the next reader of a deep page counts the posts again. After changing posts with triggers disabled, delete the counts.
"""

from datetime import datetime
from functools import cache
from typing import NamedTuple

from django.db import connection, migrations, models, transaction
from django.db.models import Count
from psycopg.types.numeric import Int8

from accounts.models import Account
from core.db import locks
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
        """Compact the categories that have collected many deltas because no reader came to their deep pages."""
        deltas = self.filter(is_mark=False).values_list("account_id", "category_id").order_by()
        for account_id, category_id in (
            deltas.annotate(deltas=Count("number"))
            .filter(deltas__gt=MAX_DELTAS)
            .values_list("account_id", "category_id")
        ):
            compact(account_id, category_id)


class PostCount(models.Model):
    """A number of posts in one visibility partition and status: of the segment that begins here, or a delta at this place."""

    pk = models.CompositePrimaryKey("account_id", "category_id", "created_at", "id", "number")
    # The ids are copies of a post's ids, which its own foreign keys check. Further foreign keys would cost time with each post.
    # A status may also be deleted before its counts are compacted.
    account = models.ForeignKey(Account, models.CASCADE, related_name="+", db_index=False, db_constraint=False)
    category_id = models.BigIntegerField()
    created_at = models.DateTimeField()
    id = models.BigIntegerField()
    # A number that distinguishes rows at the same place.
    number = models.BigIntegerField()
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
    """Replace the counts and deltas by new counts, and divide long segments. Do nothing while another transaction compacts."""
    with transaction.atomic(), connection.cursor() as cursor:
        if locks.try_acquire(("posts of", account_id, category_id)):
            # The first compaction counts all posts of the category.
            with connection.without_statement_timeout():  # type: ignore[attr-defined]  # a method of config/database
                cursor.execute(
                    COMPACT, {"account_id": account_id, "category_id": category_id, "length": SEGMENT_LENGTH}
                )


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


COMPACT = """
WITH deleted AS (
    DELETE FROM forum_postcount WHERE account_id = %(account_id)s AND category_id = %(category_id)s
    RETURNING created_at, id, is_mark, shelf, status_id, posts
), numbered AS (
    -- The posts before the first checkpoint form a segment too, which begins at year 1.
    SELECT *, count(*) FILTER (WHERE is_mark) OVER (ORDER BY created_at, id) AS segment
    FROM (SELECT * FROM deleted UNION ALL VALUES ('0001-01-01 UTC'::timestamptz, 0, true, 0, 0, 0)) AS rows
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
    JOIN forum_post AS post ON account_id = %(account_id)s AND category_id = %(category_id)s AND shelf IN (1, 2)
        AND (post.created_at, post.id) >= (long.created_at, long.id)
        AND (post.created_at, post.id) < (coalesce(next_created_at, 'infinity'), coalesce(next_id, 0))
), pieces AS (
    SELECT first_value(created_at) OVER piece AS created_at, first_value(id) OVER piece AS id, shelf, status_id
    FROM divided WINDOW piece AS (PARTITION BY segment, piece ORDER BY created_at, id)
)
INSERT INTO forum_postcount (account_id, category_id, created_at, id, number, is_mark, shelf, status_id, posts)
SELECT %(account_id)s, %(category_id)s, created_at, id, nextval('forum_postcount_numbers'), true, shelf, status_id, posts
FROM (
    SELECT created_at, id, shelf, status_id, posts FROM counted WHERE posts <> 0 AND NOT is_long
    UNION ALL
    SELECT created_at, id, shelf, status_id, count(*) FROM pieces GROUP BY created_at, id, shelf, status_id
) AS new_counts
"""


# Migrations

INSERT_DELTA = """
    INSERT INTO forum_postcount (account_id, category_id, created_at, id, number, is_mark, shelf, status_id, posts)
    VALUES ({0}.account_id, {0}.category_id, {0}.created_at, {0}.id, nextval('forum_postcount_numbers'), false, {0}.shelf,
        {0}.status_id, {1});
"""

CREATE_TRIGGERS = f"""
CREATE SEQUENCE forum_postcount_numbers;

CREATE FUNCTION note_post() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.shelf > 0 THEN {INSERT_DELTA.format("OLD", -1)} END IF;
    IF NEW.shelf > 0 THEN {INSERT_DELTA.format("NEW", 1)} END IF;
    RETURN NULL;
END $$;

CREATE TRIGGER note_post AFTER INSERT OR DELETE ON forum_post FOR EACH ROW EXECUTE FUNCTION note_post();
CREATE TRIGGER note_moved_post AFTER UPDATE ON forum_post FOR EACH ROW
    WHEN ((OLD.category_id, OLD.shelf, OLD.status_id, OLD.created_at, OLD.id)
        IS DISTINCT FROM (NEW.category_id, NEW.shelf, NEW.status_id, NEW.created_at, NEW.id))
    EXECUTE FUNCTION note_post();

CREATE FUNCTION drop_counts() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM forum_postcount WHERE account_id = OLD.account_id AND category_id = OLD.id;
    RETURN NULL;
END $$;

-- The posts of a category are deleted before it and leave deltas.
CREATE TRIGGER drop_counts AFTER DELETE ON forum_category FOR EACH ROW EXECUTE FUNCTION drop_counts();
"""  # noqa: S608

DROP_TRIGGERS = """
DROP TRIGGER drop_counts ON forum_category;
DROP TRIGGER note_moved_post ON forum_post;
DROP TRIGGER note_post ON forum_post;
DROP FUNCTION drop_counts();
DROP FUNCTION note_post();
DROP SEQUENCE forum_postcount_numbers;
"""


def create_delta_triggers() -> migrations.RunSQL:
    """Return the operation that creates the triggers which insert deltas."""
    return migrations.RunSQL(CREATE_TRIGGERS, DROP_TRIGGERS)
