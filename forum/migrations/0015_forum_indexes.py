from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models
from django.db.models import Q

from forum.trending import weigh_posts


class Migration(migrations.Migration):
    # Other transactions can write while the indexes are built. If this migration is interrupted, drop its indexes before the next run.
    atomic = False
    dependencies = [("forum", "0014_trending_and_facets")]

    operations = [
        # Before there is an index of the order by trend, which each change of a weight would update.
        weigh_posts(),
        *(
            AddIndexConcurrently(
                "post",
                models.Index(fields=["account", "forum_id", "shelf", field, "id"], name=f"post_of_forum_by_{order}"),
            )
            for order, field in (
                ("trend", "trending"),
                ("age", "created_at"),
                ("votes", "votes_cache"),
                ("comments", "comments_cache"),
                ("activity", "updated_at"),
            )
        ),
        AddIndexConcurrently(
            "post",
            models.Index(
                fields=["account", "forum_id", "kind", "id"],
                name="post_of_forum_by_kind",
                condition=Q(shelf__gt=0) & ~Q(kind="suggestion"),
            ),
        ),
    ]
