from django.db import migrations, models

ACTIVITY_KINDS = ("note", "call", "meeting", "email", "task_done", "suggestion", "vote", "message")


class Migration(migrations.Migration):
    """Add the indexes for the last activity of a row, the time of the last contact on its timeline."""

    dependencies = [("crm", "0001_initial"), ("forum", "0001_initial"), ("workspace", "0002_forum_segments")]

    operations = [
        migrations.AddIndex(
            "timelineentry",
            models.Index(
                fields=["account", f"{link}_id", "at"],
                name=f"activity_of_{link}",
                condition=models.Q((f"{link}_id__isnull", False), ("kind__in", ACTIVITY_KINDS)),
            ),
        )
        for link in ("client", "contact", "deal")
    ]
