"""The values of posts by which lists are sorted and which change often, in a narrow table.

A post has a wide row with many indexes, among them the index of the search with thousands of entries for a long text. If an update
changes a column of any index, PostgreSQL writes entries for the new version of the row in all indexes of the table. Votes and comments
change the numbers, the trend and the time of the last change of a post. So no index of `forum_post` has these columns. `PostSortKey` has
copies of them, with the indexes of the orders, and a vote writes a version of the post without any entry in an index (a heap-only tuple).

The table has a row for each post and task that is not in the trash. Triggers keep it, whatever writes the post. They write the row of a post
after the post itself, so the lock of the post protects both.

The order by trend tells how many votes a post got, with recent votes weighing more.

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

from django.db import connection, models, transaction
from django.db.models import F, Func, Q

from accounts.account.models import Account

HALF_LIFE = timedelta(days=7)
# The columns of the orders of the lists of categories, by the names of their indexes.
ORDER_COLUMNS = {"votes": "votes_cache", "comments": "comments_cache", "activity": "updated_at"}


def trending_field() -> models.GeneratedField:
    """Return the field of a post by which the order `trending` sorts. Its function is immutable and a part of the database."""
    trending = Func(F("created_at"), F("vote_weight"), function="forum_trending")
    return models.GeneratedField(expression=trending, output_field=models.FloatField(), db_persist=True)


class PostSortKey(models.Model):
    """Copies of columns of a live post or task. The ids are copies as well, which the foreign keys of the copied columns check."""

    pk = models.CompositePrimaryKey("account_id", "id")
    account = models.ForeignKey(Account, models.CASCADE, db_index=False, db_constraint=False)
    # The id of the post.
    id = models.BigIntegerField()
    # Null for a task, as the forum.
    category_id = models.BigIntegerField(null=True)
    forum_id = models.BigIntegerField(null=True)
    status_id = models.BigIntegerField()
    visibility = models.SmallIntegerField()
    client_id = models.BigIntegerField(null=True)
    contact_id = models.BigIntegerField(null=True)
    deal_id = models.BigIntegerField(null=True)
    votes_cache = models.IntegerField()
    comments_cache = models.IntegerField()
    trending = models.FloatField()
    updated_at = models.DateTimeField()

    class Meta:
        default_related_name = "post_sort_keys"
        indexes = [
            # One index for each order of the list of a category and of a whole forum, for both directions.
            *(
                models.Index(
                    fields=["account", "category_id", "visibility", column, "id"],
                    name=f"sort_key_by_{order}",
                    condition=Q(category_id__isnull=False),
                )
                for order, column in ORDER_COLUMNS.items()
            ),
            *(
                models.Index(
                    fields=["account", "forum_id", "visibility", column, "id"],
                    name=f"sort_key_of_forum_by_{order}",
                    condition=Q(forum_id__isnull=False),
                )
                for order, column in {"trend": "trending", **ORDER_COLUMNS}.items()
            ),
            # The roadmap: the posts in a status, by votes.
            models.Index(
                fields=["account", "forum_id", "status_id", "votes_cache", "id"],
                name="sort_key_of_roadmap",
                condition=Q(visibility=1),
            ),
            # The account's lists of posts and of tasks, by the last change.
            *(
                models.Index(
                    fields=["account", "updated_at", "id"],
                    name=f"sort_key_of_{kind}_by_change",
                    condition=Q(category_id__isnull=is_task),
                )
                for kind, is_task in (("post", False), ("task", True))
            ),
        ]

    def __str__(self) -> str:
        return f"Sort key of post {self.id}"


# The columns of `forum_post` that the table copies.
COPIED_COLUMNS = sorted({column.attname for column in PostSortKey._meta.concrete_fields} - {"account_id", "id"})
_NAMES = ", ".join(COPIED_COLUMNS)
# For rows that were written while the triggers were disabled.
ADD_MISSING = f"""
INSERT INTO forum_postsortkey (account_id, id, {_NAMES})
SELECT account_id, id, {_NAMES} FROM forum_post WHERE trashed_at IS NULL
"""  # noqa: S608
DIFFERING = f"""
SELECT id FROM (SELECT id, ({_NAMES}) AS columns FROM forum_post WHERE account_id = %s AND trashed_at IS NULL) AS post
FULL JOIN (SELECT id, ({_NAMES}) AS columns FROM forum_postsortkey WHERE account_id = %s) AS key USING (id)
WHERE post.columns IS DISTINCT FROM key.columns ORDER BY id
"""  # noqa: S608


def find_differing(account_id: int) -> list[int]:
    """Return the ids of the posts whose sort key is missing or differs, and those of sort keys without a live post."""
    with connection.cursor() as cursor:
        cursor.execute(DIFFERING, [account_id, account_id])
        return [id for (id,) in cursor.fetchall()]


@transaction.atomic
def repair(account: Account, ids: list[int]) -> None:
    """Write the sort keys with these ids again."""
    with connection.cursor() as cursor:
        # The locks make concurrent updates of these posts wait, so that their triggers find the new rows.
        lock = "SELECT FROM forum_post WHERE account_id = %s AND id = ANY (%s) ORDER BY id FOR NO KEY UPDATE"
        cursor.execute(lock, [account.id, ids])
        account.post_sort_keys.filter(id__any=ids).delete()
        cursor.execute(f"{ADD_MISSING} AND account_id = %s AND id = ANY (%s)", [account.id, ids])
