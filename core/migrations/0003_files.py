import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0001_initial"),
        ("core", "0002_tables"),
    ]

    operations = [
        migrations.CreateModel(
            name="StoredFile",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "account_id", "id", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("id", models.BigIntegerField(editable=False)),
                ("key", models.CharField(max_length=255)),
                ("name", models.CharField(max_length=255)),
                ("content_type", models.CharField(max_length=255)),
                ("size", models.BigIntegerField(default=0)),
                ("sha256", models.CharField(blank=True, default="", max_length=64)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("expires_at", models.DateTimeField(null=True)),
                (
                    "account",
                    models.ForeignKey(
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, to="accounts.account"
                    ),
                ),
            ],
            options={
                "default_related_name": "stored_files",
            },
        ),
        migrations.RunSQL(
            sql=[
                "ALTER TABLE core_storedfile ALTER COLUMN account_id SET (n_distinct=2)",
                "CREATE TRIGGER take_id BEFORE INSERT ON core_storedfile FOR EACH ROW WHEN (new.id IS NULL) EXECUTE FUNCTION account_ids.take()",
            ],
            reverse_sql=[],
        ),
        migrations.AddIndex(
            model_name="storedfile",
            index=models.Index(fields=["account", "expires_at"], include=("size",), name="storedfile_sizes"),
        ),
        migrations.AddIndex(
            model_name="storedfile",
            index=models.Index(
                condition=models.Q(("expires_at__isnull", False)), fields=["expires_at"], name="storedfile_expired"
            ),
        ),
    ]
