import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("accounts", "0005_search")]

    operations = [
        migrations.CreateModel(
            name="IdempotentAnswer",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "account_id", "caller", "key", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                (
                    "account",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="accounts.account",
                    ),
                ),
                ("caller", models.CharField(max_length=255)),
                ("key", models.CharField(max_length=255)),
                ("fingerprint", models.BinaryField()),
                ("status", models.SmallIntegerField()),
                ("headers", models.JSONField()),
                ("body", models.BinaryField()),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
            ],
        ),
    ]
