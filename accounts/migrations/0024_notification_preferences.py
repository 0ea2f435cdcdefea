from django.db import migrations, models


class Migration(migrations.Migration):
    """The preferences of users for notifications, and the state of their e-mail addresses. No row is rewritten."""

    dependencies = [("accounts", "0020_handovers")]

    operations = [
        migrations.AddField(
            "user",
            "delivery",
            models.CharField(
                choices=[
                    ("at_once", "At once"),
                    ("daily", "Every day, in one e-mail"),
                    ("weekly", "Every week, in one e-mail"),
                    ("never", "Never: only on the page of notifications"),
                ],
                db_default="at_once",
                default="at_once",
                max_length=255,
            ),
        ),
        migrations.AddField("user", "digest_hour", models.SmallIntegerField(db_default=8, default=8)),
        migrations.AddField("user", "digest_weekday", models.SmallIntegerField(db_default=0, default=0)),
        migrations.AddField("user", "notify_new_posts", models.BooleanField(db_default=True, default=True)),
        migrations.AddField("user", "notify_sign_ups", models.BooleanField(db_default=False, default=False)),
        migrations.AddField(
            "user", "unread_notifications", models.IntegerField(db_default=0, default=0, editable=False)
        ),
        migrations.AddField("user", "bounces", models.SmallIntegerField(db_default=0, default=0, editable=False)),
        migrations.AddField("user", "bounced_at", models.DateTimeField(editable=False, null=True)),
    ]
