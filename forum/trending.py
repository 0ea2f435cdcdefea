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

from django.db import models
from django.db.models import F, Func

HALF_LIFE = timedelta(days=7)


def trending_field() -> models.GeneratedField:
    """Return the field of a post by which the order `trending` sorts. Its function is immutable and a part of the database."""
    trending = Func(F("created_at"), F("vote_weight"), function="forum_trending")
    return models.GeneratedField(expression=trending, output_field=models.FloatField(), db_persist=True)
