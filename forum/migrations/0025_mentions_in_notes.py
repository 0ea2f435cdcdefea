from django.db import migrations, models
from django.db.models import Q

from core.db.tenancy import online_foreign_key


class Migration(migrations.Migration):
    """The note of an activity.

    Other transactions can write while the foreign key is checked. If this migration is interrupted, drop what it created before the next run.
    """

    atomic = False
    dependencies = [("forum", "0024_task_fields"), ("crm", "0016_notes")]

    operations = [
        migrations.AddField("activity", "note_id", models.BigIntegerField(null=True)),
        migrations.AlterField(
            "activity",
            "kind",
            models.CharField(
                choices=[
                    ("new_post", "New suggestion"),
                    ("comment", "Comment"),
                    ("response", "Official response"),
                    ("status", "Change of status"),
                    ("merge", "Merge"),
                    ("unmerge", "Undone merge"),
                    ("approval", "Approval"),
                    ("assignment", "Assignment"),
                    ("reminder", "Reminder"),
                    ("sign_up", "Sign-up"),
                    ("note", "Note"),
                ],
                max_length=255,
            ),
        ),
        migrations.AddConstraint(
            "activity",
            models.UniqueConstraint(
                fields=["account", "note_id"], name="activity_note_unique", condition=Q(note_id__isnull=False)
            ),
        ),
        *online_foreign_key("forum_activity", "note_id", "crm_note", on_delete="CASCADE"),
    ]
