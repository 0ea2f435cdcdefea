from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("forum", "0003_comments")]

    operations = [
        migrations.RunSQL(
            "ALTER TABLE forum_comment VALIDATE CONSTRAINT forum_comment_parent_id_fk", migrations.RunSQL.noop
        ),
        AddIndexConcurrently(
            model_name="comment",
            index=models.Index(
                condition=models.Q(("parent_id__isnull", False)),
                fields=["account", "parent_id", "created_at", "id"],
                name="comment_of_parent",
            ),
        ),
        AddIndexConcurrently(
            model_name="comment",
            index=models.Index(
                condition=models.Q(("pinned_at__isnull", False), ("helpful", True), _connector="OR"),
                fields=["account", "post_id", "id"],
                name="comment_marked",
            ),
        ),
        AddIndexConcurrently(
            model_name="post",
            index=models.Index(
                condition=models.Q(("target_on__isnull", False), ("visibility", 1)),
                fields=["account", "forum_id", "status_id", "target_on", "id"],
                name="post_by_target",
            ),
        ),
    ]
