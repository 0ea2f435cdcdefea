"""The numbers of posts by category, status, kind and tag, which the list of a forum shows beside its filters.

Counting posts would take time in proportion to the size of the forum. Instead, the table `FacetCount` has the numbers of posts for each
combination of values. Its size depends on the number of combinations, not on the number of posts. A trigger inserts a *delta*, a row with
one post more or one less, so that no write waits for another, and a reader adds all rows of a combination. `clean_up` replaces the
deltas by sums.

A post without its tags is one row of the level `POST`, from which any combination of category, status and kind is counted. Each of its
tags adds two rows: one of the level `TAG` with the tag alone, and one of the level `TAG_OF_POST` with everything.
"""

from functools import cache
from typing import NamedTuple

from django.db import connection, migrations, models, transaction
from psycopg.types.numeric import Int8

from accounts.models import Account
from core.db import locks
from core.db.prepared import fetch

# The number of tags that the filters show: those that most posts have.
MAX_TAGS = 20
# A forum is compacted if it has more deltas than this.
MAX_DELTAS = 500


class Level(models.IntegerChoices):
    """The kind of a row of `FacetCount`, which tells the columns that it has."""

    POST = 0
    TAG = 1
    TAG_OF_POST = 2


class FacetCountQuerySet(models.QuerySet["FacetCount"]):
    def clean_up(self) -> None:
        """Compact the forums that have collected many deltas."""
        for account_id, forum_id in fetch(FORUMS_TO_COMPACT, [MAX_DELTAS]):
            compact(account_id, forum_id)


class FacetCount(models.Model):
    """A number of posts of a forum with the same values. Several rows may have the same values; their numbers are added."""

    pk = models.CompositePrimaryKey(
        "account_id", "forum_id", "level", "tag", "category_id", "status_id", "kind", "shelf", "number"
    )
    # The ids are copies of a post's ids, which its own foreign keys check.
    account = models.ForeignKey(Account, models.CASCADE, related_name="+", db_index=False, db_constraint=False)
    forum_id = models.BigIntegerField()
    level = models.SmallIntegerField(choices=Level.choices)
    # Empty, except for rows of a tag.
    tag = models.TextField()
    # 0 for rows of a tag alone, and an empty kind.
    category_id = models.BigIntegerField()
    status_id = models.BigIntegerField()
    kind = models.TextField()
    shelf = models.SmallIntegerField()
    # A number that distinguishes rows with the same values.
    number = models.BigIntegerField()
    posts = models.IntegerField()

    objects = FacetCountQuerySet.as_manager()

    def __str__(self) -> str:
        return (
            f"{self.posts:+} in category {self.category_id}, status {self.status_id}, kind {self.kind}, tag {self.tag}"
        )


class Selection(NamedTuple):
    """The values by which a list is filtered. None stands for all values."""

    category_id: int | None = None
    status_id: int | None = None
    kind: str | None = None
    tag: str | None = None


class Facets(NamedTuple):
    """The numbers of posts by value. Each number is of the posts that the list has if its filter is changed to that value."""

    total: int
    categories: dict[int, int]
    statuses: dict[int, int]
    kinds: dict[str, int]
    # At most `MAX_TAGS`, and the selected one; those that most posts of the forum have come first.
    tags: dict[str, int]


def count_facets(account_id: int, forum_id: int, selection: Selection, *, include_closed: bool) -> Facets:
    """Return the numbers of posts of a forum by value. The team sees closed posts, so it counts them too."""
    values = {name: value for name, value in selection._asdict().items() if value is not None}
    parameters = {name: Int8(value) if isinstance(value, int) else value for name, value in values.items()}
    parameters |= {"account_id": Int8(account_id), "forum_id": Int8(forum_id), "max_shelf": 2 if include_closed else 1}
    counts: dict[str, dict[str, int]] = {"category": {}, "status": {}, "kind": {}, "tag": {}, "total": {}}
    for dimension, value, posts in fetch(_facets_sql(frozenset(values)), parameters):
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
        return "".join(f" AND {column} = %({column})s" for column in columns)

    of_forum = "account_id = %(account_id)s AND forum_id = %(forum_id)s AND shelf <= %(max_shelf)s"
    of_posts = "level = 2 AND tag = %(tag)s" if "tag" in selected else "level = 0"
    total = "SELECT coalesce(sum(posts), 0)::bigint FROM cube"
    selected_tag = f"UNION ALL SELECT %(tag)s::text, ({total})" if "tag" in selected else ""
    is_filtered = bool(selected - {"tag"})
    tag_counts = "posts"
    if is_filtered:
        tag_counts = f"""(
            SELECT coalesce(sum(posts), 0)::bigint FROM forum_facetcount
            WHERE {of_forum} AND level = 2 AND tag = tags.tag{others("")}
        )"""  # noqa: S608
    return f"""
    WITH cube AS MATERIALIZED (
        SELECT category_id, status_id, kind, sum(posts)::bigint AS posts FROM forum_facetcount
        WHERE {of_forum} AND {of_posts} GROUP BY category_id, status_id, kind
    ), common_tags AS MATERIALIZED (
        SELECT tag, sum(posts)::bigint AS posts FROM forum_facetcount WHERE {of_forum} AND level = 1
        GROUP BY tag HAVING sum(posts) > 0 ORDER BY sum(posts) DESC, tag LIMIT {MAX_TAGS}
    )
    SELECT 'total', '', coalesce(sum(posts), 0)::bigint AS posts FROM cube WHERE true{others("")}
    {
        "".join(
            f'''UNION ALL SELECT '{name}', {column}::text, sum(posts)::bigint FROM cube
        WHERE true{others(column)} GROUP BY {column} HAVING sum(posts) > 0
    '''
            for name, column in COLUMNS.items()
        )
    }
    UNION ALL SELECT * FROM (
        SELECT 'tag', tag, {tag_counts} FROM (
            SELECT tag, max(posts) AS posts FROM (SELECT tag, posts FROM common_tags {
        selected_tag
    }) AS rows GROUP BY tag
        ) AS tags ORDER BY posts DESC, tag
    ) AS counted
    """  # noqa: S608


def compact(account_id: int, forum_id: int) -> None:
    """Replace the rows of a forum by their sums. Do nothing while another transaction does."""
    with transaction.atomic(), connection.cursor() as cursor:
        if locks.try_acquire(("facets of", account_id, forum_id)):
            cursor.execute(COMPACT, [account_id, forum_id])


FORUMS_TO_COMPACT = """
SELECT account_id, forum_id FROM (
    SELECT account_id, forum_id, count(*) - 1 AS deltas FROM forum_facetcount
    GROUP BY account_id, forum_id, level, tag, category_id, status_id, kind, shelf
) AS combinations GROUP BY account_id, forum_id HAVING sum(deltas) > %s
"""

# Rows that are committed meanwhile are not part of the snapshot of this statement, so they stay.
COMPACT = """
WITH deleted AS (
    DELETE FROM forum_facetcount WHERE account_id = %s AND forum_id = %s RETURNING *
)
INSERT INTO forum_facetcount (account_id, forum_id, level, tag, category_id, status_id, kind, shelf, number, posts)
SELECT account_id, forum_id, level, tag, category_id, status_id, kind, shelf, nextval('forum_facetcount_numbers'), sum(posts)
FROM deleted GROUP BY account_id, forum_id, level, tag, category_id, status_id, kind, shelf HAVING sum(posts) <> 0
"""


# Migrations

INSERT_ROWS = """
        INSERT INTO forum_facetcount (account_id, forum_id, level, tag, category_id, status_id, kind, shelf, number, posts)
        VALUES ({0}.account_id, {0}.forum_id, 0, '', {0}.category_id, {0}.status_id, {0}.kind,
            {0}.shelf, nextval('forum_facetcount_numbers'), {1});
        IF {0}.tags <> '{{}}' THEN
            INSERT INTO forum_facetcount (account_id, forum_id, level, tag, category_id, status_id, kind, shelf, number, posts)
            SELECT {0}.account_id, {0}.forum_id, level, tag, CASE level WHEN 1 THEN 0 ELSE {0}.category_id END,
                CASE level WHEN 1 THEN 0 ELSE {0}.status_id END, CASE level WHEN 1 THEN '' ELSE {0}.kind END, {0}.shelf,
                nextval('forum_facetcount_numbers'), {1}
            FROM unnest({0}.tags) AS tag CROSS JOIN (VALUES (1), (2)) AS levels (level);
        END IF;
"""

CREATE_TRIGGERS = f"""
CREATE SEQUENCE forum_facetcount_numbers;

CREATE FUNCTION forum_count_facets() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.shelf > 0 THEN {INSERT_ROWS.format("OLD", -1)} END IF;
    IF NEW.shelf > 0 THEN {INSERT_ROWS.format("NEW", 1)} END IF;
    RETURN NULL;
END $$;

CREATE TRIGGER count_facets AFTER INSERT OR DELETE ON forum_post FOR EACH ROW EXECUTE FUNCTION forum_count_facets();
CREATE TRIGGER count_changed_facets AFTER UPDATE ON forum_post FOR EACH ROW
    WHEN ((OLD.forum_id, OLD.category_id, OLD.status_id, OLD.kind, OLD.tags, OLD.shelf)
        IS DISTINCT FROM (NEW.forum_id, NEW.category_id, NEW.status_id, NEW.kind, NEW.tags, NEW.shelf))
    EXECUTE FUNCTION forum_count_facets();
"""

DROP_TRIGGERS = """
DROP TRIGGER count_changed_facets ON forum_post;
DROP TRIGGER count_facets ON forum_post;
DROP FUNCTION forum_count_facets();
DROP SEQUENCE forum_facetcount_numbers;
"""

# Also to be executed, on an empty table, after posts were written with their triggers disabled.
COUNT_ALL = """
INSERT INTO forum_facetcount (account_id, forum_id, level, tag, category_id, status_id, kind, shelf, number, posts)
SELECT account_id, forum_id, 0, '', category_id, status_id, kind, shelf, nextval('forum_facetcount_numbers'), posts
FROM (
    SELECT account_id, forum_id, category_id, status_id, kind, shelf, count(*) AS posts FROM forum_post WHERE shelf > 0
    GROUP BY account_id, forum_id, category_id, status_id, kind, shelf
) AS posts
UNION ALL
SELECT account_id, forum_id, level, tag, category_id, status_id, kind, shelf, nextval('forum_facetcount_numbers'), posts
FROM (
    SELECT account_id, forum_id, level, tag, CASE level WHEN 1 THEN 0 ELSE category_id END AS category_id,
        CASE level WHEN 1 THEN 0 ELSE status_id END AS status_id, CASE level WHEN 1 THEN '' ELSE kind END AS kind, shelf,
        count(*) AS posts
    FROM forum_post CROSS JOIN unnest(tags) AS tag CROSS JOIN (VALUES (1), (2)) AS levels (level)
    WHERE shelf > 0 GROUP BY 1, 2, 3, 4, 5, 6, 7, 8
) AS tags
"""


def create_facet_triggers() -> migrations.RunSQL:
    """Return the operation that creates the trigger which inserts deltas."""
    return migrations.RunSQL(CREATE_TRIGGERS, DROP_TRIGGERS)


def count_all() -> migrations.RunSQL:
    """Return the operation that counts the posts which exist already."""
    return migrations.RunSQL(COUNT_ALL, migrations.RunSQL.noop)
