from django.contrib.postgres.operations import RemoveIndexConcurrently
from django.db import migrations

INDEXES = (
    "post_by_votes",
    "post_by_comments",
    "post_by_activity",
    "post_of_forum_by_trend",
    "post_of_forum_by_votes",
    "post_of_forum_by_comments",
    "post_of_forum_by_activity",
    "post_of_roadmap",
    "any_post_by_change",
    "task_by_change",
    "post_of_client_by_change",
    "post_of_contact_by_change",
    "post_of_deal_by_change",
)


class Migration(migrations.Migration):
    """Remove the indexes with columns that votes and comments change, which those of the sort keys replace, and one that no query uses.

    Lists by votes, comments, activity and trend are slow until the new version of the service runs.
    """

    atomic = False
    dependencies = [("forum", "0029_sort_keys")]

    operations = [
        *(RemoveIndexConcurrently("post", name) for name in INDEXES),
        RemoveIndexConcurrently("follow", "follow_of_user"),
    ]
