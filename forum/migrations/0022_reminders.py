from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    # Other transactions can write while the indexes are built. If this migration is interrupted, drop its indexes before the next run.
    atomic = False
    dependencies = [("forum", "0015_forum_indexes")]

    operations = [
        migrations.AddField("activity", "scheduled_at", models.DateTimeField(null=True)),
        migrations.AddConstraint(
            "activity",
            models.UniqueConstraint(
                fields=["account", "post_id", "scheduled_at"],
                name="activity_reminder_unique",
                condition=Q(kind="reminder"),
            ),
        ),
        migrations.AlterField(
            "notification",
            "reason",
            models.SmallIntegerField(
                choices=[
                    (1, "you were mentioned"),
                    (2, "you are responsible for this suggestion"),
                    (3, "you wrote this suggestion"),
                    (4, "you commented on this suggestion"),
                    (5, "you voted for this suggestion"),
                    (6, "you follow this suggestion"),
                    (7, "you are on the team"),
                    (8, "you chose news of everything"),
                    (9, "you are responsible for this task"),
                ]
            ),
        ),
        AddIndexConcurrently(
            "post",
            models.Index(
                fields=["scheduled_at"],
                name="task_reminder",
                condition=Q(
                    trashed_at=None,
                    category_id=None,
                    closed=False,
                    responsible_id__isnull=False,
                    scheduled_at__isnull=False,
                ),
            ),
        ),
    ]
