"""The order by trend: how many votes a post got, with recent votes weighing more.

The weight of a vote halves every `HALF_LIFE`. The trend of a post at the time `now` is the sum of the weights of its votes, with the
creation of the post as one more vote:

    sum(2 ** ((vote.created_at - now) / HALF_LIFE))

`now` divides all sums by the same number, so it does not change the order of the posts, and neither does a logarithm. The column
`trending` therefore stores the logarithm of the sum for the fixed time 1970. Its value changes with the votes, but not with time, so one
index serves the order:

    trending = log2(sum(2 ** (vote.created_at / HALF_LIFE)))

Triggers on the tables of votes keep `vote_weight`, the part of the votes, together with `votes_cache`, in one UPDATE of the post. A new
vote is added to the stored weight. When votes are deleted, the weight is computed again from the remaining votes, because a
subtraction would lose the precision of small remainders. `trending` is a generated column of `created_at` and `vote_weight`.
"""

from datetime import timedelta

from django.db import migrations, models
from django.db.models import F, Func

from core.db.backfill import fill_column

HALF_LIFE = timedelta(days=7)


def trending_field() -> models.GeneratedField:
    """Return the field of a post by which the order `trending` sorts. Its function is immutable and a part of the database."""
    trending = Func(F("created_at"), F("vote_weight"), function="forum_trending")
    return models.GeneratedField(expression=trending, output_field=models.FloatField(), db_persist=True)


# Migrations

# `power` fails for results that are too small for a double. Differences are therefore limited to 60 half-lives: at that difference, the
# smaller weight no longer changes a digit of the sum.
CREATE_FUNCTIONS = f"""
CREATE FUNCTION forum_half_lives(moment timestamptz) RETURNS double precision LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT date_part('epoch', moment - to_timestamp(0)) / {HALF_LIFE.total_seconds()}
$$;

CREATE FUNCTION forum_log2_add(a double precision, b double precision) RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN a IS NULL THEN b WHEN b IS NULL THEN a
        ELSE greatest(a, b) + ln(1 + power(2::double precision, greatest(-abs(a - b), -60))) / ln(2::double precision) END
$$;

CREATE AGGREGATE forum_log2_sum(double precision) (SFUNC = forum_log2_add, STYPE = double precision);

CREATE FUNCTION forum_trending(created_at timestamptz, vote_weight double precision) RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT public.forum_log2_add(public.forum_half_lives(created_at), vote_weight)
$$;
"""

DROP_FUNCTIONS = """
DROP FUNCTION forum_trending(timestamptz, double precision);
DROP AGGREGATE forum_log2_sum(double precision);
DROP FUNCTION forum_log2_add(double precision, double precision);
DROP FUNCTION forum_half_lives(timestamptz);
"""

# The posts are locked in the order of their ids, as in all code that locks several posts, so that no deadlock can occur.
LOCK_POSTS = """
    PERFORM FROM forum_post WHERE (account_id, id) IN (SELECT account_id, post_id FROM changed)
    ORDER BY account_id, id FOR NO KEY UPDATE;"""

WEIGHT_OF_ALL_VOTES = """(
        SELECT forum_log2_sum(forum_half_lives(votes.created_at)) FROM (
            SELECT created_at FROM forum_vote WHERE account_id = forum_post.account_id AND post_id = forum_post.id
            UNION ALL
            SELECT created_at FROM forum_proxyvote WHERE account_id = forum_post.account_id AND post_id = forum_post.id
        ) AS votes
    )"""

CREATE_TRIGGERS = f"""
CREATE FUNCTION forum_count_cast() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN{LOCK_POSTS}
    UPDATE forum_post SET votes_cache = votes_cache + counted.number,
        vote_weight = forum_log2_add(vote_weight, counted.weight)
    FROM (
        SELECT account_id, post_id, count(*) AS number, forum_log2_sum(forum_half_lives(created_at)) AS weight
        FROM changed GROUP BY account_id, post_id
    ) AS counted
    WHERE forum_post.account_id = counted.account_id AND forum_post.id = counted.post_id;
    RETURN NULL;
END $$;

CREATE FUNCTION forum_count_withdrawn() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN{LOCK_POSTS}
    UPDATE forum_post SET votes_cache = votes_cache - counted.number, vote_weight = {WEIGHT_OF_ALL_VOTES}
    FROM (SELECT account_id, post_id, count(*) AS number FROM changed GROUP BY account_id, post_id) AS counted
    WHERE forum_post.account_id = counted.account_id AND forum_post.id = counted.post_id;
    RETURN NULL;
END $$;

-- An update that changes no time of a vote, such as SET NULL by a foreign key, changes no post.
CREATE FUNCTION forum_weigh_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE forum_post SET vote_weight = {WEIGHT_OF_ALL_VOTES}
    WHERE (account_id, id) IN (
        SELECT account_id, post_id FROM (
            SELECT account_id, post_id, created_at FROM changed
            EXCEPT ALL SELECT account_id, post_id, created_at FROM former
        ) AS moved
    );
    RETURN NULL;
END $$;
"""  # noqa: S608

DROP_TRIGGERS = """
DROP FUNCTION forum_weigh_changed();
DROP FUNCTION forum_count_withdrawn();
DROP FUNCTION forum_count_cast();
"""


def create_functions() -> migrations.RunSQL:
    """Return the operation that creates the functions which weigh votes."""
    return migrations.RunSQL(CREATE_FUNCTIONS, DROP_FUNCTIONS)


def weigh_posts() -> migrations.RunPython:
    """Return the operation that sets the weights of the posts that have votes already. The triggers must exist."""
    return fill_column("forum_post", "vote_weight", WEIGHT_OF_ALL_VOTES, condition="votes_cache > 0")


def count_votes(*tables: str) -> list[migrations.RunSQL]:
    """Return operations that create the triggers which count and weigh the votes of these tables."""
    return [
        migrations.RunSQL(CREATE_TRIGGERS, DROP_TRIGGERS),
        *(
            migrations.RunSQL(
                f"""
                CREATE TRIGGER count_cast AFTER INSERT ON {table} REFERENCING NEW TABLE AS changed
                    FOR EACH STATEMENT EXECUTE FUNCTION forum_count_cast();
                CREATE TRIGGER count_withdrawn AFTER DELETE ON {table} REFERENCING OLD TABLE AS changed
                    FOR EACH STATEMENT EXECUTE FUNCTION forum_count_withdrawn();
                CREATE TRIGGER weigh_changed AFTER UPDATE ON {table} REFERENCING OLD TABLE AS former NEW TABLE AS changed
                    FOR EACH STATEMENT EXECUTE FUNCTION forum_weigh_changed();
                """,
                f"""
                DROP TRIGGER weigh_changed ON {table};
                DROP TRIGGER count_withdrawn ON {table};
                DROP TRIGGER count_cast ON {table};
                """,
            )
            for table in tables
        ),
    ]
