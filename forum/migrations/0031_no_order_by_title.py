from django.db import migrations
from django.db.models import Q

from core.search.declaration import ReplaceSearch, Search
from core.search.operations import drop_name_order


class Migration(migrations.Migration):
    """Remove the order of posts by title, which no list has."""

    atomic = False
    dependencies = [("forum", "0030_remove_indexes")]

    operations = [
        migrations.SeparateDatabaseAndState(
            [drop_name_order("forum_post", "title")],
            [
                ReplaceSearch(
                    "post",
                    Search(
                        condition=Q(("trashed_at", None)),
                        filters=("category_id", "forum_id", "status_id", "responsible_id", "user_id", "tags"),
                        is_ordered_by_name=False,
                        long=("content", "response"),
                        name="post_search",
                        name_field="title",
                    ),
                )
            ],
        ),
    ]
