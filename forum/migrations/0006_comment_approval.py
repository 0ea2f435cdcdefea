from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    """Add the approval of comments. All comments so far are approved, by the default in the database, which rewrites no rows."""

    atomic = False
    dependencies = [("forum", "0005_sort_key_indexes")]

    operations = [
        migrations.AddField("comment", "approved", models.BooleanField(db_default=True, default=True)),
        AddIndexConcurrently(
            "comment",
            models.Index(fields=["account", "user_id", "created_at", "id"], name="comment_by_author"),
        ),
        AddIndexConcurrently(
            "comment",
            models.Index(
                fields=["account", "created_at", "id"],
                name="comment_waiting",
                condition=models.Q(("approved", False)),
            ),
        ),
    ]
