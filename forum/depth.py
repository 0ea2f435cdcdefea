"""Deep pages of a category's list: start near the page instead of skipping all posts before it.

`OFFSET 100000` makes PostgreSQL read 100,000 entries of an index. To avoid that, a category's posts, in the order of their age, are
divided into segments of about LENGTH posts by *marks* (checkpoints), and the posts of each segment are counted by shelf and status.
The query of a deep page adds up these counts, starts at the last mark before the page, and skips only the posts between the two.

A write does not change the counts, or all writes in a category would wait for each other. A trigger inserts a row of its own
instead, a *note* (a delta): one post more, or one less, at that post's place. Whoever adds up the counts adds the notes too, so that
counts and notes together are right in every snapshot. When there are many notes, or a segment has become too long, a reader
runs `gather`: one statement deletes the counts and notes that its snapshot shows, and inserts new counts. Notes that are committed
meanwhile are not part of that snapshot, nor are their posts, so they stay for the next time.

Only these lists use the counts, and the counts may be deleted at any time. Without them a list skips the posts before the page, and the
next reader of a deep page counts again. After changing posts with triggers disabled, delete them.
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

# Of a stretch that is cut off. One that has become twice as long is cut again.
LENGTH = 1000
# So many are gathered.
NOTES = 1000
# Skipping less costs no more than finding a mark.
DEEP = 2500


# By order: how it goes, and which counts are passed at a mark. Newest first, a mark comes after its stretch.
DIRECTIONS = {
    "new": ("created_at DESC, id DESC", "GROUPS UNBOUNDED PRECEDING"),
    "old": ("created_at, id", "GROUPS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING"),
}


class PostCountQuerySet(models.QuerySet):
    def clean_up(self) -> None:
        """Gather wherever nobody comes far, so that notes do not pile up."""
        noted = self.filter(is_mark=False).values_list("account_id", "category_id").order_by()
        for account_id, category_id in (
            noted.annotate(notes=Count("number")).filter(notes__gt=NOTES).values_list("account_id", "category_id")
        ):
            gather(account_id, category_id)


class PostCount(models.Model):
    """So many more posts on a shelf and in a status: in the stretch that begins here, or, as a note, at this very place."""

    pk = models.CompositePrimaryKey("account_id", "category_id", "created_at", "id", "number")
    # None of the ids is a foreign key: they are those of a post, which are checked there, and a check would be paid for again by
    # each post. A status may be gone before what was counted of it is gathered.
    account = models.ForeignKey(Account, models.CASCADE, related_name="+", db_index=False, db_constraint=False)
    category_id = models.BigIntegerField()
    created_at = models.DateTimeField()
    id = models.BigIntegerField()
    # Tells rows of the same place apart.
    number = models.BigIntegerField()
    is_mark = models.BooleanField()
    shelf = models.SmallIntegerField()
    status_id = models.BigIntegerField()
    posts = models.IntegerField()

    objects = PostCountQuerySet.as_manager()

    def __str__(self) -> str:
        return f"{self.posts:+} {'after' if self.is_mark else 'at'} {self.created_at} {self.id}"


class Entry(NamedTuple):
    """Where a list is entered: at a mark, or at its beginning if there is none on the way."""

    category_id: int | None
    # So many are passed on the way.
    notes: int
    created_at: datetime | None
    id: int | None
    # So many of the list are before it.
    skipped: int


def find(order: str, row: int, **given: int) -> Entry:
    """The last mark before that row of the list; `given` says which list it is, as for its page."""
    values = {name: Int8(value) for name, value in (*given.items(), ("row", row))}
    found = fetch(_find(order, frozenset(given)), values)
    return Entry(*found[0]) if found else Entry(None, 0, None, None, 0)


def gather(account_id: int, category_id: int) -> None:
    """Count what is noted or not counted yet, and cut what is long; nothing, if somebody is at it."""
    with transaction.atomic(), connection.cursor() as cursor:
        if locks.try_acquire("posts of", account_id, category_id):
            # The first time, it counts them all.
            with connection.without_statement_timeout():
                cursor.execute(GATHER, {"account_id": account_id, "category_id": category_id, "length": LENGTH})


@cache
def _find(order: str, given: frozenset[str]) -> str:
    if "category_id" in given:
        category = "SELECT %(category_id)s AS id"
    else:
        category = """SELECT id FROM forum_category WHERE account_id = %(account_id)s AND forum_id = %(forum_id)s
            ORDER BY position, id LIMIT 1"""
    of_category = "account_id = %(account_id)s AND category_id = (SELECT id FROM category)"
    wanted = ["true"]
    if "status_id" in given:
        wanted.append("status_id = %(status_id)s")
    if "author_id" in given:
        wanted.append("(shelf = 1 OR is_mark IS NULL)")
    # The author's own ones are neither marks nor notes.
    own = f"""
        UNION ALL SELECT created_at, id, NULL::boolean, 1, shelf, status_id FROM forum_post
        WHERE {of_category} AND shelf = 2 AND user_id = %(author_id)s"""  # noqa: S608
    way, passed = DIRECTIONS[order]
    # From one count to the next, in the order of the index, and no further than to the first mark that is beyond the row.
    return f"""
    WITH category AS ({category})
    SELECT category.id, coalesce(notes, 0), created_at, mark.id, coalesce(skipped, 0) FROM category LEFT JOIN (
        SELECT * FROM (
            SELECT *, lead(skipped) OVER (ORDER BY {way}) AS next_skipped FROM (
                SELECT created_at, id, is_mark, count(*) FILTER (WHERE NOT is_mark) OVER passed AS notes,
                    coalesce(sum(posts) FILTER (WHERE {" AND ".join(wanted)}) OVER passed, 0)::bigint AS skipped
                FROM (
                    SELECT created_at, id, is_mark, posts, shelf, status_id FROM forum_postcount WHERE {of_category}
                    {own if "author_id" in given else ""}
                ) AS counts WINDOW passed AS (ORDER BY {way} {passed})
            ) AS summed WHERE is_mark
        ) AS marks WHERE skipped <= %(row)s AND (next_skipped > %(row)s OR next_skipped IS NULL) LIMIT 1
    ) AS mark ON true
    """  # noqa: S608


GATHER = """
WITH gone AS (
    DELETE FROM forum_postcount WHERE account_id = %(account_id)s AND category_id = %(category_id)s
    RETURNING created_at, id, is_mark, shelf, status_id, posts
), placed AS (
    -- What is before the first mark is a stretch too.
    SELECT *, count(*) FILTER (WHERE is_mark) OVER (ORDER BY created_at, id) AS stretch
    FROM (SELECT * FROM gone UNION ALL VALUES ('0001-01-01 UTC'::timestamptz, 0, true, 0, 0, 0)) AS rows
), marked AS (
    -- The marks of a stretch are all at the same place.
    SELECT stretch, shelf, status_id, sum(posts) AS posts,
        min(min(created_at) FILTER (WHERE is_mark)) OVER within AS created_at,
        min(min(id) FILTER (WHERE is_mark)) OVER within AS id,
        sum(sum(posts)) OVER within > 2 * %(length)s OR NOT EXISTS (SELECT FROM gone WHERE is_mark) AS is_long
    FROM placed GROUP BY stretch, shelf, status_id WINDOW within AS (PARTITION BY stretch)
), ended AS (
    SELECT *, min(created_at) OVER following AS next_created_at, min(id) OVER following AS next_id
    FROM marked WINDOW following AS (ORDER BY stretch GROUPS BETWEEN 1 FOLLOWING AND 1 FOLLOWING)
), cut AS (
    SELECT stretch, post.created_at, post.id, shelf, status_id,
        (row_number() OVER (PARTITION BY stretch ORDER BY post.created_at, post.id) - 1) / %(length)s AS piece
    FROM (SELECT DISTINCT stretch, created_at, id, next_created_at, next_id FROM ended WHERE is_long) AS long
    JOIN forum_post AS post ON account_id = %(account_id)s AND category_id = %(category_id)s AND shelf IN (1, 2)
        AND (post.created_at, post.id) >= (long.created_at, long.id)
        AND (post.created_at, post.id) < (coalesce(next_created_at, 'infinity'), coalesce(next_id, 0))
), pieces AS (
    SELECT first_value(created_at) OVER piece AS created_at, first_value(id) OVER piece AS id, shelf, status_id
    FROM cut WINDOW piece AS (PARTITION BY stretch, piece ORDER BY created_at, id)
)
INSERT INTO forum_postcount (account_id, category_id, created_at, id, number, is_mark, shelf, status_id, posts)
SELECT %(account_id)s, %(category_id)s, created_at, id, nextval('forum_postcount_numbers'), true, shelf, status_id, posts
FROM (
    SELECT created_at, id, shelf, status_id, posts FROM marked WHERE posts <> 0 AND NOT is_long
    UNION ALL
    SELECT created_at, id, shelf, status_id, count(*) FROM pieces GROUP BY created_at, id, shelf, status_id
) AS counted
"""


# Migrations

NOTE = """
    INSERT INTO forum_postcount (account_id, category_id, created_at, id, number, is_mark, shelf, status_id, posts)
    VALUES ({0}.account_id, {0}.category_id, {0}.created_at, {0}.id, nextval('forum_postcount_numbers'), false, {0}.shelf,
        {0}.status_id, {1});
"""

CREATE_NOTES = f"""
CREATE SEQUENCE forum_postcount_numbers;

CREATE FUNCTION note_post() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.shelf > 0 THEN {NOTE.format("OLD", -1)} END IF;
    IF NEW.shelf > 0 THEN {NOTE.format("NEW", 1)} END IF;
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

-- Its posts are gone before it, and have left notes.
CREATE TRIGGER drop_counts AFTER DELETE ON forum_category FOR EACH ROW EXECUTE FUNCTION drop_counts();
"""  # noqa: S608

DROP_NOTES = """
DROP TRIGGER drop_counts ON forum_category;
DROP TRIGGER note_moved_post ON forum_post;
DROP TRIGGER note_post ON forum_post;
DROP FUNCTION drop_counts();
DROP FUNCTION note_post();
DROP SEQUENCE forum_postcount_numbers;
"""


def note_posts() -> migrations.RunSQL:
    return migrations.RunSQL(CREATE_NOTES, DROP_NOTES)
