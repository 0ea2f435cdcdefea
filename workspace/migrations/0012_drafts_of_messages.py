from django.db import migrations, models

from core.changes.models import change_triggers

# The numbers of e-mails change with each e-mail, and are not in the change feed.
COLUMNS = ("post_id", "author_id", "subject", "text", "among", "include_not_asked", "state")


class Migration(migrations.Migration):
    """Add drafts of messages, the numbers of those whom a message leaves out, and messages in the change feed."""

    dependencies = [("workspace", "0011_post_backers")]

    operations = [
        migrations.AlterField(
            model_name="message",
            name="state",
            field=models.CharField(
                choices=[
                    ("draft", "Draft"),
                    ("sending", "Being sent"),
                    ("sent", "Sent"),
                    ("cancelled", "Cancelled"),
                    ("failed", "Failed"),
                ],
                default="draft",
                max_length=255,
            ),
        ),
        migrations.AlterField(model_name="message", name="subject", field=models.CharField(max_length=150)),
        migrations.AlterField(model_name="message", name="total", field=models.IntegerField(null=True)),
        migrations.AddField(model_name="message", name="left_out", field=models.JSONField(null=True)),
        migrations.AddField(model_name="message", name="started_at", field=models.DateTimeField(null=True)),
        migrations.RemoveIndex(model_name="message", name="message_by_creation"),
        migrations.AddIndex(
            model_name="message",
            index=models.Index(fields=["account", "started_at"], name="message_by_start"),
        ),
        migrations.AddIndex(
            model_name="message",
            index=models.Index(condition=models.Q(("state", "draft")), fields=["account"], name="message_draft"),
        ),
        change_triggers("workspace_message", "message", trash=False, columns=COLUMNS),
        # Last, because PostgreSQL alters no table with pending trigger events.
        migrations.RunSQL("UPDATE workspace_message SET started_at = created_at", migrations.RunSQL.noop),
    ]
