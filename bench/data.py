"""The data that the benchmarks run on, made by the database itself."""

from django.db import connection

from accounts.models import Account

LOGIN, PASSWORD = "bench", "bench-0123456789"


def account() -> Account:
    found = Account.objects.filter(prefix="bench").first()
    if found is None:
        found, _, _ = Account.objects.create_with_owner(
            prefix="bench", login=LOGIN, email="bench@example.com", password=PASSWORD
        )
    return found


def ids(account: Account) -> dict[str, int]:
    forum = account.forums.get(is_default=True)
    return {
        "account": account.id,
        "forum": forum.id,
        "category": account.categories.of_forum(forum.id).first().id,
        "status": account.default_status("post").id,
        "user": account.users.get().id,
    }


def fill(account: Account, posts: int) -> None:
    """Make so many posts in the first category, and 20 comments on each of the newest hundred."""
    missing = posts - account.posts.count()
    known = ids(account)
    with connection.cursor() as cursor:
        cursor.execute("SET statement_timeout = 0")
        # A mirror has nothing to learn from these.
        cursor.execute("ALTER TABLE forum_post DISABLE TRIGGER note_created")
        done = 0
        while done < missing:
            portion = min(100_000, missing - done)
            cursor.execute(
                """
                INSERT INTO forum_post (account_id, forum_id, category_id, status_id, user_id, title, content, agent, kind,
                    task_kind, tags, private, approved, closed, priority, votes_cache, comments_cache, created_at, updated_at)
                SELECT %(account)s, %(forum)s, %(category)s, %(status)s, %(user)s, 'Suggestion number ' || n,
                    repeat('What it would be good for, in a sentence or two. ', 3), 'Mozilla/5.0', 'suggestion',
                    'feedback', '{}', false, true, false, 0, (random() * 50)::int, 0, moment, moment
                FROM (SELECT n, now() - make_interval(secs => (%(posts)s - n) * 60) AS moment
                      FROM generate_series(%(first)s::bigint, %(last)s::bigint) n) numbered
                """,
                {**known, "posts": posts, "first": done + 1, "last": done + portion},
            )
            done += portion
            print(f"\r  {done:,} of {missing:,} posts", end="", flush=True)
        if missing > 0:
            print()
            cursor.execute(
                """
                WITH newest AS (SELECT id FROM forum_post WHERE account_id = %(account)s ORDER BY created_at DESC LIMIT 100),
                made AS (
                    INSERT INTO forum_comment (account_id, post_id, user_id, agent, comment, created_at, updated_at)
                    SELECT %(account)s, newest.id, %(user)s, 'Mozilla/5.0', 'A comment of some words, number ' || n, now(), now()
                    FROM newest, generate_series(1, 20) n RETURNING post_id
                )
                UPDATE forum_post SET comments_cache = 20
                WHERE account_id = %(account)s AND id IN (SELECT post_id FROM made)
                """,
                known,
            )
            cursor.execute("VACUUM ANALYZE")
        cursor.execute("ALTER TABLE forum_post ENABLE TRIGGER note_created")
