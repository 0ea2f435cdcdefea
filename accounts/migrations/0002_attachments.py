import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0001_initial"),
        ("core", "0003_files"),
    ]

    operations = [
        migrations.AddField(
            model_name="account",
            name="files_quota",
            field=models.BigIntegerField(editable=False, null=True),
        ),
        migrations.CreateModel(
            name="Attachment",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "account_id", "id", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("id", models.BigIntegerField(editable=False)),
                ("resource", models.CharField(blank=True, default="", max_length=255)),
                ("row_id", models.BigIntegerField(null=True)),
                ("part", models.CharField(blank=True, default="", max_length=255)),
                ("is_inline", models.BooleanField(default=False)),
                ("file_id", models.BigIntegerField()),
                ("thumbnail_id", models.BigIntegerField(null=True)),
                ("width", models.IntegerField(null=True)),
                ("height", models.IntegerField(null=True)),
                ("user_id", models.BigIntegerField()),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                (
                    "account",
                    models.ForeignKey(
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, to="accounts.account"
                    ),
                ),
                (
                    "file",
                    models.ForeignObject(
                        from_fields=["account_id", "file_id"],
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="core.storedfile",
                        to_fields=["account_id", "id"],
                    ),
                ),
                (
                    "thumbnail",
                    models.ForeignObject(
                        from_fields=["account_id", "thumbnail_id"],
                        null=True,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="core.storedfile",
                        to_fields=["account_id", "id"],
                    ),
                ),
                (
                    "user",
                    models.ForeignObject(
                        from_fields=["account_id", "user_id"],
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="accounts.user",
                        to_fields=["account_id", "id"],
                    ),
                ),
            ],
            options={
                "default_related_name": "attachments",
            },
        ),
        migrations.RunSQL(
            sql=[
                "ALTER TABLE accounts_attachment ALTER COLUMN account_id SET (n_distinct=2)",
                "CREATE TRIGGER take_id BEFORE INSERT ON accounts_attachment FOR EACH ROW WHEN (new.id IS NULL) EXECUTE FUNCTION account_ids.take()",
                "ALTER TABLE accounts_attachment ADD CONSTRAINT accounts_attachment_file_id_fk FOREIGN KEY (account_id, file_id) REFERENCES core_storedfile(account_id, id) ON DELETE CASCADE",
                "ALTER TABLE accounts_attachment ADD CONSTRAINT accounts_attachment_thumbnail_id_fk FOREIGN KEY (account_id, thumbnail_id) REFERENCES core_storedfile(account_id, id) ON DELETE SET NULL (thumbnail_id)",
                "ALTER TABLE accounts_attachment ADD CONSTRAINT accounts_attachment_user_id_fk FOREIGN KEY (account_id, user_id) REFERENCES accounts_user(account_id, id) ON DELETE CASCADE",
            ],
            reverse_sql=[],
        ),
        migrations.AddIndex(
            model_name="attachment",
            index=models.Index(fields=["account", "resource", "row_id", "id"], name="attachment_of_row"),
        ),
        migrations.AddIndex(
            model_name="attachment",
            index=models.Index(fields=["account", "user_id", "id"], name="attachment_of_user"),
        ),
        migrations.AddIndex(
            model_name="attachment",
            index=models.Index(fields=["account", "file_id"], name="attachment_of_file"),
        ),
        migrations.AddIndex(
            model_name="attachment",
            index=models.Index(
                condition=models.Q(("thumbnail_id__isnull", False)),
                fields=["account", "thumbnail_id"],
                name="attachment_of_thumbnail",
            ),
        ),
    ]
